"""How much of its claim the choice of an edge uses, over all tables of three binary attributes.

    python benchmarks/choices.py [epsilon=1]

One line for each number of rows, and for each bound on the change of R: that of PrivBayes, and that
of `privacy.sensitivity`. The columns are what some pair of neighbouring tables uses of the claim:

    loss    the largest change of a log-probability, over epsilon
    range   the range of these changes over all candidates, over epsilon
    rho     the largest Renyi divergence of order a over a, for a of 1.001 to 30, over epsilon^2 / 8
"""

from __future__ import annotations

import sys
from itertools import combinations, permutations
from typing import Final

import numpy as np
import numpy.typing as npt

from sottovoce.privacy.sensitivity import dependence_sensitivity

Numbers = npt.NDArray[np.float64]

CELLS: Final = 8
ORDERS: Final = (1.001, 1.5, 2.0, 4.0, 8.0, 30.0)


def main() -> None:
    options = dict(word.split("=", 1) for word in sys.argv[1:])
    epsilon = float(options.get("epsilon", "1"))
    print(f"{'rows':>4} {'bound of R':>22} {'loss':>6} {'range':>6} {'rho':>6}")
    for rows in (4, 6, 8):
        scores = all_scores(rows)
        for name, bound in (
            ("3/n + 2/n^2", 3 / rows + 2 / rows**2),
            ("2/n - 2/n^2", dependence_sensitivity(rows, binary=True)),
        ):
            logs = epsilon * scores / (2 * bound)
            logs -= np.log(np.exp(logs).sum(axis=2, keepdims=True))
            loss = np.ptp(logs, axis=0).max() / epsilon
            spans = [np.ptp(one - other, axis=1).max() for one, other in combinations(logs, 2)]
            rho = max(largest_rho(one, other) for one, other in permutations(logs, 2))
            print(
                f"{rows:4} {name:>12} = {bound:.4f}   {loss:6.3f} {max(spans) / epsilon:6.3f} "
                f"{rho / (epsilon**2 / 8):6.3f}"
            )


def all_scores(rows: int) -> Numbers:
    """Score all pairs, and no edge, in all tables: by the value of one record, and by the others.

    Entries along the first axis are neighbours.
    """
    bars = np.array(list(combinations(range(rows + CELLS - 2), CELLS - 1)))
    ends = np.full((len(bars), 1), rows + CELLS - 2)
    others = np.diff(np.hstack([np.full_like(ends, -1), bars, ends]), axis=1) - 1
    by_record = []
    for record in np.eye(CELLS):
        p = ((others + record) / rows).reshape(-1, 2, 2, 2)
        columns = []
        for left_out in (3, 2, 1):
            joint = p.sum(axis=left_out)
            product = joint.sum(axis=2, keepdims=True) * joint.sum(axis=1, keepdims=True)
            columns.append(np.abs(joint - product).sum(axis=(1, 2)) / 2)
        by_record.append(np.stack([*columns, np.zeros(len(p))], axis=1))
    return np.array(by_record)


def largest_rho(one: Numbers, other: Numbers) -> float:
    """Find the largest Renyi divergence over its order."""
    return max(
        float(np.log(np.exp(order * one - (order - 1) * other).sum(axis=1)).max())
        / (order * (order - 1))
        for order in ORDERS
    )


if __name__ == "__main__":
    main()
