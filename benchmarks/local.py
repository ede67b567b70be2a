"""The error of what is published from users: PrivIncr, NoIncremental, CALM, FT and single
attributes, as printed and corrected.

    python benchmarks/local.py [FILE] [SEEDS] [schema=FILE] [users=1500000] [epsilon=1,2,4,8]
                               [protocols=privincr,calm,...] [classify=LABEL,...] [simulate=counts]
                               [synthetic_rows=300000]

Prints the average total variation distance of two-way marginals as published, a mean over seeds
with the deviation, of the synthetic table where there is one (two-way and three-way), bits a user,
seconds of the whole run, and ratios to the first; with classify also the share of real people whose
label a linear support vector machine gets wrong that learned from the synthetic table, beside one
that learned from the real one. Users are drawn from the table with replacement.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import sottovoce

TITLES: dict[str, tuple[str, dict[str, Any]]] = {
    "privincr": ("privincr", {}),
    "privincr-tests": ("privincr", {"learning": "tests"}),
    "privincr-paper": ("privincr", {"mode": "paper"}),
    "privincr-plain": ("privincr", {"mode": "paper", "test": "plain"}),
    "no-incremental": ("no-incremental", {}),
    "no-incremental-paper": ("no-incremental", {"mode": "paper"}),
    "calm": ("calm", {}),
    "calm-paper": ("calm", {"mode": "paper"}),
    "fourier": ("fourier", {}),
    "one-way-ldp": ("one-way-ldp", {}),
}


def main() -> None:
    settings: dict[str, Any] = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    words = [word for word in sys.argv[1:] if "=" not in word]
    seeds = int(words.pop()) if words and words[-1].isdigit() else 3
    data = words[0] if words else "demo"
    users = int(float(settings.pop("users", "1500000")))
    titles = settings.pop("protocols", ",".join(TITLES)).split(",")
    epsilons = [float(one) for one in settings.pop("epsilon", "1,2,4,8").split(",")]
    targets = [own for own in settings.pop("classify", "").split(",") if own]
    settings = {"simulate": "counts", "synthetic_rows": 300_000} | settings
    print(f"{data}, {users:,} users, {seeds} seeds")
    for epsilon in epsilons:
        first = 0.0
        for title in titles:
            name, own = TITLES[title]
            given = settings | own
            if name == "fourier":
                given.pop("synthetic_rows")
            found: list[list[float]] = []
            wrong: list[list[float]] = []
            for seed in range(1, seeds + 1):
                run = sottovoce.run(
                    name, data, epsilon=epsilon, users=users, seed=seed, classify=targets, **given
                )
                seconds = sum(phase["seconds"] for phase in run.report["phases"])
                utility = run.judgement["utility"]
                synthetic = utility.get("tvd_synthetic") or (
                    utility["tvd"] if run.synthetic is not None else {}
                )
                found.append(
                    [
                        utility["tvd"]["2"],
                        synthetic.get("2", np.nan),
                        synthetic.get("3", np.nan),
                        seconds,
                    ]
                )
                wrong.append(
                    [
                        share
                        for one in utility.get("classification", ())
                        for share in (one["synthetic"], one["real"])
                    ]
                )
            two, table, three, seconds = np.mean(found, axis=0)
            first = first or two
            deviation = np.std([one[0] for one in found], ddof=1) if seeds > 1 else 0.0
            missed = np.mean(wrong, axis=0).tolist() if wrong and wrong[0] else []
            told = "  wrong " + ", ".join(
                f"{target} {missed[2 * at]:.3f} (real {missed[2 * at + 1]:.3f})"
                for at, target in enumerate(targets)
            )
            print(
                f"epsilon {epsilon:g}  {title:20s} {two:.4f} ({deviation:.4f})  synthetic {table:.4f} {three:.4f}"
                f"  {run.report['communication']['per_user_bits']:6.1f} bits  {seconds:5.1f} s  {two / first:5.2f} times"
                + (told if missed else ""),
                flush=True,
            )


if __name__ == "__main__":
    main()
