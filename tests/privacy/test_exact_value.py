"""The change of an exact value, in the norm in which each mechanism's sensitivity bounds it."""

from __future__ import annotations

import numpy as np
import pytest

from sottovoce.privacy import Batch, Mechanism, SelectedNoise, SharedNoise, laplace
from sottovoce.privacy.conversion import rho_of
from sottovoce.privacy.disclosure import Disclosure
from sottovoce.privacy.exact_value import ExactValue, Inspectable, Norm
from sottovoce.privacy.exponential import choose
from sottovoce.privacy.noisy_scores import gaussian_scores, laplace_scores
from sottovoce.privacy.sparse_vector import sparse_vector, threshold_mechanism
from sottovoce.protocols.dist_diff_gen.disclosure import Disclosure as DisclosureToParty
from sottovoce.protocols.dist_diff_gen.scores import choose_together

OLD, NEW = np.array([0.0, 1.0, 5.0, 2.0]), np.array([3.0, 1.0, 1.0, 2.0])
"""The change is 3, 0, -4, 0."""


@pytest.mark.parametrize(("norm", "change"), [("L1", 7.0), ("L2", 5.0), ("max", 4.0)])
def test_norms(norm: Norm, change: float) -> None:
    assert ExactValue.of(OLD, norm=norm).change(ExactValue.of(NEW, norm=norm)) == change
    halves = [ExactValue.of(numbers[:1], numbers[1:], norm=norm) for numbers in (OLD, NEW)]
    assert halves[0].change(halves[1]) == change


def test_choices_depend_on_differences_of_scores() -> None:
    """A shift of all scores changes nothing; the parts of a joint choice add up."""
    old = ExactValue.of(OLD, norm="spread")
    assert old.change(ExactValue.of(OLD + 9, norm="spread")) == 0
    assert old.change(ExactValue.of(NEW, norm="spread")) == 3.5
    both = ExactValue.of(OLD, OLD, norm="spread")
    assert both.change(ExactValue.of(NEW, NEW + 9, norm="spread")) == 7


def test_a_record_with_several_answers_counts_once() -> None:
    records = [0, 1, 1, 2]
    old = ExactValue.of([5, 6, 7, 8], records, norm="records")
    assert old.change(ExactValue.of([5, 0, 0, 8], records, norm="records")) == 1
    assert old.change(ExactValue.of([0, 6, 0, 8], records, norm="records")) == 2
    lines = ExactValue.of([[1, 2], [3, 4]], [0, 1], norm="records")
    assert lines.change(ExactValue.of([[1, 2], [0, 0]], [0, 1], norm="records")) == 1


@pytest.mark.parametrize(
    "other", [ExactValue.of([1.0], norm="L1"), ExactValue.of([1.0, 2.0], norm="max")]
)
def test_values_that_do_not_compare_are_refused(other: ExactValue) -> None:
    with pytest.raises(ValueError, match="exact values of the same shapes"):
        ExactValue.of([1.0, 2.0], norm="L1").change(other)


def of_scores(scores: np.ndarray[tuple[int], np.dtype[np.float64]]) -> list[Mechanism[object]]:
    counts = scores.astype(np.int64)
    batch = Batch(cells=4, sensitivity=8, epsilon=1.0, rows=9, parties=1, colluding=0)
    return [
        laplace(int(scores[0]), sensitivity=3, epsilon=1.0),
        choose(scores, sensitivity=4.0, epsilon=1.0),
        choose_together([scores, scores[:2]], score="gain", epsilon=1.0),
        laplace_scores(scores, sensitivity=4.0, epsilon=1.0),
        gaussian_scores(scores, sensitivity=4.0, rho=rho_of(1.0, delta=1e-6)),
        sparse_vector(scores, np.ones(4), sensitivity=4.0, epsilon=1.0, cutoff=2),
        threshold_mechanism(scores, np.ones(4), sensitivity=4.0, epsilon=1.0, views=("public",)),
        SharedNoise(pages=[counts[:3], counts[3:]], batch=batch, seen={}),
        SelectedNoise(pages=[counts[:3], counts[3:]], batch=batch, seen={}),
        Disclosure(counts, sensitivity=7),
        DisclosureToParty(counts, sensitivity=7, epsilon=1.0),
    ]


CHANGES = [3.0, 3.5, 5.0, 7.0, 5.0, 4.0, 4.0, 7.0, 7.0, 7.0, 7.0]


@pytest.mark.parametrize("index", range(len(CHANGES)))
def test_every_mechanism_shows_its_exact_value(index: int) -> None:
    old, new = of_scores(OLD)[index], of_scores(NEW)[index]
    assert isinstance(old, Inspectable)
    assert isinstance(new, Inspectable)
    assert old.exact_value().change(new.exact_value()) == pytest.approx(CHANGES[index], rel=1e-5)


def test_equal_values() -> None:
    old = ExactValue.of(OLD, norm="L1")
    assert old == ExactValue.of(OLD, norm="L1")
    for other in (
        ExactValue.of(NEW, norm="L1"),
        ExactValue.of(OLD, norm="L2"),
        ExactValue.of(OLD[:2], norm="L1"),
        ExactValue.of(OLD, OLD, norm="L1"),
        OLD.tolist(),
    ):
        assert old != other


def test_exact_values_are_not_printed() -> None:
    assert "5" not in repr(ExactValue.of(OLD, norm="L1"))
