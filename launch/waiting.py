"""Runs that wait for a lost rank: with `--on-loss wait` all ranks start again from their logs.

A process that is dead cannot come back into its MPI world. So the launcher ends the others, too,
and starts all of them once more. Each replays its log, and computes again what it had computed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec

from ..messages import SottovoceError
from ..runs.failure import RunFailed
from ..runs.job import DEFAULT_MAX_WAIT
from ..runs.record import RunRecord
from ..runs.restarts import Restarts
from ..runs.unfinished import UnfinishedRun

__all__ = ["Absence", "RankLost", "play_waiting"]

MIN_PAUSE: Final = 0.5
MAX_PAUSE: Final = 30.0
"""Seconds between two attempts to start ranks where a host does not answer, or where a role of the
attempt before has not ended: the network may have been cut, so that it has not heard of its end."""


class RankLost(RunFailed):
    """A rank's process was lost, or is silent, or mpiexec was lost."""

    def __init__(
        self, line: str, *, rank: int | None, logs: Mapping[int, int], before_start: bool = False
    ) -> None:
        """Make the error.

        Args:
            line: the line for the user.
            rank: the rank that was lost; `None` where nobody knows which.
            logs: number of records in the logs of the ranks that were set up.
            before_start: whether no role had begun.
        """
        super().__init__(line, status=3, before_start=before_start)
        self.rank = rank
        self.logs = logs

    def because(self, reason: str) -> RankLost:
        """Add why a rank did not start."""
        return RankLost(
            f"{self}: {reason}", rank=self.rank, logs=self.logs, before_start=self.before_start
        )


@dataclass
class Absence:
    """The time from a loss until all ranks are set up again, and the losses before."""

    ranks: int
    max_wait: float
    restarts: Restarts = field(default_factory=Restarts)
    several_hosts: bool = False
    """Whether a role may be on another host than the launcher's, which does not come back."""
    loss: RankLost | None = None
    """The loss after which not all ranks are back."""
    since: float = 0.0

    @classmethod
    def of(cls, run: UnfinishedRun) -> Absence:
        """Make it for a run that has just begun."""
        job = run.job
        return cls(
            job.parties + 1,
            DEFAULT_MAX_WAIT if job.max_wait is None else job.max_wait,
            several_hosts=run.placement.several_hosts,
        )

    def begin(self, loss: RankLost) -> None:
        """Note that a rank was lost.

        Raises:
            RankLost: it was lost before all ranks were back from the loss before.
        """
        if self.loss is not None:
            if len(self.loss.logs) < self.ranks and len(loss.logs) < self.ranks:
                raise self._ended(loss, "ranks were lost twice while they were set up")
            self.loss = loss
            return
        self.loss, self.since = loss, time.monotonic()

    @property
    def seconds_left(self) -> float:
        """Seconds in which all ranks must be back."""
        return self.since + self.max_wait - time.monotonic()

    def refusal(self, logs: Mapping[int, int]) -> str:
        """Say why the run ends while its ranks are started again; empty where it does not.

        Args:
            logs: number of records in the logs of the ranks that are set up.
        """
        if self.loss is None:
            return ""
        reason = ""
        if len(logs) == self.ranks:
            rank = self.loss.rank
            records = sum(logs.values()) if rank is None else logs[rank]
            place = str(self.loss).partition(": ")[0]
            reason = self.restarts.refusal(rank, place=place, records=records)
        elif self.seconds_left <= 0:
            reason = self.not_back
        text = f"{self.loss}; {reason}" if reason else ""
        if len(logs) == self.ranks:
            self.loss = None
        return text

    @property
    def not_back(self) -> str:
        """Say that not all roles have come back in time, and what can be done about it."""
        reason = f"not all roles were back in {self.max_wait:g} s (--max-wait)"
        if self.several_hosts:
            reason += (
                "; if the host of a role is gone, move the role's folder and table to another one, "
                "and say --hosts"
            )
        return reason

    @staticmethod
    def _ended(loss: RankLost, reason: str) -> RunFailed:
        return RunFailed(f"{loss}; {reason}", status=3)


def play_waiting(
    play: Callable[[UnfinishedRun, Absence], RunRecord],
    run: UnfinishedRun,
    *,
    tell: Callable[[str], None],
) -> RunRecord:
    """Play a durable run, and start all its ranks again when one is lost.

    Args:
        play: starts all ranks and follows them to the end.
        run: the run.
        tell: learns of each loss after which the run goes on.

    Raises:
        SottovoceError: the run failed. It may have begun, whatever the last attempt knows.
    """
    absence = Absence.of(run)
    attempt, pause = run, MIN_PAUSE
    while True:
        try:
            return play(attempt, absence)
        except RankLost as loss:
            absence.begin(loss)
            tell(f"{loss}; all roles are started again from their logs")
            pause = MIN_PAUSE
        except SottovoceError as error:
            may_pass = isinstance(error, RunFailed) and error.may_pass
            if attempt is run or absence.loss is None or not may_pass:
                error.before_start = error.before_start and attempt is run
                raise
            if absence.seconds_left <= pause:
                text = f"{absence.loss}; {absence.not_back}; {error}"
                raise RunFailed(text, status=3) from error
            time.sleep(pause)
            pause = min(2 * pause, MAX_PAUSE)
        attempt = msgspec.structs.replace(run, is_resumed=True)
