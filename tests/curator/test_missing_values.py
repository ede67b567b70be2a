"""Missing values of published tables, inferred from rows that agree with them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import sottovoce
from sottovoce.curator.missing_values import infer_codes


def generator() -> np.random.Generator:
    return np.random.default_rng(7)


def test_values_that_others_decide_are_found_exactly() -> None:
    """x is decided by a and b together; c is noise. What is missing follows from them."""
    rng = np.random.default_rng(1)
    a, b, c = (rng.integers(0, size, 4000) for size in (3, 4, 5))
    x = (a + 2 * b) % 7
    hidden = np.where(rng.random(4000) < 0.3, 7, x)
    inferred = infer_codes(
        {"a": a, "b": b, "c": c, "x": hidden}, "x", missing=7, generator=generator()
    )
    assert np.array_equal(inferred, x)


def test_the_distribution_is_that_of_records_where_missing_depends_on_others() -> None:
    """P(x) = sum of P(b) P(x | b, present), which is the truth; rows with x alone are not it.

    A share of 20,000 rows is within 6 deviations of .0035 with a probability above 1 - 1e-8.
    """
    rng, rows = np.random.default_rng(2), 20_000
    b = (rng.random(rows) < 0.5).astype(np.int64)
    x = (rng.random(rows) < np.where(b == 1, 0.8, 0.2)).astype(np.int64)
    is_missing = rng.random(rows) < np.where(b == 1, 0.7, 0.1)
    inferred = infer_codes(
        {"b": b, "x": np.where(is_missing, 2, x)}, "x", missing=2, generator=generator()
    )
    assert set(inferred.tolist()) == {0, 1}
    assert np.array_equal(inferred[~is_missing], x[~is_missing])
    assert abs(inferred.mean() - 0.5) < 6 * 0.0035
    assert x[~is_missing].mean() < 0.4
    of_missing = inferred[is_missing & (b == 1)].mean()
    assert abs(of_missing - 0.8) < 0.05


def test_rows_that_nobody_agrees_with_take_any_value() -> None:
    a = np.array([0, 0, 1, 1, 2])
    x = np.array([0, 0, 1, 1, 9])
    inferred = infer_codes({"a": a, "x": x}, "x", missing=9, generator=generator())
    assert inferred[:4].tolist() == [0, 0, 1, 1]
    assert inferred[4] in (0, 1)


@pytest.mark.parametrize("missing", [0, 3])
def test_without_a_value_or_without_a_gap_nothing_changes(missing: int) -> None:
    x = np.zeros(5, np.int64)
    columns = {"a": np.arange(5), "x": x}
    assert np.array_equal(infer_codes(columns, "x", missing=missing, generator=generator()), x)


def test_published_tables_have_no_gaps_and_the_protocol_knows_of_them() -> None:
    """The category of missing values is counted by the protocol, and inferred where it is read."""
    rng = np.random.default_rng(4)
    group = rng.choice(["a", "b"], 3000)
    age = np.where(group == "a", 30, 60) + rng.integers(0, 10, 3000)
    smoker = np.where(group == "a", "yes", "no").astype(object)
    smoker[rng.random(3000) < 0.3] = None
    table = pd.DataFrame({"group": group, "age": age, "smoker": smoker})
    table["age"] = table["age"].astype("Int64").mask(rng.random(3000) < 0.2)

    def published(missing: str, *, labels: bool = False) -> sottovoce.Run:
        schema = {
            "group": {"categories": ["a", "b"]},
            "age": {"edges": [30, 40, 50, 60, 70], "missing": missing},
            "smoker": {"categories": ["yes", "no"], "missing": missing},
        }
        return sottovoce.run("dp-subn", table, schema=schema, epsilon=20.0, seed=2, labels=labels)

    kept, inferred = published("category"), published("infer")
    assert kept.synthetic is not None
    assert inferred.synthetic is not None
    gaps = kept.synthetic.isna()
    assert gaps["smoker"].mean() > 0.2
    assert gaps["age"].mean() > 0.1
    assert not inferred.synthetic.isna().any(axis=None)
    smokers = inferred.synthetic
    assert ((smokers["group"] == "a") == (smokers["smoker"] == "yes")).mean() > 0.97
    assert str(smokers["age"].dtype).lower().startswith("int")
    # Nothing else of the run is different: the same is released, and judged.
    assert inferred.judgement["utility"]["tvd"] == kept.judgement["utility"]["tvd"]
    assert inferred.report["privacy"]["epsilon"] == kept.report["privacy"]["epsilon"]
    labels = published("infer", labels=True).synthetic
    assert labels is not None
    assert not {"?", ""} & {*labels["age"], *labels["smoker"]}
