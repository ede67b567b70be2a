"""Claims: each kind holds, fails and is undecided on results made for it, and says with which numbers."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest

from sottovoce.evaluation.claims import Claim, Judged, Printed, judge_claim, overall
from sottovoce.evaluation.series import figure_shown, level, series


def rows(line: str, values: dict[Any, list[float]], *, y: str = "error", **more: Any) -> list[dict[str, Any]]:
    """Make results: for each x a value a seed."""
    return [
        {"line": line, "x": x, "seed": seed, y: value, **more} for x, own in values.items() for seed, value in enumerate(own)
    ]


def judged(claim: dict[str, Any], results: list[dict[str, Any]], printed: tuple[Printed, ...] = ()) -> list[Judged]:
    asked: Any = msgspec.convert({"says": "so", "line": "ours", "y": "error", **claim}, Claim)
    return judge_claim(asked, results, x="x", printed=printed)


TIGHT, WIDE = 0.001, 1.0
THEIRS = rows("theirs", {1: [2.0, 2.0], 2: [2.0, 2.0]})
PRINTED = (Printed(line="ours", y="error", x=[1.0, 2.0], values=[1.0, 2.0]),)


def around(*means: float, spread: float = TIGHT) -> list[dict[str, Any]]:
    """Make two seeds around a mean at each x: 1, 2, ..."""
    return rows("ours", {at: [mean - spread, mean + spread] for at, mean in enumerate(means, start=1)})


@pytest.mark.parametrize(
    ("claim", "results", "verdict", "sentence"),
    [
        ({"kind": "below", "than": "theirs"}, around(1, 1.5), "reproduced", "holds at 2 of 2, closest at x 2: 1.5 against 2"),
        ({"kind": "below", "than": "theirs"}, around(3, 4), "not reproduced", "not at x 1: 3 against 2 of theirs · x 2"),
        ({"kind": "below", "than": "theirs"}, around(1, 4), "reproduced in part", "holds at 1 of 2; not at x 2: 4 against 2"),
        ({"kind": "below", "than": "theirs"}, around(1.9, 2.1, spread=WIDE), "undecided", "undecided at x 1: 1.9 against 2"),
        ({"kind": "below", "than": "theirs", "factor": 0.5}, around(1.5, 1.5), "not reproduced", "1.5 against 2"),
        ({"kind": "below", "than": "theirs", "x": [1]}, around(1, 4), "reproduced", "holds: 1 against 2"),
        ({"kind": "falls"}, around(3, 2, 1), "reproduced", "from x 1 to 3: 3, then 1|holds: 3, then 1"),
        ({"kind": "falls"}, around(1, 2, 3), "not reproduced", "not at from x 1 to 3: 1, then 3"),
        ({"kind": "falls"}, around(3, 4, 1), "reproduced in part", "not at from x 1 to 2: 3, then 4"),
        ({"kind": "falls"}, around(2.1, 2, 1.9, spread=WIDE), "undecided", "undecided"),
        ({"kind": "rises"}, around(1, 2, 3), "reproduced", "1, then 3"),
        ({"kind": "rises"}, around(3, 2, 1), "not reproduced", "3, then 1"),
        ({"kind": "rises"}, around(1.9, 2, spread=WIDE), "undecided", "undecided"),
        ({"kind": "flat", "within": 0.1}, around(2, 2.05, 2.1), "reproduced", "from 2 at x 1 to 2.1 at 3"),
        ({"kind": "flat", "within": 0.1}, around(2, 3), "not reproduced", "from 2 at x 1 to 3 at 2"),
        ({"kind": "flat", "within": 0.1}, around(2, 2.3, spread=WIDE), "undecided", "undecided"),
        ({"kind": "near", "within": 0.1}, around(1.05, 1.95), "reproduced", "1.05, printed 1"),
        ({"kind": "near", "within": 0.1}, around(1.5, 3), "not reproduced", "1.5, printed 1"),
        ({"kind": "near", "within": 0.1}, around(1.05, 2.1, spread=WIDE), "undecided", "undecided"),
        ({"kind": "between", "low": 1, "high": 2}, around(1.5, 1.9), "reproduced", "closest at x 2: 1.9"),
        ({"kind": "between", "high": 2}, around(3, 4), "not reproduced", "not at x 1: 3"),
        ({"kind": "between", "high": 2}, around(2.1, spread=WIDE), "undecided", "undecided at x 1: 2.1"),
        ({"kind": "best_at", "low": 2, "high": 2}, around(3, 1, 2), "reproduced", "holds: 1 against 2 at 3"),
        ({"kind": "best_at", "low": 1, "high": 1}, around(3, 1, 2), "not reproduced", "not at x 1: 3 against 1 at 2"),
        ({"kind": "best_at", "low": 2, "high": 2}, around(1.1, 1, 2, spread=WIDE), "undecided", "1 against 1.1 at 1"),
    ],
)
def test_every_kind(claim: dict[str, Any], results: list[dict[str, Any]], verdict: str, sentence: str) -> None:
    (found,) = judged(claim, [*results, *THEIRS], PRINTED)
    assert found.verdict == verdict
    assert re.search("|".join(map(re.escape, sentence.split("|"))), found.sentence), found.sentence


def test_one_seed_decides() -> None:
    results = [*rows("ours", {1: [1.0]}), *rows("theirs", {1: [1.01]})]
    assert judged({"kind": "below", "than": "theirs"}, results)[0].verdict == "reproduced"


def test_what_is_exactly_alike() -> None:
    results = [*rows("ours", {1: [1.0]}), *rows("theirs", {1: [1.0]})]
    assert judged({"kind": "below", "than": "theirs"}, results)[0].verdict == "undecided"
    assert judged({"kind": "below", "than": "theirs", "ties": True}, results)[0].verdict == "reproduced"


def test_no_results() -> None:
    for claim in ({"kind": "below", "than": "theirs"}, {"kind": "falls"}, {"kind": "best_at", "low": 1, "high": 1}):
        (found,) = judged(claim, [])
        assert (found.verdict, found.sentence) == ("undecided", "no results to judge by")


def test_groups_and_figures_are_judged_apart() -> None:
    results = [row for name, mean in (("a", 1.0), ("b", 3.0)) for row in rows("ours", {1: [mean]}, data=name)]
    results += [row for name in ("a", "b") for row in rows("theirs", {1: [2.0]}, data=name)]
    (found,) = judged({"kind": "below", "than": "theirs", "each": "data"}, results)
    assert (found.verdict, [point.holds for point in found.points]) == ("reproduced in part", [True, False])
    assert found.sentence == "holds at 1 of 2; not at b, x 1: 3 against 2 of theirs"
    (found,) = judged({"kind": "below", "than": "theirs", "where": {"data": "a"}}, results)
    assert found.verdict == "reproduced"
    more = [{**row, "other": row["error"]} for row in results]
    (found,) = judged({"kind": "below", "than": "theirs", "y": ["error", "other"], "where": {"data": "a"}}, more)
    assert [point.place for point in found.points] == ["error, x 1", "other, x 1"]


def test_lines_beside_are_judged_in_the_same_way() -> None:
    results = [*around(3), *rows("mended", {1: [1.0]}), *THEIRS]
    found = judged({"kind": "below", "than": "theirs", "also": ["mended", "absent"]}, results)
    assert [(own.line, own.verdict) for own in found] == [
        ("ours", "not reproduced"),
        ("mended", "reproduced"),
    ]


def test_a_line_without_x_is_the_same_everywhere() -> None:
    results = [*around(1, 3), {"line": "level", "error": 2.0, "x": float("nan")}, {"line": "level", "error": 2.0}]
    assert level(results, line="level", x="x", y="error", where={"data": "a"}) is not None
    (found,) = judged({"kind": "below", "than": "level"}, results)
    assert [point.holds for point in found.points] == [True, False]


def test_another_column_along() -> None:
    results = [{"line": "ours", "rounds": at, "error": 1.0 / at} for at in (1, 2)]
    assert judged({"kind": "falls", "along": "rounds"}, results)[0].verdict == "reproduced"


def test_a_long_list_is_cut() -> None:
    results = [*around(*[3.0] * 6), *rows("theirs", {at: [2.0] for at in range(1, 7)})]
    assert judged({"kind": "below", "than": "theirs"}, results)[0].sentence.endswith("and 3 more")


@pytest.mark.parametrize(
    ("verdicts", "whole"),
    [
        (["reproduced", "reproduced"], "reproduced"),
        (["not reproduced", "not reproduced"], "not reproduced"),
        (["undecided", "undecided"], "undecided"),
        ([], "undecided"),
        (["reproduced", "not reproduced"], "reproduced in part"),
        (["reproduced", "undecided"], "reproduced in part"),
        (["not reproduced", "undecided"], "not reproduced"),
        (["reproduced in part", "not reproduced"], "reproduced in part"),
    ],
)
def test_the_whole(verdicts: list[Any], whole: str) -> None:
    assert overall(verdicts) == whole


def test_means_over_seeds() -> None:
    found = series(rows("ours", {2: [1.0, 3.0], 1: [5.0]}), line="ours", x="x", y="error", where={})
    assert list(found) == [1, 2]
    assert found[2] == (2.0, 1.0, 2)
    assert found[1] == (5.0, 0.0, 1)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"kind": "above"}, "Invalid value 'above'"),
        ({"kind": "below"}, "missing required field `than`"),
        ({"kind": "falls", "than": "theirs"}, "unknown field `than`"),
    ],
)
def test_a_claim_that_is_none(wrong: dict[str, Any], reason: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=reason):
        judged(wrong, [])


def test_as_many_numbers_as_places() -> None:
    with pytest.raises(ValueError, match="expected as many values as x of ours, found 1 and 2"):
        Printed(line="ours", y="error", x=[1.0, 2.0], values=[1.0])


def test_figures() -> None:
    assert [figure_shown(own) for own in (0.5, -0.25, 12.3456, 1e6, 0.000123)] == [".5", "-.25", "12.3", "1,000,000", ".000123"]
