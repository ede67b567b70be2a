"""Rounds computed for all parties at once, against rounds computed role by role."""

import math
import random

import numpy as np
import pytest

from sottovoce.network import (
    NETWORKS,
    Exchange,
    Host,
    Link,
    Network,
    RoundSeconds,
    Route,
    Stack,
    Timing,
    round_timing,
    time_rounds,
)
from sottovoce.network.alike_connections import NotAlikeError
from sottovoce.network.alike_rounds import has_alike_hosts
from sottovoce.network.round_sending import NotByRoundsError
from sottovoce.network.stack import CongestionControl
from sottovoce.network.window import Window
from sottovoce.network.window_batch import WindowBatch

WAN = NETWORKS["wan"]
SECONDS = RoundSeconds([0.01, 0.0, 0.02, 0.003, 0.0], [0.0003, 0.004, 0.01, 0.0, 0.0])
SIZES = (72, 128, 700, 5000, 12_000, 30_000, 60_000)


def rounds_of_sum(parties: int, *, large: int) -> list[list[Exchange]]:
    """Give the rounds of a sum: only in the first do parties receive in different orders."""
    up, down, across = Route.UP, Route.DOWN, Route.ACROSS
    return [
        [Exchange(up, parties, 192), Exchange(down, parties, 192), Exchange(across, parties, 192)],
        [Exchange(up, parties, 72)],
        [Exchange(down, parties, 8 * parties + 96), Exchange(down, parties, 3176)],
        [Exchange(up, parties, 128), Exchange(across, parties, 128), Exchange(up, parties, large)],
    ]


def random_rounds(chance: random.Random, parties: int) -> list[list[Exchange]]:
    """Draw rounds in most of which all parties do the same."""

    def messages(route: Route) -> Exchange:
        size = chance.choice(SIZES) if chance.random() < 0.7 else chance.randint(1, 20_000)
        return Exchange(route, parties * chance.choice((1, 1, 1, 2)), size)

    rounds = []
    for _ in range(chance.randint(1, 6)):
        kind = chance.choice(("up", "down", "sum", "sum") if parties > 2 else ("up", "down"))
        if kind == "sum":
            across = Exchange(Route.ACROSS, parties, chance.choice((128, 1160)))
            rounds.append([messages(Route.UP), across, messages(Route.UP)])
        else:
            route = Route(getattr(Route, kind.upper()))
            rounds.append([messages(route) for _ in range(chance.randint(1, 3))])
    if chance.random() < 0.2:
        rounds.insert(0, [messages(Route.UP), messages(Route.DOWN)])
    return rounds


def random_network(chance: random.Random) -> Network:
    rates = (1e6, 20e6, 1e9, math.inf)
    network = Network(
        name="random",
        between=Link(latency=chance.choice((0.0, 0.00025, 0.05, 0.3))),
        host=Host(
            uplink=Link(bandwidth=chance.choice(rates), latency=chance.choice((0.0, 0.003))),
            downlink=Link(bandwidth=chance.choice(rates)),
        ),
        stack=Stack(
            polling_seconds=chance.choice((0.0, 0.001)),
            congestion_control=chance.choice(("bbr", "reno")),
        ),
    )
    slow = Host(uplink=Link(bandwidth=8e6), downlink=Link(bandwidth=100e6, latency=0.02))
    return network.with_host("curator", slow) if chance.random() < 0.2 else network


def network_of_few_times(chance: random.Random) -> Network:
    """Draw a network whose delays are multiples of one another, so that much happens at once."""
    rates = (math.inf, math.inf, 1e5, 1e6, 8e6)
    network = Network(
        name="ties",
        between=Link(latency=chance.choice((0.0, 0.0005, 0.001, 0.05, 0.1))),
        host=Host(
            uplink=Link(bandwidth=chance.choice(rates)),
            downlink=Link(bandwidth=chance.choice((math.inf, math.inf, 1e5, 8e6))),
        ),
        stack=Stack(
            polling_seconds=chance.choice((0.0, 0.001, 0.001, 0.05)),
            congestion_control=chance.choice(("bbr", "reno")),
        ),
    )
    if chance.random() < 0.6:
        return network
    down = Link(bandwidth=chance.choice((1e5, math.inf)), latency=chance.choice((0.0, 0.02)))
    up = Link(bandwidth=chance.choice((1e6, math.inf)))
    return network.with_host("curator", Host(uplink=up, downlink=down))


