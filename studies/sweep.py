"""A sweep's cells, and the tables and the page of all their results; `planning` reads the file."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..messages import UsageError
from ..report.comparison import compare
from ..report.figures import run_figures
from ..report.folder import put, write_run
from ..report.judgement import Judging
from ..report.judging import judge_run
from ..report.making import make_report
from ..report.pages import comparison_page
from ..report.reported import ReportedRun, pack_run, unpack_run
from ..report.spending import JointCost, joint_costs
from ..runs.job import Job
from ..runs.placement import Placement
from .cell import Cell, Row, stored_result
from .cells import ReportProgress, Start, StudyResult, run_cells
from .experiments import ExperimentCall

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ExperimentCell", "RunCell", "costs_together", "results_csv", "sweep"]

RENAMED: Final = {name: f"{name}_asked" for name in ("rows", "rounds", "seconds", "messages")}
"""Columns of parameters that have a figure's name: PrivIncr's rounds are not message rounds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCell:
    """One run of a protocol, and how it is judged."""

    start: Start
    options: Mapping[str, Any]
    """The options that the file gives for this run."""
    job: Job
    placement: Placement
    judging: Judging
    key: str
    line: str = ""
    """The line of a picture that this run belongs to."""
    also: Mapping[str, Mapping[str, str]]
    """Further lines that this run's figures belong to: for each column the figure's name."""
    factors: Mapping[str, float]
    """Factors of columns, where a run is a part of what is compared."""
    extra_columns: Mapping[str, str | float]
    """Columns that the file adds."""
    keep: bool = False
    """Whether the folder of the run is kept."""
    is_public: bool = False
    """Whether the figures leave out what was measured on the real table."""
    label_columns: frozenset[str] = frozenset()
    """Columns, beside parameters, in which the runs of the sweep differ."""

    @property
    def label(self) -> str:
        settings = {"seed": self.job.seed, **self.job.parameters}
        settings |= {name: self.columns.get(name) for name in sorted(self.label_columns)}
        words = [f"{name}={value}" for name, value in settings.items() if value is not None]
        return " ".join([self.job.protocol, *words])

    @property
    def columns(self) -> Row:
        job = self.job
        columns = {
            "run": self.key,
            **({"line": self.line} if self.line else {}),
            "protocol": job.protocol,
            "mode": job.mode,
            "data": " ".join(job.data),
            "parties": job.parties,
            "seed": job.seed,
            **self._other_options(),
            **{RENAMED.get(name, name): value for name, value in job.parameters.items()},
            **self.extra_columns,
        }
        return scale_columns(columns, self.factors)

    def _other_options(self) -> Row:
        """List the other options that the file gives and the result follows from."""
        named = {
            "rows_asked": self.options.get("rows"),
            **{name: self.options.get(name) for name in ("split", "key_bits", "schema")},
            **{name: ",".join(getattr(self.job, name)) or None for name in ("drop", "columns")},
            "fault": "; ".join(self.job.fault) or None,
            "transport": self.placement.transport,
            "network": self.placement.network,
            "hosts": self.placement.hosts or self.placement.hostfile,
        }
        return {name: value for name, value in named.items() if value is not None}

    def compute(self, *, out: Path) -> dict[str, Any]:
        record = self.start(self.job, self.placement)
        judgement = judge_run(record, judging=self.judging, strict=True)
        run = ReportedRun(report=make_report(record), judgement=judgement)
        if self.keep:
            write_run(record, run, folder=out / "runs" / self.key)
        return pack_run(run)

    def run_of(self, result: Mapping[str, Any]) -> ReportedRun:
        """Read a result; a public one has no judgement."""
        run = unpack_run(result)
        return ReportedRun(report=run.report) if self.is_public else run

    def figures(self, result: Mapping[str, Any]) -> Iterator[Row]:
        figures = scale_columns(run_figures(self.run_of(result)), self.factors)
        return with_further_lines(figures, self.also)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentCell:
    """One measurement by a function of `experiments`."""

    call: ExperimentCall
    seed: int
    key: str
    line: str = ""
    also: Mapping[str, Mapping[str, str]]

    @property
    def label(self) -> str:
        settings = {"seed": self.seed, **self.call.parameters}
        words = [
            f"{name}={value}" for name, value in settings.items() if name not in ("data", "schema")
        ]
        return " ".join([self.call.name, *words])

    @property
    def columns(self) -> Row:
        return {
            "run": self.key,
            **({"line": self.line} if self.line else {}),
            "protocol": self.call.name,
            "seed": self.seed,
            **self.call.parameters,
        }

    def compute(self, *, out: Path) -> dict[str, Any]:  # noqa: ARG002 - a run's folder goes there
        return dict(self.call.measure(seed=self.seed))

    def figures(self, result: Mapping[str, Any]) -> Iterator[Row]:
        return with_further_lines(result, self.also)


