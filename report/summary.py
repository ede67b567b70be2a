"""The lines that a terminal shows of a run: a name and a text each."""

from __future__ import annotations

import math
from typing import Final

from ..evaluation import Utility
from .claims import BUILT_IN, is_accounted, loss_text, shuffled_text
from .communication import Communication, Formulas, Traffic
from .formats import epsilon_text, quantity
from .report import Privacy, Report
from .reported import ReportedRun

__all__ = ["summary_lines"]

VIEWS: Final = {"public": "public", "curator": "curator", "other_party": "another party"}


def summary_lines(run: ReportedRun) -> list[tuple[str, str]]:
    """Summarise a run: what it published, how good and how private that is, and what it cost."""
    report = run.report
    size = quantity(report.parties, "party", "parties")
    if run.rows is not None:
        size += f", {quantity(run.rows, 'row')}"
    return [
        ("protocol", f"{report.protocol} ({report.mode}), {size}"),
        *((name, _figure(value)) for name, value in report.outcome.items()),
        *([] if run.utility is None else _quality(run.utility)),
        ("epsilon", _epsilon(report.privacy, parties=report.parties)),
        *_shuffled(report.privacy),
        *([] if report.privacy.check in ("", BUILT_IN) else [("checked", report.privacy.check)]),
        *_cost(report.communication),
        ("seconds", _seconds(report)),
    ]


def _figure(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _cost(sent: Communication) -> list[tuple[str, str]]:
    messages, rounds = quantity(sent.messages, "message"), quantity(sent.rounds, "round")
    size = f"{sent.payload_bytes:,} bytes of payload, {sent.frame_bytes:,} with frames"
    lines = [("sent", f"{messages} in {rounds}: {size}")]
    if sent.predicted is not None:
        lines.append(("cost", _prediction(sent)))
    if sent.users is not None and sent.per_user_bits is not None:
        lines.append(("one user", _one_user(sent.users, sent.per_user_bits)))
    if sent.formulas:
        lines.append(("formulas", _formulas(sent.formulas)))
    return lines


def _prediction(sent: Communication) -> str:
    """Compare the messages with the prediction, and count the bytes that it leaves out."""
    lines = sent.predicted or []
    wrong = [
        f"{line.phase}/{line.kind}: predicted {line.payload_bytes:,} bytes, "
        f"found {line.measured_payload_bytes:,}"
        for line in lines
        if not line.right
    ]
    if wrong:
        return "; ".join(wrong)
    rest = sent.payload_bytes - sum(line.measured_payload_bytes for line in lines)
    if rest:
        return f"as predicted, but for {rest:,} bytes that depend on choices"
    spare = sum(line.payload_bytes - line.measured_payload_bytes for line in lines)
    return (
        f"as predicted, and {spare:,} bytes less than the bound on choices"
        if spare
        else ("as predicted")
    )


def _one_user(users: Traffic, bits: float) -> str:
    """Say what one user sends in a deployment, and what all of them do."""
    spread = f" ({users.least:,} to {users.most:,})" if users.least < users.most else ""
    simulation = "every report was made and counted"
    if users.simulate != "reports":
        simulation = "only sums of reports were drawn"
    return (
        f"sends one report of {bits:,.4g} bits{spread}; {quantity(users.reports, 'report')}, "
        f"{-(-users.bits // 8):,} bytes in all ({simulation})"
    )


def _formulas(formulas: list[Formulas]) -> str:
    printed_bytes = sum(line.printed_bytes for line in formulas)
    printed_rounds = sum(line.printed_rounds for line in formulas)
    corrected_bytes = sum(line.corrected_bytes for line in formulas)
    corrected_rounds = sum(line.corrected_rounds for line in formulas)
    return (
        f"the paper's, a ciphertext for each cell: {printed_bytes:,.0f} bytes in "
        f"{printed_rounds:,.0f} rounds; corrected: {corrected_bytes:,.0f} bytes in "
        f"{corrected_rounds:,.0f} rounds"
    )


def _quality(utility: Utility) -> list[tuple[str, str]]:
    lines = []
    if (accuracy := utility.accuracy) is not None:
        lines.append(
            f"{accuracy.label} is predicted right in {accuracy.model:.4f} of {accuracy.rows:,} "
            f"rows (most frequent label: {accuracy.majority:.4f})"
        )
    if utility.tvd:
        baselines = utility.baselines
        distances = [
            f"{ways}-way {distance:.4f}"
            + (f" (baseline {baselines[ways]:.4f})" if ways in baselines else "")
            for ways, distance in utility.tvd.items()
        ]
        lines.append(f"average total variation distance {', '.join(distances)}")
    return [("utility", line) for line in lines]


def _epsilon(privacy: Privacy, *, parties: int) -> str:
    """Write the claim, and the loss in each view; coalitions by their largest loss."""
    losses = [
        f"{name} {loss_text(privacy.epsilon[view], privacy)}"
        for view, name in VIEWS.items()
        if view != "other_party" or parties > 1
    ]
    if privacy.coalitions:
        largest = max(privacy.coalitions.values())
        same = {*privacy.coalitions.values()} == {largest}
        name = "any coalition" if same else "coalitions up to"
        if not is_accounted(largest, privacy):
            name = "any coalition" if same else "coalitions"
        losses.append(f"{name} {loss_text(largest, privacy)}")
    text = f"claimed {epsilon_text(privacy.claimed_epsilon)}; as accounted: {', '.join(losses)}"
    if privacy.delta:
        text += f", except with probability {privacy.delta:g}"
    if privacy.laplace_epsilon is not None and privacy.laplace_epsilon < math.inf:
        text += f"; Laplace noise of the same variance would cost {privacy.laplace_epsilon:.3g}"
    if privacy.whole_record is not None:
        text += f"; of the whole record {loss_text(privacy.whole_record, privacy)}"
    return f"{text} ({privacy.neighbours})"


def _shuffled(privacy: Privacy) -> list[tuple[str, str]]:
    """Write the view in which users' reports are shuffled, if there is one."""
    if privacy.shuffled is None:
        return []
    return [("shuffled", shuffled_text(privacy.shuffled))]


def _seconds(report: Report) -> str:
    """Say how long the conversation took, and on which network if one was simulated."""
    place = "" if report.network is None else f" on {report.network}"
    return f"{report.seconds:.2f}{place}"
