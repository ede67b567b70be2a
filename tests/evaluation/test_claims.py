"""Claims: each kind holds, fails and is undecided on constructed results, with its numbers."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import numpy as np
import pytest
from scipy import stats

from sottovoce.evaluation.claims import Claim
from sottovoce.evaluation.points import overall
from sottovoce.evaluation.results import PrintedValues
from sottovoce.evaluation.series import constant, format_figure, series
from sottovoce.evaluation.verdicts import ClaimVerdict, judge_claim


def rows(
    line: str, values: dict[Any, list[float]], *, y: str = "error", **columns: Any
) -> list[dict[str, Any]]:
    """Make rows of results, with a value for each seed at each x."""
    return [
        {"line": line, "x": x, "seed": seed, y: value, **columns}
        for x, values_of_seeds in values.items()
        for seed, value in enumerate(values_of_seeds)
    ]


def judged(
    claim: dict[str, Any], results: list[dict[str, Any]], printed: tuple[PrintedValues, ...] = ()
) -> list[ClaimVerdict]:
    converted: Any = msgspec.convert({"says": "so", "line": "ours", "y": "error", **claim}, Claim)
    return judge_claim(converted, results, x="x", printed=printed)


TIGHT, WIDE = 0.001, 1.0
THEIRS = rows("theirs", {1: [2.0, 2.0], 2: [2.0, 2.0]})
PRINTED = (PrintedValues(line="ours", y="error", x=[1.0, 2.0], values=[1.0, 2.0]),)


def around(*means: float, spread: float = TIGHT) -> list[dict[str, Any]]:
    """Make results of two seeds around a mean at each x: 1, 2, ..."""
    return rows(
        "ours", {x: [mean - spread, mean + spread] for x, mean in enumerate(means, start=1)}
    )


@pytest.mark.parametrize(
    ("claim", "results", "verdict", "sentence"),
    [
        (
            {"kind": "below", "than": "theirs"},
            around(1, 1.5),
            "reproduced",
            "holds at 2 of 2, closest at x 2: 1.5 against 2",
        ),
        (
            {"kind": "below", "than": "theirs"},
            around(3, 4),
            "not reproduced",
            "not at x 1: 3 against 2 of theirs · x 2",
        ),
        (
            {"kind": "below", "than": "theirs"},
            around(1, 4),
            "reproduced in part",
            "holds at 1 of 2; not at x 2: 4 against 2",
        ),
        (
            {"kind": "below", "than": "theirs"},
            around(1.9, 2.1, spread=WIDE),
            "undecided",
            "undecided at x 1: 1.9 against 2",
        ),
        (
            {"kind": "below", "than": "theirs", "factor": 0.5},
            around(1.5, 1.5),
            "not reproduced",
            "1.5 against 2",
        ),
        (
            {"kind": "below", "than": "theirs", "x": [1]},
            around(1, 4),
            "reproduced",
            "holds: 1 against 2",
        ),
        (
            {"kind": "falls"},
            around(3, 2, 1),
            "reproduced",
            "from x 1 to 3: 3, then 1|holds: 3, then 1",
        ),
        ({"kind": "falls"}, around(1, 2, 3), "not reproduced", "not at from x 1 to 3: 1, then 3"),
        (
            {"kind": "falls"},
            around(3, 4, 1),
            "reproduced in part",
            "not at from x 1 to 2: 3, then 4",
        ),
        ({"kind": "falls"}, around(2.1, 2, 1.9, spread=WIDE), "undecided", "undecided"),
        ({"kind": "rises"}, around(1, 2, 3), "reproduced", "1, then 3"),
        ({"kind": "rises"}, around(3, 2, 1), "not reproduced", "3, then 1"),
        ({"kind": "rises"}, around(1.9, 2, spread=WIDE), "undecided", "undecided"),
        (
            {"kind": "flat", "within": 0.1},
            around(2, 2.05, 2.1),
            "reproduced",
            "from 2 at x 1 to 2.1 at 3",
        ),
        (
            {"kind": "flat", "within": 0.1},
            around(2, 3),
            "not reproduced",
            "from 2 at x 1 to 3 at 2",
        ),
        ({"kind": "flat", "within": 0.1}, around(2, 2.3, spread=WIDE), "undecided", "undecided"),
        ({"kind": "near", "within": 0.1}, around(1.05, 1.95), "reproduced", "1.05, printed 1"),
        ({"kind": "near", "within": 0.1}, around(1.5, 3), "not reproduced", "1.5, printed 1"),
        ({"kind": "near", "within": 0.1}, around(1.05, 2.1, spread=WIDE), "undecided", "undecided"),
        (
            {"kind": "between", "low": 1, "high": 2},
            around(1.5, 1.9),
            "reproduced",
            "closest at x 2: 1.9",
        ),
        ({"kind": "between", "high": 2}, around(3, 4), "not reproduced", "not at x 1: 3"),
        (
            {"kind": "between", "high": 2},
            around(2.1, spread=WIDE),
            "undecided",
            "undecided at x 1: 2.1",
        ),
        (
            {"kind": "best_at", "low": 2, "high": 2},
            around(3, 1, 2),
            "reproduced",
            "holds: 1 against 2 at 3",
        ),
        (
            {"kind": "best_at", "low": 1, "high": 1},
            around(3, 1, 2),
            "not reproduced",
            "not at x 1: 3 against 1 at 2",
        ),
        (
            {"kind": "best_at", "low": 2, "high": 2},
            around(1.1, 1, 2, spread=WIDE),
            "undecided",
            "1 against 1.1 at 1",
        ),
    ],
)
def test_every_kind(
    claim: dict[str, Any], results: list[dict[str, Any]], verdict: str, sentence: str
) -> None:
    (result,) = judged(claim, [*results, *THEIRS], PRINTED)
    assert result.verdict == verdict
    assert re.search("|".join(map(re.escape, sentence.split("|"))), result.sentence), (
        result.sentence
    )


def test_one_seed_decides() -> None:
    results = [*rows("ours", {1: [1.0]}), *rows("theirs", {1: [1.01]})]
    assert judged({"kind": "below", "than": "theirs"}, results)[0].verdict == "reproduced"


def test_what_is_exactly_alike() -> None:
    results = [*rows("ours", {1: [1.0]}), *rows("theirs", {1: [1.0]})]
    for kind in ({"kind": "below", "than": "theirs"}, {"kind": "falls"}, {"kind": "rises"}):
        same = [*results, *rows("ours", {2: [1.0]})]
        assert (
            judged(kind, same)[0].verdict == "not reproduced"
        )  # what is alike at every seed is decided: it is not below
    assert (
        judged({"kind": "below", "than": "theirs", "ties": True}, results)[0].verdict
        == "reproduced"
    )
    assert (
        judged({"kind": "flat", "within": 0.0}, [*results, *rows("ours", {2: [1.0]})])[0].verdict
        == "reproduced"
    )
    assert judged({"kind": "between", "low": 1, "high": 1}, results)[0].verdict == "reproduced"
    seeds = [*rows("ours", {1: [1.0, 3.0, 7.0]}), *rows("theirs", {1: [1.0, 3.0, 7.0]})]
    assert judged({"kind": "below", "than": "theirs"}, seeds)[0].verdict == "not reproduced"
    assert (
        judged({"kind": "below", "than": "theirs", "ties": True}, seeds)[0].verdict == "reproduced"
    )


@pytest.mark.parametrize(
    ("ours", "theirs", "verdict"),
    [
        # Welch's t against scipy: t = 3.5 decides nothing with 2 degrees of freedom, but with 8.
        ([1.0, 1.2], [1.4, 1.6], "undecided"),
        ([1.0, 1.2], [1.8, 2.0], "reproduced"),
        ([1.8, 2.0], [1.0, 1.2], "not reproduced"),
        ([1.0, 1.2, 1.0, 1.2], [1.25, 1.45, 1.25, 1.45], "reproduced"),
        # Seeds differ much, and one line is always a little below: with five seeds or more
        # differences are taken seed by seed.
        ([1.0, 2.0, 3.0, 4.0], [1.1, 2.1, 3.1, 4.2], "undecided"),
        ([1.0, 2.0, 3.0, 4.0, 5.0], [1.1, 2.1, 3.1, 4.1, 5.2], "reproduced"),
    ],
)
def test_what_seeds_decide(ours: list[float], theirs: list[float], verdict: str) -> None:
    (result,) = judged(
        {"kind": "below", "than": "theirs"},
        [*rows("ours", {1: ours}), *rows("theirs", {1: theirs})],
    )
    assert result.verdict == verdict
    paired = len(ours) >= 5
    chance = (
        stats.ttest_rel(ours, theirs).pvalue
        if paired
        else stats.ttest_ind(ours, theirs, equal_var=False).pvalue
    )
    assert bool(chance <= 0.05) is (verdict != "undecided")
    if verdict != "undecided":
        assert result.points[0].chance == pytest.approx(chance)


@pytest.mark.parametrize("seeds", [2, 3, 10])
@pytest.mark.parametrize(
    "kind",
    [
        {"kind": "below", "than": "theirs"},
        {"kind": "falls"},
        {"kind": "best_at", "low": 3, "high": 3},
    ],
)
def test_noise_decides_nothing(kind: dict[str, Any], seeds: int) -> None:
    """At most one in twenty claims about lines that do not differ is decided.

    If each is decided with probability .05, more than 30 of 300 have probability below 3e-4. There
    are 9 such tests, with fixed seeds.
    """
    generator = np.random.default_rng(seeds)
    wrong = 0
    for _ in range(300):
        ours, theirs = (
            [
                row
                for x, values in enumerate(generator.normal(10, 1, (8, seeds)).tolist())
                for row in rows(name, {x: values})
            ]
            for name in ("ours", "theirs")
        )
        wrong += judged(kind, [*ours, *theirs])[0].verdict != "undecided"
    assert wrong <= 30


def test_a_seed_that_is_left_decides_nothing() -> None:
    results = [*rows("ours", {1: [1.0, 1.001], 2: [1.0]}), *THEIRS]
    (result,) = judged({"kind": "below", "than": "theirs"}, results)
    assert [point.holds for point in result.points] == [True, None]
    assert "undecided at x 2: 1 against 2 of theirs (from 1 of 2 seeds)" in result.sentence
    (result,) = judged(
        {"kind": "near", "within": 0.1}, [*rows("ours", {1: [1.0, 1.001], 2: [2.0]})], PRINTED
    )
    assert result.sentence == "holds at 1 of 2; undecided at x 2: 2, printed 2 (from 1 of 2 seeds)"


def test_what_is_missing_is_not_reproduced() -> None:
    lines = [*around(1, 1), *THEIRS]
    (result,) = judged({"kind": "below", "than": ["theirs", "absent"]}, lines)
    assert (result.verdict, result.sentence) == (
        "reproduced in part",
        "holds at 2 of 3; undecided at all x: no results of absent",
    )
    (result,) = judged({"kind": "below", "than": "theirs", "x": [1, 2, 3]}, lines)
    assert result.verdict == "reproduced"  # nothing was run at 3
    (result,) = judged(
        {"kind": "below", "than": "theirs", "x": [1, 2, 3]}, [*lines, *rows("theirs", {3: [2.0]})]
    )
    assert (result.verdict, result.sentence) == (
        "reproduced in part",
        "holds at 2 of 3; undecided at x 3: no results",
    )
    (result,) = judged({"kind": "below", "than": "theirs"}, [*lines, *around(1, 1, 1)[4:]])
    assert (result.verdict, result.points[2].text) == ("reproduced in part", "no results of theirs")
    (result,) = judged({"kind": "near", "within": 0.1}, around(1), PRINTED)
    assert result.verdict == "reproduced"  # nothing was run at 2
    (result,) = judged({"kind": "near", "within": 0.1}, [*around(1), *THEIRS], PRINTED)
    assert result.sentence == "holds at 1 of 2; undecided at x 2: no results, printed 2"
    (result,) = judged({"kind": "between", "high": 2}, [*around(1), *THEIRS])
    assert result.sentence == "holds at 1 of 2; undecided at x 2: no results"


@pytest.mark.parametrize(
    ("share", "means", "verdict", "sentence"),
    [
        (0.5, [1, 1, 3, 3], "reproduced", "holds at 2 of 4, 2 asked; not at"),
        (0.5, [1, 3, 3, 3], "reproduced in part", "holds at 1 of 4, 2 asked"),
        (0.9, [1, 1, 1, 3], "reproduced in part", "holds at 3 of 4, 4 asked"),
        (0.0, [1, 3, 3, 3], "reproduced", "holds at 1 of 4, 1 asked"),
        (0.0, [3, 3, 3, 3], "not reproduced", "holds at none of 4, 1 asked"),
    ],
)
def test_in_most_cases(share: float, means: list[float], verdict: str, sentence: str) -> None:
    theirs = rows("theirs", {x: [2.0, 2.0] for x in range(1, 5)})
    (result,) = judged(
        {"kind": "below", "than": "theirs", "share": share}, [*around(*means), *theirs]
    )
    assert (result.verdict, result.sentence[: len(sentence)]) == (verdict, sentence)


def test_an_advantage_that_widens() -> None:
    """Ours is 1/2, 1/3 and 1/4 of theirs, seed by seed."""
    values_of_theirs = [
        [4.0, 6.0, 9.0, 5.0, 7.0],
        [3.0, 5.0, 8.0, 4.0, 6.0],
        [2.0, 3.0, 4.0, 2.5, 3.5],
    ]
    theirs = rows("theirs", dict(enumerate(values_of_theirs)))
    ours = rows(
        "ours",
        {x: [value / (x + 2) for value in values] for x, values in enumerate(values_of_theirs)},
    )
    assert judged({"kind": "widens", "than": "theirs"}, [*ours, *theirs])[0].verdict == "reproduced"
    (result,) = judged({"kind": "widens", "than": "theirs", "towards": "low"}, [*ours, *theirs])
    assert result.verdict == "not reproduced"
    assert "from x 0 to 2: .5, then .25" in result.sentence
    few = [row for row in [*ours, *theirs] if row["line"] == "ours" or row["seed"] < 3]
    assert (
        judged({"kind": "widens", "than": "theirs"}, few)[0].verdict == "undecided"
    )  # means of other seeds


def test_a_ratio_to_a_single_seed_decides_nothing() -> None:
    ours = rows("ours", {1: [1.0, 1.1], 2: [0.1, 0.2]})
    theirs = rows("theirs", {1: [2.0], 2: [2.0]})
    (result,) = judged({"kind": "widens", "than": "theirs"}, [*ours, *theirs])
    assert result.verdict == "undecided"


def test_small_steps_add_up() -> None:
    (result,) = judged({"kind": "falls"}, around(1, 1.01, 1.02, 1.03, 1.04, 0.9, spread=0.001))
    assert result.verdict == "reproduced in part"
    assert "from x 1 to 5: 1, then 1.04" in result.sentence


def test_a_little_more_will_do() -> None:
    results = [*around(2.1, 2.3), *THEIRS]
    (result,) = judged({"kind": "below", "than": "theirs", "plus": 0.2}, results)
    assert (result.verdict, [point.holds for point in result.points]) == (
        "reproduced in part",
        [True, False],
    )


def test_a_list_is_any_of_them() -> None:
    results = [
        row
        for name, mean in (("a", 1.0), ("b", 3.0), ("c", 1.0))
        for row in rows("ours", {1: [mean]}, data=name)
    ]
    (result,) = judged(
        {"kind": "between", "high": 2, "each": "data", "where": {"data": ["a", "c"]}}, results
    )
    assert [point.place for point in result.points] == ["a, x 1", "c, x 1"]
    assert (
        judged({"kind": "between", "low": 2, "where": {"data": ["b"]}}, results)[0].verdict
        == "reproduced"
    )


def test_best_but_for_little() -> None:
    results = around(1.0, 1.01, 2.0)
    assert judged({"kind": "best_at", "low": 2, "high": 2}, results)[0].verdict == "not reproduced"
    assert (
        judged({"kind": "best_at", "low": 2, "high": 2, "within": 0.02}, results)[0].verdict
        == "reproduced"
    )


def test_no_results() -> None:
    for claim in (
        {"kind": "below", "than": "theirs"},
        {"kind": "falls"},
        {"kind": "best_at", "low": 1, "high": 1},
    ):
        (result,) = judged(claim, [])
        assert (result.verdict, result.sentence) == ("undecided", "no results to judge by")


def test_groups_and_figures_are_judged_apart() -> None:
    results = [
        row
        for name, mean in (("a", 1.0), ("b", 3.0))
        for row in rows("ours", {1: [mean]}, data=name)
    ]
    results += [row for name in ("a", "b") for row in rows("theirs", {1: [2.0]}, data=name)]
    (result,) = judged({"kind": "below", "than": "theirs", "each": "data"}, results)
    assert (result.verdict, [point.holds for point in result.points]) == (
        "reproduced in part",
        [True, False],
    )
    assert result.sentence == "holds at 1 of 2; not at b, x 1: 3 against 2 of theirs"
    (result,) = judged({"kind": "below", "than": "theirs", "where": {"data": "a"}}, results)
    assert result.verdict == "reproduced"
    more = [{**row, "other": row["error"]} for row in results]
    (result,) = judged(
        {"kind": "below", "than": "theirs", "y": ["error", "other"], "where": {"data": "a"}}, more
    )
    assert [point.place for point in result.points] == ["error, x 1", "other, x 1"]


def test_lines_beside_are_judged_in_the_same_way() -> None:
    results = [*around(3), *rows("mended", {1: [1.0], 2: [1.0]}), *THEIRS]
    verdicts = judged({"kind": "below", "than": "theirs", "also": ["mended", "absent"]}, results)
    assert [(line_verdict.line, line_verdict.verdict) for line_verdict in verdicts] == [
        ("ours", "not reproduced"),
        ("mended", "reproduced"),
    ]


def test_lines_beside_may_have_baselines_of_their_own() -> None:
    results = [*around(3), *rows("mended", {1: [3.0], 2: [3.0]}), *THEIRS]
    results += rows("theirs, mended", {1: [4.0], 2: [4.0]})
    claim = {"kind": "below", "than": "theirs", "also": ["mended"]}
    for kind in ("below", "widens"):
        same = judged(claim | {"kind": kind}, results)
        own = judged(claim | {"kind": kind, "than_for": {"mended": "theirs, mended"}}, results)
        assert own[0] == same[0]
        assert own[1] != same[1]
    assert [verdict.verdict for verdict in own] != ["reproduced", "reproduced"]
    of_below = judged(claim | {"than_for": {"mended": "theirs, mended"}}, results)
    assert of_below[1].verdict == "reproduced"


def test_a_line_without_x_is_the_same_everywhere() -> None:
    results = [
        *around(1, 3),
        {"line": "level", "error": 2.0, "x": float("nan")},
        {"line": "level", "error": 2.0},
    ]
    assert constant(results, line="level", x="x", y="error", where={"data": "a"}) is not None
    (result,) = judged({"kind": "below", "than": "level"}, results)
    assert [point.holds for point in result.points] == [True, False]


def test_another_column_along() -> None:
    results = [{"line": "ours", "rounds": rounds, "error": 1.0 / rounds} for rounds in (1, 2)]
    assert judged({"kind": "falls", "along": "rounds"}, results)[0].verdict == "reproduced"


def test_a_long_list_is_cut() -> None:
    results = [*around(*[3.0] * 6), *rows("theirs", {x: [2.0] for x in range(1, 7)})]
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
    means = series(rows("ours", {2: [1.0, 3.0], 1: [5.0]}), line="ours", x="x", y="error", where={})
    assert list(means) == [1, 2]
    assert (means[2].mean, means[2].error, means[2].seeds, means[2].expected_seeds) == (
        2.0,
        1.0,
        2,
        2,
    )
    assert (means[1].mean, means[1].error, means[1].seeds, means[1].expected_seeds) == (
        5.0,
        0.0,
        1,
        2,
    )
    twice = rows("ours", {1: [1.0, 3.0]}, data="a") + rows("ours", {1: [2.0, 4.0]}, data="b")
    mean = series(twice, line="ours", x="x", y="error", where={})[1]
    assert (mean.mean, mean.seeds, mean.by_seed) == (
        2.5,
        2,
        {0: 1.5, 1: 3.5},
    )  # two of a seed are not independent


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
        PrintedValues(line="ours", y="error", x=[1.0, 2.0], values=[1.0])


def test_figures() -> None:
    assert [format_figure(value) for value in (0.5, -0.25, 12.3456, 1e6, 0.000123)] == [
        ".5",
        "-.25",
        "12.3",
        "1,000,000",
        ".000123",
    ]
