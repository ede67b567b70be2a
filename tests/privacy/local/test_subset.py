"""Subset selection with words that were written down beforehand.

Numbers of 32 bits that would make some values likelier are one in millions, so no statistic sees
them. Here each stands first.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sottovoce.privacy.local import SubsetSelection

TAILS = [0xFFFFFFFF, 0xFFFFFFFF]
"""A coin that leaves the user's value out of the set."""


class ScriptedNumbers:
    """Numbers of 32 bits for one user, in place of random words; all must be taken."""

    def __init__(self, *draws: list[int]) -> None:
        self._draws = list(draws)

    def __len__(self) -> int:
        return 1

    def take(self, *, lines: int = 1, words: int = 1) -> np.ndarray:
        numbers = self._draws.pop(0)
        assert (lines, 2 * words) == (1, len(numbers))
        return np.array([[numbers]], "<u4").view("<u8")

    @property
    def is_used_up(self) -> bool:
        return not self._draws


def chosen_value(cells: int, value: int, numbers: Any) -> int:
    """Randomize one value to a set of one, and read the set."""
    randomizer = SubsetSelection(cells, epsilon=1.0, chosen=1)
    support = randomizer.support(randomizer.randomize(np.array([value]), numbers))
    assert numbers.is_used_up
    (chosen,) = np.flatnonzero(support)
    return int(chosen)


@pytest.mark.parametrize("cells", [3, 6, 11])
def test_an_uneven_number_adds_no_value_to_a_set_of_a_few(cells: int) -> None:
    """Of few values 16 numbers are drawn at once, and the first one that is usable counts."""
    limit = 2**32 // cells * cells
    rest = [cells + 1] * 14  # the value 1, if the first two numbers are not used
    assert chosen_value(cells, 2, ScriptedNumbers(TAILS, [limit, 2**32 - 1, *rest])) == 1
    assert chosen_value(cells, 2, ScriptedNumbers(TAILS, [limit - cells, *[1] * 15])) == 0
    last = cells - 1 if cells > 3 else 1  # of three values the last one is the user's
    assert chosen_value(cells, 2, ScriptedNumbers(TAILS, [limit - 1, *[1] * 15])) == last
    uneven = [limit] * 16
    assert chosen_value(cells, 2, ScriptedNumbers(TAILS, uneven, uneven, [1] * 16)) == 1


@pytest.mark.parametrize("cells", [38, 250, 1000])
def test_an_uneven_number_chooses_none_of_many_values(cells: int) -> None:
    """Of many values four numbers are drawn at once; the user's value is not among them."""
    others = cells - 1
    limit = 2**32 // others * others
    assert limit < 2**32
    place = [0] * 4  # in the set, where the user's value would be if it were kept

    def draw(*numbers: list[int]) -> int:
        return chosen_value(cells, 5, ScriptedNumbers(TAILS, *numbers, place))

    assert draw([limit, 2**32 - 1, 3, 4]) == 3
    assert draw([limit, 5, 3, 4]) == 6
    assert draw([limit - 1, 3, 3, 3]) == cells - 1
    assert draw([limit] * 4, [2**32 - 1, 7, 8, 9]) == 8
