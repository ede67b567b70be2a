"""Sweeps: every combination once, resumed where they stopped, and no run lost for another's
failure.
"""

from __future__ import annotations

import fcntl
import importlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from commands_here import command_here

from sottovoce.launch.jobs import start_run
from sottovoce.messages import UsageError
from sottovoce.runs.budget_file import create_budget, read_budget
from sottovoce.runs.failure import RunFailed
from sottovoce.studies.cells import run_cells
from sottovoce.studies.planning import plan_of, read_plan
from sottovoce.studies.sweep import RunCell, sweep

PLAN = """
seeds = [3, 5]
[every]
data = "demo"
rows = 60
parties = 2
[[run]]
protocol = "head-count"
epsilon = [1, 2.5]
[[run]]
protocol = "noisy-marginals"
epsilon = 1
set = {ways = [1, 2], aggregator = "clear"}
"""
"""Of which the second entry is two: eight runs in all."""


def silent(done: int, of: int, following: str) -> None:
    """Hear nothing."""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    file = tmp_path / "plan.toml"
    file.write_text(PLAN)
    return file


def test_every_combination_once(plan: Path) -> None:
    _, cells = read_plan(plan, start=start_run)
    shown = [cell.label for cell in cells]
    assert len(shown) == len(set(shown)) == len({cell.key for cell in cells}) == 8
    assert shown[:2] == ["head-count seed=3 epsilon=1.0", "head-count seed=5 epsilon=1.0"]
    assert "noisy-marginals seed=5 ways=2 aggregator=clear epsilon=1.0" in shown
    # The same asked for twice is one run.
    plan.write_text(PLAN + '[[run]]\nprotocol = "head-count"\nepsilon = 1.0\n')
    assert len(read_plan(plan, start=start_run)[1]) == 8


