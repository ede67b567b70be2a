"""A report with its judgement: what pages, comparisons and the terminal show of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from ..evaluation import Utility
from ..runs.infinity import in_json
from .judgement import Judgement, read_judgement
from .report import Report, as_dictionary, parse_report, read_report

__all__ = ["ReportedRun", "pack_run", "read_run", "unpack_run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedRun:
    """A report, and the judgement where there is one: what pages and comparisons show."""

    report: Report
    judgement: Judgement | None = None

    @property
    def rows(self) -> int | None:
        """Number of records: public, or counted by the judge."""
        if self.report.rows is None and self.judgement is not None:
            return self.judgement.rows
        return self.report.rows

    @property
    def utility(self) -> Utility | None:
        """What was measured on the real table, if anything was."""
        return None if self.judgement is None else self.judgement.utility

    @property
    def warnings(self) -> list[str]:
        """All warnings, those of the judge last."""
        return [
            *self.report.warnings,
            *(() if self.judgement is None else self.judgement.warnings),
        ]


def read_run(folder: Path) -> ReportedRun:
    """Read the report and the judgement of a run's folder."""
    return ReportedRun(report=read_report(folder), judgement=read_judgement(folder))


def pack_run(run: ReportedRun) -> dict[str, Any]:
    """Write both as one JSON object, for a sweep's results."""
    judgement = None if run.judgement is None else msgspec.to_builtins(run.judgement)
    return {"report": in_json(as_dictionary(run.report)), "judgement": judgement}


def unpack_run(packed: Mapping[str, Any]) -> ReportedRun:
    """Read what `pack_run` wrote; a wrong structure is a `msgspec.ValidationError`."""
    judgement = packed.get("judgement")
    return ReportedRun(
        report=parse_report(packed.get("report")),
        judgement=None if judgement is None else msgspec.convert(judgement, Judgement),
    )
