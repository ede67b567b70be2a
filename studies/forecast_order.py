"""The order of messages among many parties: where one play with few shows it, and where two do.

A play shows in which rounds messages of each kind are sent, and whether all parties do the same. If
they do, the predicted numbers of messages tell whether many parties have the same rounds: a kind is
sent in one round, or by each of many parties as often as by each in the play. A kind that goes from
party to party takes more rounds with more of them. Otherwise only a second play can tell. Of a kind
that some parties send in turn the protocol says who does, so a play needs as many turns or more.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from ..messages import CURATOR, Entry
from ..network import Route
from ..protocols import Cost

__all__ = ["Place", "grows_by_rounds", "is_same_order", "rates_of", "shows_order"]


class Place(NamedTuple):
    """Where in a conversation messages of one kind are sent."""

    round: int
    phase: str
    kind: str
    route: Route

    @classmethod
    def of(cls, entry: Entry) -> Place:
        """Give the place of a message."""
        route = Route.of(entry.sender, entry.receiver)
        return cls(entry.round, entry.phase, entry.kind, route)

    @property
    def line(self) -> tuple[str, str]:
        """The phase and the kind."""
        return self.phase, self.kind


def rates_of(entries: Sequence[Entry], *, parties: int) -> dict[Place, float]:
    """Count the messages in each place for each party."""
    counts = Counter(map(Place.of, entries))
    return {place: count / parties for place, count in sorted(counts.items())}


def is_same_order(
    first: Mapping[Place, float],
    second: Mapping[Place, float],
    *,
    in_turn: Collection[tuple[str, str]] = (),
) -> bool:
    """Tell whether two plays with other numbers of parties have the same rounds.

    How many other parties each talks to may change; how often it talks to the curator may not.
    Kinds that some parties send in turn, by phase and name, need only have the same turns.
    """
    fixed, other = (
        {
            place: None if place.route is Route.ACROSS or place.line in in_turn else rate
            for place, rate in rates.items()
        }
        for rates in (first, second)
    )
    return fixed == other


def grows_by_rounds(entries: Sequence[Entry], lines: Sequence[Cost], *, played: int) -> bool:
    """Tell whether a kind goes from party to party in a play, so that more take more rounds.

    Each of its rounds has one sender then, and all parties send it, or all but the last one. Kinds
    of which the protocol says who has a turn are left out.
    """
    in_turn = {(line.phase, line.kind) for line in lines if line.hops}
    senders: defaultdict[tuple[str, str], defaultdict[int, set[int]]] = defaultdict(
        lambda: defaultdict(set)
    )
    for entry in entries:
        line = entry.phase, entry.kind
        if line not in in_turn and entry.sender != CURATOR:
            senders[line][entry.round].add(entry.sender)
    return any(
        all(len(each) == 1 for each in rounds.values())
        and len(set().union(*rounds.values())) >= max(2, played - 1)
        for rounds in senders.values()
    )


def shows_order(
    entries: Sequence[Entry], lines: Sequence[Cost], *, played: int, parties: int
) -> bool:
    """Tell whether one play shows in which rounds many parties send the predicted messages.

    Args:
        entries: the messages of the play.
        lines: the predicted messages of many parties, one line for each phase and kind.
        played: number of parties in the play.
        parties: number of parties of the prediction.
    """
    by_party: defaultdict[Place, Counter[int]] = defaultdict(Counter)
    for entry in entries:
        party = entry.receiver if entry.sender == CURATOR else entry.sender
        by_party[Place.of(entry)][party] += 1
    rounds: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
    each: Counter[tuple[str, str]] = Counter()
    for place, counts in by_party.items():
        rounds[place.line].add(place.round)
        each[place.line] += counts[1]
    predicted = {(line.phase, line.kind): line for line in lines}
    return (
        predicted.keys() == each.keys()
        and all(
            len(rounds[line]) >= len(cost.hops)
            if cost.hops
            else len(rounds[line]) == 1 or cost.messages == parties * each[line]
            for line, cost in predicted.items()
        )
        and all(
            predicted[place.line].hops
            or (len(counts) == played and len({*counts.values()}) == 1)
            or (place.route is Route.ACROSS and len(rounds[place.line]) == 1)
            for place, counts in by_party.items()
        )
    )
