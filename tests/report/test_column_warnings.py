"""Warnings of columns that were read or published badly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import sottovoce
from sottovoce.parties import blocks as blocks_of
from sottovoce.parties import infer, load, merge, read_schema
from sottovoce.parties.inferred_doubts import header_doubt
from sottovoce.report.concentrated import concentrated_columns
from sottovoce.report.inferred_schema import learnt_schema_warnings

ROWS = 400


def table(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame({name.strip("_"): values for name, values in columns.items()})


@pytest.mark.parametrize(
    ("frame", "doubt"),
    [
        (table(sex=["f", "m", "sex"] * 90, job=["a", "b", "job"] * 90), "does a line repeat the"),
        (table(sex=["f", "m"] * 90, job=["job", "no job"] * 90), ""),
        (table(_39=["f", "m"] * 90, M=["a", "b"] * 90), "names of columns (39) is a number"),
        (table(sex=["f", "m"] * 90, age=[*range(30)] * 6), ""),
    ],
)
def test_a_header_that_is_none_is_named(frame: pd.DataFrame, doubt: str) -> None:
    text = header_doubt(merge([infer(blocks_of(frame.astype(str)))]))
    assert doubt in text if doubt else text == ""


def test_attributes_of_which_nothing_was_learnt_are_named() -> None:
    schema = read_schema({"sex": {"categories": [], "other": "(other)"}, "age": {"edges": [0, 9]}})
    (warning,) = learnt_schema_warnings(schema)
    assert warning.startswith("every row has one label of sex, age")
    assert learnt_schema_warnings(read_schema({"sex": ["f", "m"]})) == []
    assert learnt_schema_warnings(None) == []


@pytest.mark.parametrize(
    ("edges", "values", "is_named"),
    [
        (np.linspace(0, 1600, 17), np.r_[np.arange(380) % 90, np.full(20, 1500)], True),
        (np.linspace(0, 1600, 17), np.arange(ROWS) * 4, False),
        ([0, 0.5, 400, 800, 1600], np.r_[np.zeros(380), np.full(20, 1500)], False),
        ([0, 100, 1600], np.r_[np.zeros(380), np.full(20, 1500)], False),
    ],
    ids=["most in the first bin", "even", "a narrow bin for zeros", "too few bins"],
)
def test_columns_with_most_rows_in_one_wide_bin_are_named(
    edges: Any, values: Any, is_named: bool
) -> None:
    schema = read_schema({"x": {"edges": [float(edge) for edge in edges]}})
    real = load(pd.DataFrame({"x": values}), schema=schema)
    warnings = concentrated_columns(real, schema)
    assert bool(warnings) == is_named
    if is_named:
        assert warnings[0].startswith("95% of the real rows lie in one of the 16 bins of x")


def test_such_a_warning_stays_at_home() -> None:
    frame = pd.DataFrame({"x": np.r_[np.arange(380) % 90, np.full(20, 15000)], "y": [1, 2] * 200})
    run = sottovoce.run("one-way", frame, parties=2, seed=1)
    assert run.judgement is not None
    assert any("bins of x" in text for text in run.judgement["warnings"])
    assert not any("bins of x" in text for text in run.report["warnings"])


@pytest.mark.parametrize(
    ("protocol", "data"), [("noisy-marginals", "somebody's"), ("one-way", "demo")]
)
def test_nobody_is_warned_of_bins_that_are_not_drawn_from_or_not_to_be_mended(
    protocol: str, data: str
) -> None:
    frame = pd.DataFrame({"x": np.r_[np.arange(380) % 90, np.full(20, 15000)], "y": [1, 2] * 200})
    run = sottovoce.run(protocol, "demo" if data == "demo" else frame, rows=400, seed=1)
    assert run.judgement is not None
    assert not any("bins of" in text for text in run.judgement["warnings"])


def test_a_table_with_fewer_rows_than_asked_for_is_named_at_home() -> None:
    frame = pd.DataFrame({"x": ["a", "b"] * 20})
    run = sottovoce.run("head-count", frame, rows=41, seed=1)
    assert run.judgement is not None
    (warning,) = run.judgement["warnings"]
    assert warning.startswith("--rows 41 was asked for, and <table> has 40 rows")
    assert not any("--rows" in text for text in run.report["warnings"])
    assert not sottovoce.run("head-count", frame, rows=40, seed=1).judgement["warnings"]
