"""Reproductions: every file is one, finished runs are found again, and verdicts follow results."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import pytest

from sottovoce.launch.jobs import start_run
from sottovoce.messages import UsageError
from sottovoce.parties import load, read_schema
from sottovoce.parties.demo import demo_table
from sottovoce.runs.failure import RunFailed
from sottovoce.studies.cells import run_cells
from sottovoce.studies.dataset_tables import TABLES, prepare_table
from sottovoce.studies.datasets import DATASETS, DatasetFile, read_dataset_files
from sottovoce.studies.experiments import ExperimentCall
from sottovoce.studies.item_plan import plan_item
from sottovoce.studies.items import Item, Size, item_paths, read_item, select_items
from sottovoce.studies.reproducing import reproduce
from sottovoce.studies.reproduction import judge_item
from sottovoce.studies.source_tables import ADULT_SCHEMA
from sottovoce.studies.sweep import RunCell

NAMES = sorted(item_paths())
ROWS = 300


def silent(done: int, of: int, following: str) -> None:
    """Hear nothing."""


def people(rows: int = ROWS) -> pd.DataFrame:
    """Make demo people whose numbers are in Adult's ranges."""
    table = demo_table(rows)
    return table.assign(fnlwgt=table["fnlwgt"].astype(int).clip(12_285, 1_490_400))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, DatasetFile]:
    """Give a small table for every dataset, of the right columns."""
    folder = tmp_path_factory.mktemp("data")
    generator = np.random.default_rng(0)
    tables = {"adult": people()}
    for name in ("retail", "aol", "kosarak", "br2000", "tpc-e"):
        tables[name] = pd.DataFrame(
            generator.integers(0, 2, (ROWS, 12)), columns=[f"item_{number}" for number in range(12)]
        )
    tables["tpc-e"] = tables["tpc-e"].set_axis(
        ["T_TT_ID", "T_IS_CASH", "S_ISSUE", *(f"S_{number}" for number in range(9))], axis="columns"
    )
    tables["smartgrid"] = pd.DataFrame(
        generator.random((ROWS, 3)).round(6), columns=["tau1", "g1", "stab"]
    )
    tables["smartgrid"]["stabf"] = np.where(tables["smartgrid"]["stab"] > 0.5, "unstable", "stable")
    tables["healthcare"] = pd.DataFrame(
        {
            "case_id": range(ROWS),
            "Ward_Type": "P",
            "Bed Grade": generator.integers(1, 5, ROWS),
            "patientid": range(ROWS),
        }
    )
    tables["healthcare"]["Stay"] = generator.choice(["0-10", "21-30", "More than 100 Days"], ROWS)
    words = []
    for name, table in tables.items():
        table.to_csv(folder / f"{name}.csv", index=False)
        words.append(f"{name}={folder / name}.csv")
    assert set(tables) == set(DATASETS)
    return read_dataset_files(words)


@pytest.mark.parametrize("name", NAMES)
def test_every_file(name: str, files: dict[str, DatasetFile], tmp_path: Path) -> None:
    item = read_item(item_paths()[name])
    item = msgspec.structs.replace(
        item, full={**item.full, "seeds": 1}, quick={**item.quick, "seeds": 1}
    )
    lines = {run["line"] for run in item.run} | {
        line for run in item.run for line in run.get("also", {})
    }
    for claim in item.claim:
        than = getattr(claim, "than", [])
        named = {claim.line, *claim.also, *([than] if isinstance(than, str) else than)}
        assert named <= lines, claim.says
    assert {printed.line for printed in item.printed} <= lines
    for quick in (True, False):
        cells = plan_item(item, files, quick=quick, out=tmp_path, start=start_run)
        assert cells
        assert {str(cell.columns["line"]) for cell in cells} <= lines
    assert item.name == name
    assert name.startswith(("dp-subn-", "privincr-", "calm-", "clldp-", "jtree-", "flaim-"))


def test_the_list_is_whole() -> None:
    figures = {
        "dp-subn": ["figure-4", "figure-5", "figure-6", "figure-7", "figure-8", "premise"],
        "privincr": ["figure-3", "figure-4", "figure-5", "figure-6", "figure-7", "table-2"],
        "calm": ["classification", "error"],
        "clldp": ["figure-3", "figure-4", "figure-5", "figure-6", "table-4"],
        "jtree": ["figure-2", "figure-3", "figure-4", "table-1"],
        "flaim": ["heterogeneity"],
    }
    assert sorted(f"{paper}-{name}" for paper, names in figures.items() for name in names) == NAMES


def test_the_package_has_the_files() -> None:
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    assert '"reproductions/*.toml"' in text


