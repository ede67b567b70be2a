"""The page of a run that is under way: what the terminal's progress shows, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Final

from ..plain_text import plain_text
from ..progress import ProgressRow
from .document import cards, document, paragraph, section, table

__all__ = ["REFRESH_EVERY", "live_page"]

REFRESH_EVERY: Final = 1
"""Seconds after which the browser fetches the page again, until the run has ended."""


def live_page(
    title: str,
    rows: Sequence[ProgressRow],
    *,
    phases: Mapping[str, float],
    elapsed: float,
    has_ended: bool,
) -> str:
    """Write the page.

    Args:
        title: What runs.
        rows: What is shown of every role.
        phases: Seconds since the start at which a role was first seen in each phase.
        elapsed: Seconds since the start.
        has_ended: Whether all roles have ended.
    """
    state = "The conversation has ended." if has_ended else "The roles are at work."
    body = f"<h1>{escape(title)}</h1>\n" + paragraph(
        f"{state} This page is on this machine only, and shows what the terminal's progress shows."
    )
    left = [row.left for row in rows if row.left]
    figures = [
        ("time", f"{elapsed:,.0f} s", ""),
        ("sent", f"{sum(row.sent_bytes for row in rows):,} B", "by all roles"),
        ("received", f"{sum(row.received_bytes for row in rows):,} B", "by all roles"),
    ]
    if left and not has_ended:
        figures.append(("left", left[0], "of this step, estimated"))
    body += cards(figures)
    body += section("Roles", _roles(rows), name="roles")
    body += section("Phases", _phases(phases, elapsed=elapsed), name="phases")
    return document(title, body, refresh=None if has_ended else REFRESH_EVERY)


def _roles(rows: Sequence[ProgressRow]) -> str:
    if not rows:
        return paragraph("The roles are starting.")
    head = ("role", "phase", "step", "doing, or waiting for", "sent", "received", "left")
    shown = [
        (
            row.role,
            plain_text(row.phase),
            row.step,
            plain_text(row.doing),
            row.sent_bytes,
            row.received_bytes,
            row.left,
        )
        for row in rows
    ]
    return table(head, shown, caption="Where every role is", bar=4)


def _phases(phases: Mapping[str, float], *, elapsed: float) -> str:
    """List the phases, each with the seconds until a role was seen in the next one."""
    starts = [*phases.values(), elapsed]
    rows = [
        (plain_text(name), round(start, 1), round(max(following - start, 0.0), 1))
        for (name, start), following in zip(phases.items(), starts[1:], strict=True)
    ]
    return table(("phase", "begun at", "seconds"), rows, caption="Phases so far", bar=2)
