"""The simulation against closed forms, and against brute force over the happens-before graph."""

import gc
import heapq
import math
import random
from collections.abc import Sequence
from dataclasses import replace as changed
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sottovoce.network import (
    Exchange,
    Host,
    Link,
    Moment,
    Network,
    PartStep,
    Reason,
    RoundSeconds,
    Route,
    Site,
    Stack,
    parts_of_rounds,
    replay,
)
from sottovoce.network.events import Event
from sottovoce.network.stack import SEGMENT_BYTES
from sottovoce.network.window import FIRST_WINDOW, FIRST_WINDOW_OF_BBR, Window

QUIET = Stack(polling_seconds=0.0)
"""A stack that adds nothing to small frames, so that times have short formulas."""
ANNOUNCING = Stack(polling_seconds=0.0, eager_bytes=1 << 16)
"""A stack that announces frames above 64 KiB."""
ONE_BY_ONE = changed(ANNOUNCING, concurrent_frames=False)
D = 0.05
SMALL = 100


def send(to: int, size: int = SMALL, computed: float = 0.0) -> PartStep:
    return PartStep(computed, True, to, size)


def take(source: int, size: int = SMALL, computed: float = 0.0, read: float = 0.0) -> PartStep:
    return PartStep(computed, False, source, size, read)


def network(bandwidth: float = math.inf, stack: Stack = QUIET, **link: float) -> Network:
    host = Host(uplink=Link(bandwidth=bandwidth))
    return Network(name="test", between=Link(latency=D, **link), host=host, stack=stack)


def seconds(parts: Sequence[Sequence[PartStep]], on: Network, last: float = 0.0) -> float:
    timing = replay(parts, on, last=last)
    # Whatever happens, the critical path explains all of the time.
    assert math.fsum(part.seconds for part in timing.path) == pytest.approx(timing.seconds)
    assert all(part.seconds > 0 for part in timing.path)
    return timing.seconds


def ping_pong(rounds: int, size: int = SMALL) -> list[list[PartStep]]:
    curator = [step for _ in range(rounds) for step in (send(1, size), take(1, size))]
    party = [step for _ in range(rounds) for step in (take(0, size), send(0, size))]
    return [curator, party]


def test_every_round_costs_its_latency() -> None:
    timing = replay(ping_pong(7), network())
    assert timing.seconds == pytest.approx(14 * D)  # the end travels beside the last answer
    assert timing.count(Reason.LATENCY) == 14
    assert timing.by_reason == {Reason.LATENCY: pytest.approx(14 * D)}
    assert timing.waits == {(0, 1): pytest.approx(14 * D), (1, 0): pytest.approx(13 * D)}


def test_a_role_that_waits_looks_now_and_then() -> None:
    polling = 0.002
    slow = network(stack=Stack(polling_seconds=polling))
    assert seconds(ping_pong(7), slow) == pytest.approx(14 * (D + polling))


def test_computation_on_the_way_and_beside_it() -> None:
    """Party 1 computes 1 s, party 2 computes 3 s; reading takes 0.1 s each."""
    curator = [take(1, read=0.1), take(2, read=0.1, computed=0.5)]
    parts = [curator, [send(0, computed=1.0)], [send(0, computed=3.0)]]
    timing = replay(parts, network(), last=2.0)
    assert timing.seconds == pytest.approx(3 + D + 0.1 + 2.0)
    assert timing.computation_by_role == {2: pytest.approx(3), 0: pytest.approx(2.1)}
    assert timing.waits_by_role == {0: pytest.approx(1 + D + 3 - 1 - 0.6)}
    twice = replay(parts, network().with_speed(2.0), last=2.0)
    assert twice.computation_by_role[2] == pytest.approx(1.5)