def small(name: str, **values: Any) -> Item:
    """Make an item smaller than its quick size."""
    item = read_item(item_paths()[name])
    return msgspec.structs.replace(item, quick={**item.quick, **values})


def test_runs_of_protocols_are_made_and_judged(
    files: dict[str, DatasetFile], tmp_path: Path
) -> None:
    item = small("dp-subn-figure-6", seeds=1, epsilon=[0.8], half=[0.4])
    result = reproduce(item, files, quick=True, out=tmp_path, start=start_run, progress=silent)
    assert (result.study.cells, result.study.reused, result.study.failures) == (8, 0, {})
    folder = tmp_path / "dp-subn-figure-6"
    table = pd.read_csv(folder / "results.csv")
    assert set(table["epsilon"]) == {0.8}, "DistDiffGen's half of epsilon is reported as the whole"
    assert {
        "DP-SUBN, as printed",
        "DP-SUBN, default",
        "DistDiffGen, h = 10",
        "DistDiffGen, h = 16",
        "real rows",
    } <= set(table["line"])
    assert table["wrong_income"].notna().sum() >= 4
    verdict = json.loads((folder / "verdict.json").read_text())
    assert verdict["verdict"] == result.verdict
    assert [claim["line"] for claim in verdict["claims"]] == ["DP-SUBN, as printed"] * 6
    assert verdict["claims"][0]["choice"] == "h = 10 in DistDiffGen"
    assert verdict["choices"] == [f"h = {h} in DistDiffGen" for h in (10, 13, 16)]
    assert verdict["claims"][0]["beside"][0]["line"] == "DP-SUBN, default"
    page = (folder / "page.html").read_text()
    for text in (
        "DistDiffGen",
        "salary, predicted wrong",
        "section VII-B",
        "h = 13 in DistDiffGen",
        "<svg",
        result.verdict,
        "Differences from the paper",
    ):
        assert text in page
    assert str(tmp_path) not in page
    assert "<title>Su et al. 2016 (DP-SUBN), figure 6" in (folder / "picture.svg").read_text()
    # Nothing is made again: the same results, from the cells.
    again = reproduce(item, files, quick=True, out=tmp_path, start=start_run, progress=_refuse)
    assert again.study.reused == 8
    assert again.rows == result.rows
    # Another size has some of the cells already.
    more = reproduce(
        small("dp-subn-figure-6", seeds=1, epsilon=[0.8], half=[0.4, 0.8]),
        files,
        quick=True,
        out=tmp_path,
        start=start_run,
        progress=silent,
    )
    assert (more.study.cells, more.study.reused) == (14, 8)


def test_what_a_verdict_hangs_on_has_the_values_of_the_size() -> None:
    item = read_item(item_paths()["dp-subn-figure-4"])
    sizes: tuple[tuple[Size, int, int], ...] = (("quick", 1, 2), ("full", 2, 1))
    for size, parents, others in sizes:
        choices = {claim.choice for claim in item.of_size(size).claim}
        assert any(f"at most {parents} parents in DP-CCBN" in choice for choice in choices)
        assert not any(f"at most {others} parents in DP-CCBN" in choice for choice in choices)
        assert not any("{" in choice for choice in choices)


def _refuse(done: int, of: int, following: str) -> None:
    raise AssertionError(following)


def test_experiments_are_made_and_judged(files: dict[str, DatasetFile], tmp_path: Path) -> None:
    item = read_item(item_paths()["jtree-table-1"])
    result = reproduce(
        item, {"adult": files["adult"]}, quick=True, out=tmp_path, start=start_run, progress=silent
    )
    assert [(row["data"], row["rows"], row["attributes"], row["bits"]) for row in result.rows] == [
        ("adult", ROWS, 15, 52)
    ]
    assert result.verdict == "reproduced in part", "of another table, whose rows are not Adult's"
    assert (
        "not at rows, data adult: 300, printed 45,222" in result.judgements[0].verdicts[0].sentence
    )
    assert "Without aol, retail, br2000, tpc-e" in (tmp_path / item.name / "page.html").read_text()


def test_verdicts_change_with_results() -> None:
    item = read_item(item_paths()["dp-subn-figure-7"])
    lines = {"NOCD, as printed": 0.2, "PriView, blocks of 8": 0.1, "NOCD, ours": 0.05}

    def verdict_when(means: dict[str, float]) -> str:
        rows = [
            {
                "line": line,
                "epsilon": epsilon,
                "seed": 0,
                "tvd_2": mean / epsilon,
                "views": 1000 * mean,
            }
            for line, mean in means.items()
            for epsilon in (0.2, 0.8)
        ]
        return judge_item(item, rows)[0].verdict

    assert verdict_when(lines) == "not reproduced"
    assert verdict_when(lines | {"NOCD, as printed": 0.01}) == "reproduced"
    assert verdict_when({}) == "undecided"