def scale_columns(columns: Mapping[str, Any], factors: Mapping[str, float]) -> Row:
    """Multiply those columns that exist."""
    scaled = {
        name: round(columns[name] * factor, 12)
        for name, factor in factors.items()
        if name in columns
    }
    return {**columns, **scaled}


def with_further_lines(
    figures: Mapping[str, Any], also: Mapping[str, Mapping[str, str]]
) -> Iterator[Row]:
    """Give the figures, then those that belong to further lines, such as the real table's error."""
    yield dict(figures)
    for line, columns in also.items():
        shared = {name: figures[figure] for name, figure in columns.items() if figure in figures}
        if shared:
            yield {"line": line, **shared}


def sweep(
    cells: Sequence[Cell],
    *,
    out: Path,
    progress: ReportProgress,
    public: bool = False,
    jobs: int = 1,
    so_far: Callable[[Sequence[Row]], None] = lambda _: None,
) -> tuple[pd.DataFrame, StudyResult]:
    """Compute the cells that have no result yet, and write all results.

    With `public` the tables and the page have nothing that was measured on real tables. Several
    `jobs` are runs side by side. `so_far` is called with all rows after the first run, and then
    from time to time.

    Raises:
        UsageError: several jobs would spend from one budget.
    """
    import pandas as pd

    if jobs > 1 and any(isinstance(cell, RunCell) and cell.placement.budget for cell in cells):
        raise UsageError(
            f"expected --jobs 1 with a budget, found --jobs {jobs}: which runs a budget refuses "
            "depends on their order"
        )
    if public:
        cells = [_public(cell) for cell in cells]

    def finish(result: StudyResult) -> None:
        put({**_tables(pd.DataFrame(result.rows)), **_page(cells, out=out)}, folder=out)

    def grow(rows: Sequence[Row]) -> None:
        put({"results.csv": results_csv(rows)}, folder=out)
        so_far(rows)

    result = run_cells(cells, out=out, progress=progress, finish=finish, grow=grow, jobs=jobs)
    return pd.DataFrame(result.rows), result


def _page(cells: Sequence[Cell], *, out: Path) -> dict[str, bytes]:
    """Put the finished runs side by side on a page."""
    runs: dict[str, ReportedRun] = {}
    for cell, run in _finished(cells, out=out):
        label = cell.label if cell.label not in runs else f"{cell.label} ({cell.key})"
        runs[label] = run
    if not runs:
        return {}
    costs = [cost.text for cost in costs_together(cells, out=out)]
    page = comparison_page(compare(runs), title=out.name, together=costs)
    return {"comparison.html": page.encode()}


def costs_together(cells: Sequence[Cell], *, out: Path) -> list[JointCost]:
    """Add up what all finished runs cost each dataset, those of earlier sittings included."""
    return joint_costs((cell.job, run.report.privacy) for cell, run in _finished(cells, out=out))


def _public(cell: Cell) -> Cell:
    if not isinstance(cell, RunCell):
        raise UsageError(
            f"expected runs alone with --public, found {cell.label}: it is a measurement on real "
            "tables"
        )
    return replace(cell, is_public=True)


def _finished(cells: Sequence[Cell], *, out: Path) -> Iterator[tuple[RunCell, ReportedRun]]:
    """List the runs that have results."""
    for cell in cells:
        if isinstance(cell, RunCell):
            result = stored_result(cell, folder=out / "cells")
            if result is not None:
                yield cell, cell.run_of(result)


def results_csv(rows: Sequence[Row]) -> bytes:
    """Write results, a line for each row."""
    import pandas as pd

    return pd.DataFrame(rows).to_csv(index=False).encode()


def _tables(table: pd.DataFrame) -> dict[str, bytes]:
    """Write the table as CSV, and as Parquet where that is installed."""
    import io

    files = {"results.csv": table.to_csv(index=False).encode()}
    if importlib.util.find_spec("pyarrow") is None:
        return files
    buffer = io.BytesIO()
    # Parquet has one type a column; columns of mixed kinds become text.
    mixed = {
        name: table[name].astype("string") for name in table.columns if table[name].dtype == object
    }
    table.assign(**mixed).to_parquet(buffer, index=False)
    return {**files, "results.parquet": buffer.getvalue()}
