"""AIM of one trusted holder and of parties, beside AIM with the estimation of `mbi`.

    python benchmarks/aim.py [FILE] [SEEDS] [schema=FILE] [epsilon=0.2,0.4,0.8,1.6] [parties=1,3,30]
                             [protocols=aim,...] [max_cells=N] [iterations=N]

The script prints the average total variation distance of two-way and three-way marginals as a mean
over seeds, the standard deviation of the two-way distance, seconds, tables measured, and ratios to
the first line of an epsilon. `protocols` may name others with secure sums, such as adaptive-pairs
or mst.

If `mbi` 2.0 is installed (`pip install mbi`; it needs JAX), the first line of each epsilon is AIM
of one trusted holder with its mirror descent and its synthetic rows, on continuous noise: the same
mechanism at equal neighbours, by a second library. It takes minutes for each run. The tables of
pairs by which candidates are scored come from mbi's potentials by our own code, because mbi would
compile a program for each pair.
"""

from __future__ import annotations

import sys
import time
import warnings
from math import sqrt
from typing import Any

import numpy as np

import sottovoce
from sottovoce.curator.graphical_model import GraphicalModel, model_of
from sottovoce.evaluation.judge import judge
from sottovoce.parties import Records, Schema, blocks, infer, load, merge, read_schema
from sottovoce.privacy import Budget
from sottovoce.protocols.aim.budget import ROUNDS, RunBudget
from sottovoce.protocols.aim.candidates import fitting
from sottovoce.protocols.aim.workload import Workload, distances, expected_noise, workload_of

try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import jax

        jax.config.update("jax_enable_x64", val=True)
        import mbi
except ImportError:
    mbi = None


class TrustedAIM:
    """AIM of one trusted holder with the estimation of mbi; neighbours replace a record."""

    def __init__(
        self, records: Records, *, schema: Schema, max_cells: int, iterations: int, seed: int
    ) -> None:
        self.records, self.schema = records, schema
        self.max_cells, self.iterations = max_cells, iterations
        self.workload: Workload = workload_of(records.domain, max_cells=max_cells)
        self.generator = np.random.default_rng(seed)
        names = records.domain.attributes
        self.domain = mbi.Domain(names, records.domain.shape(names))
        self.measured: list[Any] = []
        self.model: Any = None

    def run(self, whole: Budget) -> int:
        """Measure tables until the budget is spent; give their number."""
        workload, rows = self.workload, len(self.records)
        attributes = len(workload.attributes)
        budget = RunBudget.start(
            whole, attributes=attributes, rounds=ROUNDS * attributes, rows=[rows]
        )
        count = 0
        for name in workload.attributes:
            self.measure((name,), rho=budget.table)
        self.fit()
        families = [*workload.weights]
        tables = dict(zip(families, self.records.marginals(families), strict=True))
        while budget.left > 0:
            _, cost = budget.next_round()
            model = self.as_ours()
            max_cells = self.max_cells * budget.spent_share
            candidates = fitting(workload, model, max_cells=max_cells)
            deviation = sqrt(1 / budget.table)
            noise = expected_noise(workload.domain, candidates, deviation=deviation)
            weights = np.array([workload.weights[family] for family in candidates])
            scores = weights * (distances(tables, model, candidates, rows=rows) - noise)
            # A score changes by 2 at most, and rho is epsilon^2 / 8.
            scores *= sqrt(8 * cost) / (2 * 2 * weights.max())
            family = candidates[int((scores + self.generator.gumbel(size=len(scores))).argmax())]
            before = model.marginal(family)
            self.measure(family, rho=budget.table)
            self.fit()
            change = 2 * rows * self.as_ours().marginal(family).distance(before)
            budget.spend()
            count += 1
            if change <= expected_noise(workload.domain, [family], deviation=deviation)[0]:
                budget.halve_noise()
        return count

    def measure(self, family: tuple[str, ...], *, rho: float) -> None:
        """Add a noisy table; a replaced record changes two of its cells by 1."""
        deviation = sqrt(1 / rho)
        counts = self.records.marginal(family).astype(np.float64)
        noisy = counts + self.generator.normal(0, deviation, counts.size)
        self.measured.append(mbi.LinearMeasurement(noisy, family, stddev=deviation))

    def fit(self) -> None:
        """Fit mbi's model, starting from the one before."""
        self.model = mbi.estimation.MirrorDescent().estimate(
            self.domain,
            self.measured,
            known_total=float(len(self.records)),
            iters=self.iterations,
            warm_start=self.model,
        )

    def as_ours(self) -> GraphicalModel:
        """Make our model from the potentials of mbi's."""
        potentials = self.model.potentials
        names = self.records.domain.attributes
        parameters = {}
        for clique in potentials.cliques:
            family = tuple(name for name in names if name in clique)
            factor = potentials[clique].transpose(family)
            parameters[family] = np.asarray(factor.datavector(flatten=False), np.float64)
        return model_of(self.records.domain, parameters)

    def synthetic(self) -> Records:
        """Draw as many rows as there are, by mbi."""
        np.random.seed(int(self.generator.integers(1 << 31)))  # noqa: NPY002 - what mbi draws from
        columns = self.model.synthetic_data(rows=len(self.records)).to_dict()
        names = self.records.domain.attributes
        codes = [np.asarray(columns[name]).astype(np.int64) for name in names]
        return Records(self.records.domain.decode(codes), schema=self.schema)


