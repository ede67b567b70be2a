"""The error of CALM, as printed and by default, of FT and of single attributes, from users.

    python benchmarks/calm.py [FILE] [SEEDS] [schema=FILE] [users=1500000] [epsilon=1,2,4,8] [protocols=calm,calm/paper,...]

Prints the average total variation distance of two-way marginals as published, a mean over seeds with the deviation, of the
synthetic table where there is one (two-way and three-way), bits a user, and ratios to the first. Users are drawn from the table
with replacement, their reports' sums from the exact law.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import sottovoce


def main() -> None:
    settings: dict[str, Any] = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    words = [word for word in sys.argv[1:] if "=" not in word]
    seeds = int(words.pop()) if words and words[-1].isdigit() else 3
    data = words[0] if words else "demo"
    users = int(float(settings.pop("users", "1500000")))
    protocols = settings.pop("protocols", "calm,calm/paper,fourier,one-way-ldp").split(",")
    epsilons = [float(one) for one in settings.pop("epsilon", "1,2,4,8").split(",")]
    print(f"{data}, {users:,} users, {seeds} seeds")
    for epsilon in epsilons:
        first = 0.0
        for protocol in protocols:
            name, _, mode = protocol.partition("/")
            own: list[list[float]] = []
            for seed in range(1, seeds + 1):
                run = sottovoce.run(
                    name, data, epsilon=epsilon, users=users, simulate="counts", seed=seed, mode=mode or "rigorous", **settings
                )
                utility = run.report["utility"]
                synthetic = utility.get("tvd_synthetic") or (utility["tvd"] if run.synthetic is not None else {})
                own.append([utility["tvd"]["2"], synthetic.get("2", np.nan), synthetic.get("3", np.nan)])
            two, table, three = np.mean(own, axis=0)
            first = first or two
            deviation = np.std([one[0] for one in own], ddof=1) if seeds > 1 else 0.0
            print(
                f"epsilon {epsilon:g}  {protocol:12s} {two:.4f} ({deviation:.4f})"
                f"  synthetic {table:.4f} {three:.4f}  {run.report['communication']['per_user_bits']:9.1f} bits"
                f"  {two / first:5.2f} times",
                flush=True,
            )


if __name__ == "__main__":
    main()
