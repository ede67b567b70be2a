"""What `adaptive-pairs` gains if labels without an order stand in another one.

    python benchmarks/label_orders.py FILE=ATTRIBUTE,ATTRIBUTE,... [made_up=NUMBER,...] [seeds=2]
                                      [epsilon=0.4,1] [parties=3] [pair=ATTRIBUTE*ATTRIBUTE]

The protocol groups neighbouring labels, so it matters in which order they stand. The script puts
the labels of the named attributes into other orders before the sums of some parties are simulated
(`simulated_pairs`), and prints two-way distances, divided by those of the order as it comes. Of a
made-up table (`made_up_tables`) all attributes are reordered. With `pair` the distance of this pair
is printed as well.

    as they come    in the order of the numbers, or of the alphabet
    at random       by chance
    by frequency    the most frequent label first, so that frequent labels are groups of their own
    by dependence   labels stand together that go with the same labels of all other attributes: by
                    the first axis of a correspondence analysis of the exact tables

The last two know the exact tables, and cost no budget here. So they are bounds: a protocol would
have to learn the order from noisy sums.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd
from best_table import binned
from made_up_tables import made_up_table
from simulated_pairs import Codes, coded, simulated_distances

from sottovoce.privacy import Domain

Places = npt.NDArray[np.int64]


def by_chance(domain: Domain, codes: Codes, name: str) -> Places:
    """Shuffle labels."""
    del codes
    return np.random.default_rng(22).permutation(domain.cells((name,)))


def by_frequency(domain: Domain, codes: Codes, name: str) -> Places:
    """Sort labels by how often they occur."""
    counts = np.bincount(codes[name], minlength=domain.cells((name,)))
    return np.argsort(-counts, kind="stable")


def by_dependence(domain: Domain, codes: Codes, name: str) -> Places:
    """Sort labels by the first axis of a correspondence analysis with all other attributes."""
    size, rows = domain.cells((name,)), len(codes[name])
    shares = np.maximum(np.bincount(codes[name], minlength=size) / rows, 1e-12)
    parts = []
    for other in domain.attributes:
        if other == name:
            continue
        width = domain.cells((other,))
        counts = np.bincount(codes[name] * width + codes[other], minlength=size * width)
        table = counts.reshape(size, width) / rows
        product = np.outer(shares, np.maximum(table.sum(axis=0), 1e-12))
        parts.append((table - product) / np.sqrt(product))
    axis = np.linalg.svd(np.concatenate(parts, axis=1), full_matrices=False)[0][:, 0]
    return np.argsort(axis / np.sqrt(shares), kind="stable")


ORDERS: Final[Mapping[str, Callable[[Domain, Codes, str], Places] | None]] = {
    "as they come": None,
    "at random": by_chance,
    "by frequency": by_frequency,
    "by dependence": by_dependence,
}


def reordered(
    domain: Domain,
    codes: Codes,
    names: Sequence[str],
    order: Callable[[Domain, Codes, str], Places] | None,
) -> tuple[Domain, Codes]:
    """Put the labels of these attributes into an order."""
    labels, numbers = dict(domain.labels), dict(codes)
    for name in names if order is not None else ():
        places = order(domain, codes, name)  # type: ignore[misc]
        labels[name] = tuple(domain.labels[name][place] for place in places.tolist())
        numbers[name] = np.argsort(places)[codes[name]]
    return Domain(labels), numbers


def main() -> None:
    settings: dict[str, Any] = dict(word.split("=", 1) for word in sys.argv[1:])
    seeds, parties = int(settings.pop("seeds", 2)), int(settings.pop("parties", 3))
    epsilons = [float(text) for text in settings.pop("epsilon", "0.4,1").split(",")]
    pair = tuple(settings.pop("pair", "").split("*"))
    tables = []
    for number in filter(None, settings.pop("made_up", "").split(",")):
        domain, codes = coded(made_up_table(int(number)).frame)
        tables.append((f"table {number}", domain, codes, list(domain.attributes)))
    for file, names in settings.items():
        domain, codes = coded(binned(pd.read_csv(file), bins=16))
        tables.append((Path(file).name, domain, codes, names.split(",")))
    if not tables:
        sys.exit("expected a table, found none: FILE=ATTRIBUTE,... or made_up=NUMBER")
    for title, domain, codes, names in tables:
        for epsilon in epsilons:
            usual = 0.0
            for order, function in ORDERS.items():
                means, of_pair = [], []
                for seed in range(seeds):
                    of_pairs = simulated_distances(
                        *reordered(domain, codes, names, function),
                        epsilon=epsilon,
                        parties=parties,
                        seed=seed,
                    )
                    means.append(np.mean([*of_pairs.values()]))
                    of_pair.append(of_pairs.get(pair, of_pairs.get(pair[::-1], np.nan)))
                mean = float(np.mean(means))
                usual = usual or mean
                line = f"{title:<14} epsilon {epsilon:<4} {order:<14} {mean:.4f} {mean / usual:.3f}"
                if len(pair) > 1 and not np.isnan(of_pair[0]):
                    line += f"  {'*'.join(pair)} {np.mean(of_pair):.3f}"
                print(line, flush=True)


if __name__ == "__main__":
    main()
