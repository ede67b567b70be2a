"""A run in five lines: what Python shows of it, and a notebook as a table."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final

from .claims import loss_text, loss_together
from .formats import bytes_text, epsilon_text, quantity
from .not_accounted import MARK
from .report import Privacy, PublishedSizes, Report
from .reported import ReportedRun

__all__ = ["brief_html", "brief_lines", "brief_text"]

MAX_FIGURES: Final = 3
"""Figures of a protocol's own that are shown."""
WAYS_ON: Final = "report, judgement, ledger, page(), save(folder)"
"""Attributes and methods that every run has."""


def brief_lines(run: ReportedRun) -> list[tuple[str, str]]:
    """Write what ran, what it published, its privacy loss, its cost, and where more is: 5 lines."""
    report = run.report
    size = quantity(report.parties, "party", "parties")
    if run.rows is not None:
        size += f", {quantity(run.rows, 'row')}"
    sent = report.communication
    messages = f"{quantity(sent.messages, 'message')} in {quantity(sent.rounds, 'round')}"
    payload = f"{bytes_text(sent.payload_bytes)} of payload"
    warnings = [text for text in run.warnings if not text.startswith(MARK)]
    more = f"{quantity(len(warnings), 'warning')}; " if warnings else ""
    return [
        ("protocol", f"{report.protocol} ({report.mode}), {size}"),
        ("published", _published(report)),
        ("epsilon", _loss(report.privacy)),
        ("sent", f"{messages}, {payload}, {report.seconds:,.3g} s on {report.transport}"),
        ("more", f"{more}{WAYS_ON}"),
    ]


def brief_text(run: ReportedRun) -> str:
    """Write the five lines for a terminal."""
    lines = brief_lines(run)
    width = max(len(name) for name, _ in lines)
    return "\n".join(f"{name:<{width}}  {text}" for name, text in lines)


def brief_html(run: ReportedRun, *, head: str = "") -> str:
    """Write the five lines for a notebook; `head` is HTML that comes after them."""
    rows = "".join(
        f'<tr><th scope="row" style="text-align:left">{escape(name)}</th>'
        f'<td style="text-align:left">{escape(text)}</td></tr>'
        for name, text in brief_lines(run)
    )
    return f"<table>{rows}</table>{head}"


def _published(report: Report) -> str:
    parts = [*_tables(report.published), *_figures(report)]
    return "; ".join(parts) or "nothing"


def _tables(sizes: PublishedSizes) -> Sequence[str]:
    parts = []
    if (table := sizes.synthetic) is not None:
        parts.append(f"synthetic ({table.rows:,} rows, {quantity(table.attributes, 'attribute')})")
    if (marginals := sizes.marginals) is not None:
        parts.append(f"marginals ({quantity(marginals.marginals, 'table')})")
    return [*parts, *(["model"] if sizes.model else [])]


def _figures(report: Report) -> Sequence[str]:
    """Write the first of the protocol's own figures that are single numbers or short texts."""
    short = {
        name: value
        for name, value in report.outcome.items()
        if isinstance(value, int | float | str) and len(str(value)) <= 40
    }
    return [
        f"{name} {value:,}" if isinstance(value, int) else f"{name} {value}"
        for name, value in [*short.items()][:MAX_FIGURES]
    ]


def _loss(privacy: Privacy) -> str:
    """Write the claim and the largest loss to a single role, and to a coalition if it is larger."""
    largest = max(privacy.epsilon.values())
    text = f"claimed {epsilon_text(privacy.claimed_epsilon)}"
    text += f", as accounted {loss_text(largest, privacy)}"
    if together := loss_together(privacy):
        text += f" (coalitions {loss_text(together, privacy)})"
    if privacy.delta:
        text += f", delta {privacy.delta:g}"
    return text