def test_a_figure_that_several_panels_draw_is_named_by_none_of_them() -> None:
    rows = [
        {"line": line, "epsilon": epsilon, "seed": 0, "data": "adult", "squared_2": mean}
        for line, mean in (("CALM", 0.1), ("FT", 0.2))
        for epsilon in (1, 2)
    ]
    judgements = judge_item(read_item(item_paths()["calm-error"]), rows)
    assert (
        judgements[0].verdicts[0].sentence
        == "holds at 2 of 2, closest at 2-way, adult, epsilon 1: .1 against .2 of FT"
    )


def test_a_run_that_fails_loses_no_other(files: dict[str, DatasetFile], tmp_path: Path) -> None:
    item = read_item(item_paths()["dp-subn-figure-7"])
    broken = msgspec.structs.replace(
        item,
        quick={"seeds": 1, "epsilon": [0.8]},
        run=[
            {"line": "NOCD, as printed", "set": {"design": "pairs"}},
            {"line": "PriView, blocks of 8", "experiment": "priview", "set": {"ways": 99}},
        ],
    )
    result = reproduce(broken, files, quick=True, out=tmp_path, start=start_run, progress=silent)
    assert [row["status"] for row in result.rows] == ["done", "failed"]
    assert result.study.complaint.startswith(
        "1 of 2 runs failed, the first (priview): expected --ways from 1 to the 52"
    )
    assert "Runs that failed" in (tmp_path / item.name / "page.html").read_text()


def test_stand_ins_are_called_so(tmp_path: Path) -> None:
    folder = tmp_path / "standin"
    folder.mkdir()
    people(40).to_csv(folder / "adult.csv", index=False)
    files = read_dataset_files([f"adult={folder / 'adult.csv'}"])
    assert files["adult"].stand_in
    reproduce(
        read_item(item_paths()["jtree-table-1"]),
        files,
        quick=True,
        out=tmp_path / "out",
        start=start_run,
        progress=silent,
    )
    page = (tmp_path / "out" / "jtree-table-1" / "page.html").read_text()
    assert "adult is not the dataset here (stand-in, 40 rows of 48,842)" in page
    digest = hashlib.sha256((folder / "adult.csv").read_bytes()).hexdigest()
    assert digest in page
    verdict = json.loads((tmp_path / "out" / "jtree-table-1" / "verdict.json").read_text())
    assert verdict["data"] == {"adult": "stand-in, 40 rows of 48,842"}
    assert verdict["sha256"] == {"adult": digest}
    small = Path(tempfile.mkdtemp()) / "adult.csv"  # under no name of ours
    people(40).to_csv(small, index=False)
    assert read_dataset_files([f"adult={small}"])["adult"].kind == "40 rows of 48,842"
    whole = small.with_name("br2000.csv")
    whole.write_text("a\n" + "1\n" * 38_000)
    assert read_dataset_files([f"br2000={whole}"])["br2000"].kind == "as given"


