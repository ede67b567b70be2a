"""Made-up attributes that depend on a hidden class, and noisy tables of their pairs, for tests."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from sottovoce.curator.marginal import Numbers
from sottovoce.curator.pairs import Evidence, batches_of, nested_groups

__all__ = ["Tables", "by_pair", "distance", "evidence_of", "measure", "mixture"]

Tables = dict[tuple[str, ...], Numbers]


def mixture(sizes: dict[str, int], *, seed: int, classes: int = 2) -> tuple[Tables, Tables]:
    """Draw attributes that depend on a hidden class alone: single attributes, and pairs."""
    generator = np.random.default_rng(seed)
    weights = generator.dirichlet(np.full(classes, 5.0))
    by_class = {name: generator.dirichlet(np.ones(size), classes).T for name, size in sizes.items()}
    singles: Tables = {(name,): table @ weights for name, table in by_class.items()}
    pairs: Tables = {
        (a, b): (by_class[a] * weights) @ by_class[b].T for a, b in combinations(sizes, 2)
    }
    return singles, pairs


def evidence_of(singles: Tables, *, first: int) -> list[Evidence]:
    """Group the labels of attributes. Nothing is measured yet."""
    groups = {name: nested_groups(shares, first=first) for (name,), shares in singles.items()}
    return [Evidence.none(batch) for batch in batches_of(groups)]


def measure(
    evidence: list[Evidence],
    pairs: Tables,
    *,
    deviation: float,
    generator: np.random.Generator,
    left_out: tuple[str, ...] = (),
    finest: bool = True,
) -> None:
    """Add a noisy table of each pair, label by label or in the coarsest groups."""
    for part in evidence:
        level = part.batch.finest if finest else 0
        for place, pair in enumerate(part.batch.pairs):
            if pair == left_out:
                continue
            table = part.batch.chosen(np.arange(len(part.batch.pairs)) == place).merge(
                pairs[pair][None], start=part.batch.finest, level=level
            )[0]
            noisy = table + generator.normal(0, deviation, table.shape)
            part.add(place, level, noisy, 1 / deviation**2)


def distance(left: Numbers, right: Numbers) -> float:
    return float(np.abs(left - right).sum()) / 2


def by_pair(evidence: list[Evidence], tables: list[Numbers]) -> Tables:
    return {
        pair: table
        for part, of_batch in zip(evidence, tables, strict=True)
        for pair, table in zip(part.batch.pairs, of_batch, strict=True)
    }
