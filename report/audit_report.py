"""The report of an audit: a line for each mode and view, and what a reader should know of it."""

from __future__ import annotations

import math
from typing import Final

import msgspec

__all__ = [
    "AuditLine",
    "AuditReport",
    "Verdict",
    "audit_json",
    "audit_table",
    "judge_line",
    "skipped_text",
    "unaccounted_line",
    "verdict_text",
]

TOLERANCE: Final = 1e-5
"""Room for rounding: scores are on a grid of a millionth of their sensitivity."""

Verdict = str
"""One of the words below."""
HOLDS: Final = "holds"
NOT_REFUTED: Final = "not refuted"
NOTHING_TESTED: Final = "nothing tested"
NO_CLAIM: Final = "no claim"
ABOVE_CLAIM: Final = "above the claim"
ABOVE_ACCOUNT: Final = "ABOVE WHAT IS ACCOUNTED"
UNACCOUNTED: Final = "NOT ACCOUNTED"
VIOLATIONS: Final = (ABOVE_ACCOUNT, UNACCOUNTED)
"""Verdicts that say that a claim must not be made."""
MEANINGS: Final = {
    HOLDS: "no run lost more than the claim",
    NOT_REFUTED: "the law is not known, and the distinguishing test found no more than the claim",
    NOTHING_TESTED: "no neighbouring table changed a release that this view sees, so its loss was "
    "not tested: take a table with --data on which records change what is released",
    NO_CLAIM: "the protocol claims nothing in this view, and no run lost more than is accounted",
    ABOVE_CLAIM: "the claim is false in this view; the accountant knows it",
    ABOVE_ACCOUNT: "more is lost than the accountant records: do not use this protocol",
    UNACCOUNTED: "something that no release covers depends on the records",
}
"""What each verdict says."""


class AuditLine(msgspec.Struct, frozen=True, kw_only=True):
    """What was found for one view."""

    protocol: str
    mode: str
    view: str
    claim: float | None
    """Epsilon that the protocol claims in this view; `None` where it claims none."""
    accounted: float
    """Epsilon that the accountant recorded, the largest of all runs."""
    delta: float
    runs: int
    largest_loss: float | None
    """The largest realised loss of a run; `None` where a law is not known."""
    table: str
    """The made-up table of the run with the largest loss."""
    lower_bound: float
    """Lower bound on epsilon by the distinguishing test, at 99.9 %."""
    difference: str
    """What differs without a release; empty if nothing does."""
    verdict: Verdict


