"""The hosts of all roles in rounds in which all parties do the same: what passes their links.

All parties have the same links. Each frame of theirs passes its own uplink, and those for the
curator pass its downlink one after another.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..messages import CURATOR
from .alike_connections import AlikeConnections, NotAlikeError
from .alike_curator import Arrivals
from .alike_sending import AlikeFlights, AlikeUplink
from .connection import PipeState, WireTimes
from .model import Network
from .moment_batches import (
    Floats,
    MomentBatch,
    given,
    joined,
    later,
    latest_of,
    passed_in_turn,
    picked,
)
from .moments import Place, Reason
from .replay import Waits
from .round_sending import SendingHost
from .round_waiting import WaitingRole
from .ways import Ways

__all__ = ["AlikeHosts", "RoleStates"]


class RoleStates(NamedTuple):
    """All roles after the rounds that were computed role by role."""

    roles: Sequence[WaitingRole]
    sending: Sequence[SendingHost]
    downlinks: Sequence[PipeState]
    heads: Sequence[float]
    """When the last frame of all rounds so far came to each host."""
    waits: Waits


class AlikeHosts:
    """The links of all hosts, and the connections between them."""

    def __init__(self, states: RoleStates, network: Network) -> None:
        ranks = np.arange(1, len(states.roles)).tolist()
        self._ways = Ways(network)
        self._states = states
        self._wire_times = WireTimes(network.stack)
        self.up = self._connect([(rank, CURATOR) for rank in ranks])
        self.down = self._connect([(CURATOR, rank) for rank in ranks])
        self.across = self._connect([(rank, rank % len(ranks) + 1) for rank in ranks])
        self.of_curator = self._uplink([CURATOR], network)
        self.of_parties = self._uplink(ranks, network)
        self._after = np.roll(np.arange(len(ranks)), 1)
        """The place of the party from which each one receives."""
        self._frees = [given([pipe.free for pipe in states.downlinks[:1]])]
        self._frees.append(given([pipe.free for pipe in states.downlinks[1:]]))
        self._bandwidths = [states.downlinks[rank].bandwidth for rank in (CURATOR, 1)]
        self._head = states.heads[CURATOR]
        self._heads: Floats = np.array(states.heads[1:])

    def _connect(self, places: Sequence[Place]) -> AlikeConnections:
        if places[0][0] == places[0][1]:
            return self.up  # A single party has no other one to send to.
        there = self._ways.link(*places[0])
        back = self._ways.link(*places[0][::-1]).latency
        states = [self._states.sending[sender].connection_to(to) for sender, to in places]
        return AlikeConnections(
            places,
            there,
            there.latency + back,
            before=[connection for connection, _ in states],
            gone=[gone for _, gone in states],
        )

    def _uplink(self, ranks: Sequence[int], network: Network) -> AlikeUplink:
        sending = [self._states.sending[rank] for rank in ranks]
        return AlikeUplink(
            bandwidth=network.host_of(ranks[0]).uplink.bandwidth,
            is_shared=ranks[0] == CURATOR,
            free=given([each.uplink_free for each in sending]),
            late=np.array([each.last_late for each in sending]),
            stack=network.stack,
            wire_times=self._wire_times,
        )

    def receive(self, flight: AlikeFlights) -> tuple[MomentBatch, Floats]:
        """Let a frame pass the downlink of each party; give when it arrives, and its order."""
        connections, head, tail, left = flight.connections, flight.head, flight.tail, flight.left
        is_across = connections is self.across
        if is_across:
            head, tail = picked(head, self._after), picked(tail, self._after)
        if np.any(head.seconds <= self._heads):
            raise NotAlikeError
        self._heads = head.seconds
        if self._bandwidths[1] < math.inf:
            seconds = self._wire_times.seconds(flight.size, self._bandwidths[1])
            places = [*connections.places]
            if is_across:
                places = [places[index] for index in self._after.tolist()]
            begins = latest_of(head, self._frees[1])
            self._frees[1] = later(begins, seconds, Reason.BANDWIDTH, places.__getitem__)
            tail = latest_of(self._frees[1], tail)
        if is_across:
            arrival = connections.arrive(picked(tail, np.argsort(self._after)))
            arrival = picked(arrival, self._after)
            left = tuple(each[self._after] for each in left)
        else:
            arrival = connections.arrive(tail)
        return arrival, np.array([arrival.seconds, head.seconds, *left])

    def gather(self, flights: Sequence[AlikeFlights]) -> Arrivals:
        """Let the frames of all parties pass the curator's downlink; give when they arrive."""
        count = len(self.up.places)
        heads = joined([flight.head for flight in flights])
        tails = joined([flight.tail for flight in flights])
        left = [np.concatenate(each) for each in zip(*(each.left for each in flights), strict=True)]
        order = np.lexsort((*left[::-1], heads.seconds))
        back = np.argsort(order)
        sizes = np.repeat([flight.size for flight in flights], count)
        senders = np.tile(np.arange(1, count + 1), len(flights))
        sorted_heads = picked(heads, order)
        if np.any(np.diff(back.reshape(-1, count), axis=0) < 0):
            raise NotAlikeError
        if self._bandwidths[0] < math.inf:
            is_tie = np.diff(sorted_heads.seconds) == 0
            is_other = (np.diff(senders[order]) != 0) & (np.diff(sizes[order]) != 0)
            if sorted_heads.seconds[0] <= self._head or np.any(is_tie & is_other):
                raise NotAlikeError
            times = {
                size: self._wire_times.seconds(size, self._bandwidths[0])
                for size in {flight.size for flight in flights}
            }
            ranks = senders[order].tolist()
            _, passed = passed_in_turn(
                sorted_heads,
                [times[size] for size in sizes[order].tolist()],
                self._frees[0],
                lambda index: (ranks[index], CURATOR),
            )
            self._frees[0] = picked(passed, np.array([len(passed) - 1]))
            tails = picked(latest_of(passed, picked(tails, order)), back)
        self._head = float(sorted_heads.seconds[-1])
        arrivals = joined(
            [
                self.up.arrive(picked(tails, np.arange(place, place + count)))
                for place in range(0, len(tails), count)
            ]
        )
        moment = picked(arrivals, order)
        rounds = np.repeat([flight.round for flight in flights], count)
        orders = np.array([arrivals.seconds, heads.seconds, *left])
        return Arrivals(moment, moment.seconds, senders[order], rounds[order], orders[:, order])