def both(
    rounds: list[list[Exchange]],
    network: Network,
    *,
    parties: int,
    seconds: RoundSeconds | None,
    monkeypatch: pytest.MonkeyPatch,
) -> tuple[Timing | None, Timing | None]:
    """Give the time for all parties at once, if that is possible, and role by role."""

    def refuse(*_: object, **__: object) -> None:
        raise NotAlikeError

    def by_rounds() -> Timing | None:
        try:
            return round_timing._time_by_rounds(
                rounds, network, parties=parties, seconds=seconds, last=0.01
            )
        except NotByRoundsError:
            return None

    plays: list[int] = []
    with monkeypatch.context() as patch:
        patch.setattr(round_timing._Hosts, "play", _counted(plays))
        at_once = by_rounds()
        is_at_once = len(plays) <= len(rounds)  # otherwise the end is played role by role, too
    with monkeypatch.context() as patch:
        patch.setattr(round_timing, "play_alike", refuse)
        single = by_rounds()
    return (at_once if is_at_once else None), single


def _counted(plays: list[int]) -> object:
    play = round_timing._Hosts.play

    def counted(hosts: object, turns: object, number: int) -> None:
        plays.append(number)
        play(hosts, turns, number)  # type: ignore[arg-type]

    return counted


@pytest.mark.parametrize("name", ["datacentre", "lan", "wan"])
@pytest.mark.parametrize("parties", [3, 17, 60])
@pytest.mark.parametrize("large", [700, 77_000])
def test_sums_take_the_same_time_to_the_last_digit(
    name: str, parties: int, large: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seconds, the whole critical path, and for how long each role waited are equal."""
    for seconds in (None, SECONDS):
        at_once, single = both(
            rounds_of_sum(parties, large=large),
            NETWORKS[name],
            parties=parties,
            seconds=seconds,
            monkeypatch=monkeypatch,
        )
        assert at_once is None or at_once == single
        if name == "wan" and parties > 3:
            assert at_once is not None


def test_random_rounds_take_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever all parties do the same, and wherever they only seem to."""
    at_once_at_all = 0
    for seed in range(1000):
        chance = random.Random(seed)
        parties = chance.choice((1, 2, 3, 5, 17))
        rounds = random_rounds(chance, parties)
        seconds = [
            [chance.choice((0, 0.0003, 0.01, 0.1)) for _ in range(len(rounds) + 1)] for _ in "cp"
        ]
        at_once, single = both(
            rounds,
            random_network(chance),
            parties=parties,
            seconds=RoundSeconds(seconds[0], seconds[1]) if chance.random() < 0.6 else None,
            monkeypatch=monkeypatch,
        )
        if at_once is not None:
            # Where rounds overtake one another, they are not to be computed at once, either.
            at_once_at_all += 1
            assert at_once == single, seed
    assert at_once_at_all > 100


def test_rounds_in_which_much_happens_at_once_take_the_same_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Roles compute, look for frames and wait for them in multiples of the same times."""
    at_once_at_all = 0
    for seed in range(1000):
        chance = random.Random(seed)
        parties = chance.choice((1, 2, 3, 5, 7))
        rounds = random_rounds(chance, parties) + random_rounds(chance, parties)
        times = (0, 0.001, 0.002, 0.05, 0.1, 0.1005, 0.2)
        curator, party = ([chance.choice(times) for _ in range(len(rounds) + 1)] for _ in "cp")
        network = network_of_few_times(chance)
        seconds = RoundSeconds(curator, party) if chance.random() < 0.6 else None
        at_once, single = both(
            rounds, network, parties=parties, seconds=seconds, monkeypatch=monkeypatch
        )
        if at_once is not None:
            at_once_at_all += 1
            assert at_once == single, seed
    assert at_once_at_all > 30


def test_frames_that_leave_at_once_do_not_wait_for_one_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The windows grow between small frames where nothing narrows the way, and hold no party."""
    network = Network(
        name="wide",
        between=Link(latency=0.001),
        host=Host(uplink=Link(bandwidth=math.inf), downlink=Link(bandwidth=math.inf)),
        stack=Stack(polling_seconds=0.001, congestion_control="bbr"),
    )
    rounds = [
        [Exchange(Route.DOWN, 2, 12_000)],
        [Exchange(Route.UP, 4, 128), Exchange(Route.UP, 4, 30_000)],
        [Exchange(Route.DOWN, 2, 30_000)],
    ]
    at_once, single = both(rounds, network, parties=2, seconds=None, monkeypatch=monkeypatch)
    assert at_once == single
    assert at_once is not None


def test_what_was_computed_before_all_did_alike_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The curator takes no part in the first round, and computes for longer than the parties."""
    rounds = [[Exchange(Route.ACROSS, 5, 128)], [Exchange(Route.DOWN, 5, 128)]]
    rounds += [[Exchange(Route.UP, 5, 128)], [Exchange(Route.DOWN, 5, 128)]]
    seconds = RoundSeconds([0.7, 0.2, 0.0, 0.0, 0.0], [0.0] * 5)
    at_once, single = both(rounds, WAN, parties=5, seconds=seconds, monkeypatch=monkeypatch)
    assert at_once == single
    assert at_once is not None
    assert at_once.seconds > 0.9


def test_special_hosts_and_random_delays_are_for_single_roles() -> None:
    """A party with a link of its own does not do as the others, nor one whose frames are late."""
    slow = Host(uplink=Link(bandwidth=1e6))
    assert has_alike_hosts(WAN.with_host("curator", slow), parties=5)
    assert not has_alike_hosts(WAN.with_host("party 2", slow), parties=5)
    assert not has_alike_hosts(WAN.with_edge("party 1", "curator", Link(latency=1)), parties=5)
    assert not has_alike_hosts(NETWORKS["mobile"], parties=5)


@pytest.mark.parametrize("control", ["bbr", "reno"])
def test_windows_of_many_connections_grow_as_that_of_one(control: CongestionControl) -> None:
    """Each connection of a batch sends at other times, and has its own window."""
    chance = random.Random(5)
    singles = [Window() for _ in range(50)]
    windows, now = WindowBatch.of(singles), [0.0] * 50
    for _ in range(40):
        size = chance.choice(SIZES)
        now = [each + chance.choice((0.0, 0.001, 0.04, 0.3, 2.0)) for each in now]
        bandwidth = chance.choice((8e6, math.inf))
        ends, windows = windows.send(
            size, now=np.array(now), round_trip=0.1, bandwidth=bandwidth, control=control
        )
        sent = [
            each.send(size, now=moment, round_trip=0.1, bandwidth=bandwidth, control=control)
            for each, moment in zip(singles, now, strict=True)
        ]
        singles = [window for _, window in sent]
        assert ends.tolist() == [end for end, _ in sent]
        assert windows.size.tolist() == [window.size for window in singles]
    assert max(window.size for window in singles) > 100_000


def test_many_parties_are_not_computed_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a long conversation only the first round is: that would take a second and more."""
    parties = 200
    rounds = rounds_of_sum(parties, large=12_000) + 10 * rounds_of_sum(parties, large=700)[2:]
    plays: list[int] = []
    monkeypatch.setattr(round_timing._Hosts, "play", _counted(plays))
    time_rounds(rounds, WAN, parties=parties)
    assert plays == [0]
