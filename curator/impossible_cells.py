"""Impossible combinations of labels, in tables of pairs and in drawn rows.

That a cell is 0 is public. In tables of pairs it is set to 0, and the others are scaled to the
single attributes again. In drawn rows a label of an impossible row is replaced by that of a
possible row which agrees with it on the rule's other attributes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..privacy.domain import Domain
from ..privacy.impossible import Combination, impossible_rows, make_possible
from .marginal import Marginal, Numbers

__all__ = ["possible_codes", "possible_pairs"]

Columns = Mapping[str, npt.NDArray[np.integer[Any]]]
SWEEPS: Final = 100
LEAST: Final = 1e-12
"""Least share of a possible cell where some are impossible, so that its label can be reached."""


def possible_pairs(
    domain: Domain, pairs: Mapping[tuple[str, ...], Marginal], singles: Mapping[str, Marginal]
) -> tuple[dict[tuple[str, ...], Marginal], dict[str, Marginal]]:
    """Set impossible cells to 0; pairs agree with the singles again as far as zeros allow."""
    if not domain.never:
        return dict(pairs), dict(singles)
    shares = {name: single.values / single.values.sum() for name, single in singles.items()}
    ruled_out: dict[str, list[int]] = {}
    forbidden: dict[tuple[str, ...], npt.NDArray[np.bool_]] = {}
    for rule in domain.never:
        match [*rule]:
            case [name]:
                ruled_out.setdefault(name, []).extend(rule[name])
            case [first, second]:
                pair: tuple[str, ...] = (first, second)
                if pair not in pairs:
                    pair = (second, first)
                if pair in pairs:
                    cells = forbidden.setdefault(pair, np.zeros(domain.shape(pair), np.bool_))
                    cells[np.ix_([*rule[pair[0]]], [*rule[pair[1]]])] = True
    for name, codes in ruled_out.items():
        possible = shares[name].copy()
        possible[codes] = 0
        shares[name] = possible / possible.sum() if possible.sum() > 0 else shares[name]
    tables = dict(pairs)
    for pair, table in pairs.items():
        if pair in forbidden or ruled_out.keys() & set(pair):
            cells = forbidden.get(pair, np.zeros(domain.shape(pair), np.bool_))
            fitted = _fitted(table.values, cells, shares[pair[0]], shares[pair[1]])
            tables[pair] = Marginal(pair, fitted * table.total)
    return tables, {
        name: Marginal((name,), shares[name] * single.values.sum())
        for name, single in singles.items()
    }


def _fitted(
    values: Numbers, cells: npt.NDArray[np.bool_], left: Numbers, right: Numbers
) -> Numbers:
    """Scale the possible cells of a pair to the shares of its attributes."""
    table = np.where(cells, 0, np.maximum(values / values.sum(), LEAST))
    for _ in range(SWEEPS):
        table *= (left / np.maximum(table.sum(axis=1), LEAST**2))[:, None]
        table *= right / np.maximum(table.sum(axis=0), LEAST**2)
        if np.abs(table.sum(axis=1) - left).sum() < 1e-9:
            break
    return np.asarray(table / table.sum())


def possible_codes(
    never: Sequence[Combination], columns: Columns, sizes: Mapping[str, int]
) -> dict[str, npt.NDArray[np.integer[Any]]]:
    """Replace labels of impossible rows so that no row breaks a rule; other rows stay.

    The last attribute of the broken rule gives way. Its labels are taken evenly from the possible
    rows that agree with the row on all other attributes of the rules. A row without such a partner
    gets the nearest possible labels.
    """
    drawn = {name: np.array(column) for name, column in columns.items()}
    names = [*dict.fromkeys(name for rule in never for name in rule)]
    for rule in never:
        is_impossible = impossible_rows(never, drawn)
        rows = np.flatnonzero(is_impossible & impossible_rows([rule], drawn))
        if not len(rows):
            continue
        giving = [*rule][-1]
        kept = [name for name in names if name != giving]
        keys = _keys([drawn[name] for name in kept], len(is_impossible))
        donors = np.flatnonzero(~is_impossible)
        donors = donors[np.argsort(keys[donors], kind="stable")]
        rows = rows[np.argsort(keys[rows], kind="stable")]
        groups, starts, counts = np.unique(keys[rows], return_index=True, return_counts=True)
        first = np.searchsorted(keys[donors], groups, side="left")
        last = np.searchsorted(keys[donors], groups, side="right")
        places = np.arange(len(rows)) - np.repeat(starts, counts)
        available = np.repeat(last - first, counts)
        has_donor = available > 0
        chosen = np.repeat(first, counts) + places * available // np.repeat(counts, counts)
        # Fewer donors than rows give to several; `chosen` then counts each donor more than once.
        drawn[giving][rows[has_donor]] = drawn[giving][donors[chosen[has_donor]]]
    return make_possible(never, drawn, sizes)


def _keys(columns: Sequence[npt.NDArray[np.integer[Any]]], rows: int) -> npt.NDArray[np.int64]:
    """Number the different combinations of these columns."""
    keys = np.zeros(rows, np.int64)
    for column in columns:
        _, keys = np.unique(
            keys * (int(column.max(initial=0)) + 1) + column.astype(np.int64), return_inverse=True
        )
    return keys
