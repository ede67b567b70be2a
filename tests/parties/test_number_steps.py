"""Numbers on a grid: the step that a proposal finds, and what is published with one."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sottovoce
from sottovoce import UsageError
from sottovoce.parties.counting import CodedTable
from sottovoce.parties.made_up import made_up_codes
from sottovoce.parties.made_up_values import made_up_values
from sottovoce.parties.number_steps import common_step
from sottovoce.parties.schema_file import read_schema, write_schema
from sottovoce.runs.numbers_in_bins import numbers_in_bins

ROWS = 400


def is_multiple(value: float, step: float) -> bool:
    return Decimal(str(value)) % Decimal(str(step)) == 0


@pytest.mark.parametrize("step", [0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.54, 7.0, 15.0, 100.0])
def test_a_step_is_found_and_no_greater_one(step: float) -> None:
    counts = np.random.default_rng(3).choice(5000, ROWS, replace=False) - 2500
    values = np.array([float(Decimal(str(step)) * int(count)) for count in counts])
    assert common_step(values) == step


@pytest.mark.parametrize(
    "values",
    [np.sqrt(np.arange(ROWS)), np.arange(10) * 0.5, np.zeros(ROWS), np.arange(ROWS) * 1e15],
    ids=["no grid", "few numbers", "zeros", "large numbers"],
)
def test_no_step_is_found(values: Any) -> None:
    assert common_step(values) is None


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_published_numbers_are_multiples_in_their_bins(seed: int, whole: bool) -> None:
    generator = np.random.default_rng(seed)
    step = float(generator.choice([0.01, 0.05, 0.1, 0.25, 2.5, 3.0]))
    counts = np.sort(generator.choice(200, 6, replace=False)) - 100
    edges = [float(Decimal(str(step)) * int(count)) for count in counts]
    rule: Any = read_schema({"x": {"edges": edges, "step": step}}).attributes["x"]
    codes = generator.integers(0, 5, ROWS)
    drawn = numbers_in_bins(rule, codes, generator=None if whole else generator, narrow=None)
    assert all(is_multiple(value, step) for value in drawn.tolist())
    assert rule.codes_of_numbers(drawn.astype(float)).tolist() == codes.tolist()
    if not whole:
        in_first = {value for value, code in zip(drawn.tolist(), codes, strict=True) if code == 0}
        assert in_first <= {
            float(Decimal(str(step)) * int(count)) for count in range(counts[0], counts[1] + 1)
        }


@pytest.mark.parametrize(
    ("low", "high", "step"),
    [(0, 2.4, 0.1), (0, 9, 0.1), (0.3, 7.7, 0.1), (1700000000, 1700000010, 0.1), (-4.8, 0, 0.2)],
)
def test_edges_that_are_almost_multiples_part_them_as_numbers(
    low: float, high: float, step: float
) -> None:
    """Equal bins from 0 to 2.4 have the edge 0.8999999999999999, above which 0.9 is."""
    entry = {"bins": 16, "range": [low, high], "step": step}
    rule: Any = read_schema({"x": entry}).attributes["x"]
    codes = np.repeat(np.arange(16), 50)
    drawn = numbers_in_bins(rule, codes, generator=np.random.default_rng(1), narrow=None)
    assert rule.codes_of_numbers(drawn.astype(float)).tolist() == codes.tolist()


def test_narrow_numbers_are_multiples_as_written() -> None:
    rule: Any = read_schema({"x": {"edges": [0, 0.3, 0.6, 0.9], "step": 0.1}}).attributes["x"]
    codes = np.repeat(np.arange(3), 50)
    generator = np.random.default_rng(2)
    drawn = numbers_in_bins(rule, codes, generator=generator, narrow=np.float32)
    assert drawn.dtype == np.float32
    assert all(is_multiple(float(text), 0.1) for text in drawn.astype(str))
    assert rule.bins_of(drawn.astype(str).astype(float)).tolist() == codes.tolist()


def test_made_up_whole_numbers_are_written_as_such() -> None:
    schema = read_schema({"x": {"edges": [0, 45, 90], "step": 15}})
    table = made_up_codes(schema, rows=50, generator=np.random.default_rng(3))
    assert isinstance(table, CodedTable)
    values = made_up_values(table, schema=schema, generator=np.random.default_rng(4))
    texts = values.columns["x"].as_texts().texts
    assert {int(text) % 15 for text in texts} == {0}


def test_a_proposal_has_it_and_the_published_table_keeps_it() -> None:
    generator = np.random.default_rng(4)
    frame = pd.DataFrame(
        {
            "weight": np.round(generator.normal(70, 12, ROWS) * 2) / 2,
            "price": [f"{value:,.2f} EUR" for value in np.exp(generator.normal(7, 1, ROWS))],
            "income": np.round(np.exp(generator.normal(10, 1, ROWS)), -2).astype(int),
            "time": generator.normal(size=ROWS),
        }
    )
    entries = sottovoce.propose_schema(frame).schema
    steps = {name: entry.get("step") for name, entry in entries.items()}
    assert steps == {"weight": 0.5, "price": 0.01, "income": 100, "time": None}
    assert json.loads(write_schema(read_schema(entries))) == entries
    run = sottovoce.run("one-way", frame, schema=entries, parties=2, seed=1)
    published = run.synthetic
    assert published is not None
    assert published["income"].dtype == np.int64
    for name, step in steps.items():
        if step is not None:
            values = pd.to_numeric(published[name]).tolist()
            assert all(is_multiple(value, step) for value in values), name
            assert len({*values}) > 20


def test_a_schema_that_is_inferred_has_as_many_digits_as_the_numbers() -> None:
    generator = np.random.default_rng(5)
    first = pd.DataFrame(
        {
            "index": np.round(generator.normal(25, 5, ROWS), 1),
            "price": np.round(np.exp(generator.normal(5, 1, ROWS)), 2),
            "time": generator.normal(size=ROWS),
            "mixed": np.round(generator.normal(25, 5, ROWS), 1),
        }
    )
    second = first.assign(index=np.round(first["index"]), mixed=generator.normal(size=ROWS))
    run = sottovoce.run("one-way", [first, second], seed=1)
    published = run.synthetic
    assert published is not None
    assert all(is_multiple(value, 0.1) for value in published["index"].tolist())
    assert all(is_multiple(value, 0.01) for value in published["price"].tolist())
    for name in ("time", "mixed"):
        assert not all(is_multiple(value, 0.01) for value in published[name].tolist())


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"edges": [0, 0.06, 0.08, 1], "step": 0.05}, "a multiple of the step 0.05 in every bin"),
        ({"edges": [0, 1, 2], "step": 0}, "above 0 for step, found 0"),
        ({"edges": [0, 1, 2], "step": -1}, "above 0 for step, found -1"),
        ({"edges": [0, 1, 2], "kind": "integers", "step": 0.5}, "a whole number above 0 for step"),
        (
            {"by": "month", "range": ["2024-01-01", "2024-12-31"], "step": 2},
            "found it beside dates",
        ),
        ({"categories": ["a"], "step": 2}, "expected step beside bins"),
    ],
)
def test_a_step_that_cannot_be_is_refused(entry: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=rf"attribute 'x' in .*{message}"):
        read_schema({"x": entry})