def test_it_goes_on_where_it_stopped(
    plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, cells = read_plan(plan, start=start_run)
    out = tmp_path / "out"
    started: list[str] = []
    real = RunCell.compute

    def stopping(cell: RunCell, *, out: Path) -> dict[str, Any]:
        if len(started) == 3:
            raise KeyboardInterrupt
        started.append(cell.label)
        return real(cell, out=out)

    monkeypatch.setattr(RunCell, "compute", stopping)
    with pytest.raises(
        RunFailed, match=r"interrupted: 3 of 8 results are in .*; the same command goes on"
    ) as caught:
        sweep(cells, out=out, progress=silent)
    assert caught.value.status == 130
    table = pd.read_csv(out / "results.csv")
    assert table["status"].value_counts().to_dict() == {"not run": 5, "done": 3}
    monkeypatch.setattr(RunCell, "compute", real)
    table, result = sweep(cells, out=out, progress=silent)
    assert (result.reused, len(result.failures), len(table)) == (3, 0, 8)
    assert set(table["status"]) == {"done"}
    heads = table[table["protocol"] == "head-count"]
    assert (heads["claimed_epsilon"] == heads["epsilon"]).all()
    assert (out / "results.parquet").is_file()
    assert (
        pd.read_parquet(out / "results.parquet")["payload_bytes"].to_list()
        == table["payload_bytes"].to_list()
    )
    # All there: nothing is run, and the results are the same.
    monkeypatch.setattr(RunCell, "compute", stopping)
    again, result = sweep(cells, out=out, progress=silent)
    assert result.reused == 8
    assert again.equals(table)


def test_dropout_is_a_variable_of_a_sweep(plan: Path, tmp_path: Path) -> None:
    """Rows are those of the parties that are left; a run that too few are left for is a failure."""
    plan.write_text(
        '[every]\nrows = 80\nparties = 8\non_loss = "continue"\nmin_parties = 3\n'
        'columns = ["sex", "race"]\n'
        'fault = ["0 parties die", "a quarter of parties die", "6 parties die"]\n'
        '[[run]]\nprotocol = "one-way-ldp"\nepsilon = 4\n'
        '[[run]]\nprotocol = "one-way"\nepsilon = 4\nset = {aggregator = "masks"}\n'
    )
    _, cells = read_plan(plan, start=start_run)
    table, result = sweep(cells, out=tmp_path / "out", progress=silent)
    assert len(table) == 6
    rows = table[table["status"] == "done"].set_index(["protocol", "fault"])["rows"].to_dict()
    assert rows == {
        (protocol, fault): left
        for protocol in ("one-way", "one-way-ldp")
        for fault, left in (("0 parties die", 80), ("a quarter of parties die", 60))
    }
    assert len(result.failures) == 2
    assert table[table["status"] != "done"]["error"].str.contains("at least 3 parties").all()


def test_runs_are_told_apart_by_all_that_they_follow_from(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(
        '[[run]]\nprotocol = "head-count"\nepsilon = 1\nrows = [60, 90]\nparties = 2\n'
        'split = ["even", "by:sex@1"]\n'
        'mode = "rigorous"\n'
    )
    _, cells = read_plan(plan, start=start_run)
    assert [cell.label for cell in cells] == [
        f"head-count seed=0 epsilon=1.0 rows_asked={rows} split={split}"
        for rows in (60, 90)
        for split in ("even", "by:sex@1")
    ]
    done = subprocess.run(
        [sys.executable, "-m", "sottovoce", "sweep", "plan.toml", "--out", "out"],
        cwd=tmp_path,
        text=True,
        capture_output=True,
        timeout=300,
        check=True,
    )
    table = pd.read_csv(tmp_path / "out" / "results.csv")
    assert table[["rows_asked", "split", "rows"]].to_numpy().tolist() == [
        [rows, split, rows] for rows in (60, 90) for split in ("even", "by:sex@1")
    ]
    assert done.stdout.split()[:4] == [
        "protocol",
        "rows_asked",
        "split",
        "runs",
    ]  # four lines of one run each


def test_what_cannot_be_classified_is_refused_before_the_first_run(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(
        '[[run]]\nprotocol = "one-way-ldp"\nrows = 90\nparties = 1\nclassify = ["hair"]\n'
    )
    done = subprocess.run(
        [sys.executable, "-m", "sottovoce", "sweep", "plan.toml", "--out", "out"],
        cwd=tmp_path,
        text=True,
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 2
    assert "run 1: expected --classify by one of age, " in done.stderr
    assert not (tmp_path / "out" / "results.csv").exists()


def test_a_broken_result_is_made_again(plan: Path, tmp_path: Path) -> None:
    _, cells = read_plan(plan, start=start_run)
    table, _ = sweep(cells, out=tmp_path / "out", progress=silent)
    for cell, text in zip(cells, ("", "{}", "[]", '{"communication": 3}'), strict=False):
        (tmp_path / "out" / "cells" / f"{cell.key}.json").write_text(text)
    again, result = sweep(cells, out=tmp_path / "out", progress=silent)
    assert (result.reused, len(result.failures)) == (4, 0)
    assert again.drop(columns="seconds").equals(table.drop(columns="seconds"))


def test_a_protocol_that_was_changed_runs_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of one's own: its name and version stay, its source does not."""
    monkeypatch.syspath_prepend(str(tmp_path))
    source = tmp_path / "own_census.py"
    source.write_text(
        "from sottovoce.protocols.head_count import HeadCount\n\n\n"
        "class Own(HeadCount):\n    pass\n"
    )
    plan = tmp_path / "plan.toml"
    plan.write_text('[[run]]\nprotocol = "own_census:Own"\nepsilon = 1\n')
    first = read_plan(plan, start=start_run)[1][0].key
    assert read_plan(plan, start=start_run)[1][0].key == first
    source.write_text(source.read_text() + "    # otherwise\n")
    assert read_plan(plan, start=start_run)[1][0].key != first


def test_other_data_are_other_runs(tmp_path: Path) -> None:
    data = tmp_path / "people.csv"
    data.write_text("a,b\n" + "x,y\n" * 40)
    plan = tmp_path / "plan.toml"
    plan.write_text(
        f'[[run]]\nprotocol = "head-count"\nepsilon = 1\nparties = 2\ndata = "{data}"\n'
    )
    first = read_plan(plan, start=start_run)[1][0].key
    data.write_text("a,b\n" + "x,y\n" * 41)
    assert read_plan(plan, start=start_run)[1][0].key != first


def test_a_run_that_fails_loses_no_other(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(
        '[every]\nrows = 30\nparties = 2\n[[run]]\nprotocol = "clldp-naive-bayes"\nepsilon = 1\n'
        '[[run]]\nprotocol = "head-count"\nepsilon = 1\n'
    )
    done = subprocess.run(
        [sys.executable, "-m", "sottovoce", "sweep", "plan.toml", "--out", "out", "--progress"],
        cwd=tmp_path,
        text=True,
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 3
    lines = done.stderr.strip().splitlines()
    assert re.match(r"0 of 2 runs, \d+ s: clldp-naive-bayes", lines[0])
    assert lines[-1].startswith(
        "sottovoce: 1 of 2 runs failed, the first (clldp-naive-bayes): "
        "expected at least a user for each"
    )
    assert "2 runs: 1 new, 0 from before, 1 failed" in done.stdout
    table = pd.read_csv(tmp_path / "out" / "results.csv")
    assert table["status"].to_list() == ["failed", "done"]
    assert "expected at least a user" in table["error"][0]
    # It is tried again, and only it.
    again = subprocess.run(
        [sys.executable, "-m", "sottovoce", "sweep", "plan.toml", "--out", "out", "--quiet"],
        cwd=tmp_path,
        text=True,
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert again.returncode == 3
    assert again.stdout == ""


def test_folders_of_runs_are_kept_if_wanted(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text('keep = true\n[[run]]\nprotocol = "head-count"\nepsilon = 1\nrows = 50\n')
    _, cells = read_plan(plan, start=start_run)
    sweep(cells, out=tmp_path / "out", progress=silent)
    kept = tmp_path / "out" / "runs" / cells[0].key
    assert json.loads((kept / "report.json").read_text())["protocol"] == "head-count"
    assert (kept / "report.html").is_file()


def test_one_at_a_time(plan: Path, tmp_path: Path) -> None:
    _, cells = read_plan(plan, start=start_run)
    out = tmp_path / "out"
    out.mkdir()
    with (out / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(UsageError, match=r"expected one sweep at a time"):
            sweep(cells, out=out, progress=silent)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", r"missing required field `run`"),
        ("run = []", r"expected at least one \[\[run\]\]"),
        ("[[run]]\nprotocol = 'nothing'", r"run 1: .*nothing"),
        ("[[run]]\nprotocol = 'head-count'\nepsilon = -1", r"run 1: "),
        ("[[run]]\nprotocol = 'head-count'\nepsilom = 1", r"run 1: .*epsilom"),
        (
            "[[run]]\nprotocol = 'head-count'\nset = {ways = 2}",
            r"run 1: expected a parameter of head-count",
        ),
        ("[[run]]\nprotocol = 'head-count'\nseed = 1", r"run 1: expected no seed"),
        (
            "[[run]]\nprotocol = 'head-count'\nepsilon = []",
            r"run 1: expected a value of epsilon, found an empty list",
        ),
        ("seeds = []\n[[run]]\nprotocol = 'head-count'", r"expected at least one"),
        (
            "[[run]]\nprotocol = 'head-count'\nparities = 3",
            r"run 1: unknown key 'parities': did you mean parties\?",
        ),
        (
            "[[run]]\nprotocol = 'head-count'\ndata = 'none.csv'",
            r"run 1: expected a table, found none at none.csv",
        ),
        (
            "[[run]]\nprotocol = 'one-way'\nclassify = ['income']\ntest = 'none.csv'",
            r"expected a table, found none at none.csv",
        ),
        (
            "[[run]]\nprotocol = 'head-count'\nepsilon = nan",
            r"run 1: expected .float. >= 1e-12 for parameter epsilon, found nan",
        ),
        (
            "[[run]]\nprotocol = 'head-count'\nhosts = 'a:4'",
            r"run 1: expected --transport mpi beside --hosts, found threads",
        ),
        (
            "[[run]]\nprotocol = 'head-count'\ntransport = 'mpi'\nhostfile = 'none'",
            r"run 1: expected a host file, found none at none",
        ),
        ("seeds = 0\n[[run]]\nprotocol = 'head-count'", r"seeds"),
        ("[[run]\n", r"expected TOML"),
        ("[[run]]\nprotocol = 'head-count'\nset = 3", r"run 1: expected set = "),
    ],
)
def test_what_cannot_be_is_said_before_anything_starts(
    text: str, reason: str, tmp_path: Path
) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(text)
    with pytest.raises(UsageError, match=reason):
        read_plan(plan, start=start_run)
    done = run_command("sweep", "plan.toml", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "sweeps").exists()


def test_a_dry_run(plan: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sottovoce", "sweep", "plan.toml", "--dry-run"],
        cwd=plan.parent,
        text=True,
        capture_output=True,
        timeout=300,
        check=True,
    )
    assert len(done.stdout.splitlines()) == 8
    assert not (plan.parent / "sweeps").exists()


def test_a_parameter_does_not_hide_a_figure_of_its_name(tmp_path: Path) -> None:
    """PrivIncr's rounds are of its survey; the conversation has more."""
    plan = {"run": [{"protocol": "privincr", "rows": 300, "epsilon": 2, "set": {"rounds": [1, 2]}}]}
    table, result = sweep(
        plan_of(plan, where="here", start=start_run)[1],
        out=tmp_path / "s",
        progress=lambda *_: None,
    )
    assert not result.failures
    assert table["rounds_asked"].tolist() == [1, 2]
    assert (table["rounds"] > table["rounds_asked"]).all()


def run_command(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return command_here(*words, cwd=cwd)


def test_a_sweep_says_what_its_runs_cost_together(tmp_path: Path) -> None:
    """Demo people of one seed are one dataset; a sitting that makes no run says the same."""
    (tmp_path / "plan.toml").write_text(PLAN.replace("[3, 5]", "[3]"))
    outputs = [run_command("sweep", "plan.toml", cwd=tmp_path) for _ in range(2)]
    page = (tmp_path / "sweeps" / "plan" / "comparison.html").read_text()
    for output in outputs:
        assert output.returncode == 0, output.stderr
        for text in (
            "2 runs on demo cost its records together epsilon 3.5 as accounted (add-or-remove-one)",
            "2 runs on demo cost its records together epsilon 2 as accounted (replace-one)",
        ):
            assert text in output.stdout
            assert text in page


def test_a_sweep_spends_from_a_budget(tmp_path: Path) -> None:
    """Runs that would exceed it fail, the others go on, and finished runs are not paid again."""
    (tmp_path / "plan.toml").write_text(
        'seeds = [3]\n[[run]]\nprotocol = "head-count"\nrows = 60\nepsilon = [1, 2.5, 0.5]\n'
    )
    missing = run_command("sweep", "plan.toml", "--budget", "spent.json", cwd=tmp_path)
    assert missing.returncode == 2
    assert "make one by `sottovoce budget spent.json --epsilon TOTAL`" in missing.stderr
    create_budget(tmp_path / "spent.json", epsilon=2.0, neighbours="add-or-remove-one")
    for _ in range(2):
        output = run_command("sweep", "plan.toml", "--budget", "spent.json", cwd=tmp_path)
        assert output.returncode == 3
        assert "1 of 3 runs failed" in output.stderr
        assert "costs at most epsilon" in output.stderr
        spent = read_budget(tmp_path / "spent.json")
        assert [entry.epsilon for entry in spent.spending] == [1.0, 0.5]
    shown = run_command("budget", "spent.json", cwd=tmp_path)
    assert re.search(r"demo +[0-9a-f]{12} +2 +1\.5 +0\.5\n", shown.stdout)
    named = 'every = {budget = "spent.json"}\n' + (tmp_path / "plan.toml").read_text()
    (tmp_path / "plan.toml").write_text(named)
    assert run_command("sweep", "plan.toml", "--out", "other", cwd=tmp_path).returncode == 3
    assert read_budget(tmp_path / "spent.json").spent(spent.spending[0].dataset) == 2.0


def test_the_command_budget(tmp_path: Path) -> None:
    first = run_command("budget", "b.json", "--epsilon", "2", cwd=tmp_path)
    assert (first.returncode, "epsilon 2 for each dataset" in first.stdout) == (0, True)
    assert "no run has spent anything" in run_command("budget", "b.json", cwd=tmp_path).stdout
    for words, text in (
        (("b.json", "--epsilon", "9"), "expected a new file"),
        (("c.json",), "make one by `sottovoce budget c.json --epsilon TOTAL`"),
        (("c.json", "--against-anyone"), "expected --epsilon TOTAL beside --against-anyone"),
        (("c.json", "--epsilon", "1", "--neighbours", "x"), "expected neighbours replace-one or"),
    ):
        refused = run_command("budget", *words, cwd=tmp_path)
        assert (refused.returncode, text in refused.stderr) == (2, True), refused.stderr
    hosts = run_command("run", "head-count", "--budget", "b.json", "--hosts", "a:4", cwd=tmp_path)
    assert (hosts.returncode, "expected --budget on one machine" in hosts.stderr) == (2, True)


def figures_of(out: Path) -> pd.DataFrame:
    """Read the results without what the clock measured."""
    return pd.read_csv(out / "results.csv").drop(columns=["seconds"])


def test_runs_side_by_side_have_the_same_results(plan: Path, tmp_path: Path) -> None:
    _, cells = read_plan(plan, start=start_run)
    sweep(cells, out=tmp_path / "1", progress=silent)
    sweep(cells, out=tmp_path / "2", progress=silent, jobs=2)
    pd.testing.assert_frame_equal(figures_of(tmp_path / "1"), figures_of(tmp_path / "2"))
    _, again = sweep(cells, out=tmp_path / "2", progress=silent, jobs=2)
    assert again.reused == len(cells) == 8


def test_a_process_that_dies_fails_its_run_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    dying = importlib.import_module("dying_cells")
    cells = [dying.DyingCell(number) for number in range(6)]
    grown: list[int] = []
    result = run_cells(
        cells,
        out=tmp_path,
        progress=silent,
        finish=lambda result: None,
        grow=lambda rows: grown.append(len(rows)),
        jobs=2,
    )
    assert [row.get("twice") for row in result.rows] == [0, None, 4, None, 8, 10]
    assert [row["status"] for row in result.rows].count("failed") == 2
    assert result.failures["cell-1"].line.endswith("ended with status -9")
    assert result.failures["cell-3"].line == "expected another number, found 3"
    assert os.getpid() not in {row.get("process") for row in result.rows}
    assert set(grown) == {6}  # rows of runs that are still to be made are there, too


def test_results_grow_and_an_interruption_ends_all(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(PLAN.replace("[3, 5]", "300"))
    command = [sys.executable, "-m", "sottovoce", "sweep", "plan.toml", "--out", "out"]
    process = subprocess.Popen(
        [*command, "--jobs", "2"], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    results = tmp_path / "out" / "results.csv"
    until = time.monotonic() + 240
    seen = ""
    while "done" not in seen and time.monotonic() < until:
        time.sleep(0.05)
        seen = results.read_text() if results.is_file() else ""
    assert "done" in seen
    assert "not run" in seen
    children = children_of(process.pid)
    assert len(children) >= 2
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    assert re.search(r"interrupted: \d+ of 1200 results are in out; the same command", errors)
    assert "Traceback" not in errors
    # The interpreter's own tracker of resources ends when it notices that nobody is left.
    until = time.monotonic() + 60
    while any(is_alive(child) for child in children) and time.monotonic() < until:
        time.sleep(0.05)
    assert not [child for child in children if is_alive(child)]
    done = pd.read_csv(results)["status"].value_counts()
    assert done["done"] == len([*(tmp_path / "out" / "cells").glob("*.json")])
    assert not (tmp_path / "out" / "figures").exists()


def is_alive(pid: int) -> bool:
    """Tell whether a process is there, and has not only its status left."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def children_of(pid: int) -> list[int]:
    """List the processes that a process started."""
    children = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            children.append(int(path.parent.name))
    return children


def test_several_jobs_share_no_budget(plan: Path, tmp_path: Path) -> None:
    budget = tmp_path / "budget.json"
    create_budget(budget, epsilon=100.0)
    _, cells = read_plan(plan, start=start_run, budget=str(budget))
    with pytest.raises(UsageError, match="expected --jobs 1 with a budget, found --jobs 2"):
        sweep(cells, out=tmp_path / "out", progress=silent, jobs=2)


def test_the_ratio_to_the_baseline_is_a_column(tmp_path: Path) -> None:
    values: dict[str, Any] = {
        "every": {"data": "demo", "rows": 200, "columns": ["sex", "race", "income"]},
        "run": [{"protocol": "one-way", "set": {"aggregator": "masks"}}],
    }
    _, cells = plan_of(values, where="plan", start=start_run)
    table, _ = sweep(cells, out=tmp_path, progress=silent)
    assert table["ratio_2"][0] == pytest.approx(table["tvd_2"][0] / table["floor_2"][0])
