"""Roles that share cores, against brute force: many short slices of time, shared evenly."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from sottovoce.messages import UsageError
from sottovoce.network import Link, Network, PartStep, Reason, Stack, network_text, replay
from sottovoce.network.events import EventQueue
from sottovoce.network.moments import START, Moment, after, critical_path
from sottovoce.network.processors import Processors
from sottovoce.network.reading import parse_network

SLICE = 1e-3
D = 0.05
QUIET = Stack(polling_seconds=0.0)


def shared(works: list[tuple[float, float]], cores: int) -> list[Moment]:
    """Let roles begin to compute at times, each for some seconds, and give the moments of ends."""
    events = EventQueue()
    processors = Processors(cores, events)
    ends: dict[int, Moment] = {}

    for rank, (begins, seconds) in enumerate(works):

        def end(moment: Moment, rank: int = rank) -> None:
            ends[rank] = moment

        begin = after(START, begins, Reason.LATENCY, (rank, rank))
        processors.compute(begin, seconds, rank=rank, then=end)
    events.run()
    return [ends[rank] for rank in range(len(works))]


def by_slices(works: list[tuple[float, float]], cores: int) -> list[float]:
    """Do the same in slices of a millisecond."""
    left = [seconds for _, seconds in works]
    ends = [0.0] * len(works)
    now = 0.0
    while any(seconds > 0 for seconds in left):
        active = [
            rank
            for rank, (begins, _) in enumerate(works)
            if begins <= now + SLICE / 2 and left[rank] > 0
        ]
        now += SLICE
        for rank in active:
            left[rank] -= SLICE * min(1.0, cores / len(active))
            if left[rank] <= 0:
                ends[rank] = now
    return ends


@pytest.mark.parametrize("cores", [1, 2, 3, 8])
@pytest.mark.parametrize("seed", range(5))
def test_roles_get_equal_parts_of_the_cores(cores: int, seed: int) -> None:
    generator = random.Random(seed)
    works = [
        (round(generator.uniform(0, 0.5), 3), round(generator.uniform(0.01, 0.4), 3))
        for _ in range(7)
    ]
    ends = shared(works, cores)
    assert [end.seconds for end in ends] == pytest.approx(by_slices(works, cores), abs=8 * SLICE)
    for (begins, seconds), end in zip(works, ends, strict=True):
        path = critical_path(end)
        alone = sum(part.seconds for part in path if part.reason is Reason.COMPUTATION)
        waited = sum(part.seconds for part in path if part.reason is Reason.SHARED_CORES)
        assert alone == pytest.approx(seconds)
        assert waited == pytest.approx(end.seconds - begins - seconds, abs=1e-9)


def test_a_core_for_each_role_delays_none() -> None:
    works = [(0.1 * rank, 0.3) for rank in range(4)]
    ends = [end.seconds for end in shared(works, 4)]
    assert ends == pytest.approx([0.3, 0.4, 0.5, 0.6])


def test_the_same_moment_is_shared_in_the_order_of_ends() -> None:
    """Three roles on one core: 1, 2 and 3 seconds of work end after 3, 5 and 6."""
    ends = [end.seconds for end in shared([(0.0, 1.0), (0.0, 2.0), (0.0, 3.0)], 1)]
    assert ends == pytest.approx([3.0, 5.0, 6.0])


def counting(parties: int) -> list[list[PartStep]]:
    """Let each party compute for a second, and send a message to the curator."""
    curator = [PartStep(0.0, False, party, 100) for party in range(1, parties + 1)]
    return [curator, *([PartStep(1.0, True, 0, 100)] for _ in range(parties))]


@pytest.mark.parametrize(("cores", "seconds"), [(1, 4.0), (2, 2.0), (4, 1.0), (None, 1.0)])
def test_a_conversation_on_shared_cores(cores: int | None, seconds: float) -> None:
    network = Network(name="t", between=Link(latency=D), stack=QUIET).with_cores(cores)
    timing = replay(counting(4), network)
    assert timing.seconds == pytest.approx(seconds + D)
    assert timing.by_reason.get(Reason.SHARED_CORES, 0.0) == pytest.approx(seconds - 1.0)


def test_who_shares_a_core_does_not_wait_for_messages_that_are_there() -> None:
    """The curator's second takes two, beside party 2, and party 1 has sent long before."""
    take, send = PartStep(1.0, False, 1, 100), PartStep(0.0, True, 0, 100)
    parts = [[take, PartStep(0.0, False, 2, 100)], [send], [PartStep(3.0, True, 0, 100)]]
    network = Network(name="t", between=Link(latency=D), stack=QUIET)
    for cores, waited in ((None, 2.0 + D), (1, 2.0 + D)):
        timing = replay(parts, network.with_cores(cores))
        assert timing.waits[0, 1] == pytest.approx(0.0)
        assert timing.waits[0, 2] == pytest.approx(waited)


def test_more_cores_are_never_slower() -> None:
    network = Network(name="t", between=Link(latency=D), stack=QUIET)
    seconds = [replay(counting(7), network.with_cores(cores)).seconds for cores in range(1, 9)]
    assert all(more <= fewer for fewer, more in pairwise(seconds))


def test_a_file_says_how_many_cores_roles_share() -> None:
    network = parse_network({"from": "lan", "cores": 2}, name="laptop")
    assert network.cores == 2
    assert network_text(network).endswith("all roles on 2 cores)")
    assert parse_network({"from": "lan"}, name="laptop").cores is None


@pytest.mark.parametrize("cores", [0, -1, 1.5, "2", True])
def test_other_numbers_of_cores_are_refused(cores: object) -> None:
    with pytest.raises(
        UsageError, match=f"expected a whole number from 1 for cores, found {cores!r}"
    ):
        parse_network({"cores": cores}, name="laptop")
