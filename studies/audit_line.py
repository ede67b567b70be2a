"""The line of an audit on one view: what its runs prove, beside what is claimed and accounted.

The proof is a lower bound on epsilon, once with the confidence that the line states, and once with
a confidence that allows it to contradict an exact loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..evaluation.distinguishing import lower_bound
from ..evaluation.exact_gaussian import mean_lower_bound
from ..privacy.conversion import epsilon_of
from ..protocols import AnyProtocol
from ..report.audit_report import AuditLine, judge_line
from .audit_plan import AuditPlan, RunFigures
from .audit_views import ATTRIBUTES_UNKNOWN, adversaries

__all__ = ["CONFIDENCE", "SURE", "audit_line"]

CONFIDENCE: Final = 0.999
SURE: Final = 1 - 1e-6
"""Confidence of the bound that contradicts an exact loss."""
MAX_LOSS: Final = 1e6
"""Stands for an infinite log-ratio among the numbers of the distinguishing test."""


def audit_line(
    plan: AuditPlan, instance: AnyProtocol, view: str, runs: Sequence[RunFigures]
) -> AuditLine:
    """Judge one view by all runs of a plan."""
    figures = [run.views[view] for run in runs]
    accounted = max(figure.accounted for figure in figures)
    losses = [figure.loss for figure in figures if figure.loss is not None]
    largest = max(losses) if len(losses) == len(figures) else None
    table = runs[losses.index(largest)].table if largest is not None else "all"
    delta = max(run.delta for run in runs)
    differences = {run.difference for run in runs} - {""}
    bound, sure_bound = (
        max(
            _table_bound(
                [run for run in runs if run.table == name],
                view,
                confidence=1 - (1 - confidence) / len(plan.tables),
                delta=delta,
            )
            for name in plan.tables
        )
        for confidence in (CONFIDENCE, SURE)
    )
    claim = _claim(instance, view, parties=plan.parties, accounted=accounted)
    difference = min(differences, default="")
    return AuditLine(
        protocol=instance.name,
        mode=plan.mode,
        view=view,
        claim=claim,
        accounted=accounted,
        delta=delta,
        runs=len(runs),
        largest_loss=largest,
        table=table,
        lower_bound=bound,
        difference=difference,
        verdict=judge_line(
            claim=claim,
            accounted=accounted,
            delta=delta,
            largest_loss=largest,
            lower_bound=bound,
            sure_bound=sure_bound,
            difference=difference,
            differs=any(figure.differs for figure in figures),
        ),
    )


def _table_bound(
    runs: Sequence[RunFigures], view: str, *, confidence: float, delta: float
) -> float:
    """Bound epsilon by the runs on one table and on its neighbour.

    The largest bound of all tables is reported, so each table has its part of the failures.
    """
    sides: tuple[list[tuple[float, ...]], list[tuple[float, ...]]] = ([], [])
    exact = all(run.views[view].loss is not None for run in runs)
    for run in runs:
        figures = run.views[view]
        numbers = figures.numbers
        if exact and figures.loss is not None:
            # The log-ratio says all that there is to say about which dataset it was.
            loss = max(-MAX_LOSS, min(MAX_LOSS, figures.loss))
            numbers = (-loss if run.swapped else loss,)
        sides[run.swapped].append(numbers)
    # Where there is a delta, two bounds share the chance to fail.
    bound = lower_bound(
        *sides,
        confidence=1 - (1 - confidence) / 2 if exact and delta else confidence,
        delta=min(delta, 0.5),
    )
    if not exact or not delta:
        return bound
    # The mean loss bounds rho from below. That shows far smaller violations than rare answers do.
    # Within the accounted rho it shows none: pure releases may have an epsilon below that of rho.
    means = (
        mean_lower_bound(
            [run.views[view].loss or 0.0 for run in runs if run.swapped is swapped],
            confidence=1 - (1 - confidence) / 4,
        )
        for swapped in (False, True)
    )
    rho = max(0.0, *means)
    if rho <= max(run.views[view].rho for run in runs):
        return bound
    return max(bound, epsilon_of(rho, delta=min(delta, 0.5)))


def _claim(protocol: AnyProtocol, view: str, *, parties: int, accounted: float) -> float | None:
    """Give the epsilon that the protocol claims in a view; `None` if it claims none there."""
    if protocol.neighbours == "label-within-belief" and view != ATTRIBUTES_UNKNOWN:
        # Mode paper says that CLLDP is at least as strong as LabelDP, which protects the label
        # against those who know the attributes. The rigorous claim there is the whole record's.
        return protocol.epsilon if protocol.mode == "paper" else accounted
    adversary = next((other for other in adversaries(parties) if other.view == view), None)
    if adversary is None or not adversary.size or protocol.colluding is None:
        return protocol.epsilon
    if adversary.size > protocol.colluding:
        return None
    if adversary.curator and not protocol.curator_may_collude:
        return None
    return protocol.epsilon
