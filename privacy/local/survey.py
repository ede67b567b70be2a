"""A survey: which of all users is asked which question, by public randomness alone.

Users are numbered over all cohorts. A permutation under a public key gives each a place, and the
questions take the places in order, so many each. Thus every question gets exactly its number of
users, nobody is asked twice, and who is asked what does not depend on how many ranks share the
users. A protocol of several rounds goes on, in each, with the place where the last one stopped
(`after`): the same permutation, other users; or it asks users again, group by group (`starts`), and
then says what each group tells in all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np
import numpy.typing as npt

from ...crypto.feistel import Permutation
from .packing import pack, packed_size, unpack
from .randomizer import Counts, Randomizer, Reports

__all__ = ["Survey", "shared_out"]


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """So many users, and for each question the randomizer by which it is answered and how many are
    asked.
    """

    users: int
    key: bytes
    randomizers: tuple[Randomizer, ...]
    sizes: Counts
    first: int = 0
    """The place of the first who is asked; those before have answered in earlier rounds."""
    starts: Counts | None = None
    """The place of the first of each question, in rising order, where they do not follow one
    another.
    """
    _starts: Counts = field(init=False, repr=False)
    _ends: Counts = field(init=False, repr=False)
    _permutation: Permutation = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if len(self.sizes) != len(self.randomizers) or not len(self.sizes):
            raise ValueError(
                f"expected a size for each of {len(self.randomizers)} questions, found {len(self.sizes)}"
            )
        sizes = self.sizes.tolist()  # as Python's integers, whose sum does not wrap around
        if not 0 <= self.first < self.users:
            raise ValueError(
                f"expected to begin with one of {self.users} users, found place {self.first}: all have answered"
            )
        most = self.users - self.first
        if self.sizes.ndim != 1 or min(sizes) < 0 or not 0 < sum(sizes) <= most:
            raise ValueError(
                f"expected groups of 1 to {most} users together, none negative, found {sum(sizes)}"
            )
        starts = (
            self.first + np.cumsum(self.sizes) - self.sizes if self.starts is None else self.starts
        )
        if (
            starts.shape != self.sizes.shape
            or starts[0] != self.first
            or min(starts.tolist()) < self.first
        ):
            raise ValueError(
                f"expected first places of {len(sizes)} groups, from {self.first} on, found {starts.tolist()}"
            )
        if (starts[1:] < starts[:-1] + self.sizes[:-1]).any() or int(
            starts[-1] + self.sizes[-1]
        ) > self.users:
            raise ValueError(
                "expected groups one after another, found some that overlap, or more users than there are"
            )
        object.__setattr__(self, "_starts", starts)
        object.__setattr__(self, "_ends", starts + self.sizes)
        object.__setattr__(self, "_permutation", Permutation(self.users, key=self.key))

    @property
    def asked(self) -> int:
        """How many users are asked anything."""
        return int(self.sizes.sum())

    @property
    def after(self) -> int:
        """The place after the last who is asked."""
        return int(self._ends[-1])

    @property
    def runs(self) -> list[tuple[int, int]]:
        """The places of the users of each question, the first and one past the last."""
        return list(zip(self._starts.tolist(), self._ends.tolist(), strict=True))

    @property
    def epsilon(self) -> float:
        return max(own.epsilon for own in self.randomizers)

    @property
    def bits(self) -> int:
        """What all users together say, in bits."""
        return sum(
            int(size) * own.bits for size, own in zip(self.sizes, self.randomizers, strict=True)
        )

    def questions(self, users: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Say which question each of these users is asked; one past the last: none."""
        places = self._permutation.of(users)
        found = np.searchsorted(self._ends, places, side="right").astype(np.int64)
        found[places < np.append(self._starts, self.users)[found]] = len(self.sizes)
        return found

    def alike(self) -> Iterator[tuple[int, int, Randomizer]]:
        """List the runs of questions that are answered by the same randomizer: first, one past the
        last, and it.
        """
        at = 0
        for _, group in groupby(self.randomizers, key=id):
            own = list(group)
            yield at, at + len(own), own[0]
            at += len(own)

    def pack(self, reports: Sequence[Reports]) -> tuple[npt.NDArray[np.uint8], int]:
        """Put the reports of each run together, and count their bits, which are fewer than the
        bytes have.
        """
        parts = [
            pack(told, bits=own.bits)
            for told, (_, _, own) in zip(reports, self.alike(), strict=True)
        ]
        bits = sum(
            len(told) * own.bits for told, (_, _, own) in zip(reports, self.alike(), strict=True)
        )
        return np.concatenate(parts), bits

    def unpack(self, packed: npt.NDArray[np.uint8], users: Counts) -> list[Counts]:
        """Count the support of each question in packed reports of so many users each; what cannot
        be is a `ValueError`.
        """
        if users.shape != self.sizes.shape:
            raise ValueError(
                f"expected a number of users for each of {len(self.sizes)} questions, found {users.shape}"
            )
        found: list[Counts] = []
        at = 0
        for start, stop, own in self.alike():
            reports = int(users[start:stop].sum())
            size = packed_size(reports, bits=own.bits)
            told = unpack(packed[at : at + size], bits=own.bits, reports=reports)
            found += own.supports(told, users[start:stop])
            at += size
        if at != packed.size:
            raise ValueError(f"expected {at} bytes of reports, found {packed.size}")
        return found


def shared_out(users: int, weights: Sequence[float]) -> list[int]:
    """Share users out by weight, by largest remainder; of equal ones the first gets more.

    >>> shared_out(100, [1, 1, 1]), shared_out(1000, [4, 32, 256])
    ([34, 33, 33], [14, 109, 877])
    """
    total = sum(weights)
    exact = [users * weight / total for weight in weights]
    sizes = [int(own) for own in exact]
    order = sorted(range(len(sizes)), key=lambda at: (sizes[at] - exact[at], at))
    for at in order[: users - sum(sizes)]:
        sizes[at] += 1
    return sizes
