"""Hints in messages are followed, one after another, until the command is accepted."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import combinations
from math import ceil, log2, prod
from typing import Any

import pytest

from sottovoce.messages import UsageError
from sottovoce.privacy import Budget, Domain
from sottovoce.protocols import fourier, noisy_marginals
from sottovoce.protocols.dist_diff_gen.plan import SpecialisationPlan
from sottovoce.protocols.local import publishing
from sottovoce.protocols.registry import find

DOMAIN = Domain({name: tuple("012345"[: 2 + place]) for place, name in enumerate("abcde")})


def coefficients(ways: int) -> int:
    """Count the sets of bits, but the empty one, in at most so many attributes."""
    sides = [2 ** ceil(log2(size)) - 1 for size in DOMAIN.shape(DOMAIN.attributes)]
    return sum(prod(few) for way in range(1, ways + 1) for few in combinations(sides, way))


def cells(ways: int) -> int:
    return sum(DOMAIN.cells(names) for names in combinations(DOMAIN.attributes, ways))


def fourier_of(ways: int, most: int, monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.setattr(fourier, "MAX_COEFFICIENTS", most)
    return fourier.number_of_coefficients(DOMAIN, ways)


def few_users(ways: int, most: int, monkeypatch: pytest.MonkeyPatch) -> object:
    del monkeypatch
    kind: Any = find("fourier")
    protocol = kind(kind.Parameters(ways=ways), mode="rigorous")
    return protocol.sizes(DOMAIN, most)


def published(ways: int, most: int, monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.setattr(publishing, "MAX_CELLS", most)
    publishing.check_marginals(DOMAIN, ways)
    return None


def counted(ways: int, most: int, monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.setattr(noisy_marginals, "MAX_CELLS", most)
    return noisy_marginals.requested(DOMAIN, ways=ways, named="")


ASKED: dict[str, tuple[Callable[..., object], Callable[[int], int]]] = {
    "fourier": (fourier_of, coefficients),
    "few users of fourier": (few_users, coefficients),
    "calm and one-way-ldp": (published, cells),
    "noisy-marginals": (counted, cells),
}
"""What is refused above a number, and how many there are of so many attributes."""


@pytest.mark.parametrize("accepted", [0, 1, 2, 3])
@pytest.mark.parametrize("name", ASKED)
def test_fewer_ways_are_accepted_in_the_end(
    name: str, accepted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each hint is one less. Where not even one is accepted, the last message has no hint."""
    make, number = ASKED[name]
    most = number(accepted) if accepted else number(1) - 1
    for ways in range(4, accepted, -1):
        with pytest.raises(UsageError) as refused:
            make(ways, most, monkeypatch)
        hints = re.findall(r"--set ways=(-?\d+)", str(refused.value))
        assert hints == ([str(ways - 1)] if ways > 1 else [])
    if accepted:
        make(accepted, most, monkeypatch)


def test_a_hint_counts_from_the_attributes_that_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """More ways than attributes are as many as these, so one less would change nothing."""
    monkeypatch.setattr(fourier, "MAX_COEFFICIENTS", coefficients(4))
    with pytest.raises(UsageError, match="--set ways=4"):
        fourier.number_of_coefficients(DOMAIN, 9)


@pytest.mark.parametrize("most_cells", [2, 4, 5])
def test_as_many_cells_as_labels_of_the_target_are_enough(most_cells: int) -> None:
    def plan(most_cells: int) -> SpecialisationPlan:
        return SpecialisationPlan(
            DOMAIN,
            target="e",
            budget=Budget.pure(1.0),
            specialisations=2,
            score="max",
            most_cells=most_cells,
        )

    with pytest.raises(UsageError) as refused:
        plan(most_cells)
    (hint,) = re.findall(r"--set most_cells=(\d+)", str(refused.value))
    assert plan(int(hint)).most_cells == 6
    with pytest.raises(UsageError, match="most_cells"):
        plan(int(hint) - 1)