class AuditReport(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that an audit found."""

    lines: list[AuditLine]
    parties: int
    """Number of parties, the largest of all protocols; 0 where mechanisms alone are audited."""
    runs: int
    """Number of runs of each protocol and mode that were requested; lines have what was made."""
    seconds: float
    confidence: float
    left_out: list[str]
    """What the runs leave out, and why that changes no view."""
    skipped: dict[str, str] = {}
    """Protocols that could not run with these options, and why."""
    remarks: list[str] = []
    """Why there are more runs than requested."""

    @property
    def violations(self) -> list[AuditLine]:
        """Lines in which more was lost than is accounted."""
        return [line for line in self.lines if line.verdict in VIOLATIONS]


def judge_line(
    *,
    claim: float | None,
    accounted: float,
    delta: float,
    largest_loss: float | None,
    lower_bound: float,
    sure_bound: float,
    difference: str,
    differs: bool,
) -> Verdict:
    """Compare what was found with the claim and with the accountant's figure.

    Args:
        claim: the epsilon that is claimed; `None` if none is.
        accounted: the epsilon that the accountant recorded.
        delta: the probability with which it may not hold.
        largest_loss: the largest exact loss; `None` where a law is not known.
        lower_bound: the bound at 99.9 %, which decides where a law is not known.
        sure_bound: a bound that fails once in a million times. Where losses are exact it decides
            only whether draws lose more than their law says.
        difference: what differs without a release.
        differs: whether a run on the two tables differed in this view at all.
    """
    if difference:
        return UNACCOUNTED
    # With a delta single runs may lose more than epsilon.
    if largest_loss is None:
        evidence = lower_bound
    else:
        evidence = sure_bound if delta else max(sure_bound, largest_loss)
    if evidence > accounted * (1 + 1e-9) + TOLERANCE:
        return ABOVE_ACCOUNT
    if accounted > 0 and not differs and not lower_bound:
        return NOTHING_TESTED
    if claim is None:
        return NO_CLAIM
    if evidence > claim * (1 + 1e-9) + TOLERANCE:
        return ABOVE_CLAIM
    return NOT_REFUTED if largest_loss is None else HOLDS


def unaccounted_line(line: AuditLine, difference: str) -> AuditLine:
    """Take back a line's verdict, as something that no release covers depends on the records."""
    if line.verdict in VIOLATIONS:
        return line
    return msgspec.structs.replace(line, verdict=UNACCOUNTED, difference=difference)


def skipped_text(report: AuditReport) -> list[str]:
    """Say which protocols were skipped, a line for each."""
    return [f"{name} was skipped: {reason}" for name, reason in report.skipped.items()]


def verdict_text(report: AuditReport) -> str:
    """Summarise an audit in a sentence."""
    above = _places(report, ABOVE_ACCOUNT)
    unknown = _places(report, UNACCOUNTED)
    violations = [f"More is lost than is accounted: {above}."] if above else []
    violations += [f"What is lost is not accounted: {unknown}."] if unknown else []
    if violations:
        return " ".join(violations)
    false = [line for line in report.lines if line.verdict == ABOVE_CLAIM]
    if false:
        return (
            f"No view loses more than is accounted. In {len(false)} views the claim is false, "
            "as the accountant says."
        )
    untested = _places(report, NOTHING_TESTED)
    if untested and all(line.verdict == NOTHING_TESTED for line in report.lines):
        return "Nothing was tested: no neighbouring table changed a release."
    if untested:
        return (
            "No view that was tested loses more than the claim or than is accounted. Nothing was "
            f"tested of {untested}."
        )
    return "No view loses more than the claim or than is accounted."


def _places(report: AuditReport, verdict: Verdict) -> str:
    """List the views with a verdict, three of them by name."""
    lines = [line for line in report.lines if line.verdict == verdict]
    named = ", ".join(f"{line.view} of {line.protocol} ({line.mode})" for line in lines[:3])
    return f"{named} and {len(lines) - 3} more" if len(lines) > 3 else named


def audit_table(report: AuditReport) -> tuple[tuple[str, ...], list[list[str]]]:
    """Give the heads and the rows of the table."""
    heads = (
        "protocol",
        "mode",
        "view",
        "claim",
        "accounted",
        "largest loss",
        "lower bound",
        "runs",
        "table",
        "verdict",
    )
    rows = [
        [
            line.protocol,
            line.mode,
            line.view,
            "no claim" if line.claim is None else _figure(line.claim),
            _figure(line.accounted),
            "law unknown" if line.largest_loss is None else _figure(line.largest_loss),
            _figure(line.lower_bound),
            f"{line.runs:,}",
            line.table,
            f"{line.verdict}: {line.difference}" if line.difference else line.verdict,
        ]
        for line in report.lines
    ]
    return heads, rows


def audit_json(report: AuditReport) -> bytes:
    """Write the report as JSON; infinity is written as a word."""

    def plain(value: object) -> object:
        if isinstance(value, float) and not math.isfinite(value):
            return "infinity" if value > 0 else "-infinity"
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items()}
        return [plain(item) for item in value] if isinstance(value, list) else value

    content = plain({**msgspec.to_builtins(report), "summary": verdict_text(report)})
    return msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n"


def _figure(value: float) -> str:
    return "infinity" if math.isinf(value) else f"{value:.4g}"
