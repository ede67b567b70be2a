"""`sottovoce.Synthesizer`: fit, sample, save, load."""

from __future__ import annotations

import inspect
import pickle
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from sklearn.base import clone

import sottovoce
from sottovoce.parties.demo import demo_table

if TYPE_CHECKING:
    import pandas as pd

NAMES = ["age", "sex", "education", "income"]


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return demo_table(3000, seed=1)[NAMES]


@pytest.fixture(scope="module")
def fitted(table: pd.DataFrame) -> sottovoce.Synthesizer:
    return sottovoce.Synthesizer("one-way", epsilon=2.0, parties=2, random_state=1).fit(table)


def test_it_samples_what_the_run_published(
    fitted: sottovoce.Synthesizer, table: pd.DataFrame
) -> None:
    published = sottovoce.run("one-way", table, parties=2, seed=1, epsilon=2.0, judge=False)
    assert published.labels is not None
    whole = fitted.sample()
    assert [*whole.columns] == NAMES
    assert len(whole) == len(table)
    for name in ("sex", "education", "income"):
        counts = published.labels[name].value_counts()
        assert whole[name].value_counts().to_dict() == counts.to_dict()
    assert fitted.report_["privacy"]["claimed_epsilon"] == 2.0
    assert fitted.run_.judgement == {}  # nothing but what was published is kept


def test_rows_are_taken_once_and_then_repeat(fitted: sottovoce.Synthesizer) -> None:
    rows = len(fitted.sample())
    few, many = fitted.sample(100, random_state=1), fitted.sample(2 * rows, random_state=1)
    assert len(few) == 100
    assert len(many) == 2 * rows
    assert many["sex"].value_counts().to_dict() == {
        sex: 2 * count for sex, count in fitted.sample()["sex"].value_counts().items()
    }
    assert few.equals(fitted.sample(100, random_state=1))
    assert not few.equals(fitted.sample(100, random_state=2))
    assert not fitted.sample(0).size
    # Of a number in a bin the second copy is drawn anew: with 16 bins there would be 3,000 pairs.
    ages = many["age"].to_numpy()
    assert (np.sort(ages[:rows]) != np.sort(ages[rows:])).any()
    with pytest.raises(sottovoce.UsageError, match=r"number of rows from 0 on, found -1"):
        fitted.sample(-1)


def test_it_is_saved_and_pickled(fitted: sottovoce.Synthesizer, tmp_path: Path) -> None:
    fitted.save(tmp_path / "people.synthesizer")
    for copy in (
        sottovoce.Synthesizer.load(tmp_path / "people.synthesizer"),
        pickle.loads(pickle.dumps(fitted)),
    ):
        assert copy.sample(50, random_state=3).equals(fitted.sample(50, random_state=3))
        assert copy.report_ == fitted.report_
        assert copy.get_params() == fitted.get_params()


def test_what_is_no_saved_synthesizer(tmp_path: Path) -> None:
    with pytest.raises(sottovoce.UsageError, match=r"expected a synthesizer at .*No such file"):
        sottovoce.Synthesizer.load(tmp_path / "none")
    (tmp_path / "other").write_bytes(pickle.dumps({"format": 1}))
    with pytest.raises(sottovoce.UsageError, match=r"expected a file of Synthesizer\.save"):
        sottovoce.Synthesizer.load(tmp_path / "other")
    with pytest.raises(sottovoce.UsageError, match=r"call fit first"):
        sottovoce.Synthesizer().sample()


def test_parties_tables_and_protocols_without_rows(table: pd.DataFrame) -> None:
    parts = [table.iloc[:1000], table.iloc[1000:]]
    rows = sottovoce.Synthesizer("one-way", random_state=1).fit_sample(parts, 10)
    assert len(rows) == 10
    counting = sottovoce.Synthesizer("head-count", random_state=1)
    with pytest.raises(sottovoce.UsageError, match=r"publishes rows, found head-count"):
        counting.fit(table)
    assert counting.run_.report["outcome"]  # the result is not lost


def test_scikit_learn_can_clone_it(fitted: sottovoce.Synthesizer) -> None:
    copy = clone(fitted)
    assert isinstance(copy, sottovoce.Synthesizer)
    assert copy.get_params() == fitted.get_params()
    assert not hasattr(copy, "run_")
    assert repr(copy.set_params(epsilon=0.5)).startswith("Synthesizer(protocol='one-way', eps")
    assert copy.epsilon == 0.5
    with pytest.raises(sottovoce.UsageError, match=r"expected a parameter of Synthesizer"):
        copy.set_params(epsilom=1)


def test_parameters_are_those_of_the_constructor() -> None:
    names = [*inspect.signature(sottovoce.Synthesizer).parameters]
    assert [*sottovoce.Synthesizer().get_params()] == names


@pytest.mark.parametrize("n", ["3", 2.5, -1])
def test_a_wrong_number_of_rows_is_an_error_of_ours(
    fitted: sottovoce.Synthesizer, n: object
) -> None:
    with pytest.raises(sottovoce.UsageError, match="a whole number of rows from 0 on, found"):
        fitted.sample(n)  # type: ignore[arg-type]
    assert len(fitted.sample(np.int64(3))) == 3  # type: ignore[arg-type]


def test_parameters_that_are_no_dictionary(table: pd.DataFrame) -> None:
    wrong = sottovoce.Synthesizer(parameters=["aggregator"])  # type: ignore[arg-type]
    with pytest.raises(sottovoce.UsageError, match="a dictionary of parameters, found"):
        wrong.fit(table)
