"""Where a budget may buy Laplace or Gaussian noise, a plan takes what allows more parents, and of
plans with as many parents the one with less noise.

The referees are the plans of each law alone, and the deviations of batches.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from sottovoce.privacy import Budget, Domain
from sottovoce.protocols.secure_sum import SumBatch
from sottovoce.runs.instance import instantiate
from sottovoce.runs.job import Job

ROWS = [200 * 2**doubled for doubled in range(14)]


def domains() -> Iterator[Domain]:
    for attributes in (3, 8, 20):
        yield Domain({f"x{place:02}": ("0", "1", "2") for place in range(attributes)})


def deviation(budget: Budget, *, tables: int) -> float:
    """Compute the noise of so many tables, each of which a replaced record changes by 2."""
    return SumBatch.of(budget, cells=1, sensitivity=2 * tables, squares=2 * tables).deviation


@pytest.mark.parametrize("search", ["iterative", "oneshot"])
def test_dp_ccbn_has_as_many_parents_as_the_better_law_allows(search: str) -> None:
    differing = 0
    for domain in domains():
        for rows in ROWS:

            def plan(domain: Domain = domain, rows: int = rows, **law: str) -> Any:
                parameters = {"search": search, "epsilon": 0.8, **law}
                protocol: Any = instantiate(Job(protocol="dp-ccbn", parameters=parameters))
                return protocol.plan(domain, rows=rows, parties=3)

            laplace, gaussian, either = plan(noise="laplace"), plan(noise="gaussian"), plan()
            assert either.degree == max(laplace.degree, gaussian.degree)
            if laplace.degree == gaussian.degree:
                tables = len(domain.attributes)
                assert deviation(either.budget.share(0.5), tables=tables) == min(
                    deviation(alone.budget.share(0.5), tables=tables)
                    for alone in (laplace, gaussian)
                )
            else:
                differing += 1
    assert differing


def test_independent_has_as_many_parents_as_the_better_law_allows() -> None:
    """Without a delta noise is Laplace noise. The structure has its share of the budget."""
    differing, units = 0, set()
    for domain in domains():
        for rows in ROWS:

            def plan(delta: float, domain: Domain = domain, rows: int = rows) -> Any:
                parameters = {"epsilon": 0.8, "delta": delta}
                protocol: Any = instantiate(Job(protocol="independent", parameters=parameters))
                whole, _, degree = protocol.plan(domain, rows=rows)
                return whole.share(1 - protocol.parameters.beta), degree

            (laplace, degree), (either, best) = plan(0.0), plan(1e-9)
            tables = len(domain.attributes)
            assert best >= degree
            assert deviation(either, tables=tables) <= deviation(laplace, tables=tables)
            differing += best > degree
            units.add(either.unit)
    assert differing
    assert units == {"epsilon", "rho"}
