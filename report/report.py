"""The report of a run, as one typed object: what report.json holds, and how it is read again.

Everything in it may be published, unless the run had a seed. What was measured on the real table is
in a `Judgement`.
Infinity is a float in memory; in JSON, which has no such number, it is the word "infinity".
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import msgspec

from ..messages import UsageError
from ..privacy import Release
from ..runs.infinity import from_json, in_json
from ..runs.record import PartyLoss, Unaccounted, of_numpy
from .communication import Communication, PhaseCost

__all__ = [
    "About",
    "ClaimExcess",
    "MPIFacts",
    "Privacy",
    "PublishedSizes",
    "Report",
    "ResumedRole",
    "Shuffled",
    "TableSize",
    "MarginalsSize",
    "as_dictionary",
    "parse_report",
    "read_report",
    "report_json",
]

Bound = Annotated[
    float, msgspec.Meta(description='a privacy loss; "infinity" where no bound holds')
]


class About(msgspec.Struct, frozen=True, kw_only=True):
    """What the protocol says of itself."""

    summary: str
    paper: str
    trust: str


class MPIFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The MPI that carried the run."""

    library: str
    hosts: list[str]
    """The host of every role, by rank."""


class TableSize(msgspec.Struct, frozen=True, kw_only=True):
    """The size of a synthetic table."""

    rows: int
    attributes: int


class MarginalsSize(msgspec.Struct, frozen=True, kw_only=True):
    """The number of published marginals and of all their cells."""

    marginals: int
    cells: int


class PublishedSizes(msgspec.Struct, frozen=True, kw_only=True):
    """What was published, by size."""

    model: bool
    synthetic: TableSize | None = None
    marginals: MarginalsSize | None = None


class ClaimExcess(msgspec.Struct, frozen=True, kw_only=True):
    """Views in which the privacy loss, as accounted, is above the claimed epsilon."""

    claimed: bool
    """Whether the claim covers these views, so that it does not hold."""
    views: dict[str, Bound]
    remedy: str
    """The options that keep the claim in these views, and their price; empty if there are none."""


class CurvePoint(msgspec.Struct, frozen=True, kw_only=True):
    """What holds except with probability delta."""

    delta: float
    epsilon: Bound


class Shuffled(msgspec.Struct, frozen=True, kw_only=True):
    """What the reports of users would cost if a shuffler stood between them and the analyst.

    The run has no shuffler, so this is never the claim.
    """

    epsilon: float
    """Loss, except with probability `delta`; that of a single report where the bound fails."""
    delta: float
    users: int
    """Users of the smallest group that answers the same question: they hide among each other."""
    assumption: str
    """What has to hold, in words."""


class Privacy(msgspec.Struct, frozen=True, kw_only=True):
    """What the run claims, and what every view costs as accounted."""

    claimed_epsilon: Bound
    claimed_delta: float
    """Chance with which the claim may fail; figures that need none of it are pure."""
    claimed_coalition: int | None
    """Number of other parties that may collude while the claim holds.

    `None` means all of them, also together with the curator.
    """
    claimed_with_curator: bool
    """Whether the claim also covers so many parties together with the curator."""
    neighbours: str
    epsilon: dict[str, Bound]
    coalitions: dict[str, Bound]
    by_party: dict[str, dict[str, Bound]]
    delta: float
    """Chance that the figures above do not hold; 0 where all of them are pure."""
    rho: dict[str, Bound]
    """Loss in rho of zero-concentrated differential privacy, by view."""
    curve: list[CurvePoint]
    """Epsilon over delta in the worst view that the claim covers."""
    laplace_epsilon: Bound | None
    """What pure noise of the same variance would have cost; `None` where all noise is pure."""
    whole_record: Bound | None = None
    """Privacy loss of the whole record, where the claim is about a label."""
    shuffled: Shuffled | None = None
    """A further view, under an assumption; `None` unless each user reports once."""
    releases: list[Release]
    not_accounted: list[Unaccounted] = []
    """Messages after which no privacy loss is known: the views that saw them have infinity."""
    above_claim: list[ClaimExcess] = []
    """Views above the claim, those that the claim covers first; all others are at or below it."""
    check: str = ""
    """How it was checked that nothing left a party without a release."""
    key_bits: int
    identities: str
    key_agreement: str
    """How the keys of sealed channels were agreed on."""


class ResumedRole(msgspec.Struct, frozen=True, kw_only=True):
    """A role of a durable run that went on after the run had stopped."""

    role: str
    phases: list[str]
    """The phases in which it went on, each time; empty where its part had ended."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The report of a run."""

    sottovoce: str
    protocol: str
    about: About
    reference: str
    """The protocol as it was asked for: a name, or module:Class."""
    parameters: dict[str, Any]
    chosen: dict[str, str | int | float | bool | None]
    """Values of the parameters that were left open."""
    parties: int
    rows: int | None
    """Number of records of all parties; `None` where it is secret."""
    data: list[str]
    split: str
    mode: str
    seed: int | None
    transport: str
    network: str | None
    """The network that was simulated, where one was: then all seconds are those of its clock."""
    mpi: MPIFacts | None
    python: str
    ended: str
    command: str
    """The command, or the line of Python, that runs the same again."""
    seconds: float
    """Seconds of the conversation; start-up and judging are not in it."""
    closing_seconds: float
    """The part of `seconds` for which the curator, done itself, waited for all roles to end."""
    outcome: dict[str, Any]
    published: PublishedSizes
    losses: list[PartyLoss]
    """Parties that were lost, in order, where the run went on without them."""
    attempts: list[int]
    """Attempts at each secure sum, in a run that may go on without a party that is lost."""
    phases: list[PhaseCost]
    communication: Communication
    privacy: Privacy
    transcript: dict[str, str] | None
    resumed: list[ResumedRole]
    """Roles that went on after the run had stopped."""
    warnings: list[str]

    def with_warnings(self, *texts: str) -> Report:
        """Add warnings."""
        return msgspec.structs.replace(self, warnings=[*self.warnings, *texts])


def as_dictionary(report: Report) -> dict[str, Any]:
    """Give the report as built-in types, as `run(...).report` has it; infinity is a float."""
    dictionary: dict[str, Any] = msgspec.to_builtins(report, enc_hook=of_numpy)
    return dictionary


def report_json(report: Report) -> bytes:
    """Write report.json."""
    return (json.dumps(in_json(as_dictionary(report)), indent=2) + "\n").encode()


def read_report(folder: Path) -> Report:
    """Read the report.json of a run's folder; what is wrong with it is a `UsageError`."""
    expected = f"expected report.json of a run in {folder}"
    try:
        return parse_report(json.loads((folder / "report.json").read_text()))
    except OSError as error:
        raise UsageError(
            f"expected a run with report.json in {folder}, found {error.strerror}"
        ) from None
    except msgspec.ValidationError as error:
        raise UsageError(f"{expected}, found another structure: {error}") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{expected}, found {type(error).__name__}: {error}") from None


def parse_report(read: Any) -> Report:
    """Make a report of what `in_json` wrote; a wrong structure is a `msgspec.ValidationError`."""
    if isinstance(read, dict) and "privacy" in read:
        read = {**read, "privacy": from_json(read["privacy"])}
    return msgspec.convert(read, Report)
