"""The public partition of one table among parties, for simulations and experiments.

    even                    random rows, sizes that differ by at most one
    sizes:3,1,1             random rows, sizes in these proportions to within one row
    by:income,age           sorted by these attributes and cut into equal parts, which makes the
                            parties as different as possible
    by:income@0.5           between the two: 0 is even, 1 is sorted
    labels:race@0.5         every label has a home party; half of the records go home, the others
                            anywhere. 0 is even, 1 (the default) keeps each label at one party
    sizes:3,1,1+by:income   both: sorted or by labels, with sizes in these proportions

Every party computes the same partition from the seed and takes its rows. The first two kinds
shuffle each block on its own, so a party need not hold rows that it does not keep. The others have
to see all rows first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from ..messages import Private, UsageError

__all__ = ["Split", "read_split"]

Indices: TypeAlias = npt.NDArray[np.int64]
SortKey: TypeAlias = npt.NDArray[np.integer[Any]]
PURPOSE: Final = 0x5EED
"""It keeps this stream apart from others with the same seed."""
FORMS: Final = (
    "even, sizes:3,1,1, by:ATTRIBUTE,...@0.5, labels:ATTRIBUTE,...@0.5 or sizes:3,1,1+by:ATTRIBUTE"
)


@dataclass(frozen=True, slots=True)
class Split:
    """A partition."""

    sizes: tuple[int, ...]
    """The weight of each party."""
    by: tuple[str, ...] = ()
    """Attributes by which rows are sorted or kept together; empty if rows are random."""
    strength: float = 1.0
    """1 for rows by attributes alone, 0 for random ones."""
    keeps_labels: bool = False
    """Whether labels of `by` stay together at a home party, instead of being sorted and cut."""

    def ends(self, rows: int) -> Indices:
        """Compute where the rows of each party end: 0, then an end for each party up to `rows`."""
        weights = np.cumsum([0, *self.sizes])
        return np.array([rows * int(weight) // int(weights[-1]) for weight in weights], np.int64)

    def check(self, rows: int) -> None:
        """Refuse a table if some party gets no row of it."""
        if not np.diff(self.ends(rows)).all():
            raise UsageError(
                f"expected at least one row for each of {len(self.sizes)} parties, found ",
                Private(rows),
                " rows",
            )

    def of_block(
        self, *, parties: Iterable[int], rows: int, before: int, number: int, seed: int
    ) -> dict[int, Indices]:
        """Find the rows of a block of each of these parties, in rising order.

        Args:
            parties: Numbers of parties.
            rows: Number of rows of the block.
            before: Number of rows of all earlier blocks.
            number: The number of the block.
            seed: The public seed.
        """
        ends = self.ends(before + rows) - self.ends(before)
        order = _generator(seed, number).permutation(rows)
        return {party: np.sort(order[ends[party - 1] : ends[party]]) for party in parties}

    def of_table(
        self, keys: Sequence[SortKey], *, parties: Iterable[int], rows: int, seed: int
    ) -> dict[int, Indices]:
        """Find the rows of the whole table of each party, by keys; the first comes first."""
        if self.keeps_labels:
            return self._of_labels(keys, parties=parties, rows=rows, seed=seed)
        generator = _generator(seed, 0)
        place = np.empty(rows)
        place[np.lexsort((generator.random(rows), *reversed(keys)))] = np.arange(rows) / rows
        mixed = self.strength * place + (1 - self.strength) * generator.random(rows)
        order = np.argsort(mixed, kind="stable")
        ends = self.ends(rows)
        return {party: np.sort(order[ends[party - 1] : ends[party]]) for party in parties}

    def _of_labels(
        self, keys: Sequence[SortKey], *, parties: Iterable[int], rows: int, seed: int
    ) -> dict[int, Indices]:
        """Send a share `strength` of the rows to the home of their label, the others anywhere."""
        _, labels, counts = np.unique(
            np.stack(keys, axis=1), axis=0, return_inverse=True, return_counts=True
        )
        order = _generator(seed, 0).permutation(rows)
        elsewhere = order[: rows - round(self.strength * rows)]
        holders = self._homes(counts)[labels.reshape(-1)]
        holders[elsewhere] = np.repeat(
            np.arange(len(self.sizes)), np.diff(self.ends(len(elsewhere)))
        )
        if len(np.unique(holders)) < len(self.sizes):
            raise UsageError(
                f"expected a row for each of {len(self.sizes)} parties with --split labels:"
                f"{','.join(self.by)}@{self.strength:g}, found ",
                Private(len(counts)),
                " labels in ",
                Private(rows),
                " rows: take fewer parties or a smaller strength",
            )
        return {party: np.flatnonzero(holders == party - 1) for party in parties}

    def _homes(self, counts: Indices) -> Indices:
        """Choose the party of each label: frequent labels first, to the party that lacks most rows.

        A party without a label comes before all others, so each has one if there are enough.
        """
        homes = np.zeros(len(counts), np.int64)
        weights = np.array(self.sizes, float)
        filled = np.zeros(len(self.sizes))
        for label in np.argsort(-counts, kind="stable"):
            homes[label] = np.argmin(filled / weights)
            filled[homes[label]] += counts[label]
        return homes


def _generator(seed: int, number: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, PURPOSE, number])))


def read_split(text: str, *, parties: int) -> Split:
    """Read `even`, `sizes:3,1,1`, `by:income@0.5`, `labels:race` or `sizes:3,1,1+by:income`.

    >>> read_split("sizes:3,1,1", parties=3).ends(10).tolist()
    [0, 6, 8, 10]
    """
    kind, colon, rest = text.partition(":")
    if kind == "even" and not colon:
        return Split((1,) * parties)
    if kind == "sizes" and rest:
        proportions, sign, second = rest.partition("+")
        sizes = _weights(proportions, text, parties=parties)
        if not sign:
            return Split(sizes)
        kind, _, rest = second.partition(":")
    else:
        sizes = (1,) * parties
    if kind in {"by", "labels"} and rest:
        attributes, strength = _attributes(rest, text, kind=kind)
        return Split(sizes, attributes, strength, keeps_labels=kind == "labels")
    raise UsageError(f"expected --split {FORMS}, found {text!r}")


def _attributes(rest: str, text: str, *, kind: str) -> tuple[tuple[str, ...], float]:
    """Read the attributes and the strength of `income,age@0.5`; without a strength it is 1."""
    names, sign, strength = rest.rpartition("@")
    if not sign:
        names, strength = rest, "1"
    attributes = tuple(name.strip() for name in names.split(","))
    try:
        mixing = float(strength)
    except ValueError:
        mixing = -1.0
    if not 0 <= mixing <= 1 or not all(attributes):
        raise UsageError(
            f"expected --split {kind}:ATTRIBUTE,...@STRENGTH with a strength from 0 to 1, "
            f"found {text!r}"
        )
    return attributes, mixing


def _weights(rest: str, text: str, *, parties: int) -> tuple[int, ...]:
    try:
        weights = tuple(
            int(part) if part.isascii() and part.isdigit() else 0 for part in rest.split(",")
        )
    except ValueError:
        weights = ()
    if len(weights) != parties or min(weights) < 1 or sum(weights) >= 1 << 31:
        raise UsageError(
            f"expected --split sizes: and {parties} whole numbers of at least 1, one a party, "
            f"found {text!r}"
        )
    return weights
