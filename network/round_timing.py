"""The time of a conversation of rounds, without a simulation of all its events.

In a round every role sends, and then waits. So when all is known that is sent in a round, all is
known that the network does in it, and rounds are computed one after another: first what is sent,
then the order in which it comes to each receiver, then when each role has all that it waits for.

This is right as long as rounds do not overtake one another: no frame may come to a link before one
of an earlier round, or wake a role that waits for one. Frames must leave without being announced,
each host must have one link to the network, and each role a core of its own. Where this does not
hold, `replay` simulates all events. Both take the same seconds, and so do rounds that are computed
for all parties at once.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

from ..messages import CURATOR
from .alike_connections import NotAlikeError
from .alike_hosts import RoleStates
from .alike_rounds import alike_round, has_alike_hosts, play_alike
from .connection import PipeState, WireTimes
from .model import Network
from .replay import END_BYTES, Waits, collecting_later, replay
from .round_script import RoundScript, Turns
from .round_sending import Flight, NotByRoundsError, SendingHost
from .round_waiting import Arrival, WaitingRole
from .rounds import Exchange, RoundFrame, RoundSeconds, parts_of_rounds
from .timing import Timing
from .ways import Ways

__all__ = ["time_rounds"]

MAX_TRIALS: Final = 3
"""Rounds at most at which all the following ones are tried for all parties at once.

