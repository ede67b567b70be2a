"""The record of a run: what happened, as one typed object.

The curator's role makes it when all roles have ended. It holds what was published, the job, and the
notes of every role: messages, releases, times and hosts. It holds no records, and no exact counts
but public numbers of rows. It travels once, to whoever started the run, who makes reports and files
of it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec
import numpy as np

from ..messages import Act, Entry, MisuseError
from ..parties import Schema
from ..privacy import Release
from ..protocols import Outcome
from ..protocols.outcome import UserTraffic
from .job import Job
from .table import Table

__all__ = [
    "Guard",
    "PartyLoss",
    "PublishedOutcome",
    "Rehearsal",
    "RoleNotes",
    "RunRecord",
    "Unaccounted",
    "of_numpy",
]


class Unaccounted(msgspec.Struct, frozen=True, kw_only=True):
    """Messages of one kind that left a party without a release that covers them."""

    party: int
    kind: str
    """Empty where something beside messages depends on records."""
    messages: int
    reason: str


class Guard(msgspec.Struct, frozen=True, kw_only=True):
    """What replays of a party's part found (`runs.guard`)."""

    replays: int
    """Number of other tables on which the part was played again."""
    unaccounted: list[Unaccounted]
    remarks: list[str]
    """What else the replays showed, such as the types of errors on other records."""


class Rehearsal(msgspec.Struct, frozen=True, kw_only=True):
    """What a rehearsal on made-up records found (`launch.rehearsal`)."""

    failure: str | None
    """Why there was none; `None` where it ended."""
    parties: int
    rows: int
    """Number of made-up records of all parties."""
    replays: int
    """Number of other tables on which a party's part was played again."""
    seconds: float
    unaccounted: list[Unaccounted]
    remarks: list[str]


class RoleNotes(msgspec.Struct, frozen=True):
    """What one role notes of its part: messages, releases, and the time that its phases took."""

    acts: list[Act]
    phases: dict[str, float]
    releases: list[Release]
    rows: int | None
    """Number of a party's records. `None` for the curator, and where neighbouring tables differ by
    a record more or less: then the number is secret.
    """
    host: str
    transcript: dict[str, str]
    guard: Guard | None
    """`None` for the curator, and for protocols that are built in."""
    absent_faults: list[str] = []
    """Declared faults of the role whose place it never reached."""
    attempts: list[int] = []
    """Numbers of its releases that were attempts at secure sums, in a run that may go on."""
    resumed_in: list[str] = []
    """Phases in which the role went on after the run had stopped; empty after its part."""


class PartyLoss(msgspec.Struct, frozen=True, kw_only=True):
    """A party whose process was lost, and without which the run went on."""

    party: int
    phase: str
    """The curator's phase when it learnt of the loss."""
    batches_with: int
    """Number of batches (secure sums, answers of all parties, rounds of reports) with its records.
    """
    batches_without: int
    """Number of batches without its records."""
    has_ended: bool = False
    """Whether it had ended its part, so that nothing of it is missing."""
    turns: int = 0
    """Number of turns in which it released choices or tables of its own, which the run has used."""
    was_silent: bool = False
    """Whether it gave no sign of life any more, so that its process was ended."""


class PublishedOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What the protocol published, in types that can be written down."""

    synthetic: Table | None = None
    marginals: Table | None = None
    model: Any = None
    """The protocol's own model, as JSON has it."""
    summary: dict[str, Any] = {}
    """The protocol's own figures, as JSON has them; infinity is a float."""
    traffic: UserTraffic | None = None

    @classmethod
    def of(cls, outcome: Outcome) -> PublishedOutcome:
        """Take over what a protocol returned."""
        synthetic, marginals, model = outcome.synthetic, outcome.marginals, outcome.model
        return cls(
            synthetic=None if synthetic is None else Table.of(synthetic),
            marginals=None
            if marginals is None
            else Table.of(marginals, numbers=("count", "low", "high")),
            model=None if model is None else _as_json(model),
            summary=_plain(outcome.summary),
            traffic=outcome.user_traffic,
        )


def _plain(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Turn a protocol's figures into built-in types; infinity stays a float."""
    plain: dict[str, Any] = _short(msgspec.to_builtins(dict(summary), enc_hook=of_numpy))
    return plain


def _as_json(model: object) -> Any:
    """Turn a protocol's model into what model.json holds."""
    return _short(msgspec.json.decode(msgspec.json.encode(model, enc_hook=of_numpy)))


def _short(value: Any) -> Any:
    """Write integers beyond 64 bits as text: neither msgpack nor most readers of JSON take them."""
    if isinstance(value, dict):
        return {key: _short(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_short(item) for item in value]
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:
        return str(value)
    return value


def of_numpy(value: object) -> object:
    """Take numpy's numbers and arrays for numbers and lists: a plug-in's result must not be lost.

    Raises:
        MisuseError: The value is something that JSON cannot hold.
    """
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise MisuseError(
        "expected numbers, texts, lists and dictionaries in the outcome's summary and model, "
        f"found {type(value).__name__}"
    )


class RunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What happened in a run."""

    job: Job
    outcome: PublishedOutcome
    entries: list[Entry]
    """The ledger: every message, as both ends agree on it."""
    roles: list[RoleNotes]
    """The notes of every role, by rank."""
    seconds: float
    closing_seconds: float
    """The part of `seconds` for which the curator waited for all roles to end."""
    schema: Schema | None
    transport: str
    network: str | None
    """The network that was simulated, where one was."""
    library: str | None
    """The MPI library, where there is one."""
    hybrid: bool
    """Whether sealed channels needed ML-KEM, too."""
    ended: datetime
    rehearsal: Rehearsal | None = None
    """`None` for protocols that are built in, and where it was not wanted."""
    losses: list[PartyLoss] = []
    """Parties that were lost, in order, where the run went on without them."""
    losses_to_come: list[PartyLoss] = []
    """What is noted of each other party if its process is lost after the curator's end."""
    attempts: list[int] = []
    """Attempts at each secure sum, in a run that may go on without a party that is lost."""
    equal_tables: list[str] = []
    """Warnings of tables of several parties that hold the same records."""
    types: dict[str, str] = {}
    """Types of the columns that came in, where the tables state them (`parties.column_types`)."""

    def with_losses(self, parties: Collection[int]) -> RunRecord:
        """Note parties whose processes were lost after the curator had ended."""
        late = [loss for loss in self.losses_to_come if loss.party in parties]
        return msgspec.structs.replace(self, losses=[*self.losses, *late], losses_to_come=[])

    @property
    def releases(self) -> list[Release]:
        """All releases, party by party."""
        return [release for notes in self.roles for release in notes.releases]

    @property
    def rows(self) -> int | None:
        """Number of records of all parties, where every party may reveal its own.

        If parties were lost, it is that of the parties whose records are in the last batch.
        """
        lost = {loss.party for loss in self.losses if loss.batches_without}
        parties = [notes for rank, notes in enumerate(self.roles) if rank and rank not in lost]
        counts: Sequence[int] = [notes.rows for notes in parties if notes.rows is not None]
        return sum(counts) if len(counts) == len(parties) else None
