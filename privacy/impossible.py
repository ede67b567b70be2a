"""Impossible combinations of labels: cells that are 0 in every table, as everybody knows.

A rule names labels of some attributes that no record has together, such as a child that is married.
Its last attribute gives way: a row that breaks the rule gets another label there. Which one follows
from the row and the rules alone. So a table is mapped row by row, and neighbouring tables stay
neighbouring.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["Combination", "first_possible", "impossible_rows", "make_possible"]

Combination: TypeAlias = Mapping[str, Sequence[int]]
"""Codes of each attribute; no row has one of them in every attribute."""
Columns: TypeAlias = Mapping[str, npt.NDArray[np.integer[Any]]]
MAX_TRIED: Final = 100_000
"""Combinations of labels that are tried for a row before it gets one that fits any row."""


def impossible_rows(never: Sequence[Combination], columns: Columns) -> npt.NDArray[np.bool_]:
    """Find the rows that break a rule."""
    is_impossible = np.zeros(len(next(iter(columns.values()), ())), np.bool_)
    for rule in never:
        is_impossible |= np.logical_and.reduce(
            [np.isin(columns[name], np.asarray(codes)) for name, codes in rule.items()]
        )
    return is_impossible


def first_possible(never: Sequence[Combination], sizes: Mapping[str, int]) -> dict[str, int] | None:
    """Find labels of these attributes that break no rule; `None` if there are none.

    The first labels are tried first, attribute by attribute.
    """
    names = list(sizes)
    chosen: dict[str, int] = {}

    def fits(code: int, name: str) -> bool:
        return not any(
            all(
                other in chosen and chosen[other] in codes
                for other, codes in rule.items()
                if other != name
            )
            and code in rule[name]
            for rule in never
            if name in rule
        )

    starts = [0] * len(names)
    place = 0
    while place < len(names):
        name = names[place]
        code = next((c for c in range(starts[place], sizes[name]) if fits(c, name)), None)
        if code is None:
            starts[place] = 0
            place -= 1
            if place < 0:
                return None
            del chosen[names[place]]
        else:
            chosen[name], starts[place] = code, code + 1
            place += 1
    return chosen


def make_possible(
    never: Sequence[Combination], columns: Columns, sizes: Mapping[str, int]
) -> dict[str, npt.NDArray[np.integer[Any]]]:
    """Map each row that breaks a rule to one near it that breaks none; other rows stay.

    As few labels change as possible: first those of attributes at the end of a rule, then labels
    near the old ones in the order of the codes.

    Args:
        never: Rules that some row can keep.
        columns: Codes of all attributes of the rules, and perhaps of others.
        sizes: Number of labels of each attribute of the rules.
    """
    mapped = {name: np.array(column) for name, column in columns.items()}
    (rows,) = np.nonzero(impossible_rows(never, columns))
    names = [*dict.fromkeys(name for rule in never for name in rule)]
    if not len(rows):
        return mapped
    codes = np.stack([np.asarray(columns[name])[rows].astype(np.int64) for name in names], axis=1)
    different, places = np.unique(codes, axis=0, return_inverse=True)
    nearest = np.array(
        [_nearest(never, dict(zip(names, row, strict=True)), sizes) for row in different.tolist()]
    )
    for name, column in zip(names, nearest[places.reshape(-1)].T, strict=True):
        mapped[name][rows] = column.astype(mapped[name].dtype)
    return mapped


def _nearest(
    never: Sequence[Combination], row: Mapping[str, int], sizes: Mapping[str, int]
) -> list[int]:
    """Find the nearest labels that break no rule, in the order of the row's attributes."""
    broken = [rule for rule in never if _breaks(row, rule)]
    names = dict.fromkeys([*(name for rule in broken for name in reversed([*rule])), *row])
    for tried, candidate in enumerate(_candidates(row, [*names], sizes)):
        if tried == MAX_TRIED:
            break
        if not any(_breaks(candidate, rule) for rule in never):
            return [*candidate.values()]
    possible = first_possible(never, {name: sizes[name] for name in row})
    if possible is None:
        raise ValueError("expected rules that some row can keep, found none")
    return [*possible.values()]


def _breaks(row: Mapping[str, int], rule: Combination) -> bool:
    return all(row[name] in codes for name, codes in rule.items())


def _candidates(
    row: Mapping[str, int], names: Sequence[str], sizes: Mapping[str, int]
) -> Iterator[dict[str, int]]:
    """Make rows with one label changed, then two, and so on; the first names change first."""
    for count in range(1, len(names) + 1):
        for changed in combinations(names, count):
            nearest = [_others(row[name], sizes[name]) for name in changed]
            for codes in product(*nearest):
                yield {**row, **dict(zip(changed, codes, strict=True))}


def _others(code: int, size: int) -> list[int]:
    """List all other codes, near ones first."""
    return sorted(set(range(size)) - {code}, key=lambda other: abs(other - code))