The first rounds may leave frames that parties take in other orders.
"""


def time_rounds(
    rounds: Sequence[Sequence[Exchange]],
    network: Network,
    *,
    parties: int,
    seconds: RoundSeconds | None = None,
    last: float = 0.0,
) -> Timing:
    """Give the time that a conversation takes on a network, until the curator knows its end.

    Args:
        rounds: what is exchanged in each round.
        network: the network.
        parties: number of parties.
        seconds: what roles compute in each round; without it no time.
        last: seconds that the curator computes after its last message.
    """
    with collecting_later():
        try:
            return _time_by_rounds(rounds, network, parties=parties, seconds=seconds, last=last)
        except NotByRoundsError:
            pass  # The simulation takes longer, and knows of no rounds.
    parts = parts_of_rounds(rounds, parties=parties, stack=network.stack, seconds=seconds)
    return replay(parts, network, last=last)


def _time_by_rounds(
    rounds: Sequence[Sequence[Exchange]],
    network: Network,
    *,
    parties: int,
    seconds: RoundSeconds | None,
    last: float,
) -> Timing:
    """Let all roles go from round to round.

    From the round on after which all parties do the same, rounds are computed for all parties at
    once, if that is possible (`alike_rounds`).

    Raises:
        NotByRoundsError: rounds overtake one another, or roles share cores.
    """
    if network.cores is not None:
        raise NotByRoundsError
    alike = [alike_round(each, parties=parties, stack=network.stack) for each in rounds]
    has_others = seconds is not None and seconds.others
    if has_others or not has_alike_hosts(network, parties=parties):
        alike = [None] * len(rounds)
    first = max((number for number, each in enumerate(alike, 1) if each is None), default=0)
    script = RoundScript(
        rounds, parties=parties, stack=network.stack, seconds=seconds, last=last, alike_from=first
    )
    hosts = _Hosts(network, parties + 1, end=len(rounds))
    for number in range(len(rounds)):
        if first <= number < first + MAX_TRIALS and not script.is_behind:
            try:
                end, waits = play_alike(
                    hosts.states(),
                    [each for each in alike[number:] if each is not None],
                    network,
                    first=number,
                    seconds=seconds,
                    last=last,
                )
            except NotAlikeError:
                pass
            else:
                return Timing.of(end, waits)
        hosts.play(script.turns(number), number)
    hosts.play(script.turns(len(rounds)), len(rounds))
    # Only the time is kept, so that the search for garbage has not to look through all moments.
    return Timing.of(hosts.roles[CURATOR].clock, hosts.waits)


class _Hosts:
    """The hosts of all roles, as these go from round to round."""

    def __init__(self, network: Network, size: int, *, end: int) -> None:
        self._end = end
        """The number of the round in which the curator waits for the ends of all parties."""
        self._network = network
        self._wire_times = WireTimes(network.stack)
        ways = Ways(network)
        self.roles = [WaitingRole(rank, network) for rank in range(size)]
        self._sending = [SendingHost(rank, network, ways, self._wire_times) for rank in range(size)]
        self._downlinks = [
            PipeState(network.host_of(rank).downlink.bandwidth) for rank in range(size)
        ]
        self._heads = [-math.inf] * size
        """When the last frame of all rounds so far came to each host."""
        self._is_first = True
        """Whether this is the first round, which all roles begin at the same time."""
        self.waits: Waits = defaultdict(float)

    def states(self) -> RoleStates:
        """Give what is known of all roles."""
        return RoleStates(self.roles, self._sending, self._downlinks, self._heads, self.waits)

    def play(self, turns: Turns, number: int) -> None:
        """Let all roles send, and then wait, in one round."""
        self._is_first = number == 0
        flights: defaultdict[int, list[Flight]] = defaultdict(list)
        for rank in self._in_order(turns):
            self.roles[rank].compute(turns[rank].computed)
            self._send(rank, turns[rank].frames, flights)
        for party in sorted({*turns, *flights} - {CURATOR}):
            self._take(party, turns, flights, number)
        end = RoundFrame(CURATOR, CURATOR, END_BYTES)
        for party in self._in_order(turns):
            if turns[party].is_last:
                before = len(turns[party].frames)
                self._send(party, [(end, self._end)], flights, before=before)
        self._take(CURATOR, turns, flights, number)

    def _in_order(self, turns: Turns) -> list[int]:
        """List the roles of a round as they go on, at first those that do so first."""
        for place, rank in enumerate(
            sorted(turns, key=lambda rank: (self.roles[rank].clock.seconds, self.roles[rank].order))
        ):
            self.roles[rank].order = (-math.inf, 0.0, 0.0, 0.0, place)
        return sorted(turns, key=lambda rank: self.roles[rank].order)

    def _send(
        self,
        rank: int,
        frames: Sequence[tuple[RoundFrame, int]],
        flights: defaultdict[int, list[Flight]],
        *,
        before: int = 0,
    ) -> None:
        role = self.roles[rank]
        place = int(role.order[-1])
        role.clock, sent = self._sending[rank].send(frames, role.clock, order=place, before=before)
        for flight in sent:
            flights[flight.connection.place[1]].append(flight)

    def _take(
        self, rank: int, turns: Turns, flights: Mapping[int, list[Flight]], number: int
    ) -> None:
        arrivals = self._arrive(rank, flights[rank]) if rank in flights else []
        senders = turns[rank].senders if rank in turns else []
        if not arrivals and not senders:
            return
        self.roles[rank].take(arrivals, number=number, senders=senders, waits=self.waits)

    def _arrive(self, rank: int, flights: list[Flight]) -> list[Arrival]:
        """Let frames pass the downlink of their receiver's host."""
        flights.sort(key=lambda flight: (flight.head.seconds, flight.left))
        downlink = self._downlinks[rank]
        is_narrow = downlink.bandwidth < math.inf
        if is_narrow:
            self._check_order(rank, flights)
        self._heads[rank] = flights[-1].head.seconds
        arrivals = []
        for flight in flights:
            tail, connection = flight.tail, flight.connection
            if is_narrow:
                seconds = self._wire_times.seconds(flight.size, downlink.bandwidth)
                _, tail = downlink.enter(flight.head, tail, seconds, connection.place)
            moment = connection.arrive(flight.size, tail, self._network)
            seconds = moment.seconds
            order = seconds, flight.head.seconds, *flight.left
            arrivals.append(Arrival(moment, connection.place[0], flight.round, order, seconds))
        return arrivals

    def _check_order(self, rank: int, flights: Sequence[Flight]) -> None:
        """Check that it is known in which order frames come to a downlink, if that matters."""
        if flights[0].head.seconds <= self._heads[rank]:
            raise NotByRoundsError
        for before, flight in pairwise(flights):
            if (
                before.head.seconds == flight.head.seconds
                and before.connection.place != flight.connection.place
                and not self._is_alike(before, flight)
            ):
                raise NotByRoundsError

    def _is_alike(self, first: Flight, second: Flight) -> bool:
        """Tell whether it is known which of two frames comes first, or does not matter."""
        links = first.connection.link, second.connection.link
        is_random = any(link.jitter or link.loss for link in links)
        if self._is_first and first.is_prompt and second.is_prompt:
            return True  # All roles send in turn, in the order of their ranks.
        return first.size == second.size and not is_random
