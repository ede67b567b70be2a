"""What the launcher knows of its ranks: where each is, and whether it gives signs of life."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ..messages import CURATOR, Position, role_name
from ..runs.record import RunRecord
from .family import carries
from .leftovers import segments_of
from .rank_events import (
    Event,
    Failure,
    LogOpened,
    Loss,
    Move,
    PartEnded,
    RankResult,
    RoleBegins,
    Start,
)

__all__ = ["RankStates"]

MIN_SILENCE: Final = 60.0
"""Seconds without a sign of life after which a rank is given up, if the time-out is shorter.

A rank starts, and imports, in a time that depends on what else its host does.
"""
SIGNS_EVERY: Final = 2.0
"""Seconds in which a rank that lives gives a sign of life, on a busy host as well."""
CONFIRMED: Final = 0.8
"""Part of the time-out for which a rank must have been silent to be the reason of it."""
CONFIRMING_SILENCE: Final = 10.0
"""Seconds of silence that explain any time-out."""
GIVEN_UP_AFTER: Final = 0.5
"""Part of the time-out after which a silent party is given up, where the run goes on without it.

Others may have waited for it before it fell silent, and their waits end with the whole time-out.
"""


@dataclass
class RankStates:
    """What the launcher knows of its ranks."""

    protocol: str
    goes_on: bool = False
    """Whether the run goes on without a party that is lost."""
    outlives: bool = False
    """Whether the other ranks outlive the loss of one."""
    ended: set[int] = field(default_factory=set)
    """Parties that have handed over all that the run needs of them."""
    started: dict[int, Start] = field(default_factory=dict)
    positions: dict[int, Position] = field(default_factory=dict)
    at_work: set[int] = field(default_factory=set)
    """Ranks whose roles have begun. A failure in the set-up, whoever reports it, comes before."""
    logs: dict[int, int] = field(default_factory=dict)
    """Number of records in the logs of the ranks of a durable run that are set up."""
    finished: dict[int, RankResult] = field(default_factory=dict)
    awaiting: set[int] = field(default_factory=set)
    """Ranks that wait until the result is kept."""
    is_kept: bool = False
    """Whether the record of the run is in this host's state."""
    ended_in_setup: set[int] = field(default_factory=set)
    """Ranks that have ended in the set-up, by their own word or as their connection was closed."""
    lost: list[int] = field(default_factory=list)
    failure: Failure | None = None
    begun: float = field(default_factory=time.monotonic)
    last_signs: dict[int, float] = field(default_factory=dict)
    """When each rank was last heard of."""
    given_up: set[int] = field(default_factory=set)
    """Parties whose processes were ended, as they had given no sign of life."""
    silent: int | None = None
    """The rank whose silence ends the run."""
    segments: set[Path] = field(default_factory=set)
    """Shared memory of the ranks on this host."""
    last_look: float = field(default_factory=time.monotonic)
    """When the launcher last looked for silent ranks."""

    def note(self, event: Event) -> None:
        self.last_signs[event.rank] = time.monotonic()
        match event:
            case Start():
                self.started[event.rank] = event
                self._find_segments(event.rank)
            case Move():
                if event.rank not in self.positions:
                    self._find_segments(event.rank)
                self.positions[event.rank] = event.position
            case RoleBegins():
                self.at_work.add(event.rank)
            case LogOpened():
                self.logs[event.rank] = event.records
            case PartEnded():
                self.ended.add(event.rank)
            case RankResult():
                self.finished[event.rank] = event
                if event.awaits_keeping:
                    self.awaiting.add(event.rank)
            case Failure():
                self.failure = self.failure or event
                if event.before_start:
                    self.ended_in_setup.add(event.rank)
            case Loss() if event.rank not in self.finished:
                self.lost.append(event.rank)
                self.ended_in_setup.add(event.rank)

    def keep_record(
        self, keep: Callable[[RunRecord], None], *, acknowledge: Callable[[set[int]], None]
    ) -> None:
        """Keep the curator's record on the disk, and only then let ranks remove their logs.

        A run whose record is kept is never played again. Without one logs are needed still: they
        are what a dishonest curator cannot deny.

        Raises:
            ConversationError: it cannot be written. All logs stay.
        """
        curator = self.finished.get(CURATOR)
        if not self.is_kept and curator is not None and curator.record is not None:
            keep(curator.record)
            self.is_kept = True
        if self.is_kept:
            acknowledge(self.awaiting)

    def have_ended_in_setup(self, ranks: int) -> bool:
        """Tell whether all of so many ranks have ended, and none of them has begun its role.

        What a connection brings is in order: of a rank that has begun, this was read before its
        end.
        """
        return not self.at_work and self.ended_in_setup >= {*range(ranks)}

    def _find_segments(self, rank: int) -> None:
        """Note the shared memory of a rank on this host, which it leaves when it is killed."""
        if (pid := self._process_here(rank)) is not None:
            self.segments |= segments_of(pid)

    def _process_here(self, rank: int) -> int | None:
        """Give the process of a rank on this host, if it lives.

        Another host may have the same name, as containers have. There the number is of another
        process here, so the process must have the run's token.
        """
        start = self.started.get(rank)
        if start is None or start.host != platform.node() or not carries(start.pid, start.token):
            return None
        return start.pid

    @property
    def is_going_on(self) -> bool:
        """Whether the run goes on without any party: the set-up, which needs all, is over."""
        has_begun = any(position.phase for position in self.positions.values())
        return self.goes_on and (has_begun or CURATOR in self.finished)

    @property
    def is_stopped(self) -> bool:
        """Whether a loss ends the run."""
        return bool(self.missed)

    @property
    def missed(self) -> list[int]:
        """Ranks whose loss ends the run, in order."""
        if self.is_going_on:
            return [rank for rank in self.lost if rank == CURATOR]
        return [rank for rank in self.lost if not (self.outlives and rank in self.ended)]

    @property
    def are_on_several_hosts(self) -> bool:
        return len({start.host for start in self.started.values()}) > 1

    @property
    def are_all_lost(self) -> bool:
        """Whether all ranks that have started, and have not finished, are lost."""
        return self.started.keys() <= {*self.lost, *self.finished}

    @property
    def were_all_ended(self) -> bool:
        """Whether Open MPI has ended all ranks of a run that goes on.

        It does so, also with those that would outlive a lost rank, when it has lost the daemon of a
        host. If the curator alone is lost the others report that.
        """
        is_explained = self.failure is not None or not self.are_on_several_hosts
        return self.is_going_on and self.are_all_lost and not is_explained

    def lost_with_host(self, named: str | None) -> list[int]:
        """List the ranks of the host that was lost, the one lost last first; none if it is unknown.

        The order in which the connections of all ranks end does not tell it: a rank notices that
        its host's daemon has ended a moment later, and others may have been ended by then.

        Args:
            named: the host whose daemon mpiexec says it has lost, if it does.
        """
        if named is None and self.were_all_ended:
            others = {start.host for start in self.started.values()}
            others.discard(self.started[CURATOR].host)
            named = others.pop() if len(others) == 1 else None
        ranks = [rank for rank in self.started if _is_same(self.started[rank].host, named)]
        return sorted(ranks, key=lambda rank: (rank not in self.lost, -self.last_signs[rank]))

    def have_finished(self, ranks: int) -> bool:
        """Tell whether all of so many ranks have finished that are to finish."""
        lost = len(self.lost) - len(self.missed) if CURATOR in self.finished else 0
        return len(self.finished) == ranks - lost

    def silent_for(self, rank: int) -> float:
        """Give the seconds since a rank's last sign of life, or since the start."""
        if rank in self.finished or rank in self.lost:
            return 0.0
        return time.monotonic() - self.last_signs.get(rank, self.begun)

    def _forgive_pause(self) -> None:
        """Count no time in which the launcher did not listen, because it was stopped itself.

        Signs that came meanwhile may not have been read yet.
        """
        now = time.monotonic()
        if (pause := now - self.last_look) > SIGNS_EVERY:
            self.begun += pause
            self.last_signs = {rank: last + pause for rank, last in self.last_signs.items()}
        self.last_look = now

    def give_up(self, *, timeout: float) -> int | None:
        """Give up a party of this host that is silent, where the run goes on without it.

        Returns:
            Its process, which is to be ended: then nothing of it can arrive any more, and MPI tells
            all others that it is lost.
        """
        self._forgive_pause()
        if not self.is_going_on or self.failure is not None:
            return None
        limit = max(GIVEN_UP_AFTER * timeout, SIGNS_EVERY)
        for rank in self.started:
            is_silent = rank != CURATOR and self.silent_for(rank) >= limit
            if is_silent and (process := self._process_here(rank)) is not None:
                self.given_up.add(rank)
                return process
        return None

    def silence(self, *, ranks: int, timeout: float) -> str:
        """Describe the rank that is silent, if one is.

        After a time-out a shorter silence is enough.
        """
        self._forgive_pause()
        limit = max(timeout, MIN_SILENCE)
        waited = ""
        if self.failure is not None:
            if self.failure.cause != "time-out":
                return ""
            limit = min(max(timeout, SIGNS_EVERY) * CONFIRMED, CONFIRMING_SILENCE)
            waited = f"; {role_name(self.failure.rank)}: {self.failure.line.partition(': ')[2]}"
        silent = max(range(ranks), key=self.silent_for)
        if (seconds := self.silent_for(silent)) < limit:
            return ""
        self.silent = silent
        if self.is_going_on and silent != CURATOR and self.logs:
            waited += f"; if it does not come back, add --without {silent}"
        return (
            f"{self.place(silent)}: no sign of life for {seconds:.0f} s: its process is stopped, "
            f"its host or network hangs, or it is in one long call{waited}"
        )

    def place(self, rank: int) -> str:
        """Describe where a rank was last seen."""
        who = f"rank {rank} ({role_name(rank).removeprefix('the ')}) in {self.protocol}"
        position = self.positions.get(rank)
        if position is None or not position.phase:
            return f"{who}, before its first phase"
        return f"{who}, phase {position.phase}, step {position.step}"


def _is_same(host: str, named: str | None) -> bool:
    """Tell whether a rank's host has this name; one of both may be the first part alone."""
    return named in {host, host.partition(".")[0]} or host == (named or "").partition(".")[0]