@pytest.mark.parametrize("parties", [1, 3, 10])
@pytest.mark.parametrize("frames", [1, 4])
def test_an_uplink_is_shared_by_what_leaves(parties: int, frames: int) -> None:
    """The curator's messages leave one after another; those of the parties leave side by side."""
    rate = 1e6
    stack = QUIET
    on = network(rate)
    transfer = 8 * stack.wire_bytes(SMALL) / rate
    end = 8 * stack.wire_bytes(64) / rate
    ranks = range(1, parties + 1)
    outward = [
        [send(rank) for _ in range(frames) for rank in ranks],
        *[[take(0) for _ in range(frames)] for _ in ranks],
    ]
    # The last message of the last party is the last of all; its end follows.
    assert seconds(outward, on) == pytest.approx(parties * frames * transfer + D + end + D)
    inward = [
        [take(rank) for rank in ranks for _ in range(frames)],
        *[[send(0) for _ in range(frames)] for _ in ranks],
    ]
    assert seconds(inward, on) == pytest.approx(frames * transfer + end + D)


def test_a_downlink_is_shared_by_what_arrives() -> None:
    """Bytes of ten parties queue before the curator's downlink, but pass it without a gap."""
    rate, parties = 1e6, 10
    on = network().with_host("curator", Host(downlink=Link(bandwidth=rate)))
    ranks = range(1, parties + 1)
    parts = [[take(rank) for rank in ranks], *[[send(0)] for _ in ranks]]
    bits = 8 * parties * (QUIET.wire_bytes(SMALL) + QUIET.wire_bytes(64))
    assert seconds(parts, on) == pytest.approx(D + bits / rate)


def test_two_pipes_in_a_row_overlap() -> None:
    """A frame enters the second pipe byte by byte, so the slower of two pipes counts once."""
    size = 60_000
    both = network(2e6, slow_stack()).with_host("curator", Host(downlink=Link(bandwidth=1e6)))
    parts = [[take(1, size)], [send(0, size)]]
    end = 8 * QUIET.wire_bytes(64)
    transfer = 8 * QUIET.wire_bytes(size)
    assert seconds(parts, both) == pytest.approx(D + (transfer + end) / 1e6)
    swapped = network(1e6, slow_stack()).with_host("curator", Host(downlink=Link(bandwidth=2e6)))
    assert seconds(parts, swapped) == pytest.approx(D + (transfer + end) / 1e6, rel=1e-3)


def slow_stack() -> Stack:
    """A stack whose TCP knows the way from the start: reno on a way that a window fills."""
    return Stack(polling_seconds=0.0, congestion_control="reno", eager_bytes=1 << 30)


def test_a_site_shares_its_uplink() -> None:
    rate, parties = 1e6, 4
    site = Site(name="office", hosts=frozenset(["parties"]), uplink=Link(bandwidth=rate))
    ranks = range(1, parties + 1)
    parts = [[take(rank) for rank in ranks], *[[send(0)] for _ in ranks]]
    bits = 8 * parties * (QUIET.wire_bytes(SMALL) + QUIET.wire_bytes(64))
    assert seconds(parts, network().with_site(site)) == pytest.approx(D + bits / rate)
    alone = replay(parts, network()).seconds
    assert alone == pytest.approx(D)


LARGE = 200_000
PACED = 1e-3
"""Part of the time that headers and small frames take where bytes are spread."""


def large_way(on: Network) -> float:
    """The time of a large frame's data on a new connection, without a limit of bandwidth."""
    control = on.stack.congestion_control
    left, _ = Window().send(LARGE, now=0, round_trip=2 * D, bandwidth=math.inf, control=control)
    first = FIRST_WINDOW_OF_BBR if control == "bbr" else FIRST_WINDOW
    last = LARGE - 7 * first - SEGMENT_BYTES  # after windows of 21, 42 and 84 kB, or 14, 29 and 58
    spread = 2 * D * last / (8 * first) if control == "bbr" else 0.0
    assert left == pytest.approx(3 * 2 * D + spread)
    return left + D


def test_a_large_frame_is_announced_and_holds_its_sender() -> None:
    on = network(stack=ANNOUNCING)
    parts = [[take(1, LARGE)], [send(0, LARGE), send(0)]]
    parts[0].append(take(1))
    timing = replay(parts, on)
    # Announcement, answer, data; what follows leaves with the last byte.
    assert timing.seconds == pytest.approx(2 * D + large_way(on), rel=PACED)
    assert timing.count(Reason.HANDSHAKE) == 2


