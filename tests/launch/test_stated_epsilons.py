"""Mechanisms of an author's own that state less than they lose, where few tables show it."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from sottovoce.launch.mechanism_candidates import NOT_CHECKED, Candidate, MechanismFindings
from sottovoce.launch.rehearsal import rehearse
from sottovoce.launch.release_checks import ReleaseFindings, check_privately
from sottovoce.launch.stated_epsilons import BY_LOW_BITS, _note_low_bits, _with_extremes, excesses
from sottovoce.privacy.taping import ReleasePair
from sottovoce.runs.job import Job

LEAKS = [
    "CountsWithWrongScale",
    "CountsWithoutNoiseForZero",
    "SumWithNoiseOfTheLargest",
    "ManyThresholds",
    "CountsWithThinTails",
]
HONEST = ["OwnNoisyCounts", "RandomizedBands", "ManyCounts"]


@pytest.fixture(autouse=True)
def plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parent)
    monkeypatch.delitem(sys.modules, "own_noise", raising=False)


@pytest.mark.usefixtures("unlimited_replays", "first_tables")
@pytest.mark.parametrize("name", LEAKS)
def test_a_mechanism_that_loses_more_than_it_states_is_noticed(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where its noise is too small by little, a bound from 10,000 answers may miss it by chance.

    Of 1.4 instead of 1 half of all bounds are above 1.27, and one in a thousand is below 1.
    """
    monkeypatch.setattr("sottovoce.launch.stated_epsilons.SCREENING_SECONDS", 60.0)
    monkeypatch.setattr("sottovoce.launch.stated_epsilons.MANY_SECONDS", 60.0)
    rehearsal = rehearse(Job(protocol=f"own_noise:{name}", data=("demo",), rows=600, parties=2))
    assert rehearsal.failure is None
    (reason, *_) = [line.reason for line in rehearsal.unaccounted]
    assert "its release 0 (own-noise) loses at least epsilon" in reason
    assert "and states 1" in reason


@pytest.mark.usefixtures("short_replays")
@pytest.mark.parametrize("name", HONEST)
def test_a_mechanism_that_keeps_its_epsilon_is_not_accused(name: str) -> None:
    """Six bounds exceed a true epsilon with a chance of .0006."""
    rehearsal = rehearse(Job(protocol=f"own_noise:{name}", data=("demo",), rows=600))
    assert rehearsal.failure is None
    assert not rehearsal.unaccounted


@pytest.mark.usefixtures("unlimited_replays", "first_tables")
def test_lowest_bits_are_named_as_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sottovoce.launch.stated_epsilons.SCREENING_SECONDS", 60.0)
    rehearsal = rehearse(
        Job(protocol="own_noise:CountsInDoublePrecision", data=("demo",), rows=600, parties=2)
    )
    (reason, *_) = [line.reason for line in rehearsal.unaccounted]
    assert "its release 0 (own-noise) loses at least epsilon" in reason
    assert reason.endswith(BY_LOW_BITS)


@pytest.mark.parametrize("name", ["OwnNoise", "NoNoiseForZero"])
def test_of_long_answers_a_few_numbers_are_compared(name: str) -> None:
    """Of 100,000 counts one differs, and all of them would take minutes and gigabytes."""
    kind = getattr(importlib.import_module("own_noise"), name)
    counts = np.zeros(100_000)
    other = counts.copy()
    other[70_000] = 1
    pair = ReleasePair(kind(counts), kind(other), 0.0, None, (), "count", 0)
    reasons = [*excesses(MechanismFindings(), [[pair]])]
    assert bool(reasons) is (name == "NoNoiseForZero")


def reasons_of(name: str, first: list[float], second: list[float]) -> list[str]:
    kind = getattr(importlib.import_module("own_noise"), name)
    pair = ReleasePair(kind(np.array(first)), kind(np.array(second)), 0.0, None, (), "count", 0)
    return [*excesses(MechanismFindings(), [[pair]])]


@pytest.mark.parametrize("name", ["ReusedBuffer", "NoiseInPlace"])
def test_an_author_may_use_an_array_again(name: str) -> None:
    """Kept as they are, all answers would be the last one, or a walk away from the counts."""
    assert not reasons_of(name, [0.0, 3.0], [1.0, 3.0])


@pytest.mark.parametrize(
    "name", ["LengthTells", "ManyAbsent", "ImaginaryPart", "LowDigits", "ShapeTells"]
)
def test_nothing_of_an_answer_is_lost_on_the_way_to_the_test(name: str) -> None:
    assert reasons_of(name, [0.0], [1.0])


def test_a_mechanism_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sottovoce.launch.release_checks.CHECK_SECONDS", 0.5)
    kind = importlib.import_module("own_noise").DrawsForEver
    pair = ReleasePair(kind(np.zeros(1)), kind(np.ones(1)), 0.0, None, (), "count", 0)
    findings = ReleaseFindings()
    assert check_privately(findings, [[pair]], within_belief=False) == []
    assert NOT_CHECKED.format("TimeUp") in findings.remarks


def test_pairs_with_the_lowest_and_the_highest_answers_are_tried_again() -> None:
    """They show no more than others by 200 answers, though a cut shows at an end alone."""
    kind = importlib.import_module("own_noise").OwnNoise
    pair = ReleasePair(kind(np.zeros(1)), kind(np.ones(1)), 0.0, None, (), "count", 0)
    levels = [5, 3, 4, 6, 1, 9, 2, 8, 7, 0]
    candidates = [
        Candidate(float(-number), pair, "release 0", level=float(level))
        for number, level in enumerate(levels)
    ]
    again = _with_extremes(candidates, 8)
    assert [candidate.level for candidate in again] == [0, 1, 9, 8, 5, 3, 4, 6]
    assert {candidate.level for candidate in _with_extremes(candidates[:3], 8)} == {5, 3, 4}


@pytest.mark.parametrize(
    ("answers", "is_named"),
    [
        (np.random.default_rng(1).laplace(size=5000), True),
        (np.round(np.random.default_rng(2).laplace(size=5000), 2), False),
        (np.random.default_rng(3).integers(2, size=5000) / 0.7 - 0.3, False),
        (np.random.default_rng(4).integers(99, size=5000).astype(float), False),
        (np.clip(np.random.default_rng(5).laplace(size=5000), -0.1, 0.1), True),
    ],
    ids=["full precision", "two digits", "debiased bits", "integers", "mostly at the ends"],
)
def test_numbers_on_a_grid_have_no_low_bits(
    answers: npt.NDArray[np.float64], is_named: bool
) -> None:
    seen = MechanismFindings()
    _note_low_bits([answer[None] for answer in answers], "release 0", seen)
    assert bool(seen.remarks) == is_named
