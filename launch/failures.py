"""Why a run over MPI failed: a rank's own report, the rank that was lost, or mpiexec's words."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from typing import Final

from ..messages import CURATOR
from ..runs.failure import RunFailed
from .mpiexec import Launcher
from .process_output import ProcessOutput
from .rank_events import Failure
from .rank_states import RankStates
from .starting import reason_not_started
from .waiting import RankLost

__all__ = ["DaemonFailed", "find_failure", "was_killed"]

NOT_LISTENING: Final = "PMIx server's listener thread failed to start"
"""What Open MPI's daemon sometimes prints on a busy host, and ends before it starts any rank."""


class DaemonFailed(RunFailed):
    """The daemon that was to start ranks ended before it had started one."""


def find_failure(
    ended: int | None, states: RankStates, output: ProcessOutput, *, launcher: Launcher
) -> RunFailed | None:
    """Find why the run failed, if it did.

    A rank's own report comes first, unless it follows from the loss of a host or of mpiexec, then
    which rank is lost, then what mpiexec printed.

    Args:
        ended: the status with which mpiexec has ended, if it has.
        states: what is known of the ranks.
        output: what mpiexec and the ranks have printed.
        launcher: the mpiexec.
    """
    killed = was_killed(ended)
    failure = states.failure
    if failure is not None and killed and failure.before_start:
        failure = None  # A rank whose mpiexec is killed within MPI's start finds itself alone.
    if failure is not None:
        # Where a host is lost, a rank may live a moment longer, and report that others were lost.
        is_sequel = failure.cause == "loss" and failure.status == 3 and not failure.is_loss
        return (_host_loss(states, output) if is_sequel else None) or _reported(failure, states)
    if CURATOR in states.finished:  # The result is here, whatever is lost after it.
        return None
    if killed and ended is not None:
        # No rank is at fault; the curator's place shows how far the run had come.
        line = f"{states.place(0)}: mpiexec was killed by signal {-ended}"
        return RankLost(line, rank=None, logs=states.logs)
    if states.lost:
        return _lost(states, output)
    reason = reason_not_started(launcher, output)
    daemon_failed = not states.started and output.mentions(NOT_LISTENING)
    return (DaemonFailed if daemon_failed else RunFailed)(
        f"mpiexec ended with status {ended} before the run had begun: {reason}",
        status=3,
        before_start=not states.started,
        may_pass=not states.started,
    )


def was_killed(ended: int | None) -> bool:
    """Tell whether mpiexec was ended by someone else, by the status with which it has ended."""
    return ended is not None and -ended in (signal.SIGKILL, signal.SIGTERM)


def _reported(failure: Failure, states: RankStates) -> RunFailed:
    """Give a failure that a rank has reported, or that the launcher has found."""
    before_start = failure.before_start and not states.at_work
    if failure.is_loss:
        return RankLost(
            failure.line, rank=states.silent, logs=states.logs, before_start=before_start
        )
    return RunFailed(
        failure.line,
        status=failure.status,
        traceback=failure.traceback,
        before_start=before_start,
        may_pass=failure.may_pass,
        cause=failure.cause,
    )


def _lost(states: RankStates, output: ProcessOutput) -> RankLost:
    """Name the rank whose loss has ended the run."""
    if (loss := _host_loss(states, output)) is not None:
        return loss
    lost = _first_lost(states.missed or states.lost, output)
    return RankLost(
        f"{states.place(lost)}: the process was lost (killed, or out of memory)",
        rank=lost,
        logs=states.logs,
    )


def _host_loss(states: RankStates, output: ProcessOutput) -> RankLost | None:
    """Name the host that was lost, if one was, and how a run goes on that can do without it."""
    if not states.are_on_several_hosts:
        return None
    ranks = states.lost_with_host(output.lost_host())
    ended = "and Open MPI has ended all ranks"
    if not ranks and not states.were_all_ended:
        return None
    if ranks:
        line = f"{states.place(ranks[0])}: its host was lost, or MPI's daemon there, {ended}"
        options = " ".join(f"--without {rank}" for rank in sorted(ranks))
    else:
        place = states.place(CURATOR)
        line = f"{place}: the host of another rank was lost, or MPI's daemon there, {ended}"
        options = "--without for each party there"
    if states.is_going_on and states.logs and CURATOR not in ranks:
        line += f"; if it does not come back, add {options}, and --hosts for all ranks"
    return RankLost(line, rank=ranks[0] if ranks else None, logs=states.logs)


def _first_lost(lost: Sequence[int], output: ProcessOutput) -> int:
    """Tell which of the lost ranks was the first: mpiexec ends the others after it.

    Lifelines end in any order, as ranks are on several hosts.
    """
    first = output.lost_rank() if len(lost) > 1 else None
    return lost[0] if first is None or first not in lost else first
