"""What a run's messages cost, as a report says it: sums, predictions, papers' formulas, users."""

from __future__ import annotations

import msgspec

from ..protocols.outcome import UserTraffic
from ..runs.record import of_numpy

__all__ = ["Communication", "Formulas", "PhaseCost", "PredictedCost", "Sums", "Traffic"]


class PhaseCost(msgspec.Struct, frozen=True, kw_only=True):
    """One phase: the longest that any role took for it, and its bytes with frames."""

    name: str
    seconds: float
    bytes: int


class Sums(msgspec.Struct, frozen=True, kw_only=True):
    """Sums over some messages."""

    messages: int
    payload_bytes: int
    frame_bytes: int
    ciphertext_bytes: int
    user_bits: int


class PredictedCost(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the predicted cost beside what was measured."""

    phase: str
    kind: str
    messages: int
    payload_bytes: int
    measured_messages: int
    measured_payload_bytes: int
    basis: str = msgspec.field(name="known")
    """"before" the run, or "from the model": the cost depends on the structure that was learnt."""
    at_most: bool = False
    """Whether the messages may be shorter, as their length depends on what is not published."""

    @property
    def right(self) -> bool:
        """Whether the prediction is what was measured, or bounds it where it is a bound."""
        spare = self.payload_bytes - self.measured_payload_bytes
        return self.messages == self.measured_messages and (
            spare >= 0 if self.at_most else spare == 0
        )


class Formulas(msgspec.Struct, frozen=True, kw_only=True):
    """A paper's formula for a phase, as printed and corrected, beside what was measured."""

    phase: str
    printed_rounds: float
    printed_bytes: float
    corrected_rounds: float
    corrected_bytes: float
    measured_rounds: int
    measured_bytes: int


class Traffic(msgspec.Struct, frozen=True, kw_only=True):
    """What users would send in a deployment."""

    users: int
    reports: int
    bits: int
    least: int
    most: int
    simulate: str
    smallest_group: int | None = None
    """Least number of users who answer one question in one round; `None` if it is not known."""
    measured_bits: int | None
    """Bits that were counted in this run; `None` where sums of reports were drawn."""

    @classmethod
    def of(cls, traffic: UserTraffic, *, measured_bits: int) -> Traffic:
        counted = measured_bits if traffic.simulate == "reports" else None
        return cls(**msgspec.to_builtins(traffic, enc_hook=of_numpy), measured_bits=counted)


class Communication(Sums, frozen=True, kw_only=True):
    """The ledger, summed up."""

    rounds: int
    by_phase: dict[str, Sums]
    by_edge: dict[str, Sums]
    by_kind: dict[str, Sums]
    predicted: list[PredictedCost] | None
    """`None` where the protocol does not predict its cost."""
    formulas: list[Formulas]
    per_user_bits: float | None = None
    users: Traffic | None = None
