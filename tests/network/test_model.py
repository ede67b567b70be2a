"""Links are a monoid, paths have every stretch once, and draws depend on the seed alone."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sottovoce.network import PERFECT, Host, Link, Network, Site, Stack
from sottovoce.network.stack import SEGMENT_BYTES, CongestionControl
from sottovoce.network.ways import Ways
from sottovoce.network.window import FIRST_WINDOW_OF_BBR, Window

links = st.builds(
    Link,
    latency=st.floats(0, 1),
    bandwidth=st.floats(1e3, 1e10) | st.just(math.inf),
    loss=st.floats(0, 0.5),
    jitter=st.floats(0, 1),
)


def almost(first: Link, second: Link) -> bool:
    pairs = [
        (first.latency, second.latency),
        (first.bandwidth, second.bandwidth),
        (first.loss, second.loss),
        (first.jitter, second.jitter),
    ]
    return all(math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12) for a, b in pairs)


@given(links, links, links)
def test_links_in_series_are_a_monoid(first: Link, second: Link, third: Link) -> None:
    assert almost((first + second) + third, first + (second + third))
    assert almost(first + second, second + first)
    assert almost(first + PERFECT, first)


def test_a_path_has_the_stretches_on_its_way() -> None:
    """Parties 1 and 2 sit in one office; party 2 has a slow access of its own."""
    network = (
        Network(name="test", between=Link(latency=0.05))
        .with_host("parties", Host(uplink=Link(bandwidth=1e7, latency=0.001)))
        .with_host("party 2", Host(uplink=Link(bandwidth=1e5, latency=0.002)))
        .with_host("curator", Host(downlink=Link(bandwidth=3e6, latency=0.003)))
        .with_edge("party 1", "curator", Link(latency=0.1, bandwidth=2e6))
        .with_site(
            Site(
                name="office",
                hosts=frozenset(["party 1", "party 2"]),
                uplink=Link(bandwidth=1e6, latency=0.01),
            )
        )
    )

    def pipes(sender: int, receiver: int) -> list[tuple[str, float]]:
        path = network.path(sender, receiver)
        return [(pipe.name, pipe.bandwidth) for pipe in (*path.outgoing, *path.incoming)]

    assert pipes(1, 0) == [
        ("uplink of party 1", 1e7),
        ("uplink of office", 1e6),
        ("party 1 -> curator", 2e6),
        ("downlink of curator", 3e6),
    ]
    assert network.path(1, 0).link.latency == pytest.approx(0.001 + 0.01 + 0.1 + 0.003)
    # Two hosts of one site reach each other without its uplink.
    assert pipes(1, 2) == [("uplink of party 1", 1e7)]
    assert network.path(2, 1).link.latency == pytest.approx(0.002 + 0.05)
    assert pipes(3, 0) == [("uplink of party 3", 1e7), ("downlink of curator", 3e6)]
    assert pipes(0, 3) == []


def test_changes_make_copies() -> None:
    network = Network(name="test")
    assert network.with_host("curator", Host(uplink=Link(latency=1))) != network
    assert network.with_stack(Stack(eager_bytes=1)).stack.eager_bytes == 1
    assert network == Network(name="test")


def test_draws_are_uniform_and_depend_on_the_seed() -> None:
    """Each mean of 4,000 draws is within 0.03 of one half but with probability below 1e-9."""
    network = Network(name="test", seed=7)
    draws = [network.draws(1, 0, number) for number in range(4000)]
    for index in (0, 1):
        values = [draw[index] for draw in draws]
        assert abs(sum(values) / len(values) - 0.5) < 0.03
        assert all(0 <= value < 1 for value in values)
    assert draws == [network.draws(1, 0, number) for number in range(4000)]
    others = [Network(name="test", seed=8).draws(1, 0, 0), network.draws(0, 1, 0)]
    assert draws[0] not in others
    assert draws[0] != network.draws(2, 0, 0)


@pytest.mark.parametrize("windows", [1, 2, 3, 4])
def test_a_window_doubles_with_every_round_trip(windows: int) -> None:
    """Without a limit of bandwidth, 2^n - 1 first windows take n - 1 round trips more."""
    size = (2**windows - 1) * 1000
    way = {"now": 5, "round_trip": 0.1, "bandwidth": math.inf}
    end, window = Window(1000).send(size, **way, control="reno")
    assert end == pytest.approx(5 + 0.1 * (windows - 1))
    assert window.size == 1000 * 2 ** (windows - 1)


@given(
    st.lists(st.integers(0, 100_000), min_size=1, max_size=20),
    st.sampled_from(["bbr", "reno"]),
    st.sampled_from([1e6, 20e6, math.inf]),
)
def test_a_stream_takes_as_long_as_its_bytes_in_one(
    sizes: list[int], control: CongestionControl, bandwidth: float
) -> None:
    """How bytes are cut into frames does not matter."""
    way = {"now": 0.0, "round_trip": 0.1, "bandwidth": bandwidth}
    window, end = Window(), 0.0
    for size in sizes:
        end, window = window.send(size, **way, control=control)
    whole, after = Window().send(sum(sizes), **way, control=control)
    if bandwidth == math.inf:
        assert end == pytest.approx(whole)
        assert window[:2] == after[:2]
    assert end <= whole + 1e-9


def test_a_window_that_fills_the_way_never_waits() -> None:
    enough = round(20e6 * 0.1 / 8) + 1
    way = {"now": 0.0, "round_trip": 0.1, "bandwidth": 20e6}
    end, _ = Window(enough, 0, -0.1).send(10**9, **way, control="reno")
    assert end == pytest.approx(8 * 10**9 / 20e6)


def test_reno_forgets_after_idling_and_bbr_does_not() -> None:
    way = {"round_trip": 0.1, "bandwidth": math.inf}
    _, learnt = Window().send(200_000, now=0.0, **way, control="bbr")
    kept, _ = learnt.send(200_000, now=10.0, **way, control="bbr")
    # It has learnt to send 167 kB in a round trip, and sends twice as much in the next one.
    window = 8 * FIRST_WINDOW_OF_BBR
    last = 200_000 - window - SEGMENT_BYTES
    assert kept == pytest.approx(10.1 + 0.1 * last / (2 * window))
    forgotten, _ = learnt.send(200_000, now=10.0, **way, control="reno")
    assert forgotten == pytest.approx(10.3)


def test_a_small_frame_leaves_at_once_and_teaches_nothing() -> None:
    end, window = Window().send(100, now=1.0, round_trip=0.1, bandwidth=math.inf)
    assert end == 1.0
    end, window = window.send(100, now=2.0, round_trip=0.1, bandwidth=math.inf)
    assert (end, window.size) == (2.0, FIRST_WINDOW_OF_BBR)


@pytest.mark.parametrize(
    ("size", "delays"),
    [
        (8000, 1.37),
        (12_000, 1.55),
        (16_000, 1.69),
        (20_000, 1.87),
        (30_000, 3.29),
        (38_000, 3.65),
        (60_000, 4.69),
        (100_000, 6.07),
    ],
)
def test_a_new_connection_takes_as_long_as_was_measured(size: int, delays: float) -> None:
    """Single frames from each of three parties between namespaces, 50 ms and no limit.

    Of the network parts 0.04 delays were naps of the waiting curator.
    """
    end, _ = Window().send(size, now=0.0, round_trip=2.0, bandwidth=math.inf)
    assert end + 1 == pytest.approx(delays, rel=0.06)


@given(links, links, links, links, st.permutations(range(4)))
def test_ways_of_roles_alike_are_those_of_each_pair(
    across: Link, access: Link, shared: Link, special: Link, order: list[int]
) -> None:
    """Whichever pairs are asked for first, a way is what the network says of its two roles."""
    site = Site(name="office", hosts=frozenset(["party 2", "party 5"]), uplink=shared)
    network = (
        Network(name="test", between=across, host=Host(uplink=access))
        .with_host("party 3", Host(downlink=special))
        .with_edge("party 4", "curator", special)
        .with_edge("curator", "parties", shared)
    )
    everywhere = Site(name="ward", hosts=frozenset(["parties"]), downlink=access)
    networks = [network, network.with_site(site), network.with_site(everywhere)]
    roles = [*order, *range(4, 8)]
    for each in networks:
        ways = Ways(each)
        for sender in roles:
            for receiver in roles:
                if sender != receiver:
                    way = each.path(sender, receiver)
                    assert ways.path(sender, receiver) == way
                    assert ways.link(sender, receiver) == way.link
