"""Reproductions: make the runs of a paper's table or figure, and judge its claims by them.

Each item has a folder with its picture for a paper, results, page and verdict. An index lists all
items.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ..report.figures import FigureRequest, FigureWidth, panels_csv, paper_files
from ..report.folder import put
from ..report.pages import charts
from .cell import Row
from .cells import ReportProgress, Start, StudyResult, run_cells
from .datasets import DatasetFile
from .figures import check_figures
from .item_plan import files_used, plan_item
from .items import Item
from .reproduction import Reproduction, judge_item
from .reproduction_page import index_page, reproduction_page
from .reproduction_picture import picture_panels, picture_title
from .sweep import results_csv
from .verdict_file import read_verdict, verdict_json

__all__ = ["reproduce", "write_index"]


def reproduce(
    item: Item,
    files: Mapping[str, DatasetFile],
    *,
    quick: bool,
    out: Path,
    start: Start,
    progress: ReportProgress,
    figures: Sequence[FigureRequest] = (),
    width: FigureWidth | None = None,
    jobs: int = 1,
) -> Reproduction:
    """Make an item, and write picture, table, page and verdict into a folder of its name.

    Args:
        item: The item.
        files: The files of datasets, by the dataset's name.
        quick: Whether to make the quick size.
        out: Folder of all items.
        start: Starts a run.
        progress: Called before each run.
        figures: Figures that are to be drawn of the results, which are checked before any run.
        width: Columns of a paper that the picture takes.
        jobs: Number of runs side by side.

    Raises:
        UsageError: a figure's name stands for nothing.
    """
    began = time.monotonic()
    cells = plan_item(item, files, quick=quick, out=out, start=start)
    check_figures(cells, figures)
    judged = item.of_size("quick" if quick else "full")
    used = files_used(item, files, quick=quick)

    def result_of(study: StudyResult) -> Reproduction:
        rows = [_without_paths(row) for row in study.rows]
        return Reproduction(
            judged,
            replace(study, rows=rows),
            judge_item(judged, _finished(rows)),
            time.monotonic() - began,
        )

    study = run_cells(
        cells,
        out=out / item.name,
        progress=lambda done, total, label: progress(done, total, f"{item.name}: {label}"),
        finish=lambda study: _write(
            result_of(study), files=used, quick=quick, out=out, width=width
        ),
        grow=lambda rows: put(
            {"results.csv": results_csv([_without_paths(row) for row in rows])},
            folder=out / item.name,
        ),
        jobs=jobs,
    )
    return result_of(study)


def _write(
    result: Reproduction,
    *,
    files: Sequence[DatasetFile],
    quick: bool,
    out: Path,
    width: FigureWidth | None,
) -> None:
    panels = picture_panels(result.item, _finished(result.rows))
    title = picture_title(result.item)
    svg = charts.panels(panels, title=title)
    put(
        {
            **paper_files(panels, name="picture", title=title, width=width),
            "picture.csv": panels_csv(panels),
            "results.csv": results_csv(result.rows),
            "page.html": reproduction_page(result, svg=svg, files=files, quick=quick).encode(),
            "verdict.json": verdict_json(result, files=files, quick=quick),
        },
        folder=out / result.item.name,
    )


def write_index(out: Path) -> None:
    """Write the page that lists all items in a folder."""
    verdicts = [read_verdict(path) for path in sorted(out.glob("*/verdict.json"))]
    put({"index.html": index_page(verdicts).encode()}, folder=out)


def _finished(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row["status"] == "done"]


def _without_paths(row: Row) -> Row:
    """Name the table of a row instead of the path where it was written."""
    columns = {name: value for name, value in row.items() if name not in {"schema", "test"}}
    if "data" in columns:
        path = str(columns["data"])
        columns["data"] = re.sub(r"^.*/([\w-]+)-[0-9a-f]{16}\.csv$", r"\1", path)
    return columns
