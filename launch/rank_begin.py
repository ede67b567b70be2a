"""Ranks begin at the same moment, whatever their clocks show.

Times in the ledger are since a role's own start. If ranks begin as soon as the set-up has left
them, they begin up to a latency apart, and a message seems to travel for longer or shorter than it
did. So the curator asks all parties for their clocks, several times, and takes the quickest answer
of each: in the middle between question and answer the party's clock showed what it says. Then it
tells each party when to begin, by the party's own clock.

Where a way takes longer than the way back, a party begins later or earlier by half the difference.

A party's clock counts from the moment when it comes here. So the curator does not learn for how
long the party's host has been running.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from ..messages import CURATOR
from ..messages.errors import TimeoutExpired
from ..messages.mpi import wait_until

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["Answer", "begin_together", "longest_round_trip", "offset_of"]

TAG: Final = 2
"""Apart from the frames of roles that have begun."""
QUESTIONS: Final = 4
"""Number of questions to each party."""
SPARE_SECONDS: Final = 0.002
"""Seconds until all begin, beside the longest round trip."""


class Answer(NamedTuple):
    """What a party's clock showed, between two moments of the curator's clock."""

    asked: float
    """The moment when the question left."""
    shown: float
    """The moment that the party's clock showed."""
    heard: float
    """The moment when the answer was there."""


def offset_of(answers: Sequence[Answer]) -> float:
    """Give the seconds by which the answering clock is ahead, from the quickest answer.

    >>> offset_of([Answer(10.0, 3.0, 14.0), Answer(20.0, 12.0, 22.0)])
    -9.0
    """
    quickest = min(answers, key=lambda answer: answer.heard - answer.asked)
    return quickest.shown - (quickest.asked + quickest.heard) / 2


def longest_round_trip(answers: Iterable[Sequence[Answer]]) -> float:
    """Give the seconds of the round trip to the farthest party.

    A party's first answer says how late it came, and its quickest one how far it is.

    >>> late, quick, near = Answer(0, 3, 9), Answer(9, 9.5, 9.75), Answer(0, 1, 0.5)
    >>> longest_round_trip([[late, quick], [near]])
    0.75
    """
    return max((min(each.heard - each.asked for each in some) for some in answers), default=0.0)


def begin_together(
    comm: MPI.Comm, timeout: float, *, clock: Callable[[], float] = time.perf_counter
) -> None:
    """Return on all ranks at nearly the same moment.

    Raises:
        TimeoutExpired: a rank has not answered within the time.
    """
    if comm.Get_rank() == CURATOR:
        begins = _invite(comm, timeout, clock)
    else:
        begins = _answer(comm, timeout, clock)
    left = begins - clock()
    if 0 < left <= timeout:
        time.sleep(left)


def _answer(comm: MPI.Comm, timeout: float, clock: Callable[[], float]) -> float:
    """Answer the curator's questions, and learn when to begin."""
    start, received = clock(), np.zeros(1)
    for _ in range(QUESTIONS):
        _await([comm.Irecv(received, CURATOR, TAG)], timeout)
        _await([comm.Isend(np.array([clock() - start]), CURATOR, TAG)], timeout)
    _await([comm.Irecv(received, CURATOR, TAG)], timeout)
    return start + float(received[0])


def _invite(comm: MPI.Comm, timeout: float, clock: Callable[[], float]) -> float:
    """Ask all parties for their clocks, and tell each when to begin by its own."""
    parties = range(CURATOR + 1, comm.Get_size())
    answers: dict[int, list[Answer]] = {party: [] for party in parties}
    for _ in range(QUESTIONS):
        for party, answer in _ask(comm, timeout, clock).items():
            answers[party].append(answer)
    begins = clock() + longest_round_trip(answers.values()) + SPARE_SECONDS
    _await(
        [
            comm.Isend(np.array([begins + offset_of(some)]), party, TAG)
            for party, some in answers.items()
        ],
        timeout,
    )
    return begins


def _ask(comm: MPI.Comm, timeout: float, clock: Callable[[], float]) -> dict[int, Answer]:
    """Ask all parties once."""
    parties = range(CURATOR + 1, comm.Get_size())
    shown = {party: np.zeros(1) for party in parties}
    waiting = {party: comm.Irecv(shown[party], party, TAG) for party in parties}
    asked, questions = {}, []
    for party in parties:
        asked[party] = clock()
        questions.append(comm.Isend(np.zeros(1), party, TAG))
    answers: dict[int, Answer] = {}

    def are_heard() -> bool:
        for party, request in [*waiting.items()]:
            if request.Test():
                answers[party] = Answer(asked[party], float(shown[party][0]), clock())
                del waiting[party]
        return not waiting

    if not wait_until(are_heard, timeout=timeout):
        raise TimeoutExpired(
            f"expected all parties to begin, found that party {min(waiting)} did not answer in "
            f"{timeout:g} s: raise the timeout if it needs longer"
        )
    _await(questions, timeout)
    return answers


def _await(requests: Sequence[MPI.Request], timeout: float) -> None:
    if not wait_until(lambda: all(request.Test() for request in requests), timeout=timeout):
        raise TimeoutExpired(
            f"expected all roles to begin, found that some did not in {timeout:g} s: raise the "
            "timeout if they need longer"
        )
