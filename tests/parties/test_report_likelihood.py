"""Likelihoods of reports against the laws of the randomizers, by enumeration."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf, log

import pytest

from sottovoce.parties.report_likelihood import report_log_ratio
from sottovoce.privacy.local.choice import RANDOMIZERS
from sottovoce.privacy.local.hashing import LocalHashing
from sottovoce.privacy.local.heads import HeadsResponse
from sottovoce.privacy.local.randomizer import Randomizer

KINDS: dict[str, Callable[..., Randomizer]] = {
    **{name: kind for name, kind in RANDOMIZERS.items() if kind is not LocalHashing},
    "lh": partial(LocalHashing, prime=11),
    "khr": partial(HeadsResponse, belief=0.4),
    "two heads": partial(HeadsResponse, belief=0.4, chosen=2),
}


@pytest.mark.parametrize("name", sorted(KINDS))
@pytest.mark.parametrize("listed", [0, 8])
@pytest.mark.parametrize("cells", [2, 4])
def test_log_ratios_are_those_of_the_law(
    name: str, listed: int, cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both ways agree: by the listed law, and by the support and the one ratio."""
    if (name, cells) in {("two heads", 2), ("lh", 4)}:
        pytest.skip("expected another number of cells, found too few or too many")
    monkeypatch.setattr("sottovoce.parties.report_likelihood.MAX_LISTED", listed)
    randomizer = KINDS[name](cells, epsilon=1.3)
    laws = [randomizer.law(value) for value in range(cells)]
    for first in range(cells):
        for second in range(cells):
            for report, probability in list(laws[first].items())[::7]:
                other = laws[second][report]
                expected = log(probability / other) if other else inf
                ratio = report_log_ratio(randomizer, report, first=first, second=second)
                # A symmetric unary report flips all bits alike, with a probability of few digits.
                assert ratio == pytest.approx(expected, abs=2e-2 if name == "sue" else 1e-6)
