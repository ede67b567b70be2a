"""What a role has while it plays: its wire, its job, and where its errors are placed."""

from __future__ import annotations

import contextlib
import platform
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ..crypto import IdentifiedRole
from ..messages import BudgetError, ConversationError, MisuseError, Role, Wire
from ..parties import DEMO, Party
from ..parties.records import UnknownColumnError
from ..privacy import Release
from ..protocols import AnyProtocol
from .authors_call import line_of
from .durable import DurableRole
from .faults import Fault
from .faulty_wire import FaultyWire
from .identities import Credentials
from .job import Job
from .record import Guard, RoleNotes

__all__ = ["Stage", "naming_columns", "placing_errors"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What both kinds of roles need to play."""

    wire: Wire
    protocol: AnyProtocol
    job: Job
    credentials: Credentials
    cores: int
    watch: Callable[[Role], None]
    durable: DurableRole | None
    faulty: FaultyWire | None
    transport: str
    ended: Callable[[], None]

    def begin(self, role: IdentifiedRole) -> None:
        """Show a role to whoever watches, before it begins."""
        role.min_parties = self.job.fewest_parties
        self.watch(role)
        if self.durable is not None:
            # As printed, some algorithms account for what has left afterwards.
            self.durable.begin(role, releases_all=self.job.mode == "rigorous")

    def notes(
        self,
        role: Role,
        *,
        releases: list[Release],
        rows: int | None,
        guard: Guard | None,
        untold: Sequence[Fault] = (),
    ) -> RoleNotes:
        """Note what a role has done, for the record of the run."""
        faults = [] if self.faulty is None else self.faulty.left
        left = [fault for fault in faults if not fault.is_after_part]
        return RoleNotes(
            acts=role.acts,
            phases=role.phase_seconds,
            releases=releases,
            rows=rows,
            host=platform.node(),
            transcript=role.transcript,
            guard=guard,
            absent_faults=[*map(str, [*left, *untold])],
            attempts=role.attempts if isinstance(role, Party) else [],
            resumed_in=[] if self.durable is None else self.durable.log.resumed_in(),
        )


@contextlib.contextmanager
def naming_columns(job: Job) -> Iterator[None]:
    """Say what to do where a part reads a column that the demo, or the schema, does not have."""
    try:
        yield
    except UnknownColumnError as error:
        if job.schema is not None:
            raise error.with_way_out("the schema names the columns that are read") from error
        if set(job.data) == {DEMO}:
            raise error.with_way_out("these are the demo's; --data FILE is your table") from error
        raise


@contextlib.contextmanager
def placing_errors(role: Role) -> Iterator[None]:
    """Add the role's place to a conversation error that has none, and the author's line."""
    try:
        yield
    except ConversationError as error:
        role.place(error)
        if isinstance(error, MisuseError | BudgetError) and not error.line:
            error.line = line_of(error)
        raise
