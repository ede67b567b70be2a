"""A graphical model of noisy marginals: the distribution of largest entropy that fits them.

Measured tables y_i with the variances v_i are fitted by one distribution p over all attributes,

    minimise over p    sum over i of |N p_i - y_i|^2 / (2 ridge v_i)  -  N entropy(p)

where N is the number of rows and p_i is the marginal of p over the attributes of table i. This is
the estimate of Private-PGM (McKenna, Sheldon and Miklau 2019) with a little entropy. The noise is
weighed by its variance, and what no table says stays as random as possible. The solution is
log-linear: a table of parameters for each measured table, which add up to the logarithm of p. The
dual problem has these parameters as its unknowns, and no constraints,

    minimise over theta    N log Z  -  sum of theta_i y_i  +  sum of ridge v_i |theta_i|^2 / 2

Its gradient is N p_i - y_i + ridge v_i theta_i. It is computed along a junction tree
(`belief_propagation`), so that nothing larger than a clique is built, and L-BFGS finds the minimum.

The ridge is small, `RIDGE / N`. It moves a cell by RIDGE v theta / N rows, so the noisier a table
is, the more it is smoothed. Without it the parameters of empty cells would grow without end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from math import inf, sqrt
from typing import Final

import numpy as np

from ..privacy.domain import Domain
from .belief_propagation import CliqueTree, axes_without, spread
from .estimates import Estimate
from .junction_tree import junction_tree
from .marginal import Marginal, Numbers
from .pair_marginals import pair_marginals
from .sampling import Chain
from .triangulation import dependency_graph

__all__ = ["GraphicalModel", "Pair", "fit_model", "model_of", "tree_of"]

RIDGE: Final = 20.0
"""The ridge of the parameters, for one row."""
MEMORY: Final = 10
"""Steps that L-BFGS remembers."""
MAX_PARAMETER: Final = 30.0
"""How far below 0 a table's parameter goes, where its count is below 0: to a share of e^-30."""
MIN_SCALE: Final = 1.0
"""Least number of rows by which a cell's parameter is scaled for L-BFGS."""

Pair = tuple[str, str]


@dataclass(frozen=True)
class GraphicalModel:
    """A distribution over all attributes, by the distributions of a junction tree's cliques."""

    tree: CliqueTree
    beliefs: tuple[Marginal, ...]
    """The distribution of each clique, in the order of the tree's nodes."""
    parameters: Mapping[tuple[str, ...], Numbers] = field(repr=False)
    """The parameters of each measured table. They make the same model again (`model_of`)."""

    @property
    def domain(self) -> Domain:
        return self.tree.domain

    @property
    def cells(self) -> int:
        """Number of cells of all cliques."""
        return self.tree.tree.cells

    def marginal(self, attributes: Sequence[str]) -> Marginal:
        """Compute the marginal of some attributes, which may lie in several cliques.

        The largest table on the way has the cells of a clique, times those of the wanted attributes
        behind it.
        """
        home = self.tree.home(attributes)
        if home is not None:
            return self.beliefs[home].project(attributes)
        return self._collect(0, attributes).project(attributes)

    def _collect(self, place: int, attributes: Sequence[str]) -> Marginal:
        """Compute what lies below a node of these attributes, conditional on its separator."""
        node = self.tree.nodes[place]
        table = self.beliefs[place]
        if node.separator:
            table = table / table.project(node.separator)
        for child in self._children[place]:
            if self._below[child].intersection(attributes).difference(node.attributes):
                table = table * self._collect(child, attributes)
                wanted = set(attributes) | set(node.attributes)
                table = table.project([name for name in table.attributes if name in wanted])
        wanted = set(attributes) | set(node.separator)
        return table.project([name for name in table.attributes if name in wanted])

    def pairs(self) -> dict[Pair, Marginal]:
        """Compute the tables of all pairs of attributes, in the domain's order."""
        return pair_marginals(self.tree, self.beliefs)

    def chain(self) -> Chain:
        """Make the steps that draw rows."""
        return self.tree.tree.chain(self.beliefs)

    @cached_property
    def _children(self) -> list[list[int]]:
        below: list[list[int]] = [[] for _ in self.tree.nodes]
        for place, node in enumerate(self.tree.nodes):
            if node.parent >= 0:
                below[node.parent].append(place)
        return below

    @cached_property
    def _below(self) -> list[set[str]]:
        """The attributes of each node and of those below it."""
        below = [set(node.attributes) for node in self.tree.nodes]
        for place in range(len(below) - 1, 0, -1):
            below[self.tree.nodes[place].parent] |= below[place]
        return below


def tree_of(domain: Domain, sets: Iterable[Sequence[str]]) -> CliqueTree:
    """Make the junction tree in whose cliques each of these sets of attributes lies."""
    edges = {edge for attributes in sets for edge in combinations(attributes, 2)}
    return CliqueTree(junction_tree(domain, dependency_graph(domain, sorted(edges))))


