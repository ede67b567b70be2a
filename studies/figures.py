"""Figures for papers of the results of a study."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from ..messages import UsageError
from ..report.figures import (
    OUTCOME,
    FigureRequest,
    FigureTable,
    FigureWidth,
    check_request_before,
    default_requests,
    write_figures,
)
from .cell import Cell, Row
from .sweep import ExperimentCell, RunCell

__all__ = ["check_figures", "draw_figures", "figure_table", "missing_outcomes"]

_OF_LABEL: Final = re.compile(r"(?:marginals_)?(?:wrong|majority)_(.+)")
"""Figures of the classifiers of a label."""


def check_figures(cells: Sequence[Cell], requests: Sequence[FigureRequest]) -> None:
    """Refuse wrong names before any run or experiment.

    Raises:
        UsageError: a name stands for nothing.
    """
    table = FigureTable(
        rows=[cell.columns for cell in cells],
        setting_names=[*dict.fromkeys(name for cell in cells for name in cell.columns)],
    )
    experiments = [cell for cell in cells if isinstance(cell, ExperimentCell)]
    measured = dict.fromkeys(name for cell in experiments for name in _measured(cell))
    labels = [
        label for cell in cells if isinstance(cell, RunCell) for label in cell.judging.classify
    ]
    for request in requests:
        check_request_before(
            request, table, measured=[*measured], of_runs=len(experiments) < len(cells)
        )
        if request.y not in measured:
            _check_label(request, [*dict.fromkeys(labels)])


def _check_label(request: FigureRequest, labels: Sequence[str]) -> None:
    """Refuse a figure of a label that no run classifies."""
    match = _OF_LABEL.fullmatch(request.y)
    if match and match[1] not in labels:
        choice = ", ".join(labels) or "nothing"
        raise UsageError(
            f"expected --figure {request.y} of a label in `classify`, which has {choice}, "
            f"found {request.text}"
        )


def _measured(cell: ExperimentCell) -> list[str]:
    """Name the figures of an experiment, and those of its further lines."""
    return [*cell.call.figures, *(name for columns in cell.also.values() for name in columns)]


def draw_figures(
    rows: Sequence[Row],
    requests: Sequence[FigureRequest],
    *,
    folder: Path,
    width: FigureWidth | None = None,
) -> list[str]:
    """Write the requested figures, or the usual ones, and say which, a line for each."""
    table = figure_table(rows)
    return write_figures(table, requests or default_requests(table), folder=folder, width=width)


def missing_outcomes(
    rows: Sequence[Row], requests: Sequence[FigureRequest]
) -> dict[FigureRequest, str]:
    """Say which requested numbers of outcomes no finished run has.

    Only runs tell what a protocol publishes, so a name cannot be checked before one has ended.
    """
    table = figure_table(rows)
    if not table.rows:
        return {}
    published = ", ".join(name for name in table.measured if name.startswith(OUTCOME))
    return {
        request: f"warning: no run so far has {request.y} for --figure {request.text}; "
        f"they have {published or 'no numbers in their outcomes'}"
        for request in requests
        if request.y.startswith(OUTCOME) and request.y not in table.measured
    }


def figure_table(rows: Sequence[Row]) -> FigureTable:
    """Take the finished rows; settings stand before the column `status`."""
    finished = [row for row in rows if row["status"] == "done"]
    settings: dict[str, None] = {}
    for row in finished:
        names = [*row]
        settings |= dict.fromkeys(names[: names.index("status")])
    settings["epsilon"] = None
    return FigureTable(rows=[_with_epsilon(row) for row in finished], setting_names=[*settings])


def _with_epsilon(row: Row) -> dict[str, Any]:
    """Give a run without the setting epsilon the one that it claimed."""
    if row.get("epsilon") is not None or row.get("claimed_epsilon") is None:
        return row
    return {**row, "epsilon": row["claimed_epsilon"]}
