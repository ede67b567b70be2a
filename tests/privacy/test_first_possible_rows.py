"""Rows that break no rule, by enumeration of all rows."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from sottovoce.privacy.impossible import first_possible, impossible_rows, make_possible


def random_rules(seed: int, *, most: int = 9) -> tuple[dict[str, int], list[dict[str, list[int]]]]:
    """Draw the labels of three attributes, and rules."""
    generator = np.random.default_rng(seed)
    sizes = {name: int(generator.integers(1, 4)) for name in "abc"}
    rules = []
    for _ in range(int(generator.integers(0, most))):
        names = generator.choice([*sizes], generator.integers(1, 4), replace=False).tolist()
        rules.append(
            {
                name: generator.choice(
                    sizes[name], generator.integers(1, sizes[name] + 1), replace=False
                ).tolist()
                for name in names
            }
        )
    return sizes, rules


@pytest.mark.parametrize("seed", range(200))
def test_the_first_row_that_breaks_no_rule(seed: int) -> None:
    """The first in the order of labels, attribute by attribute; `None` if every row breaks one."""
    sizes, rules = random_rules(seed)
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


def test_what_was_tried_before_a_step_back_does_not_count() -> None:
    """All sets of up to four rules that name a label of each of two attributes are tried."""
    sizes = dict.fromkeys("abc", 2)
    rules = [
        {first: [left], second: [right]}
        for first, second in combinations("abc", 2)
        for left, right in product(range(2), repeat=2)
    ]
    rows = [dict(zip("abc", row, strict=True)) for row in product(range(2), repeat=3)]
    for number in range(5):
        for some in combinations(rules, number):
            expected = next(
                (
                    row
                    for row in rows
                    if not any(all(row[name] in rule[name] for name in rule) for rule in some)
                ),
                None,
            )
            assert first_possible(some, sizes) == expected, some


@pytest.mark.parametrize("seed", range(60))
def test_rows_that_break_a_rule_become_the_nearest_that_break_none(seed: int) -> None:
    """As few labels change as can, found by trying all rows; the others stay as they are."""
    sizes, rules = random_rules(seed, most=4)
    rows = [*product(*map(range, sizes.values()))]
    columns = {name: np.array([row[at] for row in rows]) for at, name in enumerate(sizes)}
    breaks = impossible_rows(rules, columns)
    possible = [row for row, broken in zip(rows, breaks.tolist(), strict=True) if not broken]
    if not possible:
        with pytest.raises(ValueError, match="expected rules that some row can keep"):
            make_possible(rules, columns, sizes)
        return
    mapped = make_possible(rules, columns, sizes)
    assert not impossible_rows(rules, mapped).any()
    for row, broken, *found in zip(rows, breaks.tolist(), *mapped.values(), strict=True):
        changed = sum(new != old for new, old in zip(found, row, strict=True))
        fewest = min(
            sum(new != old for new, old in zip(other, row, strict=True)) for other in possible
        )
        assert changed == fewest
        assert (changed > 0) == broken


def test_of_rows_as_near_the_label_nearest_in_order_is_taken() -> None:
    """And first that of the attribute at the end of the rule."""
    columns = {"a": np.array([2]), "b": np.array([3])}
    mapped = make_possible([{"a": [2], "b": [3]}], columns, {"a": 5, "b": 6})
    assert (mapped["a"].tolist(), mapped["b"].tolist()) == ([2], [2])
    mapped = make_possible([{"a": [2], "b": [1, 2, 3, 4]}], columns, {"a": 5, "b": 6})
    assert (mapped["a"].tolist(), mapped["b"].tolist()) == ([2], [5])
    mapped = make_possible([{"a": [1, 2], "b": [*range(6)]}], columns, {"a": 5, "b": 6})
    assert (mapped["a"].tolist(), mapped["b"].tolist()) == ([3], [3])
