"""A sweep at work: what its cells do, and the tables and the page of all their results (`planning`:
the file).
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..evaluation import Utility
from ..report.comparison import compare
from ..report.folder import put, write_run
from ..report.judgement import NOT_CLASSIFIED, Judging, judge_run
from ..report.making import make_report
from ..report.pages import comparison_page
from ..report.reported import ReportedRun, pack_run, unpack_run
from ..runs.job import Job, Placement
from .cells import Cell, Made, Start, Told, done_by, make
from .experiments import Asked

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ExperimentCell", "RunCell", "sweep"]

ASKED: Final = {name: f"{name}_asked" for name in ("rows", "rounds", "seconds", "messages")}
"""Columns of parameters that are called as a figure is: PrivIncr's rounds are not the
conversation's.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCell:
    """One run of a protocol, and how it is judged."""

    start: Start
    options: Mapping[str, Any]
    """What the file gives for this run."""
    job: Job
    placement: Placement
    judging: Judging
    key: str
    line: str = ""
    also: Mapping[str, Mapping[str, str]]
    """Other lines that its figures stand for: the figure of each column."""
    times: Mapping[str, float]
    """By what columns are multiplied, where a run is but a part of what is compared."""
    named: Mapping[str, str]
    """Columns of the person's own."""
    keep: bool = False
    telling: frozenset[str] = frozenset()
    """Columns beside parameters by which cells differ."""

    @property
    def shown(self) -> str:
        own = {"seed": self.job.seed, **self.job.parameters}
        own |= {name: value for name, value in self.asked.items() if name in self.telling}
        return " ".join(
            [
                self.job.protocol,
                *(f"{name}={value}" for name, value in own.items() if value is not None),
            ]
        )

    @property
    def asked(self) -> dict[str, Any]:
        job = self.job
        asked = {
            "run": self.key,
            **({"line": self.line} if self.line else {}),
            "protocol": job.protocol,
            "mode": job.mode,
            "data": " ".join(job.data),
            "parties": job.parties,
            "seed": job.seed,
            **self._set_otherwise(),
            **{ASKED.get(name, name): value for name, value in job.parameters.items()},
            **self.named,
        }
        return multiplied(asked, self.times)

    def _set_otherwise(self) -> dict[str, Any]:
        """List what else a run follows from, where it is not the default."""
        named = {
            "rows_asked": self.options.get("rows"),
            **{name: self.options.get(name) for name in ("split", "key_bits", "schema")},
            "transport": self.placement.transport,
            "hosts": self.placement.hosts or self.placement.hostfile,
        }
        return {name: value for name, value in named.items() if value is not None}

    def make(self, *, out: Path) -> dict[str, Any]:
        record = self.start(self.job, self.placement)
        judgement = judge_run(record, judging=self.judging)
        run = ReportedRun(report=make_report(record), judgement=judgement)
        if self.keep:
            write_run(record, run, folder=out / "runs" / self.key)
        return pack_run(run)

    def figures(self, result: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        return also_lines(multiplied(_figures(unpack_run(result)), self.times), self.also)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentCell:
    """One measurement by a function of ours."""

    asks: Asked
    seed: int
    key: str
    line: str = ""
    also: Mapping[str, Mapping[str, str]]

    @property
    def shown(self) -> str:
        own = {
            "seed": self.seed,
            **{
                name: value
                for name, value in self.asks.parameters.items()
                if name not in {"data", "schema"}
            },
        }
        return " ".join([self.asks.name, *(f"{name}={value}" for name, value in own.items())])

    @property
    def asked(self) -> dict[str, Any]:
        named = {"line": self.line} if self.line else {}
        return {
            "run": self.key,
            **named,
            "protocol": self.asks.name,
            "seed": self.seed,
            **self.asks.parameters,
        }

    def make(self, *, out: Path) -> dict[str, Any]:  # noqa: ARG002 - runs need it
        return dict(self.asks.measure(seed=self.seed))

    def figures(self, result: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        return also_lines(result, self.also)


def multiplied(columns: Mapping[str, Any], times: Mapping[str, float]) -> dict[str, Any]:
    """Multiply those columns that are there."""
    return {
        **columns,
        **{
            name: round(columns[name] * factor, 12)
            for name, factor in times.items()
            if name in columns
        },
    }


def also_lines(
    figures: Mapping[str, Any], also: Mapping[str, Mapping[str, str]]
) -> Iterator[dict[str, Any]]:
    """Give the figures, and those of them that stand for other lines, such as what real rows
    teach.
    """
    yield dict(figures)
    for line, columns in also.items():
        found = {column: figures[figure] for column, figure in columns.items() if figure in figures}
        if found:
            yield {"line": line, **found}


def sweep(cells: Sequence[Cell], *, out: Path, told: Told) -> tuple[pd.DataFrame, Made]:
    """Run what has not been run, and write all results: the table, and how far it came."""
    import pandas as pd

    def finish(made: Made) -> None:
        put({**_tables(pd.DataFrame(made.rows)), **_page(cells, out=out)}, folder=out)

    made = make(cells, out=out, told=told, finish=finish)
    return pd.DataFrame(made.rows), made


def _page(cells: Sequence[Cell], *, out: Path) -> dict[str, bytes]:
    """Put the runs that are there side by side on a page."""
    runs: dict[str, ReportedRun] = {}
    for cell in cells:
        if not isinstance(cell, RunCell):
            continue
        if (result := done_by(cell, folder=out / "cells")) is not None:
            name = cell.shown if cell.shown not in runs else f"{cell.shown} ({cell.key})"
            runs[name] = unpack_run(result)
    if not runs:
        return {}
    return {"comparison.html": comparison_page(compare(runs), title=out.name).encode()}


def _figures(run: ReportedRun) -> dict[str, Any]:
    """Take from a run the figures that sweeps are drawn by."""
    exchanged, privacy = run.report.communication, run.report.privacy
    figures: dict[str, Any] = {
        "rows": run.rows,
        "seconds": run.report.seconds,
        "messages": exchanged.messages,
        "rounds": exchanged.rounds,
        "payload_bytes": exchanged.payload_bytes,
        "ciphertext_bytes": exchanged.ciphertext_bytes,
        "per_user_bits": exchanged.per_user_bits,
        "claimed_epsilon": privacy.claimed_epsilon,
        **{f"epsilon_{view}": loss for view, loss in privacy.epsilon.items()},
        "whole_record": privacy.whole_record,
        **({} if run.utility is None else _quality(run.utility)),
        "note": next((text for text in run.warnings if text.startswith(NOT_CLASSIFIED)), None),
    }
    return {name: value for name, value in figures.items() if value is not None}


def _quality(utility: Utility) -> dict[str, float]:
    """Name the judge's figures as columns."""
    figures: dict[str, float] = {}
    for name, values in (
        ("tvd", utility.tvd),
        ("tvd_synthetic", utility.tvd_synthetic),
        ("squared", utility.squared),
        ("l2", utility.l2),
    ):
        figures |= {f"{name}_{ways}": value for ways, value in (values or {}).items()}
    for line in utility.distances or ():
        if line.attributes == "original":
            figures[f"floor_{line.ways}"] = line.one_way
        else:
            figures[f"tvd_binary_{line.ways}"] = line.average
            figures[f"floor_binary_{line.ways}"] = line.one_way
    for target in utility.classification or ():
        figures[f"wrong_{target.target}"] = target.synthetic
        figures[f"real_{target.target}"] = target.real
        figures[f"majority_{target.target}"] = target.majority
    if utility.accuracy is not None:
        figures["accuracy"] = utility.accuracy.model
        figures["majority"] = utility.accuracy.majority
    return figures


def _tables(table: pd.DataFrame) -> dict[str, bytes]:
    """Write the table as CSV, and as Parquet where that is installed."""
    import io

    files = {"results.csv": table.to_csv(index=False).encode()}
    if importlib.util.find_spec("pyarrow") is None:
        return files
    buffer = io.BytesIO()
    # Columns of mixed kinds, such as an epsilon of a number or "infinity", as text.
    mixed = {
        name: table[name].astype("string") for name in table.columns if table[name].dtype == object
    }
    table.assign(**mixed).to_parquet(buffer, index=False)
    return {**files, "results.parquet": buffer.getvalue()}