@pytest.mark.parametrize("frames", [1, 4])
def test_a_frame_that_is_not_announced_goes_to_a_receiver_that_computes(frames: int) -> None:
    """All frames leave as one would, while their receiver computes, and are there when it looks."""
    parts = [[take(1, LARGE, computed=10.0)] + [take(1, LARGE)] * (frames - 1)]
    parts.append([send(0, LARGE)] * frames)
    assert seconds(parts, network()) == pytest.approx(10.0)
    waiting = [[take(1, LARGE)] * frames, parts[1]]
    left, _ = Window().send(
        frames * LARGE, now=0, round_trip=2 * D, bandwidth=math.inf, control="reno"
    )
    quiet = network(stack=changed(QUIET, congestion_control="reno"))
    assert seconds(waiting, quiet) == pytest.approx(left + D)


def test_a_sender_is_held_until_its_system_has_taken_a_frame() -> None:
    """What is beyond two windows waits; a round trip before the last byte leaves, none does."""
    on = network(stack=changed(QUIET, congestion_control="reno"))
    left, _ = Window().send(LARGE, now=0, round_trip=2 * D, bandwidth=math.inf, control="reno")
    small = 2 * FIRST_WINDOW
    for size, held in ((LARGE, left - 2 * D), (small, 0.0), (small + 1, 0.0)):
        parts = [[take(1, size)], [send(0, size), send(2)], [take(1)]]
        timing = replay([[*parts[0], take(2)], parts[1], [*parts[2], send(0)]], on)
        # Party 2 hears of party 1 when that goes on, and then tells the curator.
        assert timing.waits[2, 1] == pytest.approx(held + D)


@pytest.mark.parametrize("parties", [1, 3, 8])
@pytest.mark.parametrize("stack", [QUIET, ANNOUNCING])
def test_a_broadcast_takes_as_long_as_its_slowest_frame(parties: int, stack: Stack) -> None:
    """Frames of a broadcast leave at once, and hold their sender together."""
    size, ranks = 200_000, range(1, parties + 1)
    alone = [[send(1, size), take(1)], [take(0, size), send(0)]]
    together = [
        [*(changed_step(send(rank, size), rank < parties) for rank in ranks), *map(take, ranks)],
        *([take(0, size), send(0)] for _ in ranks),
    ]
    on = network(stack=stack)
    assert seconds(together, on) == pytest.approx(seconds(alone, on))


def test_no_more_of_a_broadcast_is_on_its_way_than_fits() -> None:
    """Where nothing may be under way, receivers are served in turn, as by single messages."""
    size, ranks = 200_000, range(1, 4)
    others = [[take(0, size)] for _ in ranks]
    broadcast = [changed_step(send(rank, size), rank < 3) for rank in ranks]
    single = [send(rank, size) for rank in ranks]
    narrow = network(stack=changed(QUIET, posted_bytes=0))
    assert seconds([broadcast, *others], narrow) == pytest.approx(
        seconds([single, *others], network())
    )
    assert seconds([broadcast, *others], network()) < seconds([single, *others], network())


def changed_step(step: PartStep, more: bool) -> PartStep:
    return step._replace(more=more)


def test_a_receiver_that_computes_does_not_answer() -> None:
    on, busy = network(stack=ANNOUNCING), 1.0
    parts = [[take(1, LARGE, computed=busy)], [send(0, LARGE)]]
    timing = replay(parts, on)
    assert timing.seconds == pytest.approx(busy + D + large_way(on), rel=PACED)


def test_a_role_that_is_held_answers() -> None:
    """Two roles that send each other large frames both get on."""
    parts = [[send(1, LARGE), take(1, LARGE)], [send(0, LARGE), take(0, LARGE)]]
    on = network(stack=ANNOUNCING)
    assert seconds(parts, on) < 5 * large_way(on)


