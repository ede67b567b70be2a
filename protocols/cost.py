"""The cost of a run: as predicted from public figures, and by the formulas of a paper."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from ..messages import encoded_size
from ..privacy import Domain

__all__ = ["Cost", "Formula", "Hop", "Public", "add_up"]

ModelT = TypeVar("ModelT")
"""The type of the parts of a published model from which a cost follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """A round in which only some roles send: each of these senders to each of these receivers."""

    senders: tuple[int, ...]
    """Their ranks; 0 is the curator."""
    receivers: tuple[int, ...]

    @property
    def messages(self) -> int:
        """Number of messages."""
        return len(self.senders) * len(self.receivers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """A line of the predicted cost: the messages of one kind in one phase.

    `payload_bytes` is the sum over these messages.
    """

    phase: str
    kind: str
    messages: int
    payload_bytes: int
    at_most: bool = False
    """Whether the messages may be shorter, as their length depends on what is not published."""
    hops: tuple[Hop, ...] = ()
    """Who sends in each round in which this kind is sent, where parties do not all do the same."""

    @classmethod
    def of(cls, message: object, *, phase: str, messages: int) -> Cost:
        """Give the cost of so many messages that are as long as this one."""
        size = encoded_size(message)
        kind = type(message).__name__
        return cls(phase=phase, kind=kind, messages=messages, payload_bytes=messages * size)


def add_up(lines: Iterable[Cost]) -> list[Cost]:
    """Add up the lines of the same kind in the same phase."""
    sums: dict[tuple[str, str], Cost] = {}
    for line in lines:
        before = sums.get(
            (line.phase, line.kind),
            Cost(phase=line.phase, kind=line.kind, messages=0, payload_bytes=0),
        )
        sums[line.phase, line.kind] = Cost(
            phase=line.phase,
            kind=line.kind,
            messages=before.messages + line.messages,
            payload_bytes=before.payload_bytes + line.payload_bytes,
            at_most=before.at_most or line.at_most,
            hops=before.hops + line.hops,
        )
    return list(sums.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Formula:
    """The cost of a phase by the paper's formula, as printed and corrected, for one run."""

    phase: str
    printed_rounds: float
    printed_bytes: float
    corrected_rounds: float
    corrected_bytes: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Public:
    """Public figures of a run, on which a predicted cost may depend."""

    parties: int
    rows: int
    """Rows of all parties; 0 where it is secret, as neighbours add or remove a record."""
    key_bits: int
    domain: Domain | None
    model: Mapping[str, object] | None = None
    """The published model. Before the run it is `None`; afterwards a cost may depend on it."""
    lasting: bool = False
    """Whether the run may go on without a party that is lost, so that sums take more messages."""

    def published(self, kind: type[ModelT]) -> ModelT | None:
        """Read from the published model what a forecast needs; `None` before the run.

        Raises:
            msgspec.ValidationError: the model is not of this kind.
        """
        return None if self.model is None else msgspec.convert(dict(self.model), kind)
