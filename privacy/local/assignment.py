"""The assignment of users to questions, by public randomness alone.

Users are numbered over all cohorts. A permutation under a public key gives each user a place, and
the questions take the places in order. So every question gets exactly its number of users, and no
user is asked twice. The assignment does not depend on how many ranks share the users.

In a protocol of several rounds each round goes on with the place after the last (`after`): the same
permutation, other users. Or a round asks users again, group by group (`starts`), and states the
privacy loss of each group in all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np
import numpy.typing as npt

from ...crypto.feistel import Permutation
from .packing import pack, packed_size, unpack
from .randomizer import Counts, Randomizer, Reports

__all__ = ["Assignment", "share_out"]


@dataclass(frozen=True, slots=True, eq=False)
class Assignment:
    """All users, and for each question its randomizer and its number of users."""

    users: int
    key: bytes
    randomizers: tuple[Randomizer, ...]
    sizes: Counts
    first: int = 0
    """Place of the first user who is asked. Users before it answered in earlier rounds."""
    starts: Counts | None = None
    """Place of each question's first user, in rising order; without it there are no gaps."""
    alike: tuple[tuple[int, int, Randomizer], ...] = field(init=False, repr=False)
    """Runs of questions with the same randomizer: first, one past the last, randomizer."""
    _starts: Counts = field(init=False, repr=False)
    _ends: Counts = field(init=False, repr=False)
    _permutation: Permutation = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if len(self.sizes) != len(self.randomizers) or not len(self.sizes):
            raise ValueError(
                f"expected a size for each of {len(self.randomizers)} questions, found "
                f"{len(self.sizes)}"
            )
        sizes = self.sizes.tolist()  # as Python's integers, whose sum does not wrap around
        if not 0 <= self.first < self.users:
            raise ValueError(
                f"expected to begin with one of {self.users} users, found place {self.first}: all "
                "have answered"
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
                f"expected first places of {len(sizes)} groups, from {self.first} on, found "
                f"{starts.tolist()}"
            )
        if (starts[1:] < starts[:-1] + self.sizes[:-1]).any() or int(
            starts[-1] + self.sizes[-1]
        ) > self.users:
            raise ValueError(
                "expected groups one after another, found some that overlap, or more users than "
                "there are"
            )
        object.__setattr__(self, "alike", _runs_alike(self.randomizers))
        object.__setattr__(self, "_starts", starts)
        object.__setattr__(self, "_ends", starts + self.sizes)
        object.__setattr__(self, "_permutation", Permutation(self.users, key=self.key))

    @property
    def asked(self) -> int:
        """Number of users who are asked."""
        return int(self.sizes.sum())

    @property
    def after(self) -> int:
        """Place after the last user who is asked."""
        return int(self._ends[-1])

    @property
    def runs(self) -> list[tuple[int, int]]:
        """Places of each question's users: the first, and one past the last."""
        return list(zip(self._starts.tolist(), self._ends.tolist(), strict=True))

    @property
    def epsilon(self) -> float:
        return max(randomizer.epsilon for _, _, randomizer in self.alike)

    @property
    def bits(self) -> int:
        """Size of all reports together, in bits."""
        return self.bits_of(self.sizes)

    def bits_of(self, users: Counts) -> int:
        """Size of the reports of so many users of each question, in bits."""
        return sum(
            int(users[start:stop].sum()) * randomizer.bits for start, stop, randomizer in self.alike
        )

    @property
    def cell_starts(self) -> Counts:
        """Where the cells of each question start among all, and where the last ends."""
        cells = [randomizer.cells for _, _, randomizer in self.alike]
        questions = [stop - start for start, stop, _ in self.alike]
        return np.concatenate([[0], np.cumsum(np.repeat(cells, questions))])

    def questions(self, users: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Find each user's question; one past the last question means none."""
        places = self._permutation.of(users)
        questions = np.searchsorted(self._ends, places, side="right").astype(np.int64)
        questions[places < np.append(self._starts, self.users)[questions]] = len(self.sizes)
        return questions

    def pack(self, reports: Sequence[Reports]) -> tuple[npt.NDArray[np.uint8], int]:
        """Put the reports of each run together, and count their bits.

        The bytes may have a few bits more.
        """
        parts, bits = [], 0
        for run, (_, _, randomizer) in zip(reports, self.alike, strict=True):
            parts.append(pack(run, bits=randomizer.bits))
            bits += len(run) * randomizer.bits
        return np.concatenate(parts), bits

    def unpack(self, packed: npt.NDArray[np.uint8], users: Counts) -> list[Counts]:
        """Count the support of each question in packed reports of so many users each.

        Malformed reports are a `ValueError`.
        """
        if users.shape != self.sizes.shape:
            raise ValueError(
                f"expected a number of users for each of {len(self.sizes)} questions, found "
                f"{users.shape}"
            )
        supports: list[Counts] = []
        offset = 0
        for start, stop, randomizer in self.alike:
            number = int(users[start:stop].sum())
            size = packed_size(number, bits=randomizer.bits)
            part = packed[offset : offset + size]
            reports = unpack(part, bits=randomizer.bits, reports=number)
            supports += randomizer.supports(reports, users[start:stop])
            offset += size
        if offset != packed.size:
            raise ValueError(f"expected {offset} bytes of reports, found {packed.size}")
        return supports


def _runs_alike(randomizers: Sequence[Randomizer]) -> tuple[tuple[int, int, Randomizer], ...]:
    runs, start = [], 0
    for _, group in groupby(randomizers, key=id):
        run = list(group)
        runs.append((start, start + len(run), run[0]))
        start += len(run)
    return tuple(runs)


def share_out(users: int, weights: Sequence[float]) -> list[int]:
    """Share users out by weight, by largest remainder; of equal ones the first gets more.

    >>> share_out(100, [1, 1, 1]), share_out(1000, [4, 32, 256])
    ([34, 33, 33], [14, 109, 877])
    """
    total = sum(weights)
    exact = [users * weight / total for weight in weights]
    sizes = [int(size) for size in exact]
    order = sorted(range(len(sizes)), key=lambda index: (sizes[index] - exact[index], index))
    for index in order[: users - sum(sizes)]:
        sizes[index] += 1
    return sizes
