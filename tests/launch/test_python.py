"""`sottovoce.run` in a Python session: what a run looks like, and what wrong arguments say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import pytest

import sottovoce
from sottovoce.messages import Private
from sottovoce.privacy import Neighbours
from sottovoce.report.brief import brief_html, brief_text
from sottovoce.runs.record import Unaccounted

REPLACED: Neighbours = "replace-one"
PEOPLE = pd.DataFrame({"sex": ["f", "m", "m", "f"] * 50, "age": [20, 30, 40, 50] * 50})


@pytest.fixture(scope="module")
def small_run() -> sottovoce.Run:
    return sottovoce.run("one-way", PEOPLE, parties=2, epsilon=1.0, seed=1)


def test_a_run_is_five_lines(small_run: sottovoce.Run) -> None:
    lines = repr(small_run).splitlines()
    assert [line.split()[0] for line in lines] == [
        "protocol",
        "published",
        "epsilon",
        "sent",
        "more",
    ]
    assert max(map(len, lines)) < 160
    assert "one-way (rigorous), 2 parties, 200 rows" in lines[0]
    assert "synthetic (200 rows, 2 attributes)" in lines[1]
    report = small_run.report
    assert f"claimed {report['privacy']['claimed_epsilon']:g}" in lines[2]
    assert f"{report['communication']['messages']} messages" in lines[3]
    assert "warning" in lines[4]  # the run has a seed
    for name in ("report", "judgement", "ledger", "page", "save"):
        assert name in lines[4]
        assert hasattr(small_run, name)


def test_a_run_in_a_notebook(small_run: sottovoce.Run) -> None:
    html = small_run._repr_html_()
    assert len(html) < 5000
    assert html.count("<table") == 2
    published = small_run.synthetic
    assert published is not None
    assert str(published["age"].iloc[0]) in html


def test_figures_of_a_protocol_are_escaped_in_a_notebook(small_run: sottovoce.Run) -> None:

    reported = small_run.reported
    report = msgspec.structs.replace(reported.report, outcome={"<script>": "<b>"})
    changed = type(reported)(report=report)
    assert "<script> <b>" in brief_text(changed)
    assert "<script>" not in brief_html(changed)


def test_what_no_release_covers_is_in_the_five_lines(small_run: sottovoce.Run) -> None:
    reported = small_run.reported
    unaccounted = [Unaccounted(party=1, kind="Count", messages=1, reason="no release")]
    privacy = msgspec.structs.replace(
        reported.report.privacy,
        not_accounted=unaccounted,
        epsilon=dict.fromkeys(reported.report.privacy.epsilon, float("inf")),
    )
    report = msgspec.structs.replace(reported.report, privacy=privacy)
    assert "not accounted" in brief_text(type(reported)(report=report)).splitlines()[2]


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "array": ({"data": np.zeros((5, 2))}, r"found a numpy array: pass pandas\.DataFrame"),
    "arrays": ({"data": [np.zeros((5, 2))] * 2}, r"found a numpy array: pass pandas\.DataFrame"),
    "series": ({"data": PEOPLE["sex"]}, r"found a Series: pass series\.to_frame"),
    "dictionary": ({"data": {"a": [1]}}, r"found a dict: pass pandas\.DataFrame"),
    "none": ({"data": None}, r"found None: leave it out"),
    "number": ({"data": 5}, r"found an int: pass pandas\.DataFrame"),
    "no tables": ({"data": []}, r"expected a table for data, found none"),
    "drop": ({"drop": 3}, r"drop: expected `str \| list`, got `int`"),
    "fault": ({"fault": 3}, r"fault: expected `str \| list`, got `int`"),
    "schema": ({"schema": [1]}, r"schema: expected `str \| dictionary`"),
    "protocol": ({"protocol": 3}, r"protocol: expected `str`"),
    "parties": ({"parties": 0}, r"parties: expected `int` >= 1, found 0"),
    "mode": ({"mode": "quick"}, r"mode: expected rigorous or paper, found 'quick'"),
    "transport": ({"transport": "x"}, r"expected threads or mpi or virtual, found 'x'"),
    "parameter": ({"epsilonn": 1}, r"did you mean epsilon"),
    "option": ({"partis": 3}, r"found 'partis': did you mean parties\?$"),
    "no columns": ({"data": pd.DataFrame()}, r"^expected the table to have columns, found none$"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_say_what_is_allowed(name: str) -> None:
    arguments, text = WRONG[name]
    with pytest.raises(sottovoce.UsageError, match=text):
        sottovoce.run(**{"protocol": "one-way", "data": PEOPLE, **arguments})


def test_tables_to_compare_are_tables() -> None:
    with pytest.raises(sottovoce.UsageError, match=r"DataFrame for synthetic, found a numpy array"):
        sottovoce.evaluate(PEOPLE, np.zeros((5, 2)))  # type: ignore[arg-type]


def test_numbers_and_lists_of_numpy_are_taken(tmp_path: Path) -> None:
    PEOPLE.to_csv(tmp_path / "people.csv", index=False)
    run = sottovoce.run(
        "one-way",
        tmp_path / "people.csv",
        parties=np.int64(2),  # type: ignore[arg-type]
        seed=np.int64(1),  # type: ignore[arg-type]
        columns=PEOPLE.columns[:1],  # type: ignore[arg-type]
        epsilon=np.float32(0.5),  # type: ignore[arg-type]
        judge=False,
    )
    assert run.report["seed"] == 1
    assert run.report["privacy"]["claimed_epsilon"] == 0.5
    assert run.synthetic is not None
    assert [*run.synthetic.columns] == ["sex"]


@pytest.mark.parametrize(
    "call",
    [
        lambda: sottovoce.laplace(3, sensitivity=1, epsilon=-1),
        lambda: sottovoce.laplace(2.5, sensitivity=1, epsilon=1),
        lambda: sottovoce.gaussian(3, sensitivity=1),
        lambda: sottovoce.median([1.0], bounds=(3, 1), neighbours=REPLACED, epsilon=1),
        lambda: sottovoce.quantile([1.0], 2.0, bounds=(1, 3), neighbours=REPLACED, epsilon=1),
        lambda: sottovoce.real_sum([1.0], neighbours=REPLACED, epsilon=1),
        lambda: sottovoce.choose([], sensitivity=1, epsilon=1),
        lambda: sottovoce.report_noisy_max([[1]], sensitivity=1, epsilon=1),
        lambda: sottovoce.sparse_vector([1], 1, sensitivity=1, epsilon=1, cutoff=0),
        lambda: sottovoce.above_threshold(float("nan"), sensitivity=1, epsilon=1),
        lambda: sottovoce.secret_histogram(["a"], neighbours=REPLACED, epsilon=1, delta=2),
    ],
)
def test_mechanisms_refuse_arguments_in_one_way(call: Callable[[], object]) -> None:
    """Their errors are `SottovoceError`, and a `ValueError` as before; values stay at home."""
    with pytest.raises(sottovoce.ArgumentError, match=r"^expected ") as caught:
        call()
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, sottovoce.SottovoceError)
    for part in caught.value.parts:
        if isinstance(part, Private) and part:
            assert part not in caught.value.public


def test_an_argument_refused_in_a_role_names_the_place_and_has_its_traceback(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parent)
    tables = [pd.DataFrame({"diagnosis": ["flu", "none"]})] * 2
    with pytest.raises(
        sottovoce.RunFailed, match=r"found -3 \(careless\.py, line \d+\)$"
    ) as caught:
        sottovoce.run("careless:Careless", tables, way="argument", no_rehearsal=True)
    assert str(caught.value).startswith("rank 2 (party 2) in careless, phase work, step 0: ")
    assert "found (not shown) (careless.py, line " in caught.value.public
    assert "laplace(1, sensitivity=-len(value)" in caught.value.traceback


def test_all_errors_are_one_family() -> None:
    for name in ("UsageError", "ArgumentError", "ConversationError", "RunFailed"):
        assert issubclass(getattr(sottovoce, name), sottovoce.SottovoceError)
