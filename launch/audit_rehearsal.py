"""A rehearsal before an audit: what it finds holds for every view of the protocol.

An audit plays the party on pairs of made-up tables, and compares what it sends. A rehearsal tries
more tables, other answers and other messages, and notes which files the author's code reads. So no
view of a protocol "holds" of which the rehearsal has found something that no release covers.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ..messages import SottovoceError
from ..parties import DEMO
from ..protocols.registry import find
from ..report.audit_report import AuditLine, unaccounted_line
from ..report.not_accounted import rehearsal_texts
from ..runs.failure import describe
from ..runs.instance import is_built_in
from ..runs.record import Rehearsal
from ..studies.audit_plan import AuditPlan
from ..studies.audit_tables import MADE_UP, read_labels, typed_schema
from .rehearsal import failed_rehearsal, rehearse

__all__ = ["rehearse_plan", "rehearsed_lines", "rehearsed_remarks"]


def rehearse_plan(plan: AuditPlan) -> Rehearsal | None:
    """Rehearse an audited protocol; `None` if it is built in."""
    if is_built_in(find(plan.protocol)):
        return None
    job, schema = plan.job(), plan.schema
    if plan.data == MADE_UP:
        labels, _ = read_labels(plan.data, sizes=plan.sizes)
        schema = schema or typed_schema(labels)
    job = msgspec.structs.replace(
        job,
        data=(DEMO if plan.data == MADE_UP else plan.data,),
        separator=plan.form.separator,
        encoding=plan.form.encoding,
        schema=schema,
    )
    try:
        return rehearse(job)
    except SottovoceError as error:  # the audit goes on, and says that there was no rehearsal
        return failed_rehearsal(
            describe(error, where=None).public, parties=plan.parties, seconds=0.0
        )


def rehearsed_lines(lines: Sequence[AuditLine], rehearsal: Rehearsal | None) -> list[AuditLine]:
    """Take back each verdict that the rehearsal has refuted."""
    if rehearsal is None or not rehearsal.unaccounted:
        return [*lines]
    finding = rehearsal.unaccounted[0]
    what = f"messages of kind {finding.kind} without a release" if finding.kind else finding.reason
    return [unaccounted_line(line, f"in the rehearsal, {what}") for line in lines]


def rehearsed_remarks(plan: AuditPlan, rehearsal: Rehearsal | None) -> list[str]:
    """Write what the rehearsal says beside the lines."""
    if rehearsal is None:
        return []
    first, *others = rehearsal_texts(rehearsal)
    remarks = [first, *others] if rehearsal.failure or rehearsal.unaccounted else others
    return [f"{plan.protocol} ({plan.mode}): {text}" for text in remarks]
