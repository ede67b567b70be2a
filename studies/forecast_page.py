"""Forecasts as a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..network import Timing
from ..report.formats import quantity
from ..report.pages.plan_page import PlanPart, plan_page
from .forecast_result import Forecast
from .forecast_text import (
    LEFT_OUT,
    METHODS,
    alternative_texts,
    forecast_lines,
    forecast_rows,
    line_rows,
    varied_settings,
)

__all__ = ["forecast_page"]


def forecast_page(results: Sequence[tuple[Forecast, Timing | None]]) -> str:
    """Write the page of some forecasts."""
    plans = [plan for plan, _ in results]
    parts = []
    for plan, timing in results:
        seconds = {share.reason.value: share.seconds for share in plan.shares}
        lines = forecast_lines(plan, timing)
        parts.append(PlanPart(_name(plan, plans), seconds, lines, *line_rows(plan)))
    head, grid = forecast_rows(plans)
    methods = dict.fromkeys(plan.method for plan in plans)
    remarks = dict.fromkeys(remark for plan in plans for remark in plan.remarks)
    notes = [
        *(("method", METHODS[method]) for method in methods),
        *(("remark", remark) for remark in remarks),
        *(
            (f"cheaper on {plan.network}", text)
            for plan in plans
            for text in alternative_texts(plan)
        ),
        ("left out", LEFT_OUT),
    ]
    title = ", ".join(dict.fromkeys(plan.protocol for plan in plans))
    return plan_page(title, parts, head=head, rows=grid, notes=notes)


def _name(plan: Forecast, plans: Sequence[Forecast]) -> str:
    """Name a plan by what makes it differ from others; a single one by protocol and network."""
    facts: dict[str, set[Any]] = {
        plan.protocol: {each.protocol for each in plans},
        plan.network: {each.network for each in plans},
        quantity(plan.parties, "party", "parties"): {each.parties for each in plans},
        f"epsilon {plan.claimed_epsilon:g}": {each.claimed_epsilon for each in plans},
        **{
            f"{name}={plan.settings.get(name, '')}": {each.settings.get(name) for each in plans}
            for name in varied_settings(plans)
        },
    }
    words = [text for text, values in facts.items() if len(values) > 1]
    return ", ".join(words or [plan.protocol, plan.network])