@pytest.mark.parametrize("parties", [1, 2, 5])
def test_large_frames_are_taken_in_one_after_another(parties: int) -> None:
    ranks = range(1, parties + 1)
    parts = [[take(rank, LARGE) for rank in ranks], *[[send(0, LARGE)] for _ in ranks]]
    one_by_one = network(stack=ONE_BY_ONE)
    each = D + large_way(one_by_one)  # answer and data; announcements arrive together
    assert seconds(parts, one_by_one) == pytest.approx(D + parties * each, rel=PACED)
    together = network(stack=ANNOUNCING)
    assert seconds(parts, together) == pytest.approx(D + each, rel=PACED)


def test_a_connection_keeps_its_window() -> None:
    """The second large frame is announced when the first has left, and needs no slow start."""
    parts = [[take(1, LARGE), take(1, LARGE)], [send(0, LARGE), send(0, LARGE)]]
    on = network(stack=changed(ANNOUNCING, congestion_control="reno"))
    assert seconds(parts, on) == pytest.approx(2 * D + large_way(on) + 2 * D)


def test_a_stream_of_frames_shares_one_slow_start() -> None:
    """Twenty frames of 50 kB leave as one frame of a megabyte would: in six windows."""
    frames, size = 20, 50_000
    parts = [[take(1, size)] * frames, [send(0, size)] * frames]
    last = frames * size - FIRST_WINDOW_OF_BBR * (2**5 - 1) - SEGMENT_BYTES
    spread = 2 * D * last / (FIRST_WINDOW_OF_BBR * 2**5)
    assert seconds(parts, network()) == pytest.approx(5 * 2 * D + spread + D, rel=PACED)


def test_jitter_delays_by_half_of_its_range_on_average() -> None:
    """The mean of 2,000 delays is within 2 ms of 10 ms but with probability below 1e-9."""
    rounds = 1000
    jittery = replay(ping_pong(rounds), network(jitter=0.02))
    delay = jittery.by_reason[Reason.JITTER] / (2 * rounds)
    assert abs(delay - 0.01) < 0.002
    assert jittery.seconds == pytest.approx(2 * rounds * D + jittery.by_reason[Reason.JITTER])


def test_losses_delay_as_often_as_they_occur() -> None:
    """Of 2,000 messages 200 are lost on average; fewer than 120 or more than 280 never in 1e8."""
    rounds = 1000
    timing = replay(ping_pong(rounds), network(loss=0.1))
    losses = timing.count(Reason.LOSS)
    assert 120 < losses < 280
    assert timing.by_reason[Reason.LOSS] == pytest.approx(losses * (2 * D + 0.2))


def test_messages_of_one_edge_keep_their_order() -> None:
    """Jitter may let a message overtake another on its way, but TCP hands them on in order."""
    parts = [[take(1) for _ in range(50)], [send(0, computed=1e-3) for _ in range(50)]]
    for seed in range(20):
        on = Network(name="test", between=Link(latency=D, jitter=1.0), stack=QUIET, seed=seed)
        draws = [on.draws(1, 0, number)[0] for number in range(51)]
        expected = max(1e-3 * min(n + 1, 50) + D + draw for n, draw in enumerate(draws))
        assert seconds(parts, on) == pytest.approx(expected)


# ---- brute force

edges = st.tuples(st.integers(0, 3), st.integers(0, 3)).filter(lambda edge: edge[0] != edge[1])
times = st.floats(0, 0.2)
messages = st.lists(st.tuples(edges, times, times, times), max_size=25)


def longest_path(
    conversation: Sequence[tuple[tuple[int, int], float, float, float]],
) -> float:
    """Time a conversation of small messages by the definition: nobody waits but for messages.

    Messages are in an order in which each could be sent and read at once. What a role receives it
    has computed for, waits for, and reads.
    """
    clock = [0.0] * 4
    for (sender, receiver), before, waiting, read in conversation:
        clock[sender] += before
        arrival = clock[sender] + D
        clock[receiver] = max(clock[receiver] + waiting, arrival) + read
    return max([clock[0], *(clock[party] + D for party in (1, 2, 3))])


