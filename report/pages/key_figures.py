"""The figures that are shown large at the top of a run's page."""

from __future__ import annotations

from typing import TypeAlias

from ...evaluation import Utility
from ..claims import is_accounted, loss_text, loss_together, unmet_conditions
from ..communication import Communication
from ..formats import bytes_text, epsilon_text, quantity
from ..report import Report
from ..reported import ReportedRun
from .sentences import compared

__all__ = ["KeyFigure", "key_figures"]

KeyFigure: TypeAlias = tuple[str, str, str]
"""The name, the figure, and a remark."""


def key_figures(run: ReportedRun) -> list[KeyFigure]:
    """Choose the figures."""
    report = run.report
    chosen = _loss_figures(report)
    if report.published.synthetic is None:
        chosen += _outcome_figures(report)
    if run.utility is not None:
        chosen += _utility_figures(run.utility)
    chosen += _cost_figures(report.communication)
    chosen.append(("time", f"{report.seconds:,.3g} s", report.transport))
    return chosen


def _loss_figures(report: Report) -> list[KeyFigure]:
    privacy = report.privacy
    largest = max(privacy.epsilon.values())
    remarks = [f"claimed {epsilon_text(privacy.claimed_epsilon)}"]
    if is_accounted(largest, privacy) and (together := loss_together(privacy)):
        remarks.append(f"coalitions: {loss_text(together, privacy)}")
    if conditions := unmet_conditions(report):
        remarks.append(f"only if {' and '.join(conditions)}")
    losses = [("epsilon as accounted", loss_text(largest, privacy), "; ".join(remarks))]
    if privacy.whole_record is not None:
        whole = loss_text(privacy.whole_record, privacy)
        losses.append(("epsilon of the record", whole, "as accounted, attributes and label"))
    return losses


def _outcome_figures(report: Report) -> list[KeyFigure]:
    return [
        (
            name.replace("_", " "),
            f"{value:,}" if isinstance(value, int) else f"{value:.5g}",
            "published",
        )
        for name, value in [*report.outcome.items()][:3]
        if isinstance(value, int | float) and not isinstance(value, bool)
    ]


def _cost_figures(sent: Communication) -> list[KeyFigure]:
    payload = f"{sent.payload_bytes:,} bytes of payload"
    costs = [
        ("sent", bytes_text(sent.payload_bytes), payload),
        ("rounds", f"{sent.rounds:,}", quantity(sent.messages, "message")),
    ]
    if sent.users is not None and sent.per_user_bits is not None:
        bits = f"{sent.per_user_bits:,.4g} bits"
        costs.append(("one user sends", bits, quantity(sent.users.reports, "report")))
    return costs


def _utility_figures(utility: Utility) -> list[KeyFigure]:
    baselines = utility.baselines
    chosen = []
    for ways, distance in utility.tvd.items():
        remark = "of the published marginals"
        if ways in baselines:
            remark = compared(distance, baselines[ways], ".4f")
        chosen.append((f"{ways}-way distance", f"{distance:.4f}", remark))
    if (accuracy := utility.accuracy) is not None:
        name, right = f"{accuracy.label} predicted right", f"{accuracy.model:.1%}"
        chosen.append((name, right, f"most frequent label: {accuracy.majority:.1%}"))
    return chosen
