"""Errors of protocols for users: PrivIncr, NoIncremental, CALM, FT and single attributes.

    python benchmarks/local.py [FILE] [SEEDS] [schema=FILE] [users=1500000,...] [epsilon=1,2,4,8]
                               [protocols=privincr,calm,...] [classify=LABEL,...] [simulate=counts]
                               [synthetic_rows=300000]

Variants are as printed and corrected. The script prints the average total variation distance of
published two-way marginals as a mean over seeds with its standard deviation, the distances of the
synthetic table if there is one, bits a user, seconds of the whole run, and ratios to the first.
With classify it also prints errors of a linear support vector machine that learnt from the
synthetic table, beside one that learnt from the real one. Users are drawn from the table with
replacement. With several numbers of users all is measured for each of them.
"""

from __future__ import annotations

import sys
from itertools import product
from typing import Any

import numpy as np

import sottovoce

TITLES: dict[str, tuple[str, dict[str, Any]]] = {
    "privincr": ("privincr", {}),
    "privincr-tests": ("privincr", {"learning": "tests"}),
    "privincr-paper": ("privincr", {"mode": "paper"}),
    "privincr-plain": ("privincr", {"mode": "paper", "test": "plain"}),
    "privincr-counts": (
        "privincr",
        {"mode": "paper", "test": "plain", "accumulation": "counts"},
    ),
    "privincr-counts-sub": (
        "privincr",
        {"mode": "paper", "test": "plain", "accumulation": "counts", "projection": "norm-sub"},
    ),
    "no-incremental": ("no-incremental", {}),
    "no-incremental-paper": ("no-incremental", {"mode": "paper"}),
    "no-incremental-counts": ("no-incremental", {"mode": "paper", "accumulation": "counts"}),
    "no-incremental-counts-sub": (
        "no-incremental",
        {"mode": "paper", "accumulation": "counts", "projection": "norm-sub"},
    ),
    "calm": ("calm", {}),
    "calm-paper": ("calm", {"mode": "paper"}),
    "calm-pairs": ("calm", {"mode": "paper", "most_attributes": 2}),
    "calm-3": ("calm", {"mode": "paper", "most_attributes": 3, "most_cells": 700}),
    "calm-4": ("calm", {"mode": "paper", "most_attributes": 4, "most_cells": 2000}),
    "calm-6": ("calm", {"mode": "paper", "most_attributes": 6, "most_cells": 4096}),
    "fourier": ("fourier", {}),
    "one-way-ldp": ("one-way-ldp", {}),
}


def main() -> None:
    settings: dict[str, Any] = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    words = [word for word in sys.argv[1:] if "=" not in word]
    seeds = int(words.pop()) if words and words[-1].isdigit() else 3
    data = words[0] if words else "demo"
    counts = [int(float(word)) for word in settings.pop("users", "1500000").split(",")]
    titles = settings.pop("protocols", ",".join(TITLES)).split(",")
    epsilons = [float(word) for word in settings.pop("epsilon", "1,2,4,8").split(",")]
    targets = [word for word in settings.pop("classify", "").split(",") if word]
    settings = {"simulate": "counts", "synthetic_rows": 300_000} | settings
    for users, epsilon in product(counts, epsilons):
        if epsilon == epsilons[0]:
            print(f"{data}, {users:,} users, {seeds} seeds", flush=True)
        first_distance = 0.0
        for title in titles:
            name, parameters = TITLES[title]
            options = settings | parameters
            if name == "fourier":
                options.pop("synthetic_rows")
            figures: list[list[float]] = []
            errors: list[list[float]] = []
            for seed in range(1, seeds + 1):
                run = sottovoce.run(
                    name, data, epsilon=epsilon, users=users, seed=seed, classify=targets, **options
                )
                seconds = sum(phase["seconds"] for phase in run.report["phases"])
                utility = run.judgement["utility"]
                synthetic = utility.get("tvd_synthetic") or (
                    utility["tvd"] if run.synthetic is not None else {}
                )
                figures.append(
                    [
                        utility["tvd"]["2"],
                        synthetic.get("2", np.nan),
                        synthetic.get("3", np.nan),
                        seconds,
                    ]
                )
                errors.append(
                    [
                        share
                        for row in utility.get("classification", ())
                        for share in (row["synthetic"], row["real"])
                    ]
                )
            two_way, table, three_way, seconds = np.mean(figures, axis=0)
            first_distance = first_distance or two_way
            deviation = np.std([row[0] for row in figures], ddof=1) if seeds > 1 else 0.0
            shares = np.mean(errors, axis=0).tolist() if errors and errors[0] else []
            text = "  wrong " + ", ".join(
                f"{target} {shares[2 * index]:.3f} (real {shares[2 * index + 1]:.3f})"
                for index, target in enumerate(targets)
            )
            print(
                f"epsilon {epsilon:g}  {title:20s} {two_way:.4f} ({deviation:.4f})  "
                f"synthetic {table:.4f} {three_way:.4f}  "
                f"{run.report['communication']['per_user_bits']:6.1f} bits  {seconds:5.1f} s  "
                f"{two_way / first_distance:5.2f} times" + (text if shares else ""),
                flush=True,
            )


if __name__ == "__main__":
    main()
