"""Constants that were chosen by looking, each chosen on all tables but one and tried on that one.

    python benchmarks/leave_one_out.py FILE FILE ... [protocol=dp-subn] [constants=NAME,...]
                                       [epsilon=0.2,0.4,0.8,1.6] [seeds=1] [bins=16]

For each constant the script replaces the value of the code by smaller and larger ones, and prints
the two-way distance relative to that with the value of the code, as a geometric mean over epsilons
and seeds. Then it chooses the best value on all tables but one, and prints it with the ratio on
that one. If the ratios are near 1, no table decides the constants.

`dp-subn` is run with three parties. For `adaptive-pairs` the sums of three parties are simulated
(`simulated_pairs`).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations, product
from math import inf
from pathlib import Path
from types import ModuleType
from typing import Any, Final
from unittest.mock import patch

import numpy as np
import pandas as pd
from best_table import binned
from simulated_pairs import coded, simulated_distances

import sottovoce
from sottovoce.curator.pairs import groups, neighbouring_labels, planning, spreads
from sottovoce.protocols.adaptive_pairs import choices, protocol, rounds
from sottovoce.protocols.dp_subn import edge_choice, edge_plan

PARTIES: Final = 3


@dataclass(frozen=True)
class Constant:
    """A constant of a module, and other values to try in its place."""

    module: ModuleType
    name: str
    others: tuple[Any, ...]
    unit: str = ""
    """The key of a constant that has a value for each unit of budgets."""

    @property
    def usual(self) -> object:
        """The value of the code."""
        value: object = getattr(self.module, self.name)
        return value[self.unit] if self.unit and isinstance(value, Mapping) else value

    def replaced(self, value: object) -> object:
        """Give the object to put in the constant's place."""
        return {**getattr(self.module, self.name), self.unit: value} if self.unit else value


CONSTANTS: Final[Mapping[str, tuple[Constant, ...]]] = {
    "dp-subn": (
        Constant(edge_choice, "JOINED", (0.25, 0.8)),
        Constant(edge_choice, "WORTH", (0.5, 1.1)),
        Constant(edge_plan, "CHOICE_LOSS", (1.0, 2.5)),
    ),
    "adaptive-pairs": (
        Constant(rounds, "FIRST", (0.01, 0.1), unit="rho"),
        Constant(rounds, "GROWTH", (1.0, 2.0), unit="rho"),
        Constant(protocol, "ROUNDS", (4, 6), unit="rho"),
        Constant(groups, "FURTHER_HALVINGS", ((3,), (4,), (3, 4, 5))),
        Constant(groups, "MAX_NOISE", (0.0, 0.1, 0.5)),
        Constant(choices, "SHARE", (0.02, 0.1)),
        Constant(choices, "MAX_NOISE", (0.0, 0.3, 2.0)),
        Constant(choices, "NAMED", ((8, 2), (2, 1))),
        Constant(choices, "MIN_TABLE_NOISE", (0.0, 0.3)),
        Constant(planning, "MAX_NAMED_SHARE", (0.15, 0.5)),
        Constant(planning, "EXPLAINED", (0.5, 1.0)),
        Constant(spreads, "LIKELIHOOD_SHARE", (0.5, 1.0)),
        Constant(spreads, "USUAL_RATIO", (0.9, 1.8)),
        Constant(spreads, "CHANGES", (2.0, 8.0)),
        Constant(spreads, "MIN_CHANGE", (inf,)),  # what groups hide from distances alone
        Constant(neighbouring_labels, "MIN_LABELS", (10, 40, inf)),  # neighbours tell nothing
        Constant(neighbouring_labels, "FEW", (0.01, 0.2)),
        Constant(spreads, "FIRST_DISTANCES", ((0.003, 0.01, 0.03), (0.03, 0.1, 0.3))),
    ),
}


