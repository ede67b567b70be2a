"""Laplace and Gaussian noise at the same epsilon: the error of every protocol on secure sums.

    python benchmarks/gaussian_budget.py [TABLE] [EPSILONS] [SEEDS]

TABLE is a path or `demo`. For each protocol and epsilon it prints the average total variation
distance of all pairs with pure noise and with a budget in rho (delta 1e-9), their ratio, and what
Laplace noise of the same variance as the Gaussian run would have cost. The last column is how many
times that is epsilon.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import sottovoce

RUNS: dict[str, tuple[str, int, dict[str, Any]]] = {
    "one-way": ("one-way", 3, {}),
    "noisy-marginals": ("noisy-marginals", 3, {}),
    "dp-subn": ("dp-subn", 3, {}),
    "dp-subn, bits": ("dp-subn", 3, {"attributes": "binary"}),
    "jtree": ("jtree", 4, {}),
    "jtree, one holder": ("jtree", 1, {}),
    "dp-ccbn": ("dp-ccbn", 3, {}),
    "dp-ccbn, one search": ("dp-ccbn", 3, {"search": "oneshot"}),
    "independent": ("independent", 3, {}),
}


def measure(name: str, *, epsilon: float, seeds: int, table: str, delta: float) -> Any:
    """Run a protocol with pure noise (delta 0) or Gaussian noise; give the error and a report."""
    protocol, parties, options = RUNS[name]
    if protocol != "independent":
        options = {**options, "aggregator": "clear", "noise": "gaussian" if delta else "laplace"}
    errors = []
    for seed in range(1, seeds + 1):
        run = sottovoce.run(
            protocol,
            data=table,
            parties=parties,
            epsilon=epsilon,
            delta=delta,
            seed=seed,
            transport="threads",
            **options,
        )
        assert run.judgement is not None
        errors.append(run.judgement["utility"]["tvd"]["2"])
    return sum(errors) / len(errors), run.report["privacy"]["laplace_epsilon"]


def main() -> None:
    warnings.simplefilter("ignore")
    arguments = [*sys.argv[1:], *["demo", ".2,.4,.8,1.6", "3"][len(sys.argv) - 1 :]]
    table, epsilons, seeds = arguments[0], arguments[1].split(","), int(arguments[2])
    heads = ("protocol", "epsilon", "Laplace", "Gaussian", "ratio", "worth epsilon", "times")
    print(f"{heads[0]:<22}" + "".join(f"{head:>14}" for head in heads[1:]))
    for name in RUNS:
        for epsilon in map(float, epsilons):
            pure, _ = measure(name, epsilon=epsilon, seeds=seeds, table=table, delta=0.0)
            error, worth = measure(name, epsilon=epsilon, seeds=seeds, table=table, delta=1e-9)
            worth = worth or epsilon  # where the plan took Laplace noise all the same
            figures = [epsilon, pure, error, error / pure, worth, worth / epsilon]
            print(f"{name:<22}" + "".join(f"{figure:>14.4g}" for figure in figures), flush=True)


if __name__ == "__main__":
    main()
