"""Arrow tables as other libraries make them: Polars' texts, decimals, days, and what is refused."""

from __future__ import annotations

import datetime as dt
import decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import sottovoce
from sottovoce.parties import blocks, infer
from sottovoce.parties.column_types import column_types
from sottovoce.parties.table_argument import table_argument

pa = pytest.importorskip("pyarrow")


def frame(columns: dict[str, Any]) -> pd.DataFrame:
    made = table_argument(pa.table(columns), name="data")
    assert isinstance(made, pd.DataFrame)
    return made


def test_categories_with_views_of_texts_are_read() -> None:
    """Polars writes its Categorical and Enum so, and an Enum with its order."""
    codes = pa.array([1, 0, None], pa.uint32())
    labels = pa.array(["low", "high", "unused"], pa.string_view())
    made = frame(
        {
            "grade": pa.DictionaryArray.from_arrays(codes, labels, ordered=True),
            "text": pa.array(["x", None, "y"], pa.string_view()),
        }
    )
    grade = made["grade"].dtype
    assert isinstance(grade, pd.CategoricalDtype)
    assert grade.ordered
    assert list(grade.categories) == ["low", "high", "unused"]
    assert made["grade"].tolist()[:2] == ["high", "low"]
    assert made["text"].tolist()[0] == "x"


def test_decimals_are_numbers() -> None:
    """As texts 0.50 would be a code, with its last digit."""
    halves = [decimal.Decimal(number) / 2 for number in (0, 1, 2)] * 20
    made = frame(
        {
            "half": pa.array([*halves, None], pa.decimal128(5, 2)),
            "whole": pa.array([decimal.Decimal(3)] * 61, pa.decimal128(38, 0)),
        }
    )
    attributes = infer(blocks(made)).attributes
    assert attributes["half"].labels == ("0.0", "0.5", "1.0", "?")
    assert attributes["whole"].labels == ("3",)


def test_days_are_dates_however_few() -> None:
    few = pa.table({"day": pa.array([dt.date(2023, 1, 1 + i % 2) for i in range(60)])})
    made = table_argument(few, name="data")
    assert column_types([made]) == {"day": "datetime64[s]"}
    run = sottovoce.run(
        "one-way", few, parties=2, aggregator="masks", epsilon=30.0, seed=1, judge=False
    )
    assert run.synthetic is not None
    assert str(run.synthetic["day"].dtype) == "datetime64[s]"


def unreadable() -> Any:
    return pa.table({"age": [1, 2] * 20, "photo": pa.array([b"x", b"y"] * 20)})


def test_a_column_that_cannot_be_read_may_be_left_out(tmp_path: Path) -> None:
    from pyarrow import parquet

    parquet.write_table(unreadable(), path := tmp_path / "table.parquet")
    lists = pd.Series([[1], [2]] * 20, dtype=pd.ArrowDtype(pa.list_(pa.int8())))
    frame = pd.DataFrame({"age": [1, 2] * 20, "photo": lists})
    for source in (unreadable(), path, frame):
        with pytest.raises(
            sottovoce.UsageError, match=r"found (binary|list.*) in column 'photo': .*--drop"
        ):
            sottovoce.run("head-count", source, parties=1, judge=False, columns=["photo"])
        run = sottovoce.run(
            "one-way", source, parties=2, aggregator="masks", judge=False, drop=["photo"]
        )
        assert run.synthetic is not None
        assert list(run.synthetic.columns) == ["age"]


@pytest.mark.parametrize("kind", ["binary_view", "large_binary", "interval", "fixed"])
def test_other_kinds_are_refused_by_name(kind: str) -> None:
    column = {
        "binary_view": lambda: pa.array([b"x"], pa.binary_view()),
        "large_binary": lambda: pa.array([b"x"], pa.large_binary()),
        "interval": lambda: pa.array([pa.MonthDayNano([1, 2, 3])]),
        "fixed": lambda: pa.array([b"x" * 12], pa.binary(12)),
    }[kind]()
    with pytest.raises(sottovoce.UsageError, match="in column 'photo'"):
        infer(blocks(frame({"photo": column})))
