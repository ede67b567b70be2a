"""Means over seeds, their spread and ratios: against numpy and numbers worked out by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sottovoce.report.comparison import BASELINE, ComparedRun, Comparison
from sottovoce.report.comparison_groups import (
    error_figures,
    groups_of,
    means_table,
    seed_figures,
)
from sottovoce.report.comparison_table import comparison_json, comparison_table
from sottovoce.report.pages import comparison_page
from sottovoce.report.terminal import print_comparison

RUN = ComparedRun(
    name="r",
    protocol="x",
    settings={},
    parties=3,
    epsilon=1.0,
    public=1.0,
    curator=1.0,
    other_party=1.0,
    coalition=1.0,
    excesses=(),
    not_accounted=(),
    neighbours="replace-one",
    delta=0.0,
    whole_record=None,
    bytes=100,
    rounds=2,
    seconds=1.0,
    errors={},
    baselines={"2-way": 0.4},
    data="demo",
    rows=None,
)
ERRORS = {"x": (0.1, 0.2, 0.6), "y": (0.05, 0.07, 0.06), "z": (0.5,)}
LEVELS = {BASELINE: {"2-way": 0.4}}


def comparison(**changes: Any) -> Comparison:
    """Make three protocols' runs, with a seed for each error."""
    runs = tuple(
        replace(
            RUN, name=f"{protocol}{seed}", protocol=protocol, errors={"2-way": error}, **changes
        )
        for protocol, errors in ERRORS.items()
        for seed, error in enumerate(errors)
    )
    return Comparison(runs=runs, levels=LEVELS)


def test_means_spread_and_ratios() -> None:
    compared = comparison()
    groups = groups_of(compared)
    assert [(group.name, len(group.runs)) for group in groups] == [("x", 3), ("y", 3), ("z", 1)]
    figures = error_figures(compared, groups)["2-way"]
    means = {name: float(np.mean(errors)) for name, errors in ERRORS.items()}
    for name, errors in ERRORS.items():
        each = figures[name]
        assert each.mean == pytest.approx(means[name])
        assert (each.least, each.largest) == (min(errors), max(errors))
        assert each.to_first == pytest.approx(means[name] / means["x"])
        assert each.to_best == pytest.approx(means[name] / means["y"])
        assert each.to_baseline == pytest.approx(means[name] / 0.4)
        spread = float(np.std(errors, ddof=1)) if len(errors) > 1 else None
        assert each.deviation == (None if spread is None else pytest.approx(spread))


def test_json_has_means_spread_and_ratios() -> None:
    """The rows after those of runs and levels have what the page's tables have."""
    compared = comparison()
    rows = json.loads(comparison_json(compared))[len(compared.runs) + len(LEVELS) :]
    assert [(row["run"], row["runs"]) for row in rows] == [
        ("mean of x", 3),
        ("mean of y", 3),
        ("mean of z", 1),
    ]
    best = float(np.mean(ERRORS["y"]))
    for row, errors in zip(rows, ERRORS.values(), strict=True):
        figures, middle = row["means"]["2-way"], float(np.mean(errors))
        assert figures["mean"] == pytest.approx(middle)
        assert (figures["least"], figures["largest"]) == (min(errors), max(errors))
        assert figures["to_best"] == pytest.approx(middle / best)
        assert figures["to_baseline"] == pytest.approx(middle / 0.4)
        assert ("deviation" in figures) is (len(errors) > 1)
        assert row["means"]["bytes"]["to_first"] == 1
        assert {"rounds", "seconds"} < row["means"].keys()
    alone = replace(compared, runs=compared.runs[:1])
    assert [row["run"] for row in json.loads(comparison_json(alone))] == ["x0", "floor"]


def test_runs_of_other_settings_are_apart() -> None:
    for change in (
        {"epsilon": 2.0},
        {"parties": 5},
        {"delta": 1e-9},
        {"rows": 7},
        {"data": "other"},
        {"neighbours": "label"},
        {"settings": {"ways": "3"}},
    ):
        other = replace(RUN, **change)
        groups = groups_of(Comparison(runs=(RUN, other, other), levels={}))
        assert [len(group.runs) for group in groups] == [1, 2], change


def test_a_ratio_to_the_baseline_is_to_that_of_the_run_s_own_table() -> None:
    """With seeds that draw other records, each run has a baseline of its own."""
    first = replace(RUN, errors={"2-way": 0.1}, baselines={"2-way": 0.2})
    second = replace(RUN, errors={"2-way": 0.3}, baselines={"2-way": 0.3})
    third = replace(RUN, errors={"2-way": 0.9}, baselines={})
    compared = Comparison(runs=(first, second, third), levels=None)
    (figures,) = error_figures(compared, groups_of(compared))["2-way"].values()
    assert figures.to_baseline == pytest.approx((0.5 + 1) / 2)
    assert figures.to_first is None
    assert figures.to_best is None


def test_nothing_is_divided_by_nothing() -> None:
    free = replace(RUN, bytes=0, baselines={"2-way": 0.0}, errors={"2-way": 0.1})
    compared = Comparison(runs=(free, RUN), levels={})
    groups = groups_of(replace(compared, runs=(free, replace(RUN, protocol="y"))))
    sizes = seed_figures(groups, lambda run: run.bytes)
    assert [each.to_best for each in sizes.values()] == [None, None]
    (figures,) = error_figures(compared, groups)["2-way"].values()
    assert figures.to_baseline is None
    assert seed_figures(groups, lambda _: None) == {}


def test_page_and_terminal_show_them(capsys: pytest.CaptureFixture[str]) -> None:
    compared = comparison()
    page = comparison_page(compared)
    assert "2-way: means and ratios" in page
    # Bytes are the same in all runs, so nothing is said of their spread.
    assert page.count(">spread<") == 1
    for text in (">0.3000<", ">0.2646<", ">5.00<", ">0.75<", ">8.33<"):
        assert text in page, text
    heads, rows = means_table(compared)
    assert dict(zip(heads, rows[0], strict=True)) == {
        "mean of": "x",
        "runs": "3",
        "2-way": "0.3000 \N{PLUS-MINUS SIGN} 0.2646",
        "2-way to baseline": "0.75",
        "2-way to best": "5.00",
        "bytes": "100 B",
        "seconds": "1 \N{PLUS-MINUS SIGN} 0",
    }
    print_comparison(compared)
    assert "0.3000 \N{PLUS-MINUS SIGN} 0.2646" in capsys.readouterr().out


def test_single_runs_have_ratios_on_the_page_alone() -> None:
    runs = tuple(
        replace(RUN, name=name, protocol=name, errors={"2-way": error})
        for name, error in (("x", 0.2), ("y", 0.1))
    )
    compared = Comparison(runs=runs, levels=LEVELS)
    assert means_table(compared) == ([], [])
    page = comparison_page(compared)
    assert ">spread<" not in page
    assert ">2.00<" in page
    alone = comparison_page(Comparison(runs=runs[:1], levels=LEVELS))
    assert "means and ratios" not in alone


def test_the_table_of_runs_has_rounded_seconds() -> None:
    heads, rows = comparison_table(Comparison(runs=(replace(RUN, seconds=1.23456),), levels={}))
    assert rows[0][heads.index("seconds")] == "1.23"