@settings(max_examples=200, deadline=None)
@given(messages)
def test_small_messages_take_the_longest_path(
    conversation: list[tuple[tuple[int, int], float, float, float]],
) -> None:
    parts: list[list[PartStep]] = [[] for _ in range(4)]
    for (sender, receiver), before, waiting, read in conversation:
        parts[sender].append(send(receiver, computed=before))
        parts[receiver].append(take(sender, computed=waiting, read=read))
    assert seconds(parts, network()) == pytest.approx(longest_path(conversation))


@settings(max_examples=100, deadline=None)
@given(messages, st.lists(st.integers(0, 150_000), min_size=25, max_size=25))
def test_no_conversation_ends_before_its_longest_computation(
    conversation: list[tuple[tuple[int, int], float, float, float]], sizes: list[int]
) -> None:
    """With large frames there is no closed form; every conversation still comes to its end."""
    parts: list[list[PartStep]] = [[] for _ in range(4)]
    for ((sender, receiver), before, waiting, read), size in zip(conversation, sizes, strict=False):
        parts[sender].append(send(receiver, size, before))
        parts[receiver].append(take(sender, size, waiting, read))
    least = max(math.fsum(step.computed + step.read for step in part) for part in parts)
    for on in (network(), network(1e6), network(1e8, ONE_BY_ONE)):
        assert seconds(parts, on) >= least - 1e-9


@pytest.mark.parametrize("was_collecting", [True, False])
def test_a_replay_leaves_the_garbage_collector_as_it_was(was_collecting: bool) -> None:
    """Also where it fails, here because a part sends to a role that does not exist."""
    before = gc.isenabled()
    try:
        (gc.enable if was_collecting else gc.disable)()
        replay(ping_pong(1), network())
        assert gc.isenabled() == was_collecting
        with pytest.raises(IndexError):
            replay([[send(2)], []], network())
        assert gc.isenabled() == was_collecting
    finally:
        (gc.enable if before else gc.disable)()


class PlainQueue:
    """Events by time and number in one heap: what `EventQueue` must agree with."""

    def __init__(self) -> None:
        self._events: list[tuple[float, int, Event, Moment]] = []
        self._number = count()

    def add(self, moment: Moment, event: Event) -> None:
        heapq.heappush(self._events, (moment.seconds, next(self._number), event, moment))

    def run(self) -> None:
        while self._events:
            *_, event, moment = heapq.heappop(self._events)
            event(moment)


@pytest.mark.parametrize("seed", range(12))
def test_events_of_one_time_keep_their_order(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any conversation takes the same time, for the same reasons, as with a plain heap of events.

    Sizes, times and latencies are few, so that many events happen at the same time.
    """
    chance = random.Random(seed)
    parties = chance.randint(2, 7)
    exchanges = [
        [
            Exchange(chance.choice([*Route]), parties * chance.randint(1, 3), size)
            for size in chance.choices((100, 1000, 40_000, 5_000_000), k=chance.randint(1, 3))
        ]
        for _ in range(chance.randint(1, 4))
    ]
    host = Host(
        uplink=Link(bandwidth=chance.choice((1e6, 8e6, math.inf))),
        downlink=Link(bandwidth=chance.choice((1e6, 8e6, math.inf))),
    )
    jitter = chance.choice((0.0, 0.01))
    network = Network(
        name="random",
        between=Link(latency=0.01 * chance.randint(0, 2), jitter=jitter, loss=jitter),
        host=host,
        seed=seed,
    )
    office = Site(
        name="office", hosts=frozenset({"party 1", "party 2"}), uplink=Link(bandwidth=2e6)
    )
    for each in (network, network.with_site(office)):
        seconds = [[0.01 * chance.randint(0, 2) for _ in range(len(exchanges) + 1)] for _ in "cp"]
        parts = parts_of_rounds(
            exchanges,
            parties=parties,
            stack=each.stack,
            seconds=RoundSeconds(seconds[0], seconds[1]),
        )
        timing = replay(parts, each)
        with monkeypatch.context() as patch:
            patch.setattr("sottovoce.network.simulation.EventQueue", PlainQueue)
            plain = replay(parts, each)
        assert timing == plain
