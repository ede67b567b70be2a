"""The page of an audit: a sentence, the table, what the verdicts mean, and what was left out."""

from __future__ import annotations

from ..audit_report import MEANINGS, AuditReport, audit_table, skipped_text, verdict_text
from ..formats import quantity
from .document import banner, document, navigation, paragraph, section, table

__all__ = ["audit_page"]

TITLES = {"views": "By view", "method": "Method", "left-out": "What is left out"}


def audit_page(report: AuditReport) -> str:
    """Write the page."""
    names = sorted({line.protocol for line in report.lines})
    title = f"Audit of {names[0] if len(names) == 1 else f'{len(names)} protocols'}"
    heads, rows = audit_table(report)
    verdicts = {line.verdict for line in report.lines}
    sections = [
        section(
            TITLES["views"],
            table(heads, rows, caption="Losses by view"),
            *(
                paragraph(f"{verdict}: {meaning}.", kind="quiet")
                for verdict, meaning in MEANINGS.items()
                if verdict in verdicts
            ),
            name="views",
        ),
        section(
            TITLES["method"],
            paragraph(
                "The largest loss is the log-ratio of the probabilities of everything that a view "
                "holds, on two datasets that differ in one record. It is computed exactly for each "
                "run. A pure epsilon means that no run may exceed it."
            ),
            paragraph(
                f"The lower bound comes from a distinguishing test. It holds with a probability of "
                f"{report.confidence:.1%} for each line."
            ),
            name="method",
        ),
        section(
            TITLES["left-out"],
            *(paragraph(text) for text in (*skipped_text(report), *report.left_out)),
            name="left-out",
        ),
    ]
    violations = [
        f"{line.protocol} ({line.mode}), {line.view}: {line.verdict}"
        + (f": {line.difference}" if line.difference else "")
        for line in report.violations
    ]
    body = "\n".join(
        [
            f"<h1>{title}</h1>",
            banner("More is lost than is accounted", violations),
            paragraph(verdict_text(report), kind="lead"),
            paragraph(
                (f"{quantity(report.parties, 'party', 'parties')}, " if report.parties else "")
                + f"{report.runs:,} runs of each protocol and mode, {report.seconds:.0f} s.",
                kind="quiet",
            ),
            *(paragraph(f"{remark}.", kind="quiet") for remark in report.remarks),
            navigation(TITLES, sections),
            *sections,
        ]
    )
    return document(title, body)
