"""The page of plans: seconds and what they consist of, the grid, and each plan in full."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final, NamedTuple

from ...network import time_text
from .bars import Bars, bars
from .document import Html, document, figure, fold, navigation, paragraph, section, table

__all__ = ["PlanPart", "plan_page"]

TITLES = {"seconds": "Seconds", "grid": "All plans", "plans": "Each plan", "method": "Method"}
MAX_BARS: Final = 24
"""Plans in the chart at most."""
MAX_LETTERS: Final = 60
"""Letters of a plan's name in the chart at most; the tables have all."""


class PlanPart(NamedTuple):
    """One plan, as text."""

    name: str
    """What makes it differ from the others."""
    seconds: dict[str, float]
    """Seconds of the critical path by reason; empty where they are not known."""
    lines: Sequence[tuple[str, str]]
    """Names and texts; a line without a name goes on with the one before."""
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    """Messages and bytes by phase and kind."""


def plan_page(
    title: str,
    plans: Sequence[PlanPart],
    *,
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    notes: Sequence[tuple[str, str]],
) -> str:
    """Write the page.

    Args:
        title: the protocols.
        plans: the plans.
        head: the heads of the grid.
        rows: a row of the grid for each plan.
        notes: names and texts of what holds for all plans.
    """
    sections = [
        section(TITLES["seconds"], _seconds(plans), name="seconds"),
        section(
            TITLES["grid"],
            table(head, _named(rows), caption="All plans") if len(plans) > 1 else "",
            name="grid",
        ),
        section(TITLES["plans"], *map(_plan, plans), name="plans"),
        section(
            TITLES["method"],
            *(paragraph(f"{name.capitalize()}: {text}.") for name, text in notes),
            name="method",
        ),
    ]
    body = "\n".join([f"<h1>What {title} would cost</h1>", navigation(TITLES, sections), *sections])
    return document(f"What {title} would cost", body)


def _seconds(plans: Sequence[PlanPart]) -> str:
    """Draw the seconds of each plan, and list what they consist of."""
    timed = [plan for plan in plans if plan.seconds]
    if not timed:
        return ""
    drawn = timed[:MAX_BARS]
    left = f"; {len(timed) - len(drawn):,} more are in the table" if len(timed) > MAX_BARS else ""
    totals = Bars(name="seconds", heights=[sum(plan.seconds.values()) for plan in drawn])
    names = [plan.name for plan in drawn]
    letters = min(max(map(len, names)), MAX_LETTERS)
    chart = bars(
        names,
        [totals],
        title="Seconds of each plan",
        width=300 + 7 * letters,
        letters=letters,
        write=time_text,
    )
    reasons = [*dict.fromkeys(reason for plan in timed for reason in plan.seconds)]
    rows = [
        [_row_name(plan.name), *(time_text(plan.seconds.get(reason, 0.0)) for reason in reasons)]
        for plan in timed
    ]
    return figure(chart, caption=f"Seconds until the curator knows that all have ended{left}.") + (
        table(("plan", *reasons), rows, caption="What the critical path consists of")
    )


def _row_name(name: str) -> Html:
    """Keep the name of a row legible on a narrow screen, where the other columns scroll."""
    return Html(f'<span style="display:inline-block;min-width:7em">{escape(name)}</span>')


def _named(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Keep the first column legible where it has words."""
    return [
        [name if name.replace(",", "").isdigit() else _row_name(name), *values]
        for name, *values in rows
    ]


def _plan(plan: PlanPart) -> str:
    """Write a plan in full, folded."""
    return fold(
        plan.name,
        table(("", ""), _named(plan.lines), caption="What it would cost")
        + table(plan.head, _named(plan.rows), caption="Messages and bytes"),
    )
