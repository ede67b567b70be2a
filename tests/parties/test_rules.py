"""Rules of messy columns: how numbers and dates are written, spellings, calendar, missing codes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from sottovoce.messages import UsageError
from sottovoce.parties import load, read_schema, write_schema
from sottovoce.parties.date_texts import PERIODS, Period, day_text, period_edges
from sottovoce.parties.number_texts import NumberForm


def labels(entry: Any, values: list[Any]) -> list[str]:
    """Encode values by a rule that has travelled through a file, and give their labels."""
    import json

    schema = read_schema({"a": entry})
    assert read_schema(json.loads(write_schema(schema))) == schema
    records = load(pd.DataFrame({"a": pd.Series(values)}), schema=schema)
    return [str(label) for label in records.column("a")]


@pytest.mark.parametrize(
    ("form", "text", "number"),
    [
        ({}, "1234.5", 1234.5),
        ({}, "1,234.5", np.nan),
        ({"thousands": ","}, "1,234.5", 1234.5),
        ({"thousands": ","}, "-1,234,567", -1234567),
        ({"thousands": ","}, "12,34", np.nan),
        ({"decimal": ","}, "1234,5", 1234.5),
        ({"decimal": ","}, "1234.5", 1234.5),
        ({"decimal": ",", "thousands": "."}, "1.234,5", 1234.5),
        ({"decimal": ",", "thousands": "."}, "1.23", np.nan),
        ({"decimal": ",", "thousands": " "}, "1\u202f234,5", 1234.5),
        ({"thousands": "'"}, "1'234.5", 1234.5),
        ({"unit": "%"}, " 12.5 % ", 12.5),
        ({"unit": "€"}, "€12", 12),
        ({"unit": "kg"}, "12 lb", np.nan),
        ({}, "1_000", np.nan),
    ],
)
def test_numbers_as_people_write_them(form: dict[str, str], text: str, number: float) -> None:
    assert NumberForm(**form).read(text) == pytest.approx(number, nan_ok=True)


def test_rules_read_what_they_say() -> None:
    assert labels({"edges": [0, 1000, 2000], "thousands": ",", "unit": "€"}, ["1,500 €", "7"]) == [
        "(1000, 2000]",
        "[0, 1000]",
    ]
    rule = {"categories": ["no", "yes"], "spellings": {"No": "no", "Y": "yes"}}
    assert labels(rule, ["No", "yes", "Y", "no"]) == ["no", "yes", "yes", "no"]
    rest = {"categories": ["a"], "other": "rest", "spellings": {"b": "rest"}}
    assert labels(rest, ["a", "b", "c"]) == ["a", "rest", "rest"]
    assert labels({"categories": ["1", "2"], "kind": "integers"}, [1.0, 2.0]) == ["1", "2"]
    dates = ["31.12.2023", "2024-01-01", "2024-02-29 13:00"]
    formats = ["%Y-%m-%d", "%d.%m.%Y"]
    months = {"by": "month", "range": ["2023-12-01", "2024-02-01"], "formats": formats}
    assert labels(months, dates) == ["2023-12", "2024-01", "2024-02"]
    weekdays = {"by": "weekday", "formats": formats}
    assert labels(weekdays, dates) == ["Sunday", "Monday", "Thursday"]
    assert labels({"by": "month-of-year"}, ["2024-02-29"]) == ["February"]


def test_missing_codes_of_numbers() -> None:
    rule = {"edges": [0, 10, 20], "missing": "category", "missing_as": ["-999", "N"]}
    expected = ["-999", "[0, 10]", "-999"]
    assert labels(rule, ["-999", "3", "N"]) == expected
    assert labels(rule, [-999, 3, -999.0]) == expected
    assert labels({**rule, "clip": True}, [-999, 3, -1]) == ["-999", "[0, 10]", "[0, 10]"]
    assert labels({**rule, "unreadable": "missing"}, ["3", "about 4"]) == ["[0, 10]", "-999"]
    with pytest.raises(UsageError, match="found 'about 4' in row 2"):
        labels(rule, ["3", "about 4"])
    with pytest.raises(UsageError, match="from 0 to 20"):
        labels({**rule, "unreadable": "missing"}, ["21"])


@pytest.mark.parametrize("by", PERIODS)
def test_periods_are_those_of_pandas(by: Period) -> None:
    """Every day of ten years is in the period that pandas says, and each period is whole."""
    days = pd.date_range("2015-01-01", "2024-12-31")
    first, last = (float((day - pd.Timestamp(0)).days) for day in (days[0], days[-1]))
    edges = period_edges(first, last, by)
    found = labels({"by": by, "range": ["2015-01-01", "2024-12-31"]}, list(days.astype(str)))
    alias = {"day": "D", "week": "W", "month": "M", "quarter": "Q", "year": "Y"}
    periods = days.year // 10 if by == "decade" else days.to_period(alias[by])
    assert len(set(found)) == len(edges) - 1 == periods.nunique()
    assert pd.Series(found).groupby(np.asarray(periods)).nunique().eq(1).all()


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        (
            {"categories": ["a"], "spellings": {"b": "c"}},
            "spellings of categories, found one of 'c'",
        ),
        ({"categories": ["a", "b"], "spellings": {"a": "b"}}, "found the category 'a'"),
        ({"edges": [0, 1], "spellings": {"b": "c"}}, "spellings beside categories"),
        ({"categories": ["a"], "unit": "kg"}, "unit beside bins"),
        ({"edges": [0, 1], "decimal": ";"}, "for decimal, found ';'"),
        ({"edges": [0, 1], "decimal": ",", "thousands": ","}, "for thousands, found ','"),
        ({"edges": ["2024-01-01", "2024-02-01"], "unit": "kg"}, "formats for dates"),
        ({"edges": [0, 1], "formats": ["%Y"]}, "formats beside dates"),
        ({"by": "weekday", "range": ["2024-01-01", "2024-02-01"]}, "no range beside by: weekday"),
        ({"by": "month"}, "by and range of dates"),
        ({"by": "fortnight", "range": ["2024-01-01", "2024-02-01"]}, "fortnight"),
        ({"edges": [0, 1], "unreadable": "missing"}, "missing beside unreadable"),
        ({"categories": ["yes"], "kind": "booleans"}, "categories that are booleans"),
    ],
)
def test_mistakes_are_named(entry: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        read_schema({"a": entry})


def test_days_are_written_as_they_are_read() -> None:
    assert day_text(-0.0) == "1970-01-01"
