"""The graphical model that fits noisy tables best.

Measured tables y_i with the variances v_i are fitted by one distribution p over all attributes,

    minimise over p    sum over i of |N p_i - y_i|^2 / (2 ridge v_i)  -  N entropy(p)

where N is the number of rows and p_i is the marginal of p over the attributes of table i. This is
the estimate of Private-PGM (McKenna, Sheldon and Miklau 2019) with a little entropy. A table counts
by its variance, and what no table determines stays as random as possible. The solution is
log-linear: a table of parameters for each measured table, which add up to the logarithm of p. The
dual problem has these parameters as its unknowns, and no constraints,

    minimise over theta    N log Z  -  sum of theta_i y_i  +  sum of ridge v_i |theta_i|^2 / 2

Its gradient is N p_i - y_i + ridge v_i theta_i. It is computed along a junction tree
(`log_linear`), so that nothing larger than a clique is built, and L-BFGS finds the minimum.

The ridge is small, `RIDGE / N`. It moves a cell by RIDGE v theta / N rows, so the noisier a table
is, the more it is smoothed. Without it the parameters of empty cells would grow without end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Final

import numpy as np

from ..privacy.domain import Domain
from .estimates import Estimate
from .graphical_model import GraphicalModel
from .log_linear import Attributes, LogLinearTerms
from .marginal import Numbers

__all__ = ["RIDGE", "fit_closely", "fit_model"]

RIDGE: Final = 20.0
"""The ridge of the parameters, for one row."""
MEMORY: Final = 10
"""Steps that L-BFGS remembers."""
MAX_PARAMETER: Final = 30.0
"""How far below 0 a parameter may go where the count is below 0: to a share of e^-30."""
MIN_SCALE: Final = 1.0
"""Least number of rows by which a cell's parameter is scaled for L-BFGS."""


def fit_model(
    domain: Domain,
    estimates: Sequence[Estimate],
    *,
    total: float,
    start: GraphicalModel | None = None,
    iterations: int = 60,
    tolerance: float = 0.02,
    ridge: float | None = None,
) -> GraphicalModel:
    """Fit a model to measured tables, each by its variance.

    Args:
        domain: The attributes and their labels.
        estimates: Tables of counts with the variance of their cells. Several may have the same
            attributes.
        total: The number of rows, which is public.
        start: A model whose parameters the search starts from, such as one of fewer tables.
        iterations: The most steps of L-BFGS.
        tolerance: The search ends where the gradient is smaller than this, in standard deviations
            of the noise (root of the mean square over all cells).
        ridge: The weight of the parameters' squares; by default `RIDGE / total`.
    """
    measured = _average(domain, estimates)
    terms = LogLinearTerms(domain, list(measured))
    if not measured:
        return GraphicalModel.of(terms, np.zeros(0))
    problem = _DualProblem.of(
        terms,
        list(measured.values()),
        total=total,
        ridge=RIDGE / max(total, 1.0) if ridge is None else ridge,
    )
    initial = _parameters(terms, start)
    theta = problem.minimise(initial, iterations=iterations, tolerance=tolerance)
    return GraphicalModel.of(terms, theta)


def fit_closely(
    domain: Domain,
    estimates: Sequence[Estimate],
    *,
    total: float,
    start: GraphicalModel | None = None,
) -> GraphicalModel:
    """Fit a model whose rows are published, by more steps than one of which a choice follows."""
    return fit_model(domain, estimates, total=total, start=start, iterations=300, tolerance=0.005)


def _average(domain: Domain, estimates: Sequence[Estimate]) -> dict[Attributes, Estimate]:
    """Average tables of the same attributes by inverse variance; attributes in the domain's order.

    Tables with a single cell are left out.
    """
    averages: dict[Attributes, Estimate] = {}
    for estimate in estimates:
        attributes = tuple(name for name in domain.attributes if name in estimate.attributes)
        if domain.cells(attributes) < 2:
            continue
        table = estimate.project(attributes)
        before = averages.get(attributes)
        if before is not None:
            weight = before.variance / (before.variance + table.variance)
            table = Estimate(
                before.table * (1 - weight) + table.table * weight, weight * table.variance
            )
        averages[attributes] = table
    return averages


def _parameters(terms: LogLinearTerms, model: GraphicalModel | None) -> Numbers:
    """List the parameters that a model has for terms, and 0 for the terms that it lacks."""
    theta = np.zeros(terms.cells)
    if model is not None:
        for term, table in terms.split(theta).items():
            table[...] = model.parameters.get(term, 0.0)
    return theta


@dataclass(frozen=True, slots=True)
class _DualProblem:
    """The dual problem of a fit; arrays have a number for each cell of all tables."""

    terms: LogLinearTerms
    total: float
    """The number of rows N."""
    counts: Numbers
    """The measured tables y, each corrected to the number of rows."""
    deviations: Numbers
    """The standard deviation of each cell's noise."""
    penalties: Numbers
    """The weight of each parameter's square, ridge times variance."""

    @classmethod
    def of(
        cls,
        terms: LogLinearTerms,
        estimates: Sequence[Estimate],
        *,
        total: float,
        ridge: float,
    ) -> _DualProblem:
        """Make the problem of estimates, one for each term."""
        counts = np.concatenate(
            [
                (
                    estimate.table.values + (total - estimate.table.total) / estimate.table.cells
                ).reshape(-1)
                for estimate in estimates
            ]
        )
        variances = np.concatenate(
            [np.full(estimate.table.cells, estimate.variance) for estimate in estimates]
        )
        # Where a count is below 0, a larger penalty keeps the parameter above -MAX_PARAMETER.
        penalties = np.maximum(ridge * variances, -counts / MAX_PARAMETER)
        return cls(terms, total, counts, np.sqrt(variances), penalties)

    def value(self, theta: Numbers) -> tuple[float, Numbers]:
        """Compute the value to minimise, and its gradient."""
        cliques, logarithm = self.terms.cliques(theta)
        penalty = self.penalties * theta
        gradient = self.total * self.terms.marginals(cliques) - self.counts + penalty
        value = self.total * logarithm - theta @ self.counts + 0.5 * theta @ penalty
        return float(value), gradient

    def minimise(self, initial: Numbers, *, iterations: int, tolerance: float) -> Numbers:
        """Find the parameters of least value by L-BFGS."""
        from scipy.optimize import minimize

        # The second derivative by a cell's parameter is about its number of rows.
        rows = np.maximum(self.counts, np.maximum(self.deviations, MIN_SCALE))
        scale = np.sqrt(rows + self.penalties)
        gradient = np.zeros(len(initial))

        def objective(scaled: Numbers) -> tuple[float, Numbers]:
            value, gradient[:] = self.value(scaled / scale)
            return value, gradient / scale

        def stop(intermediate_result: object) -> None:  # noqa: ARG001 - scipy asks for this name
            if sqrt(np.mean((gradient / self.deviations) ** 2)) < tolerance:
                raise StopIteration

        solution = minimize(
            objective,
            initial * scale,
            jac=True,
            method="L-BFGS-B",
            callback=stop,
            options={"maxiter": iterations, "maxcor": MEMORY, "ftol": 0.0, "gtol": 0.0},
        )
        return np.asarray(solution.x / scale)