def run(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sottovoce", "reproduce", *words]
    return subprocess.run(
        command, cwd=cwd, text=True, capture_output=True, timeout=300, check=False
    )


def test_the_command(tmp_path: Path, files: dict[str, DatasetFile]) -> None:
    listed = run(cwd=tmp_path)
    assert listed.returncode == 0
    assert all(name in listed.stdout for name in NAMES)
    done = run(
        "clldp-table-4",
        "jtree-table-1",
        "--quick",
        "--data",
        f"adult={files['adult'].path}",
        "--progress",
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert "0 of 4 runs, 0 s: clldp-table-4: label-belief" in done.stderr
    assert "reproduced" in done.stdout
    out = tmp_path / "reproductions"
    assert {path.name for path in (out / "clldp-table-4").iterdir()} == {
        ".lock",
        "cells",
        "page.html",
        "picture.csv",
        "picture.pdf",
        "picture.svg",
        "results.csv",
        "verdict.json",
    }
    index = (out / "index.html").read_text()
    assert 'href="clldp-table-4/page.html"' in index
    assert 'href="jtree-table-1/page.html"' in index


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["clldp-figur-3"], "found 'clldp-figur-3': did you mean clldp-figure-3"),
        (["nothing-like-it-at-all"], "`sottovoce reproduce` lists them"),
        (["dp-subn-figure-4"], "dp-subn-figure-4 needs adult (Adult, 48,842 people"),
        (["dp-subn-figure-4"], "UCI Machine Learning Repository, dataset 2"),
        (["dp-subn-figure-4"], "give it with --data adult=FILE"),
        (["clldp-table-4", "--data", "adult"], "expected --data DATASET=FILE, of adult, smartgrid"),
        (["clldp-table-4", "--data", "adlt=x.csv"], "found 'adlt=x.csv'"),
        (
            ["clldp-table-4", "--data", "adult=absent.csv"],
            "expected a table at absent.csv for --data adult, found none: get it",
        ),
        (["dp-subn-figure-7", "--data", "adult=wrong.csv"], "wrong.csv: expected a column 'age'"),
    ],
)
def test_what_cannot_be_is_said_in_a_line(words: list[str], reason: str, tmp_path: Path) -> None:
    (tmp_path / "wrong.csv").write_text("a,b\n1,2\n")
    done = run(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert reason in done.stderr
    assert done.stderr.count("\n") == 1


def test_all_makes_what_can_be_made(files: dict[str, DatasetFile]) -> None:
    selected, reasons = select_items(["all"], {})
    assert [item.name for item in selected] == ["clldp-figure-3", "clldp-figure-6", "clldp-table-4"]
    assert len(reasons) == len(NAMES) - 3
    assert select_items(["all"], files)[1] == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "missing required field `title`"),
        ("needs = ['adlt']", "expected datasets of adult"),
        ("heading = 'x'", "unknown field `heading`"),
        ("[[claim]]\nkind = 'above'", "Invalid value 'above'"),
        (
            "[[printed]]\nline = 'a'\ny = 'b'\nx = [1]\nvalues = []",
            "expected as many values as x of a",
        ),
        ("[[", "expected TOML"),
    ],
)
def test_a_wrong_file(text: str, reason: str, tmp_path: Path) -> None:
    lines = item_paths()["clldp-table-4"].read_text()
    file = tmp_path / "wrong.toml"
    file.write_text(
        f"{text}\n{lines}"
        if text and not text.startswith("[")
        else f"{lines}\n{text}"
        if text
        else ""
    )
    with pytest.raises(UsageError, match=reason) as caught:
        read_item(file)
    assert str(file) in str(caught.value)


def test_a_value_without_a_name(files: dict[str, DatasetFile], tmp_path: Path) -> None:
    item = read_item(item_paths()["clldp-figure-3"])
    with pytest.raises(
        UsageError, match=r"clldp-figure-3 \(quick\): expected a value of 'epsilon', found none"
    ):
        plan_item(
            msgspec.structs.replace(item, quick={"seeds": 1}),
            files,
            quick=True,
            out=tmp_path,
            start=start_run,
        )
    with pytest.raises(UsageError, match="expected seeds, found none"):
        plan_item(
            msgspec.structs.replace(item, quick={}),
            files,
            quick=True,
            out=tmp_path,
            start=start_run,
        )


