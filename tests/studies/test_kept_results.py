"""Kept results: small files from which the same verdicts follow, and tables of them."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from sottovoce.messages import UsageError
from sottovoce.runs.version import VERSION
from sottovoce.studies.cells import StudyResult
from sottovoce.studies.datasets import DatasetFile
from sottovoce.studies.items import item_paths, read_item
from sottovoce.studies.kept_results import KeptItem, columns_of, keep, read_kept
from sottovoce.studies.kept_table import claims_table, overview, provenance_table
from sottovoce.studies.reproduction import Reproduction, judge_item

NAME = "dp-subn-figure-6"
ITEM = read_item(item_paths()[NAME]).of_size("quick")
DOCS = Path(__file__).parents[2] / "docs"


def rows_where_ours_is(shift: float) -> list[dict[str, Any]]:
    levels = {
        "DP-SUBN, as printed": 0.24 + shift,
        **{f"DistDiffGen, h = {h}": 0.24 for h in (10, 13, 16)},
    }
    return [
        {
            "line": line,
            "seed": seed,
            "epsilon": epsilon,
            "wrong_income": level + 0.001 * seed + epsilon / 7,
            "wrong_education>=Assoc-voc": level + 0.002 * seed + epsilon / 9,
            "seconds": 3.0,
            "status": "done",
        }
        for line, level in levels.items()
        for seed in (0, 1, 2)
        for epsilon in (0.2, 0.8, 1.6)
    ] + [{"line": "DP-SUBN, default", "seed": 0, "status": "failed", "error": "lost"}]


def kept(folder: Path, *, shift: float = -0.05) -> tuple[Reproduction, KeptItem]:
    rows = rows_where_ours_is(shift)
    study = StudyResult(rows=rows, cells=37, reused=0, failures={})
    result = Reproduction(ITEM, study, judge_item(ITEM, rows[:-1]), 12.34)
    file = DatasetFile("adult", folder / "adult.csv", stand_in=False, rows=300, digest="00ff")
    keep(result, files=[file], quick=True, folder=folder)
    (again,) = read_kept(folder)
    return result, again


@pytest.mark.parametrize(("shift", "verdict"), [(-0.05, "reproduced"), (0.05, "not reproduced")])
def test_the_same_verdicts_follow(shift: float, verdict: str, tmp_path: Path) -> None:
    result, again = kept(tmp_path, shift=shift)
    assert again.verdict == result.verdict == verdict
    first = [judged.verdict for judged in result.judgements]
    assert [judged.verdict for judged in again.judge()] == first
    made = again.provenance
    assert (made.size, made.seconds, made.runs, made.failed) == ("quick", 12.3, 37, 0)
    assert made.data == {"adult": "300 rows of 48,842"}
    assert made.sha256 == {"adult": "00ff"}
    assert {"python", "numpy"} <= made.versions.keys()
    assert made.machine.endswith("cores")


def test_the_version_is_that_of_the_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation's own version may be an older one than that of the code."""
    info = tmp_path / "path" / "sottovoce-0.0.1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: sottovoce\nVersion: 0.0.1\n")
    monkeypatch.syspath_prepend(info.parent)
    assert version("sottovoce") == "0.0.1"
    _, again = kept(tmp_path / "kept")
    assert again.provenance.versions["sottovoce"] == VERSION


def test_a_file_has_what_is_drawn_and_judged(tmp_path: Path) -> None:
    """Paths, hashes of runs and seconds stay out, and so do runs that failed."""
    kept(tmp_path)
    table = pd.read_csv(tmp_path / f"{NAME}.csv")
    assert (
        set(table)
        == {*columns_of(ITEM)}
        == {
            "line",
            "seed",
            "epsilon",
            "wrong_income",
            "wrong_education>=Assoc-voc",
        }
    )
    assert len(table) == 36
    longest = max(len(word) for word in table["wrong_income"].astype(str))
    assert longest <= len("0.123456")


def test_tables_name_what_a_verdict_hangs_on(tmp_path: Path) -> None:
    _, again = kept(tmp_path)
    page = overview([again], folder="reproductions")
    choices = "; ".join(f"h = {h} in DistDiffGen" for h in (10, 13, 16))
    assert f"| reproduced, with {choices} | 6 of 6 | quick: 37 runs, 3 seeds |" in page
    assert "300 rows of 48,842" in page
    assert f"Not made in full size: `{NAME}`." in page
    assert "`jtree-table-1`" in page.rpartition("Without kept results: ")[2]
    claims = claims_table([again])
    assert claims.count("reproduced, with h = 13 in DistDiffGen") == 2
    assert f"| `{NAME}` | 12 | python " in provenance_table([again])


def test_results_of_other_lines_are_refused(tmp_path: Path) -> None:
    """A file whose item has changed since is not judged."""
    kept(tmp_path)
    path = tmp_path / f"{NAME}.csv"
    path.write_text(path.read_text().replace("h = 13", "h = 12"))
    with pytest.raises(UsageError, match="found 'DistDiffGen, h = 12': make it again with"):
        read_kept(tmp_path)
    path.unlink()
    with pytest.raises(UsageError, match="expected kept results in"):
        read_kept(tmp_path)


def test_the_documentation_keeps_results_of_items() -> None:
    """Every file belongs to an item as it is, and has a result for each line of a claim."""
    entries = read_kept(DOCS / "reproductions")
    names = {path.stem for path in (DOCS / "reproductions").iterdir()}
    assert names == {entry.item.name for entry in entries}
    for entry in entries:
        lines = {row["line"] for row in entry.rows}
        assert any(claim.line in lines for claim in entry.item.claim), entry.item.name
