"""Classifiers that learn from published marginals, against tables of rows and known optima."""

from __future__ import annotations

import numpy as np
import pytest

import sottovoce
from sottovoce.evaluation.classification import classify, learn, one_hot, read_target
from sottovoce.evaluation.marginal_classification import Published, classify_from_marginals
from sottovoce.parties import DEMO_SCHEMA, Records, load
from sottovoce.parties.counting import CodedTable
from sottovoce.parties.demo import demo_table
from sottovoce.privacy import Domain

REAL = load(demo_table(3000, seed=3), schema=DEMO_SCHEMA)
NAMES = ("education", "hours-per-week", "income")


def exact(records: Records, *marginals: tuple[str, ...]) -> list[Published]:
    tables = records.marginals(marginals)
    return [(names, table.astype(float)) for names, table in zip(marginals, tables, strict=True)]


def columns(records: Records, names: tuple[str, ...]) -> Records:
    codes = [np.asarray(records.codes(name)) for name in names]
    return Records(CodedTable(codes, records.domain.project(names)))


@pytest.mark.parametrize("target", ["income", "education>=Bachelors"])
def test_a_marginal_teaches_what_its_rows_teach(target: str) -> None:
    """The classifier of the marginal of a table is that of the rows of the table."""
    sample = load(demo_table(2400, seed=8), schema=DEMO_SCHEMA)  # as many as are learnt from
    goal = read_target(REAL.domain, target)
    result = classify_from_marginals(REAL, exact(sample, NAMES), goal, seed=5)
    rows = classify(columns(REAL, NAMES), columns(sample, NAMES), goal, seed=5)
    assert result is not None
    assert (result.tested, result.marginals, result.classes) == (600, 1, 2)
    assert result.published == pytest.approx(rows.synthetic, abs=1 / 600)
    assert result.exact == pytest.approx(rows.real, abs=1 / 600)
    assert result.majority == rows.majority


def test_weights_are_numbers_of_rows() -> None:
    records = columns(REAL, NAMES).take(np.arange(40))
    weights = np.random.default_rng(3).integers(1, 5, 40)
    repeated = records.take(np.repeat(np.arange(40), weights))
    goal, others = read_target(records.domain, "income"), list(NAMES[:2])
    inputs = one_hot(REAL, others)
    by_weight = learn(
        one_hot(records, others), goal.of(records), seed=1, weights=weights.astype(np.float64)
    )
    by_rows = learn(one_hot(repeated, others), goal.of(repeated), seed=1)
    assert np.mean(by_weight.predict(inputs) != by_rows.predict(inputs)) < 0.002


def test_the_label_of_one_attribute_is_the_most_frequent_of_each_value() -> None:
    """With one attribute the best answer is known: cell by cell, the larger one."""
    domain = Domain({"x": ("0", "1", "2"), "y": ("no", "yes")})
    codes = [np.repeat([0, 0, 1, 1, 2, 2], 200), np.repeat([0, 1, 1, 0, 0, 1], 200)]
    rng = np.random.default_rng(2)
    codes[1] = np.where(rng.random(1200) < 0.2, 0, codes[1])
    codes[1][codes[0] == 1] = 1
    people = Records(CodedTable([column.astype(np.uint8) for column in codes], domain))
    published = [(("x", "y"), np.array([9.0, 1.0, 1.0, 9.0, 6.0, 4.0]))]
    result = classify_from_marginals(people, published, read_target(domain, "y"), test=people)
    assert result is not None
    best = np.array([0, 1, 0])[codes[0]]
    assert result.published == pytest.approx(np.mean(best != codes[1]))


def test_which_marginals_count() -> None:
    goal = read_target(REAL.domain, "income")
    marginals = exact(
        REAL, ("income",), ("age", "sex"), ("sex", "income"), ("income", "race"), ("age", "income")
    )
    whole = classify_from_marginals(REAL, marginals, goal)
    assert whole is not None
    assert whole.marginals == 3
    alone = [classify_from_marginals(REAL, [marginal], goal) for marginal in marginals[2:]]
    assert whole.published == pytest.approx(np.mean([one.published for one in alone if one]))
    dropped = classify_from_marginals(REAL, marginals, goal, drop=["age", "race"])
    assert dropped == alone[0]
    assert classify_from_marginals(REAL, marginals[:2], goal) is None


def test_noise_that_leaves_nothing() -> None:
    """A marginal without a positive sum is taken for a uniform one."""
    goal = read_target(REAL.domain, "income")
    cells = REAL.domain.cells(("sex", "income"))
    result = classify_from_marginals(REAL, [(("sex", "income"), np.full(cells, -3.0))], goal)
    assert result is not None
    assert 0 <= result.published <= 1


def test_runs_with_marginals_are_judged() -> None:
    table = demo_table(2000, seed=4)[["education", "sex", "income"]]
    outcome = sottovoce.run(
        "noisy-marginals", table, epsilon=50.0, parties=2, seed=1, classify=["income"]
    )
    (result,) = outcome.judgement["utility"]["marginal_classification"]
    assert result["marginals"] >= 1
    assert abs(result["published"] - result["exact"]) < 0.03
    assert not outcome.judgement["warnings"]
