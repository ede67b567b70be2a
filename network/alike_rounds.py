"""Rounds in which all parties do the same, computed for all parties at once.

In most rounds every party sends the curator as many frames of the same sizes, or receives them from
it, and perhaps sends one to the next party. The model is that of `round_timing`, and takes the same
seconds to the last digit, but computes them by arrays. Where not all parties do the same in the
same order it gives up, and rounds are computed role by role.

All hosts of parties must be alike, and no link may delay frames at random.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..messages import CURATOR
from .alike_connections import NotAlikeError
from .alike_curator import CuratorWaiting
from .alike_hosts import AlikeHosts, RoleStates
from .alike_parties import AlikeParties
from .alike_sending import AlikeFlights, AlikeFrame
from .model import PARTIES, Network, host_name
from .moment_batches import Floats, Indices
from .moments import Moment
from .replay import END_BYTES, Waits
from .rounds import Exchange, RoundSeconds, Route, sizes_together
from .stack import Stack
from .ways import Ways

__all__ = ["AlikeRound", "alike_round", "has_alike_hosts", "play_alike"]


class AlikeRound(NamedTuple):
    """What is sent in a round in which all parties do the same."""

    frames: tuple[tuple[Route, int], ...]
    """The route and size of each frame of every party, or of the curator to every party."""
    counts: tuple[int, ...]
    """Numbers of frames of every party that the curator wants one after another."""


def alike_round(exchanges: Sequence[Exchange], *, parties: int, stack: Stack) -> AlikeRound | None:
    """Describe a round in which all parties do the same; `None` if they do not.

    >>> round = alike_round([Exchange(Route.UP, 6, 100)], parties=3, stack=Stack())
    >>> len(round.frames), round.counts
    (2, (2,))
    >>> alike_round([Exchange(Route.UP, 7, 100)], parties=3, stack=Stack())
    """
    frames, counts = list[tuple[Route, int]](), list[int]()
    for route, messages, size, senders, _ in exchanges:
        count, rest = divmod(messages, parties)
        if rest or senders or not count:
            return None
        sizes = [size] * count
        if route is Route.ACROSS:
            sizes = sizes_together(count, size, stack=stack)
        elif route is Route.UP:
            counts.append(count)
        frames += [(route, each) for each in sizes]
    routes = [route for route, _ in frames]
    # In each round the curator either sends or receives.
    if (Route.UP in routes) == (Route.DOWN in routes) or routes.count(Route.ACROSS) > 1:
        return None
    if Route.DOWN in routes and Route.ACROSS in routes:
        return None
    return AlikeRound(tuple(frames), tuple(counts))


def has_alike_hosts(network: Network, *, parties: int) -> bool:
    """Tell whether all parties have the same links, which delay nothing at random."""
    curator = host_name(CURATOR)
    names = {*network.hosts, *(name for edge in network.edges for name in edge)}
    if network.sites or not names <= {curator, PARTIES}:
        return False
    ways, pairs = Ways(network), [(CURATOR, 1), (1, CURATOR)] + [(1, 2)] * (parties > 1)
    return all(
        ways.stretches(*pair).across.bandwidth == math.inf
        and not (ways.link(*pair).jitter or ways.link(*pair).loss)
        for pair in pairs
    )


def play_alike(
    states: RoleStates,
    rounds: Sequence[AlikeRound],
    network: Network,
    *,
    first: int,
    seconds: RoundSeconds | None,
    last: float,
) -> tuple[Moment, Waits]:
    """Let all roles go from round to round, until the curator knows that all have ended.

    Args:
        states: all roles before.
        rounds: what is sent in each round that is left.
        network: the network.
        first: number of the first of these rounds.
        seconds: what roles compute in each of all rounds; without it no time.
        last: seconds that the curator computes after its last message.

    Returns:
        When the curator has ended, and for how long each role waited for each other one.

    Raises:
        NotAlikeError: parties do not all do the same in the same order.
    """
    play = _Play(states, network, end=first + len(rounds))
    for number, each in enumerate(rounds, start=first):
        computed = (0.0, 0.0)
        if seconds is not None:
            computed = seconds.curator[number], seconds.party[number]
        play.play(each, number, computed=computed)
    return play.close(last), play.waits


class _Roles:
    """All roles."""

    def __init__(self, states: RoleStates, network: Network) -> None:
        if any(role.has_mail for role in states.roles):
            raise NotAlikeError
        count = len(states.roles)
        waits = np.array([states.waits.get((CURATOR, rank), 0.0) for rank in range(1, count)])
        self.curator = CuratorWaiting(states.roles[CURATOR], network, waits=waits)
        self.parties = AlikeParties(states.roles[1:], network)

    def put_in_order(self) -> tuple[Indices, Indices]:
        """Number all roles as they go on, at first those that do so first; give the numbers.

        Returns:
            That of the curator, once for each party, and those of the parties.
        """
        seconds = np.append(self.curator.clock.seconds, self.parties.clock.seconds)
        orders = np.column_stack([self.curator.order, self.parties.order])
        places = np.argsort(np.lexsort((*orders[::-1], seconds)))
        numbered = np.zeros((5, len(places)))
        numbered[0], numbered[4] = -math.inf, places
        self.curator.order, self.parties.order = numbered[:, 0], numbered[:, 1:]
        return np.full(len(places) - 1, places[0]), places[1:]


class _Play:
    """Roles and hosts, as they go from round to round."""

    def __init__(self, states: RoleStates, network: Network, *, end: int) -> None:
        self._roles = _Roles(states, network)
        self._hosts = AlikeHosts(states, network)
        self._end = end
        """The number of the round in which the curator waits for the ends of all parties."""
        self._before = states.waits
        ranks = range(1, len(states.roles))
        self._ranks = {
            Route.DOWN: [(rank, CURATOR) for rank in ranks],
            Route.ACROSS: [(rank, (rank - 2) % len(ranks) + 1) for rank in ranks],
        }
        """Receiver and sender of what each party waits for."""
        self._waits: dict[Route, Floats] = {}
        """For how long each party has waited for the curator, or for the party before it."""

    def play(self, each: AlikeRound, number: int, *, computed: tuple[float, float]) -> None:
        """Let all roles compute, send, and then wait, in one round.

        Args:
            each: what they send.
            number: the round.
            computed: seconds that the curator computes, and each party.
        """
        hosts, curator, parties = self._hosts, self._roles.curator, self._roles.parties
        curator_place, places = self._roles.put_in_order()
        curator.compute(computed[0])
        parties.compute(computed[1])
        connections = {Route.UP: hosts.up, Route.DOWN: hosts.down, Route.ACROSS: hosts.across}
        frames = [AlikeFrame(connections[route], size, number) for route, size in each.frames]
        end, is_last = AlikeFrame(hosts.up, END_BYTES, self._end), number + 1 == self._end
        routes = {route for route, _ in each.frames} - {Route.UP}
        if is_last and not routes:
            frames.append(end)
        if Route.DOWN in routes:
            curator.clock, flights = hosts.of_curator.send(
                frames, curator.clock, order=curator_place
            )
        else:
            parties.clock, flights = hosts.of_parties.send(frames, parties.clock, order=places)
        for route in routes:
            self._take(route, [each for each in flights if each.connections is connections[route]])
        gathered = [flight for flight in flights if flight.connections is hosts.up]
        if is_last and routes:
            _, places = self._roles.put_in_order()
            before = 0 if Route.DOWN in routes else len(frames)
            parties.clock, flights = hosts.of_parties.send(
                [end], parties.clock, order=places, before=before
            )
            gathered += flights
        if gathered:
            curator.take(hosts.gather(gathered), number=number, senders=each.counts)

    def _take(self, route: Route, flights: Sequence[AlikeFlights]) -> None:
        """Let all parties wait for what comes to them."""
        waits = self._waits.get(route)
        if waits is None:
            waits = np.array([self._before.get(ranks, 0.0) for ranks in self._ranks[route]])
        for waited in self._roles.parties.take([*map(self._hosts.receive, flights)]):
            waits = waits + waited
        self._waits[route] = waits

    def close(self, last: float) -> Moment:
        """Let the curator tell all that it has ended, and wait for the ends of all."""
        curator = self._roles.curator
        curator.compute(last)
        end = AlikeFrame(self._hosts.down, END_BYTES, self._end)
        order = np.zeros(len(self._ranks[Route.DOWN]), np.int64)
        curator.clock, flights = self._hosts.of_curator.send([end], curator.clock, order=order)
        self._roles.parties.take([*map(self._hosts.receive, flights)])
        curator.take(None, number=self._end, senders=[1])
        return curator.clock.moment(0)

    @property
    def waits(self) -> Waits:
        """Give the seconds for which each role waited for each other one."""
        waits: Waits = defaultdict(float, self._before)
        for rank, seconds in enumerate(self._roles.curator.waits.tolist(), start=1):
            waits[CURATOR, rank] = seconds
        for route, each in self._waits.items():
            waits.update(zip(self._ranks[route], each.tolist(), strict=True))
        return waits
