"""Classifiers that learn from a synthetic table, beside the baselines."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import sottovoce
from sottovoce import UsageError
from sottovoce.evaluation import classification
from sottovoce.evaluation.classification import classify, determining, read_target
from sottovoce.parties import DEMO_SCHEMA, load
from sottovoce.parties.demo import demo_table

REAL = load(demo_table(6000, seed=3), schema=DEMO_SCHEMA)


def test_targets() -> None:
    target = read_target(REAL.domain, "education>=Bachelors")
    codes = REAL.codes("education")
    first = REAL.domain.labels["education"].index("Bachelors")
    assert np.array_equal(target.of(REAL), codes >= first)
    races = read_target(REAL.domain, "race=Black|Other").of(REAL)
    assert races.sum() == np.isin(REAL.column("race"), ["Black", "Other"]).sum()
    assert np.array_equal(read_target(REAL.domain, "race").of(REAL), REAL.codes("race"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hair", "expected an attribute of the data"),
        ("hair=red", "expected an attribute of the data"),
        (
            "race=Green",
            r"expected a label of race \(White, .*\) in --classify race=Green, found 'Green'",
        ),
        ("education>=PhD", "expected a label of education .*found 'PhD'"),
    ],
)
def test_invalid_targets(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_target(REAL.domain, text)


def test_learning_from_another_sample_is_as_good_and_from_noise_is_not() -> None:
    target = read_target(REAL.domain, "income")
    sample = load(demo_table(6000, seed=4), schema=DEMO_SCHEMA)
    generator = np.random.default_rng(1)
    noise = load(
        demo_table(6000, seed=4).assign(income=generator.choice(["<=50K", ">50K"], 6000)),
        schema=DEMO_SCHEMA,
    )
    good, bad = classify(REAL, sample, target), classify(REAL, noise, target)
    assert good.tested == 1200
    assert good.classes == 2
    assert good.synthetic < good.majority - 0.03
    assert abs(good.synthetic - good.real) < 0.03
    assert bad.synthetic > bad.majority + 0.05
    assert classify(REAL, sample, target) == good


def test_what_real_rows_teach_is_learnt_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error of real rows is the same, found again or computed; other rows have another."""
    target = read_target(REAL.domain, "sex")
    known = classification.KnownErrors()
    monkeypatch.setattr(classification, "ERRORS_OF_REAL_ROWS", known)
    first = classify(REAL, REAL, target)
    assert [*known.by_digest.values()] == [first.real]
    learnt: list[int] = []

    def error_of(task: classification.LearningTask) -> float:
        learnt.append(task.seed)
        return 2.0

    monkeypatch.setattr(classification.LearningTask, "error", error_of)
    assert classify(REAL, REAL.take(np.arange(900)), target).real == first.real
    assert not learnt
    changes = (
        {"seed": 1},
        {"drop": ["age"]},
        {"test": REAL},
    )
    for change in changes:
        assert classify(REAL, REAL, target, **change).real == 2.0
    assert classify(REAL.take(np.arange(5000)), REAL, target).real == 2.0
    assert classify(REAL, REAL, read_target(REAL.domain, "income")).real == 2.0
    assert len(learnt) == len(known.by_digest) - 1 == 5


def test_a_separate_test_table() -> None:
    people = load(demo_table(500, seed=9), schema=DEMO_SCHEMA)
    result = classify(REAL, REAL, read_target(REAL.domain, "income"), test=people)
    assert result.tested == 500
    assert result.synthetic == result.real


def test_attributes_that_determine_the_label_are_named() -> None:
    target = read_target(REAL.domain, "education>=Bachelors")
    assert determining(REAL, target) == ["education-num"]
    table = pd.DataFrame(
        {"education": ["a", "b", "c"] * 20, "number": [1, 2, 3] * 20, "other": [1, 2] * 30}
    )
    evaluation = sottovoce.evaluate(
        table, table, ways=[1], binary=False, classify=["education=a|b"]
    )
    assert evaluation.notes == ("number alone decides education=a|b: drop it with --drop number",)
    assert evaluation.classification[0].synthetic == 0
    dropped = sottovoce.evaluate(
        table, table, ways=[1], binary=False, classify=["education=a|b"], drop=["number"]
    )
    assert dropped.notes == ()
    assert dropped.classification[0].dropped == ("number",)
    with pytest.raises(
        UsageError, match="attributes from which to predict education, found all dropped"
    ):
        sottovoce.evaluate(table, table, ways=[1], classify=["education"], drop=["number", "other"])
    with pytest.raises(UsageError, match="expected an attribute of the data"):
        sottovoce.evaluate(table, table, ways=[1], classify=["education"], drop=["hair"])


def test_a_synthetic_table_of_one_label() -> None:
    table = demo_table(1000, seed=3)
    target = read_target(REAL.domain, "income")
    result = classify(REAL, load(table.assign(income="<=50K"), schema=DEMO_SCHEMA), target)
    assert result.synthetic == result.majority
