"""Rounds computed one after another, against the simulation of all their events."""

import itertools
import math
import random

import pytest

from sottovoce.network import (
    NETWORKS,
    Exchange,
    Host,
    Link,
    Network,
    Reason,
    RoundSeconds,
    Route,
    Site,
    Stack,
    Timing,
    parts_of_rounds,
    replay,
    round_timing,
    time_rounds,
)

SECONDS = RoundSeconds([0.01, 0.0, 0.02, 0.003, 0.0], [0.0003, 0.004, 0.01, 0.0, 0.0])
SIMULATED = "all events are simulated"


def rounds_of(parties: int, *, large: int) -> list[list[Exchange]]:
    """Give rounds as those of a sum with masks: parties also talk to one another."""
    up, down, across = Route.UP, Route.DOWN, Route.ACROSS
    return [
        [Exchange(up, parties, 784), Exchange(down, parties, 784)]
        + [Exchange(across, parties * min(parties - 1, 30), 784)] * (parties > 1),
        [Exchange(up, parties, 1160), Exchange(up, parties, 72)]
        + [Exchange(across, parties * min(parties - 1, 18), 1160)] * (parties > 1),
        [Exchange(down, parties, 8 * parties + 96)],
        [Exchange(up, parties, 128), Exchange(up, parties, large)]
        + [Exchange(across, parties, 128)] * (parties > 1),
    ]


def random_network(chance: random.Random, seed: int) -> Network:
    host = Host(
        uplink=Link(bandwidth=chance.choice((1e6, 8e6, 20e6, 1e9, math.inf))),
        downlink=Link(bandwidth=chance.choice((1e6, 8e6, 20e6, 1e9, math.inf))),
    )
    jitter = chance.choice((0.0, 0.0, 0.01))
    network = Network(
        name="random",
        between=Link(latency=chance.choice((0.00025, 0.01, 0.05)), jitter=jitter, loss=jitter),
        host=host,
        seed=seed,
        stack=Stack(
            polling_seconds=chance.choice((0.0, 0.001)),
            congestion_control=chance.choice(("bbr", "reno")),
        ),
    )
    slow = Host(uplink=Link(bandwidth=1e6), downlink=Link(bandwidth=2e6, latency=0.02))
    return network.with_host("party 2", slow) if chance.random() < 0.2 else network


def both(
    rounds: list[list[Exchange]],
    network: Network,
    *,
    parties: int,
    seconds: RoundSeconds | None,
    monkeypatch: pytest.MonkeyPatch,
) -> tuple[Timing | None, Timing]:
    """Give the time round by round, or nothing where that is not possible, and by all events."""

    def refuse(*_: object, **__: object) -> Timing:
        raise LookupError(SIMULATED)

    last = 0.0 if seconds is None else 0.01
    computed: Timing | None = None
    with monkeypatch.context() as patch:
        patch.setattr(round_timing, "replay", refuse)
        try:
            computed = time_rounds(rounds, network, parties=parties, seconds=seconds, last=last)
        except LookupError as error:
            assert str(error) == SIMULATED
    parts = parts_of_rounds(rounds, parties=parties, stack=network.stack, seconds=seconds)
    return computed, replay(parts, network, last=last)


def assert_same(computed: Timing, simulated: Timing) -> None:
    assert computed.seconds == pytest.approx(simulated.seconds, rel=1e-12)
    assert computed.by_reason == pytest.approx(simulated.by_reason, rel=1e-9, abs=1e-12)
    assert computed.count(Reason.LATENCY) == simulated.count(Reason.LATENCY)
    assert computed.waits.keys() == simulated.waits.keys()


@pytest.mark.parametrize("name", ["datacentre", "lan", "wan", "mobile"])
@pytest.mark.parametrize("parties", [1, 2, 5, 17, 30])
def test_sums_take_the_same_seconds(
    name: str, parties: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No event is simulated, whether or not roles compute, and nothing is different."""
    for seconds in (None, SECONDS):
        for large in (700, 77_000):
            computed, simulated = both(
                rounds_of(parties, large=large),
                NETWORKS[name],
                parties=parties,
                seconds=seconds,
                monkeypatch=monkeypatch,
            )
            if computed is not None:
                assert_same(computed, simulated)
                assert computed.waits_by_role == pytest.approx(simulated.waits_by_role)
    if parties > 5 and name != "datacentre":
        assert computed is not None


def test_random_rounds_take_the_same_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where rounds overtake one another all events are simulated, and elsewhere not."""
    computed_at_all = 0
    for seed in range(90):
        chance = random.Random(seed)
        parties = chance.choice((1, 2, 3, 5, 17))
        routes = [*Route] if parties > 1 else [Route.UP, Route.DOWN]
        sizes = (100, 1000, 40_000, 400_000)
        rounds = [
            [
                Exchange(
                    chance.choice(routes),
                    parties * chance.randint(1, 4) + chance.randint(0, 1),
                    size,
                )
                for size in chance.choices(sizes, k=chance.randint(1, 3))
            ]
            for _ in range(chance.randint(1, 5))
        ]
        seconds = [[chance.choice((0, 0.0003, 0.01)) for _ in range(len(rounds) + 1)] for _ in "cp"]
        computed, simulated = both(
            rounds,
            random_network(chance, seed),
            parties=parties,
            seconds=RoundSeconds(seconds[0], seconds[1]) if chance.random() < 0.6 else None,
            monkeypatch=monkeypatch,
        )
        if computed is not None:
            computed_at_all += 1
            assert_same(computed, simulated)
    assert computed_at_all > 15


def test_large_frames_and_shared_uplinks_are_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    """An announced frame waits for an answer, and a shared uplink for other hosts."""
    wan = NETWORKS["wan"]
    office = Site(name="office", hosts=frozenset({"parties"}), uplink=Link(bandwidth=2e6))
    for size, network in ((5_000_000, wan), (500, wan.with_site(office))):
        rounds = [[Exchange(Route.UP, 3, size)]]
        computed, simulated = both(
            rounds, network, parties=3, seconds=None, monkeypatch=monkeypatch
        )
        assert computed is None
        assert time_rounds(rounds, network, parties=3) == simulated


def test_turns_of_some_parties_wait_for_one_another() -> None:
    """Each of a chain of hops takes the latency, however many parties stand beside it."""
    turns = [(1,), (2, 3), (4,), (0,), (5, 9)]
    hops = [
        [Exchange.between(senders, receivers, 100)]
        for senders, receivers in itertools.pairwise(turns)
    ]
    network = Network(name="t", between=Link(latency=0.05), stack=Stack(polling_seconds=0))
    timing = time_rounds(hops, network, parties=12)
    # A message says at last that parties have ended: one hop more, from those who heard last.
    assert timing.seconds == pytest.approx(0.05 * (len(hops) + 1), abs=1e-5)
    assert timing.by_reason[Reason.LATENCY] == pytest.approx(0.05 * (len(hops) + 1))


def test_what_single_parties_compute_holds_up_their_turns() -> None:
    """Only what the parties on turn compute is on the way, not what the others do meanwhile."""
    hops = [[Exchange.between((1,), (2,), 100)], [Exchange.between((2,), (0,), 100)]]
    others = {1: [0.3, 0.0, 0.0], 2: [0.0, 0.2, 0.0]}
    seconds = RoundSeconds([0.0] * 3, [0.0] * 3, others)
    network = Network(name="t", between=Link(latency=0.05), stack=Stack(polling_seconds=0))
    timing = time_rounds(hops, network, parties=5, seconds=seconds)
    assert timing.seconds == pytest.approx(0.5 + 2 * 0.05, abs=1e-5)