def two_way_distance(real: pd.DataFrame, rows: pd.DataFrame) -> float:
    """Compute the average total variation distance of all pairs of attributes."""
    labels = {name: np.unique(real[name]) for name in real.columns}
    codes = [
        {name: np.searchsorted(labels[name], table[name].astype(str)) for name in real.columns}
        for table in (real, rows)
    ]
    distances = []
    for first, second in combinations(real.columns, 2):
        size = len(labels[second])
        cells = len(labels[first]) * size
        shares = [
            np.bincount(code[first] * size + code[second], minlength=cells) / len(code[first])
            for code in codes
        ]
        distances.append(np.abs(shares[0] - shares[1]).sum() / 2)
    return float(np.mean(distances))


def distance(name: str, frame: pd.DataFrame, *, epsilon: float, seed: int) -> float:
    """Run or simulate a protocol; return its two-way distance."""
    if name == "adaptive-pairs":
        domain, codes = coded(frame)
        pairs = simulated_distances(domain, codes, epsilon=epsilon, parties=PARTIES, seed=seed)
        return float(np.mean([*pairs.values()]))
    run = sottovoce.run(
        name,
        frame,
        parties=PARTIES,
        epsilon=epsilon,
        seed=seed,
        aggregator="masks",
        labels=True,
        judge=False,
    )
    assert run.synthetic is not None
    return two_way_distance(frame, run.synthetic)


def log_distances(
    name: str, tables: Mapping[str, pd.DataFrame], *, epsilons: list[float], seeds: int
) -> dict[str, float]:
    """Average the logarithms of each table's distances."""
    return {
        title: float(
            np.mean(
                [
                    np.log(distance(name, frame, epsilon=epsilon, seed=seed))
                    for epsilon, seed in product(epsilons, range(seeds))
                ]
            )
        )
        for title, frame in tables.items()
    }


def print_left_out(constant: Constant, logs: Mapping[object, Mapping[str, float]]) -> None:
    """Choose a value without each table in turn, and print what it costs there."""
    ratios, texts = [], []
    for left_out in logs[constant.usual]:
        means = {
            value: np.mean([log for name, log in ratios.items() if name != left_out])
            for value, ratios in logs.items()
        }
        chosen = min(means, key=lambda value: means[value])
        ratios.append(float(np.exp(logs[chosen][left_out])))
        texts.append(f"{left_out} {chosen}: {ratios[-1]:.3f}")
    print(
        f"{constant.name}, chosen without a table, on that one: {np.mean(ratios):.3f} on average; "
        + "  ".join(texts),
        flush=True,
    )


def main() -> None:
    settings: dict[str, Any] = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    files = [word for word in sys.argv[1:] if "=" not in word]
    if len(files) < 2:
        sys.exit("expected two tables or more, found fewer: name CSV files")
    name = settings.get("protocol", "dp-subn")
    if name not in CONSTANTS:
        sys.exit(f"expected protocol={' or '.join(CONSTANTS)}, found {name}")
    epsilons = [float(text) for text in settings.get("epsilon", "0.2,0.4,0.8,1.6").split(",")]
    seeds, bins = int(settings.get("seeds", 1)), int(settings.get("bins", 16))
    chosen = settings.get("constants", ",".join(part.name for part in CONSTANTS[name])).split(",")
    tables = {Path(file).name: binned(pd.read_csv(file), bins=bins) for file in files}
    usual = log_distances(name, tables, epsilons=epsilons, seeds=seeds)
    figures = "  ".join(f"{title} {np.exp(log):.4f}" for title, log in usual.items())
    print(f"distances with the values of the code: {figures}", flush=True)
    for constant in CONSTANTS[name]:
        if constant.name not in chosen:
            continue
        logs: dict[object, dict[str, float]] = {constant.usual: dict.fromkeys(tables, 0.0)}
        for value in constant.others:
            with patch.object(constant.module, constant.name, constant.replaced(value)):
                after = log_distances(name, tables, epsilons=epsilons, seeds=seeds)
            logs[value] = {title: after[title] - usual[title] for title in tables}
            figures = "  ".join(f"{title} {np.exp(log):.3f}" for title, log in logs[value].items())
            mean = np.exp(np.mean([*logs[value].values()]))
            print(f"{constant.name} = {value}: {mean:.3f} on average; {figures}", flush=True)
        print_left_out(constant, logs)


if __name__ == "__main__":
    main()
