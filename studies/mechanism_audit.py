"""The audit of mechanisms: each alone, on its own worst pair of neighbouring values.

The largest log-ratio of all drawn answers is the realised loss. A mechanism that uses its epsilon
reaches more than nine tenths of it. Draws are compared with the declared law, too: over answers of
the first value, the mean of P[answer | second] / P[answer | first] is 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import cycle, islice

import numpy as np

from ..crypto import RandomStream
from ..evaluation.distinguishing import lower_bound
from ..report.audit_report import AuditLine, judge_line
from .audit_line import SURE
from .mechanism_cases import MechanismCase, mechanism_cases

__all__ = ["audit_case", "audit_mechanisms", "law_deviation"]

MAX_LOSS = 1e6
MAX_DEVIATION = 6.0
"""Standard errors by which the mean of ratios may differ from 1; honest draws: below 1e-8."""
MIN_DRAWS = 200


def audit_mechanisms(
    *, seed: int, draws: int, progress: Callable[[int, int], None]
) -> list[AuditLine]:
    """Audit every built-in mechanism."""
    cases = mechanism_cases()
    lines = []
    for number, case in enumerate(cases):
        progress(number, len(cases))
        lines.append(
            audit_case(case, seed=seed + number, draws=min(case.max_draws, max(MIN_DRAWS, draws)))
        )
    progress(len(cases), len(cases))
    return lines


def audit_case(case: MechanismCase, *, seed: int, draws: int) -> AuditLine:
    """Draw answers of both values, and judge the losses."""
    stream = RandomStream(seed.to_bytes(16, "little") + bytes(16))
    each = draws // 2
    first = [case.ratio(answer) for answer in islice(_answers(case.first, stream), each)]
    second = [case.ratio(answer) for answer in islice(_answers(case.second, stream), each)]
    listed = [case.ratio(answer) for answer in case.answers]
    largest = case.exact_epsilon
    if largest is None:
        losses = [*first, *(-ratio for ratio in second), *map(abs, listed)]
        largest = max(losses)
    sides = [[_clipped(ratio)] for ratio in first], [[_clipped(ratio)] for ratio in second]
    bound = lower_bound(*sides, delta=case.delta)
    sure_bound = lower_bound(*sides, confidence=SURE, delta=case.delta)
    difference = ""
    if abs(law_deviation(first, epsilon=case.claim)) > MAX_DEVIATION:
        difference = "draws do not have the declared law"
    return AuditLine(
        protocol=case.name,
        mode=case.mode,
        view=case.view,
        claim=case.claim,
        accounted=case.accounted,
        delta=case.delta,
        runs=2 * each,
        largest_loss=largest,
        table="worst pair",
        lower_bound=bound,
        difference=difference,
        verdict=judge_line(
            claim=case.claim,
            accounted=case.accounted,
            delta=0.0 if case.exact_epsilon is not None else case.delta,
            largest_loss=largest,
            lower_bound=bound,
            sure_bound=sure_bound,
            difference=difference,
            differs=largest != 0,
        ),
    )


def law_deviation(ratios: Sequence[float], *, epsilon: float) -> float:
    """Give the distance of the mean of e^-ratio from 1, in standard errors.

    If no ratio is above epsilon in size, the variance is at most e^epsilon - 1. Where ratios are
    larger, answers may be possible for one value alone, and nothing is compared.
    """
    if not np.isfinite(ratios).all() or np.abs(ratios).max() > epsilon * (1 + 1e-9):
        return 0.0
    error = math.sqrt(math.expm1(epsilon) / len(ratios))
    return float((np.exp(-np.asarray(ratios)).mean() - 1) / error)


def _answers(draw: Callable[[RandomStream], object], stream: RandomStream) -> map[object]:
    return map(draw, cycle([stream]))


def _clipped(ratio: float) -> float:
    return max(-MAX_LOSS, min(MAX_LOSS, ratio))