@pytest.mark.parametrize(
    ("name", "parameters", "reason"),
    [
        ("label-belif", {}, "did you mean label-belief"),
        ("x", {}, "there are label-belief, label-estimate"),
        (
            "label-belief",
            {"label": "D(25)"},
            r"expected a parameter of label-belief \(labels, heads\), found 'label'",
        ),
        ("label-belief", {}, "expected labels for label-belief, found none"),
        (
            "label-estimate",
            {"labels": "D(25)", "epsilon": "much"},
            "for parameter epsilon, found 'much'",
        ),
        (
            "views",
            {"data": "a", "schema": "b", "design": "none", "epsilon": 1},
            "for parameter design, found 'none'",
        ),
    ],
)
def test_a_wrong_experiment(name: str, parameters: dict[str, Any], reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        ExperimentCall.of(name, parameters)


@pytest.mark.parametrize("table", sorted(TABLES))
def test_every_table_is_what_its_schema_says(
    table: str, files: dict[str, DatasetFile], tmp_path: Path
) -> None:
    prepared = prepare_table(table, files[TABLES[table].dataset], out=tmp_path)
    records = load(str(prepared.data), schema=read_schema(prepared.schema))
    before = prepared.data.stat().st_mtime_ns
    assert (
        prepare_table(table, files[TABLES[table].dataset], out=tmp_path).data.stat().st_mtime_ns
        == before
    ), "it is made once"
    if table.endswith(("-learn", "-test")):
        whole = prepare_table(table.rpartition("-")[0], files[TABLES[table].dataset], out=tmp_path)
        assert 0 < len(records) < len(pd.read_csv(whole.data))
    if table.startswith("smartgrid-users"):
        assert records.domain.attributes[-1] == "stabf"
    if table == "healthcare-users":
        assert records.domain.labels["Stay"] == ("<=30", ">30")
        assert "case_id" not in records.domain.attributes


def test_adult_in_either_coding_is_one_table(tmp_path: Path) -> None:
    """As UCI has it, with blanks, full stops and missing values; and as codes with a description
    beside.
    """
    table = people(50)
    raw = table.assign(
        **{name: " " + table[name].astype(str) for name in ("workclass", "sex")},
        income=table["income"] + ".",
    )
    raw.loc[3, "occupation"] = "?"
    (tmp_path / "raw").mkdir()
    raw.to_csv(tmp_path / "raw" / "adult.csv", index=False)
    codes = pd.DataFrame(
        {
            name: rule.codes_of([str(value) for value in table[name]])
            for name, rule in ADULT_SCHEMA.attributes.items()
        }
    ).drop(index=3)
    (tmp_path / "coded").mkdir()
    codes.to_csv(tmp_path / "coded" / "adult.csv", index=False)
    described = {
        name: {"type": "binned", "bins": 16, "edges": list(rule.edges)}
        if hasattr(rule, "edges")
        else {"code_to_label": rule.labels}
        for name, rule in ADULT_SCHEMA.attributes.items()
    }
    (tmp_path / "coded" / "adult-domain.json").write_text(json.dumps({"attributes": described}))
    tables = []
    for folder in ("raw", "coded"):
        file = read_dataset_files([f"adult={tmp_path / folder / 'adult.csv'}"])["adult"]
        prepared = prepare_table("adult", file, out=tmp_path / "out")
        tables.append(load(str(prepared.data), schema=read_schema(prepared.schema)))
    assert len(tables[0]) == len(tables[1]) == 49
    assert all(
        (tables[0].codes(name) == tables[1].codes(name)).all() for name in ADULT_SCHEMA.attributes
    )


def test_a_schema_beside_the_file_is_taken(tmp_path: Path) -> None:
    (tmp_path / "shop.csv").write_text("bread,milk\n0,1\n1,1\n")
    (tmp_path / "shop.schema.json").write_text('{"milk": ["0", "1"]}')
    prepared = prepare_table(
        "retail",
        read_dataset_files([f"retail={tmp_path / 'shop.csv'}"])["retail"],
        out=tmp_path / "out",
    )
    assert read_schema(prepared.schema).domain.attributes == ("milk",)


def test_a_page_says_what_is_not_there_yet(files: dict[str, DatasetFile], tmp_path: Path) -> None:
    item = small("clldp-figure-3", seeds=1, epsilon=[1])

    def stop(done: int, of: int, following: str) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(Exception, match="interrupted"):
        reproduce(item, files, quick=True, out=tmp_path, start=start_run, progress=stop)
    assert "26 runs have not been made" in (tmp_path / item.name / "page.html").read_text()
    assert json.loads((tmp_path / item.name / "verdict.json").read_text())["left"] == 26
    reproduce(item, files, quick=True, out=tmp_path, start=start_run, progress=silent)
    assert "not been made" not in (tmp_path / item.name / "page.html").read_text()


def test_an_interruption_leaves_what_there_is(
    files: dict[str, DatasetFile], tmp_path: Path
) -> None:
    cells = plan_item(
        small("clldp-figure-3", seeds=1, epsilon=[1]),
        files,
        quick=True,
        out=tmp_path,
        start=start_run,
    )

    def stop(done: int, of: int, following: str) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(Exception, match=r"interrupted: 2 of 28 results"):
        run_cells(cells, out=tmp_path, progress=stop, finish=lambda result: None)
    result = run_cells(cells, out=tmp_path, progress=silent, finish=lambda result: None)
    assert result.reused == 2


def test_an_interruption_within_a_run_stops_all(
    files: dict[str, DatasetFile], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = plan_item(
        small("dp-subn-figure-6", seeds=1, epsilon=[0.8], half=[0.4]),
        files,
        quick=True,
        out=tmp_path,
        start=start_run,
    )
    started = []

    def stopped(cell: RunCell, *, out: Path) -> dict[str, Any]:
        started.append(cell)
        raise RunFailed("interrupted; all roles were ended and nothing was written", status=130)

    monkeypatch.setattr(RunCell, "compute", stopped)
    with pytest.raises(RunFailed, match=r"interrupted: 0 of 8 results"):
        run_cells(cells, out=tmp_path, progress=silent, finish=lambda result: None)
    assert len(started) == 1
