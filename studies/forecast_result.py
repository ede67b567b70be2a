"""What a forecast says of one run on one network."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from ..report.replaying import Share
from ..report.report import Bound
from ..runs.placement import Computation
from .forecast_memory import RankMemory

__all__ = ["Alternative", "Forecast", "ForecastLine", "Method", "NoiseLine", "ProcessorTime"]

Method: TypeAlias = Literal["played", "predicted"]


class ForecastLine(msgspec.Struct, frozen=True, kw_only=True):
    """All messages of one kind in one phase."""

    phase: str
    kind: str
    messages: int
    payload_bytes: int
    frame_bytes: int
    at_most: bool = False
    """Whether messages may be shorter, as their length depends on what is not published."""


class NoiseLine(msgspec.Struct, frozen=True, kw_only=True):
    """The noisy answers of one party by one mechanism in one phase, all with one noise scale."""

    phase: str
    mechanism: str
    releases: int
    sensitivity: float
    """Largest change of an answer by one record, in the mechanism's norm."""
    scale: float
    """Noise scale of the sum, without the noise of parties that may collude."""


class ProcessorTime(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds for which roles compute."""

    curator: float
    party: float
    """Mean of all parties."""
    basis: Computation
    """Measured in the play, or by this machine's calibration."""


class Alternative(msgspec.Struct, frozen=True, kw_only=True):
    """Another option with which a run would be faster or cheaper."""

    option: str
    """As it stands on the command line."""
    seconds: float | None
    rounds: int | None
    frame_bytes: int
    change: str
    """What it changes beside the cost: the trust, or the result."""


class Forecast(msgspec.Struct, frozen=True, kw_only=True):
    """What a run would cost."""

    protocol: str
    parties: int
    rows: int
    mode: str
    settings: dict[str, str]
    """Parameters that were set, as text."""
    network: str
    network_text: str
    method: Method
    messages: int
    rounds: int | None
    """Longest chain of dependent messages; `None` where it is not known for so many parties."""
    payload_bytes: int
    frame_bytes: int
    lines: list[ForecastLine]
    exact: bool
    """Whether messages and payload bytes follow from public figures, so every run has the same."""
    seconds: float | None
    """Seconds on the network; without computation if `processor` is `None`."""
    processor: ProcessorTime | None
    """Computation of the roles; `None` where it was left out."""
    is_instant: bool = False
    """Whether roles take no time to compute on this network, as with `--speed inf`."""
    shares: list[Share]
    """What the critical path consists of, the largest part first."""
    computation: dict[str, float]
    """Seconds of computation on the critical path, by role; empty if it was left out."""
    claimed_epsilon: Bound
    claimed_delta: float
    claimed_for: str
    """The adversaries that the claim covers."""
    claimed_coalition: int | None
    """Collusion threshold of the claim; `None` if it covers all other roles together."""
    epsilon: dict[str, Bound]
    """The loss in each adversary's view as accounted on made-up records; empty if not played."""
    noise: list[NoiseLine]
    """The noise of party 1, whose releases are like those of all parties; empty if not played."""
    memory: RankMemory
    """Resident memory of a rank over MPI, by role."""
    figures: dict[str, str]
    """What the protocol says of its result on made-up records; empty if not played."""
    remarks: list[str]
    alternatives: list[Alternative] = []
    """Options that cost less; empty where a grid compares options, or none does."""

    @property
    def leaves_out(self) -> bool:
        """Whether computation takes time and is not in the seconds."""
        return self.processor is None and not self.is_instant
