"""Parts of a party's records: disjoint, made by a public rule, each with releases of its own.

    for part in me.partition(by="sex"):              # a part for each label of the schema
        noisy = me.release(mechanism_of(part.records), to=CURATOR, of=part)

    folds = me.partition(into=5, seed=7)             # five parts of equal size, at random
    folds[0].records

The privacy losses of releases about different parts do not add up (`privacy.composition`). The rule
of a partition is public and looks at one record alone. So it takes part in no release.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ..messages import Private, UsageError
from ..privacy import PartPath
from .records import Records

__all__ = ["Part", "make_parts", "parts_by_place", "parts_by_value"]

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A part of a party's records, to which a release may be limited.

    LEAK: the number of records of a part by value depends on records, as any other count does.
    """

    records: Records
    """The records of this part."""
    name: str
    """Short public label: "sex=Female", "part 2 of 5"."""
    path: PartPath
    """The part's place among all partitions, as the accountant knows it."""
    rows: Indices = field(repr=False)
    """Numbers of these rows among all rows of the party."""


def parts_by_value(records: Records, *, by: str) -> tuple[list[str], list[Indices]]:
    """Split coded records by an attribute; give a name and the rows of each of its labels.

    There is a part for every label of the schema, also for one that no record has.
    """
    if by not in records.domain.attributes:
        raise UsageError(
            f"expected an attribute of the schema ({', '.join(records.domain.attributes)}) to "
            "split by, found ",
            Private(repr(by)),
        )
    codes = np.asarray(records.codes(by))
    labels = records.domain.labels[by]
    names = [f"{by}={label}" for label in labels]
    return names, [np.flatnonzero(codes == code) for code in range(len(labels))]


def parts_by_place(
    rows: Indices, *, into: int, of: int, seed: Sequence[int]
) -> tuple[list[str], list[Indices]]:
    """Deal rows out at random; give a name and the chosen rows of each part.

    The part of a row follows from its number among all `of` rows of the party and from the public
    seed. So it stays when other rows are taken out, as by an earlier partition.

    Args:
        rows: the numbers of the rows to split.
        into: the number of parts.
        of: the number of all rows of the party.
        seed: the public seed, and what tells partitions within partitions apart.
    """
    if into < 1:
        raise UsageError("expected at least one part, found ", Private(into))
    generator = np.random.Generator(np.random.Philox(np.random.SeedSequence([into, *seed])))
    part_of_row = generator.permutation(of) % into
    names = [f"part {number} of {into}" for number in range(1, into + 1)]
    return names, [np.flatnonzero(part_of_row[rows] == index) for index in range(into)]


def make_parts(
    records: Records,
    rows: Indices,
    *,
    chosen: Sequence[Indices],
    names: Sequence[str],
    paths: Sequence[PartPath],
) -> list[Part]:
    """Make the parts of these records, given the chosen rows of each."""
    return [
        Part(records.take(rows_of_part), name, path, rows[rows_of_part])
        for rows_of_part, name, path in zip(chosen, names, paths, strict=True)
    ]
