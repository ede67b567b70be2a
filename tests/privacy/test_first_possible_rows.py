"""Rows that break no rule, by enumeration of all rows."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from sottovoce.privacy.impossible import first_possible, impossible_rows


@pytest.mark.parametrize("seed", range(200))
def test_the_first_row_that_breaks_no_rule(seed: int) -> None:
    """The first in the order of labels, attribute by attribute; `None` if every row breaks one."""
    generator = np.random.default_rng(seed)
    sizes = {name: int(generator.integers(1, 4)) for name in "abc"}
    rules = []
    for _ in range(int(generator.integers(0, 9))):
        names = generator.choice([*sizes], generator.integers(1, 4), replace=False).tolist()
        rules.append(
            {
                name: generator.choice(
                    sizes[name], generator.integers(1, sizes[name] + 1), replace=False
                ).tolist()
                for name in names
            }
        )
    rows = [*product(*map(range, sizes.values()))]
    breaks = [
        any(all(row["abc".index(name)] in codes for name, codes in rule.items()) for rule in rules)
        for row in rows
    ]
    columns = {name: np.array([row[at] for row in rows]) for at, name in enumerate(sizes)}
    assert impossible_rows(rules, columns).tolist() == breaks
    expected = next((row for row, broken in zip(rows, breaks, strict=True) if not broken), None)
    found = first_possible(rules, sizes)
    assert found == (None if expected is None else dict(zip(sizes, expected, strict=True)))
