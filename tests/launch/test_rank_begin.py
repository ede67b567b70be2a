"""Ranks begin together, though their clocks show other times."""

from __future__ import annotations

import queue
import threading
import time
from itertools import count
from typing import Any

import pytest

from sottovoce.launch.rank_begin import QUESTIONS, Answer, begin_together, offset_of
from sottovoce.messages.errors import TimeoutExpired

OFFSETS = (0.0, 1000.0, -50.0, 3.5)
"""Seconds by which the clock of each rank is ahead."""
DELAY = 0.2


class Sent:
    def Test(self) -> bool:  # noqa: N802 - as in mpi4py
        return True


class Awaited:
    def __init__(self, buffer: Any, arrivals: queue.Queue[tuple[float, float]]) -> None:
        self._buffer, self._arrivals = buffer, arrivals
        self._next: tuple[float, float] | None = None

    def Test(self) -> bool:  # noqa: N802 - as in mpi4py
        if self._next is None:
            try:
                self._next = self._arrivals.get_nowait()
            except queue.Empty:
                return False
        arrives, value = self._next
        if time.perf_counter() < arrives:
            return False
        self._buffer[0] = value
        return True


class SlowComm:
    """Ranks as threads, whose messages travel for a while."""

    def __init__(self, rank: int, edges: dict[tuple[int, int], queue.Queue[Any]]) -> None:
        self._rank, self._edges = rank, edges

    def Get_rank(self) -> int:  # noqa: N802 - as in mpi4py
        return self._rank

    def Get_size(self) -> int:  # noqa: N802 - as in mpi4py
        return len(OFFSETS)

    def Isend(self, buffer: Any, to: int, _tag: int) -> Sent:  # noqa: N802 - as in mpi4py
        self._edges[self._rank, to].put((time.perf_counter() + DELAY, float(buffer[0])))
        return Sent()

    def Irecv(self, buffer: Any, source: int, _tag: int) -> Awaited:  # noqa: N802 - as in mpi4py
        return Awaited(buffer, self._edges[source, self._rank])


def test_the_quickest_answer_counts() -> None:
    answers = [Answer(0.0, 107.0, 9.0), Answer(10.0, 111.0, 12.0), Answer(20.0, 125.0, 29.0)]
    assert offset_of(answers) == 100.0


@pytest.mark.timed
def test_clocks_that_differ_begin_at_one_moment() -> None:
    """All begin within half a delay: ranks that begin when they hear of it are a delay apart."""
    ranks = range(len(OFFSETS))
    edges = {(sender, to): queue.Queue[Any]() for sender in ranks for to in ranks}
    began: dict[int, float] = {}

    def play(rank: int) -> None:
        time.sleep(0.03 * rank)
        clock = lambda: time.perf_counter() + OFFSETS[rank]  # noqa: E731
        begin_together(SlowComm(rank, edges), 10.0, clock=clock)  # type: ignore[arg-type]
        began[rank] = time.perf_counter()

    threads = [threading.Thread(target=play, args=(rank,)) for rank in ranks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert sorted(began) == [*ranks]
    assert max(began.values()) - min(began.values()) < 0.5 * DELAY


def test_a_party_that_does_not_answer_is_named() -> None:
    edges = {(0, party): queue.Queue[Any]() for party in range(1, len(OFFSETS))}
    edges |= {(party, 0): queue.Queue[Any]() for party in range(1, len(OFFSETS))}
    for party in (1, 3):
        edges[party, 0].put((0.0, 5.0))
    with pytest.raises(TimeoutExpired, match=r"party 2 did not answer in 0\.05 s"):
        begin_together(SlowComm(0, edges), 0.05)  # type: ignore[arg-type]


def test_a_party_tells_nothing_but_the_seconds_since_it_came() -> None:
    """Its clock would say how long its host has been running."""
    edges = {(0, 1): queue.Queue[Any](), (1, 0): queue.Queue[Any]()}
    for _ in range(QUESTIONS + 1):
        edges[0, 1].put((0.0, 0.0))
    ticks = (1e6 + 0.25 * number for number in count())
    begin_together(SlowComm(1, edges), 10.0, clock=lambda: next(ticks))  # type: ignore[arg-type]
    told = [edges[1, 0].get_nowait()[1] for _ in range(QUESTIONS)]
    assert told == [0.25, 0.5, 0.75, 1.0]