def model_of(
    domain: Domain,
    parameters: Mapping[tuple[str, ...], Numbers],
    *,
    max_cells: float = inf,
) -> GraphicalModel:
    """Make the model with these parameters for tables of these sets of attributes.

    Raises:
        ValueError: its cliques have more than `max_cells` cells.
    """
    terms = _Terms(domain, list(parameters))
    if (cells := terms.tree.tree.cells) > max_cells:
        raise ValueError(f"expected a model of at most {max_cells:,} cells, found {cells:,}")
    values = [np.asarray(table, np.float64).reshape(-1) for table in parameters.values()]
    terms.marginals(np.concatenate(values) if values else np.zeros(0))
    return terms.model(
        {
            attributes: table.reshape(domain.shape(attributes))
            for attributes, table in zip(parameters, values, strict=True)
        }
    )


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
    from scipy.optimize import minimize

    combined = _combine(domain, estimates)
    sets = list(combined)
    terms = _Terms(domain, sets)
    if not sets:
        terms.marginals(np.zeros(0))
        return terms.model({})
    weight = RIDGE / max(total, 1.0) if ridge is None else ridge
    tables = [combined[attributes] for attributes in sets]
    # The number of rows is public, so that every table's sum is corrected to it.
    counts = np.concatenate(
        [
            (table.table.values + (total - table.table.total) / table.table.cells).reshape(-1)
            for table in tables
        ]
    )
    variances = np.concatenate([np.full(table.table.cells, table.variance) for table in tables])
    deviations = np.sqrt(variances)
    squares = np.maximum(weight * variances, -counts / MAX_PARAMETER)
    # The second derivative by a cell's parameter is about its number of rows.
    scale = np.sqrt(np.maximum(counts, np.maximum(deviations, MIN_SCALE)) + squares)
    first = np.concatenate(
        [
            np.zeros(table.table.cells)
            if start is None or attributes not in start.parameters
            else start.parameters[attributes].reshape(-1)
            for attributes, table in zip(sets, tables, strict=True)
        ]
    )
    gradient = np.zeros(len(counts))

    def objective(scaled: Numbers) -> tuple[float, Numbers]:
        theta = scaled / scale
        expected, logarithm = terms.marginals(theta)
        penalty = squares * theta
        gradient[:] = total * expected - counts + penalty
        value = total * logarithm - theta @ counts + 0.5 * theta @ penalty
        return float(value), gradient / scale

    def stop(intermediate_result: object) -> None:  # noqa: ARG001 - scipy asks for this name
        if sqrt(np.mean((gradient / deviations) ** 2)) < tolerance:
            raise StopIteration

    solution = minimize(
        objective,
        first * scale,
        jac=True,
        method="L-BFGS-B",
        callback=stop,
        options={"maxiter": iterations, "maxcor": MEMORY, "ftol": 0.0, "gtol": 0.0},
    )
    theta = solution.x / scale
    terms.marginals(theta)
    ends = np.cumsum([table.table.cells for table in tables])[:-1]
    parameters = {
        attributes: values.reshape(domain.shape(attributes))
        for attributes, values in zip(sets, np.split(theta, ends), strict=True)
    }
    return terms.model(parameters)


def _combine(domain: Domain, estimates: Sequence[Estimate]) -> dict[tuple[str, ...], Estimate]:
    """Average tables of the same attributes by inverse variance; attributes in the domain's order.

    Tables with a single cell say nothing and are left out.
    """
    combined: dict[tuple[str, ...], Estimate] = {}
    for estimate in estimates:
        attributes = tuple(name for name in domain.attributes if name in estimate.attributes)
        if domain.cells(attributes) < 2:
            continue
        table = estimate.project(attributes)
        before = combined.get(attributes)
        if before is not None:
            weight = before.variance / (before.variance + table.variance)
            table = Estimate(
                before.table * (1 - weight) + table.table * weight, weight * table.variance
            )
        combined[attributes] = table
    return combined


class _Terms:
    """The terms of a log-linear model, and where in the junction tree they are added.

    A term is added to a larger one that has its attributes, if there is one, before this is added
    to a clique.
    """

    def __init__(self, domain: Domain, sets: Sequence[tuple[str, ...]]) -> None:
        self.tree = tree_of(domain, sets)
        self._domain = domain
        self._sets = sets
        self._ends = np.cumsum([domain.cells(attributes) for attributes in sets], dtype=int)[:-1]
        largest = [
            attributes for attributes in sets if not any(set(attributes) < set(o) for o in sets)
        ]
        self._homes = {attributes: self.tree.home(attributes) or 0 for attributes in largest}
        self._within: dict[tuple[str, ...], list[tuple[str, ...]]] = {
            attributes: [] for attributes in largest
        }
        for attributes in sets:
            if attributes not in self._within:
                host = next(other for other in largest if set(attributes) < set(other))
                self._within[host].append(attributes)
        self._tables: list[Numbers] = []

    def marginals(self, theta: Numbers) -> tuple[Numbers, float]:
        """Compute the marginals of all terms' attributes, and the logarithm of the constant Z."""
        shape = self._domain.shape
        parts = {
            attributes: values.reshape(shape(attributes))
            for attributes, values in zip(
                self._sets, np.split(theta, self._ends) if self._sets else (), strict=True
            )
        }
        tables = self.tree.zeros()
        for host, home in self._homes.items():
            term = parts[host]
            for attributes in self._within[host]:
                term = term + spread(parts[attributes], attributes, host)
            clique = self.tree.nodes[home].attributes
            tables[home] += spread(term, host, clique)
        logarithm = self.tree.propagate(tables)
        expected: dict[tuple[str, ...], Numbers] = {}
        for host, home in self._homes.items():
            clique = self.tree.nodes[home].attributes
            table = tables[home].sum(axis=axes_without(clique, host))
            expected[host] = table
            for attributes in self._within[host]:
                expected[attributes] = table.sum(axis=axes_without(host, attributes))
        self._tables = tables
        if not self._sets:
            return np.zeros(0), logarithm
        return np.concatenate([expected[attributes].reshape(-1) for attributes in self._sets]), (
            logarithm
        )

    def model(self, parameters: Mapping[tuple[str, ...], Numbers]) -> GraphicalModel:
        """Make the model of the last call of `marginals`."""
        beliefs = tuple(
            Marginal(node.attributes, table)
            for node, table in zip(self.tree.nodes, self._tables, strict=True)
        )
        return GraphicalModel(self.tree, beliefs, parameters)
