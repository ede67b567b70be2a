"""`sottovoce.LabelClassifier` is an estimator like any other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

import sottovoce
from sottovoce.launch.unseen import within_bins
from sottovoce.messages import UsageError
from sottovoce.parties import Bins, Schema
from sottovoce.parties.demo import demo_table
from sottovoce.parties.loading import load

NAMES = ["sex", "relationship", "age", "income"]


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [sottovoce.LabelClassifier(epsilon=50.0, random_state=1, parameters={"belief": "none"})]
)
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def people(rows: int, seed: int) -> tuple[pd.DataFrame, pd.Series[str]]:
    table = demo_table(rows, seed=seed)[NAMES]
    return table.drop(columns="income"), table["income"]


@pytest.mark.parametrize("protocol", ["clldp-naive-bayes", "clldp-decision-tree", "label-dp"])
def test_it_learns_from_tables_of_texts(protocol: str) -> None:
    x, y = people(8000, 1)
    model = sottovoce.LabelClassifier(protocol, epsilon=8.0, random_state=3).fit(x, y)
    assert list(model.classes_) == ["<=50K", ">50K"]
    others, right = people(2000, 2)
    majority = (right == "<=50K").mean()
    assert model.score(others, right) >= majority
    assert np.allclose(model.predict_proba(others).sum(axis=1), 1)
    assert (
        model.classes_[model.predict_proba(others).argmax(axis=1)] == model.predict(others)
    ).all()
    assert model.report_["privacy"]["claimed_epsilon"] == 8
    again = clone(model).fit(x, y)
    assert again.model_ == model.model_


def test_a_schema_of_the_columns() -> None:
    """Public bins; numbers beyond them count as the nearest, and a category that nobody named is
    refused.
    """
    x, y = people(3000, 1)
    x = x.assign(age=np.random.default_rng(1).integers(0, 100, len(x)))
    schema = {
        "sex": ["Female", "Male"],
        "relationship": sorted(x["relationship"].unique()),
        "age": {"bins": 4, "range": [20, 60]},
    }
    model = sottovoce.LabelClassifier(epsilon=8.0, schema=schema, random_state=1).fit(x, y)
    assert len(model.predict(x.assign(age=200))) == 3000
    assert not any("inferred" in text for text in model.report_["warnings"])
    with pytest.raises(UsageError, match=r"expected a category of sex"):
        model.predict(x.assign(sex="neither"))
    with pytest.raises(UsageError, match=r"expected a column 'age'"):
        sottovoce.LabelClassifier(schema=schema).fit(x.drop(columns="age"), y)


def test_in_a_pipeline() -> None:
    x, y = people(2000, 1)
    pipe = make_pipeline(
        FunctionTransformer(), sottovoce.LabelClassifier(epsilon=8.0, random_state=1)
    )
    assert pipe.fit(x, y).predict(x).shape == (2000,)


def test_what_is_protected_is_y() -> None:
    """Whatever a column is called, and whatever parameters say."""
    x, y = people(2000, 1)
    named = x.rename(columns={"sex": "label"})
    model = sottovoce.LabelClassifier(
        "label-dp", epsilon=8.0, random_state=np.random.RandomState(1)
    ).fit(named, y)
    assert model.model_["label"] == "label_"
    assert "label" in model.model_["likely"]
    for wrong in ({"label": "sex"}, {"epsilon": 30.0}):
        with pytest.raises(UsageError, match=r"expected parameters without"):
            sottovoce.LabelClassifier(parameters=wrong).fit(x, y)
    with pytest.raises(ValueError, match=r"expected columns of different names"):
        sottovoce.LabelClassifier().fit(pd.concat([x, x], axis=1), y)


def test_what_fit_cannot_use_is_an_error_of_ours() -> None:
    """Those that scikit-learn expects to be a ValueError are both."""
    x, y = people(200, 1)
    texts = x.to_numpy().astype(str)
    for wrong_x, wrong_y, words in (
        (texts, y, r"found texts: pass pandas\.DataFrame"),
        (x, y[:5], "a label for each of 200 rows, found 5"),
        (x, ["p"] * 200, "at least two classes"),
    ):
        with pytest.raises(ValueError, match=words) as caught:
            sottovoce.LabelClassifier().fit(wrong_x, wrong_y)
        assert isinstance(caught.value, sottovoce.SottovoceError)
    with pytest.raises(UsageError, match="learns a label, found one-way: take clldp-naive-bayes"):
        sottovoce.LabelClassifier("one-way").fit(x, y)


def test_what_is_not_there() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'Nothing'"):
        _ = sottovoce.Nothing


def test_cross_validation_meets_values_that_training_did_not_have() -> None:
    """Every fold has a text, a number and a missing value of its own."""
    x, y = people(600, 1)
    rows = np.arange(len(x))
    x = x.assign(
        relationship=np.where(
            rows % 30 == 7, "rare " + (rows // 30).astype(str), x["relationship"]
        ),
        code=np.where(rows % 50 == 3, rows, rows % 4),
        weight=np.where(rows == 5, np.nan, rows * 1.5),
    )
    scores = cross_val_score(
        sottovoce.LabelClassifier(epsilon=50.0, random_state=1, parameters={"belief": "none"}),
        x,
        y,
        cv=5,
        error_score="raise",
    )
    assert np.isfinite(scores).all()


def test_what_an_unseen_value_counts_as() -> None:
    """The nearest number; else the most frequent value."""
    x, y = people(3000, 1)
    x = x.assign(code=np.arange(len(x)) % 4 * 10)
    model = sottovoce.LabelClassifier(epsilon=50.0, random_state=1).fit(x, y)
    usual = x["relationship"].mode()[0]
    few = x.head(200)
    for unseen, seen in (
        ({"relationship": "cousin"}, {"relationship": usual}),
        ({"relationship": None}, {"relationship": usual}),
        ({"code": 29}, {"code": 30}),
        ({"code": -5.0}, {"code": 0}),
    ):
        assert np.array_equal(
            model.predict_proba(few.assign(**unseen)), model.predict_proba(few.assign(**seen))
        )


@pytest.mark.parametrize("kind", ["float32", "Float32"])
def test_numbers_of_single_precision_beyond_an_edge_count_as_the_edge(kind: str) -> None:
    """The edge itself has no single precision: rounded and written it is outside of the bins."""
    schema = Schema({"a": Bins(edges=(-1.23456789, 0.0, 1.23456789))})
    table = pd.DataFrame({"a": pd.Series([-2, -1, 1, 2], dtype=kind)})
    records = load(within_bins(table, schema), schema=schema)
    assert [*records.codes("a")] == [0, 0, 1, 1]
