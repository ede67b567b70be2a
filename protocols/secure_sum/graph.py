"""The mask graph: which parties share masks, and in which order parties stand on its circle.

Parties stand on a circle in a random order that everyone can compute. Each shares masks with the
d / 2 parties before it and the d / 2 parties after it (a Harary graph; Bell, Bonawitz, Gascon,
Lepoint and Raykova, "Secure single-server aggregation with (poly)logarithmic overhead", CCS 2020,
use the same graph). Below about 34 parties all pairs share masks.

*Who can read what.* The curator and a coalition of parties learn the sum of each connected
component of the other parties, and nothing more. The others are connected unless the coalition
holds two runs of d / 2 neighbouring places on the circle. So

- a coalition of fewer than d parties never parts the others, whoever it chose
- a coalition of any third of the parties that was chosen without knowing the order parts them with
  a probability below 2**-40: there are K (K - 1) / 2 pairs of places where two runs can begin, and
  d given places are all in the coalition with a probability of at most (1/3)**d
- a coalition of d parties or more that was chosen with knowledge of the order can be the
  neighbours of one party. The accountant states this worst case

Nobody is left out of a run, so the graph cannot make a sum wrong.

*Who decides on the order.* It follows from the digest of the job, so whoever writes the job can
search for one that suits a coalition. scrypt makes every try cost some 40 ms and 16 MB. Half of
1,000 parties are all neighbours of one of the others with a probability of 2**-30 a job: a search
for such a job takes about a year of CPU. An order that no role fixes alone would need commitments
to random numbers, and their openings, before parties know their neighbours. That is two rounds
more. Numbers without commitments would not help: the curator, which every such coalition needs,
would choose last.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import comb
from typing import Final, NamedTuple

import numpy as np

from ...crypto import RandomStream, stretched_key
from ...privacy.made_once import made_once

__all__ = ["Circle", "degree", "shuffle"]

FAILURE_BITS: Final = 40
"""A random third of the parties parts the others with a probability below 2**-40."""
COALITION: Final = 3
"""The bound holds for coalitions of one party in three."""


def degree(*, parties: int, colluding: int) -> int:
    """Choose with how many others each party shares masks; all of them where parties are few.

    >>> [degree(parties=parties, colluding=1) for parties in (3, 30, 100, 1000)]
    [2, 29, 34, 38]
    """
    pairs = comb(parties, 2)
    size = 2 * (colluding // 2 + 1)  # more than `colluding`, and even
    while COALITION**size < pairs << FAILURE_BITS:
        size += 2
    return min(size, parties - 1)


class Circle(NamedTuple):
    """The parties in their order on the circle, and how many neighbours share masks with each."""

    order: tuple[int, ...]
    degree: int

    @classmethod
    def of(cls, *, parties: int, colluding: int, seed: bytes) -> Circle:
        """Draw the circle of all parties from a public seed. All roles draw the same."""
        return cls.among(range(1, parties + 1), colluding=colluding, seed=seed)

    @classmethod
    def among(cls, members: Sequence[int], *, colluding: int, seed: bytes) -> Circle:
        """Draw the circle of some of the parties, by rank."""
        size = degree(parties=len(members), colluding=colluding)
        if size >= len(members) - 1:
            return cls(tuple(members), size)
        return cls(tuple(members[place] for place in _order(len(members), seed)), size)

    @property
    def parties(self) -> int:
        return len(self.order)

    def neighbours(self, party: int) -> list[int]:
        """List the parties with which a party shares masks, by rank."""
        if self.degree >= self.parties - 1:
            return sorted(set(self.order) - {party})
        place, half = self.order.index(party), self.degree // 2
        steps = [*range(-half, 0), *range(1, half + 1)]
        return sorted(self.order[(place + step) % self.parties] for step in steps)

    def neighbours_among(self, party: int, members: Collection[int]) -> list[int]:
        """List the members with which a party shares masks, by rank."""
        return [peer for peer in self.neighbours(party) if peer in members]

    def cut(self, members: Collection[int]) -> int:
        """Count the fewest members that part the others, or leave one alone, of these members.

        Two members that follow each other on the circle share masks unless half a degree of places
        or more lies between them. So the others are parted if and only if two such runs of places
        have no member left that is outside the coalition.
        """
        if self.degree >= self.parties - 1:
            return len(members) - 1
        half, places = self.degree // 2, self.parties
        alive = np.array([party in members for party in self.order], np.int64)
        before = np.concatenate([[0], np.cumsum(np.concatenate([alive, alive]))])
        runs = before[half : half + places] - before[:places]
        fewest = len(members) - 1
        for first in range(places):
            # By the first place of the second run. Two runs that overlap part nobody.
            between = before[:places] - before[first + half]
            beyond = before[first + places] - before[half : half + places]
            parting = (runs[first] + runs)[(between > 0) & (beyond > 0)]
            fewest = min(fewest, int(parting.min(initial=fewest)))
        return fewest

    def after(self, party: int) -> int:
        """Give the next party on the circle, which shares masks with this one."""
        return self.order[(self.order.index(party) + 1) % self.parties]

    def before(self, party: int) -> int:
        """Give the party before this one on the circle."""
        return self.order[self.order.index(party) - 1]

    @property
    def edges(self) -> int:
        """Number of pairs that share masks."""
        return self.parties * self.degree // 2


@made_once
def _order(parties: int, seed: bytes) -> tuple[int, ...]:
    return tuple(shuffle(RandomStream(_key(seed)), size=parties))


@made_once
def _key(seed: bytes) -> bytes:
    return stretched_key(seed, salt=b"sottovoce mask graph v2")


def shuffle(stream: RandomStream, *, size: int) -> list[int]:
    """Shuffle 0 .. size - 1 (Fisher and Yates), without bias."""
    order = list(range(size))
    for last in range(size - 1, 0, -1):
        other = stream.below(last + 1)
        order[last], order[other] = order[other], order[last]
    return order