def main() -> None:
    settings: dict[str, Any] = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    words = [word for word in sys.argv[1:] if "=" not in word]
    seeds = int(words.pop()) if words and words[-1].isdigit() else 3
    data = words[0] if words else "demo"
    epsilons = [float(word) for word in settings.pop("epsilon", "0.2,0.4,0.8,1.6").split(",")]
    holders = [int(word) for word in settings.pop("parties", "1,3,30").split(",")]
    protocols = settings.pop("protocols", "aim").split(",")
    iterations = int(settings.pop("iterations", 1000))
    max_cells = int(settings.pop("max_cells", 100_000))
    schema = settings.pop("schema", None)
    print(f"{data}, {seeds} seeds, delta 1e-9, neighbours replace a record")
    if mbi is None:
        print("mbi is not installed, so its AIM is left out: pip install mbi")
    for epsilon in epsilons:
        first = 0.0
        if mbi is not None and "aim" in protocols:
            rules = merge([infer(blocks(data))]) if schema is None else read_schema(schema)
            figures = [
                run_with_mbi(
                    data, rules, epsilon, max_cells=max_cells, iterations=iterations, seed=seed
                )
                for seed in range(1, seeds + 1)
            ]
            first = show(f"epsilon {epsilon:g}  mbi, one trusted holder", figures, first)
        for protocol in protocols:
            options = {"schema": schema, "epsilon": epsilon, **settings}
            if protocol == "aim":
                options["max_cells"] = max_cells
            for parties in holders:
                figures = [
                    run_protocol(protocol, data, parties=parties, seed=seed, **options)
                    for seed in range(1, seeds + 1)
                ]
                first = show(f"epsilon {epsilon:g}  {protocol}, K = {parties}", figures, first)


def run_with_mbi(
    data: str, rules: Schema, epsilon: float, *, max_cells: int, iterations: int, seed: int
) -> list[float]:
    """Run AIM with mbi; give two-way and three-way distance, seconds, and tables measured."""
    began = time.perf_counter()
    real = load(data, schema=rules)
    holder = TrustedAIM(real, schema=rules, max_cells=max_cells, iterations=iterations, seed=seed)
    tables = holder.run(Budget.of(epsilon, delta=1e-9))
    errors = judge(real, holder.synthetic(), binary=False).tvd
    return [errors["2"], errors["3"], time.perf_counter() - began, tables]


def run_protocol(name: str, data: str, **options: Any) -> list[float]:
    """Run a protocol of ours; give the same figures."""
    run = sottovoce.run(name, data, aggregator="masks", **options)
    errors = run.judgement["utility"]["tvd"]
    tables = len((run.model or {}).get("rounds", ()))
    return [errors["2"], errors["3"], run.report["seconds"], tables]


def show(title: str, figures: list[list[float]], first: float) -> float:
    """Print the means of all seeds, and give the distance that ratios refer to."""
    two_way, three_way, seconds, tables = np.mean(figures, axis=0)
    deviation = np.std([row[0] for row in figures], ddof=1) if len(figures) > 1 else 0.0
    first = first or two_way
    print(
        f"{title:40s} {two_way:.4f} ({deviation:.4f}) / {three_way:.4f}  {seconds:6.1f} s"
        f"  {tables:5.1f} tables  {two_way / first:5.2f} times",
        flush=True,
    )
    return first


if __name__ == "__main__":
    main()
