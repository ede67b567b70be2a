"""A sweep at work: what its cells do, and the tables and the page of all their results (`planning`:
the file).
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..report.comparison import compare
from ..report.folder import NOT_CLASSIFIED, leave, put
from ..report.judgement import Judging, judged
from ..report.pages import comparison_page
from ..runs.job import Job
from ..runs.settings import Settings
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
    settings: Settings
    job: Job
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
        own = self.settings
        named = {
            "rows_asked": own.rows,
            "split": own.split,
            "key_bits": own.key_bits,
            "schema": own.schema,
            "transport": own.transport,
            "hosts": own.hosts or own.hostfile,
        }
        return {name: value for name, value in named.items() if value is not None}

    def make(self, *, out: Path) -> dict[str, Any]:
        files = judged(self.job, self.start(self.job, self.settings), judging=self.judging)
        if self.keep:
            leave(files, folder=out / "runs" / self.key)
        return dict(json.loads(files["report.json"]))

    def figures(self, result: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        return also_lines(multiplied(_figures(result), self.times), self.also)


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
    reports: dict[str, dict[str, Any]] = {}
    for cell in cells:
        if (
            isinstance(cell, RunCell)
            and (report := done_by(cell, folder=out / "cells")) is not None
        ):
            name = cell.shown if cell.shown not in reports else f"{cell.shown} ({cell.key})"
            reports[name] = report
    return (
        {"comparison.html": comparison_page(compare(reports), title=out.name).encode()}
        if reports
        else {}
    )


def _figures(report: Mapping[str, Any]) -> dict[str, Any]:
    """Take from a report what sweeps are drawn by."""
    exchanged, privacy, utility = (
        report["communication"],
        report["privacy"],
        report["utility"] or {},
    )
    original = [own for own in utility.get("distances", ()) if own["attributes"] == "original"]
    bits = [own for own in utility.get("distances", ()) if own["attributes"] == "binary"]
    classified = utility.get("classification", ())
    found = {
        "rows": report["rows"],
        "seconds": report["seconds"],
        "messages": exchanged["messages"],
        "rounds": exchanged["rounds"],
        "payload_bytes": exchanged["payload_bytes"],
        "ciphertext_bytes": exchanged["ciphertext_bytes"],
        "per_user_bits": exchanged.get("per_user_bits"),
        "claimed_epsilon": privacy["claimed_epsilon"],
        **{f"epsilon_{view}": own for view, own in privacy["epsilon"].items()},
        "whole_record": privacy.get("whole_record"),
        **{f"tvd_{ways}": own for ways, own in utility.get("tvd", {}).items()},
        **{f"tvd_synthetic_{ways}": own for ways, own in utility.get("tvd_synthetic", {}).items()},
        **{f"floor_{own['ways']}": own["one_way"] for own in original},
        **{f"tvd_binary_{own['ways']}": own["average"] for own in bits},
        **{f"floor_binary_{own['ways']}": own["one_way"] for own in bits},
        **{f"squared_{ways}": own for ways, own in utility.get("squared", {}).items()},
        **{f"l2_{ways}": own for ways, own in utility.get("l2", {}).items()},
        **{f"wrong_{own['target']}": own["synthetic"] for own in classified},
        **{f"real_{own['target']}": own["real"] for own in classified},
        **{f"majority_{own['target']}": own["majority"] for own in classified},
    }
    if (right := utility.get("accuracy")) is not None:
        found |= {"accuracy": right["model"], "majority": right["majority"]}
    found["note"] = next(
        (own for own in report["warnings"] if own.startswith(NOT_CLASSIFIED)), None
    )
    return {name: value for name, value in found.items() if value is not None}


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
