"""Models of all pairs: factors of correlations, and the mean of several fits and estimates."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from sottovoce.curator.latent_classes import LatentClasses
from sottovoce.curator.marginal import Marginal, Numbers
from sottovoce.curator.pairs import (
    Evidence,
    NoisySingle,
    batches_of,
    correlations,
    estimate,
    estimate_all,
    models,
    nested_groups,
)
from sottovoce.curator.pairs.correlations import Correlations, functions_of
from sottovoce.curator.pairs.factors import factor_tables
from sottovoce.curator.pairs.shrinkage_by_contrasts import shrink_by_contrasts
from sottovoce.privacy import Domain

Tables = dict[tuple[str, ...], Numbers]


def mixture(sizes: dict[str, int], *, seed: int, classes: int = 2) -> tuple[Tables, Tables]:
    """Draw attributes that depend on a hidden class alone: single attributes, and pairs."""
    generator = np.random.default_rng(seed)
    weights = generator.dirichlet(np.full(classes, 5.0))
    given = {name: generator.dirichlet(np.ones(size), classes).T for name, size in sizes.items()}
    singles: Tables = {(name,): table @ weights for name, table in given.items()}
    return singles, {(a, b): (given[a] * weights) @ given[b].T for a, b in combinations(sizes, 2)}


def evidence_of(singles: Tables, *, first: int) -> list[Evidence]:
    """Group labels, with nothing measured yet."""
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


@pytest.mark.parametrize(("labels", "first"), [(2, 1), (3, 1), (7, 1), (16, 2), (90, 2)])
def test_functions_of_labels_are_uncorrelated_and_constant_in_groups(
    labels: int, first: int
) -> None:
    """The referee enumerates the labels. As many functions as groups but one are constant."""
    shares = np.random.default_rng(labels).dirichlet(np.ones(labels))
    groups = nested_groups(shares, first=first)
    functions = functions_of(shares, groups)
    values = functions.values
    assert values.shape == (labels, labels - 1)
    assert shares @ values == pytest.approx(np.zeros(labels - 1), abs=1e-6)
    assert (values.T * shares) @ values == pytest.approx(np.eye(labels - 1), abs=1e-5)
    assert (np.diff(functions.steps) >= 0).all()
    for step, members in enumerate(groups):
        constant = values[:, functions.steps <= step]
        assert constant.shape[1] == members.max()
        for group in range(int(members.max()) + 1):
            inside = constant[members == group]
            assert inside == pytest.approx(np.tile(inside[0], (len(inside), 1)))


@pytest.mark.parametrize("finest", [True, False])
@pytest.mark.parametrize("size", [2, 7])
def test_correlations_are_those_of_the_tables(size: int, finest: bool) -> None:
    """Without noise they are the sums over all cells, and no pair is taken for another.

    Attributes of other sizes put pairs into several batches, in another order than attributes.
    """
    sizes = {"a": 5, "b": size, "c": 3, "d": size, "e": 5}
    singles, pairs = mixture(sizes, seed=size)
    evidence = evidence_of(singles, first=1)
    generator = np.random.default_rng(1)
    measure(evidence, pairs, deviation=1e-7, generator=generator, finest=finest)
    known = Correlations.of(evidence, {name: shares for (name,), shares in singles.items()})
    values = known.values
    assert values == pytest.approx(values.T)
    assert known.variances == pytest.approx(known.variances.T)
    for pair, table in pairs.items():
        left, right = (known.functions[name] for name in pair)
        block = tuple(known.places[name] for name in pair)
        expected = left.values.T @ table @ right.values
        is_known = known.is_known[block]
        assert values[block][is_known] == pytest.approx(expected[is_known], abs=1e-4)
        coarse = np.outer(left.steps == 0, right.steps == 0)
        assert is_known.all() if finest else (is_known == coarse).all()
        own = known.is_known[block[0], block[0]]
        assert not own.any()


def test_the_noise_of_correlations_is_that_of_their_cells() -> None:
    """Over 400 draws their variances are within a quarter of those that are claimed.

    A variance of 400 draws has a deviation of 7 per cent. For 48 numbers the chance that one is off
    by more is below one in ten thousand.
    """
    singles, pairs = mixture({"a": 4, "b": 5, "c": 9}, seed=4)
    shares = {name: values for (name,), values in singles.items()}
    drawn = []
    for seed in range(400):
        evidence = evidence_of(singles, first=1)
        generator = np.random.default_rng([4, seed])
        measure(evidence, pairs, deviation=0.01, generator=generator)
        known = Correlations.of(evidence, shares)
        drawn.append(known.values)
    inside = known.is_known
    variances = np.var(drawn, axis=0)
    assert variances[inside] == pytest.approx(known.variances[inside], rel=0.25)


def test_factors_tell_of_a_pair_that_was_not_measured() -> None:
    """Ten attributes depend on a class: the pair that was left out is .2 away from independence."""
    sizes = {f"x{index}": 2 + index % 3 for index in range(10)}
    singles, pairs = mixture(sizes, seed=5)
    shares = {name: values for (name,), values in singles.items()}
    missing = max(
        pairs, key=lambda pair: distance(pairs[pair], np.outer(*(shares[name] for name in pair)))
    )
    product = np.outer(*(shares[name] for name in missing))
    evidence = evidence_of(singles, first=1)
    generator = np.random.default_rng(5)
    measure(evidence, pairs, deviation=0.002, generator=generator, left_out=missing)
    table = by_pair(evidence, factor_tables(evidence, shares))[missing]
    assert distance(pairs[missing], product) > 0.2
    assert distance(pairs[missing], table) < 0.05
    assert table.sum(axis=1) == pytest.approx(shares[missing[0]], abs=1e-3)
    assert table.sum(axis=0) == pytest.approx(shares[missing[1]], abs=1e-3)


def test_a_model_knows_nothing_of_its_own_pair() -> None:
    """Of two attributes alone nothing else tells, so their table is the product of their shares."""
    singles, pairs = mixture({"a": 3, "b": 4}, seed=16)
    shares = {name: values for (name,), values in singles.items()}
    evidence = evidence_of(singles, first=1)
    measure(evidence, pairs, deviation=0.001, generator=np.random.default_rng(16))
    ((table,),) = factor_tables(evidence, shares)
    product = np.outer(shares["a"], shares["b"])
    assert distance(pairs["a", "b"], product) > 0.1
    assert table == pytest.approx(product, abs=1e-9)


def test_independent_attributes_have_no_factors() -> None:
    """Noise of .05 in each of 4 cells is no dependence: tables stay near the products."""
    sizes = {f"x{index}": 2 for index in range(12)}
    singles, pairs = mixture(sizes, seed=7, classes=1)
    shares = {name: values for (name,), values in singles.items()}
    evidence = evidence_of(singles, first=1)
    measure(evidence, pairs, deviation=0.05, generator=np.random.default_rng(7))
    tables = by_pair(evidence, factor_tables(evidence, shares))
    assert np.mean([distance(tables[pair], pairs[pair]) for pair in pairs]) < 0.01


def test_what_only_groups_show_is_even_within_them() -> None:
    """A table over the product of its margins is constant in the groups that were measured."""
    sizes = {f"x{index}": 9 for index in range(6)}
    singles, pairs = mixture(sizes, seed=8)
    shares = {name: values for (name,), values in singles.items()}
    evidence = evidence_of(singles, first=1)
    measure(evidence, pairs, deviation=0.001, generator=np.random.default_rng(8), finest=False)
    ranges = list[float]()
    for part, tables in zip(evidence, factor_tables(evidence, shares), strict=True):
        for place, (left, right) in enumerate(part.batch.pairs):
            ratio = tables[place] / np.outer(shares[left], shares[right])
            rows, columns = (part.batch.groups[0][side][place] for side in (0, 1))
            first = [np.unique(each, return_index=True)[1] for each in (rows, columns)]
            coarse = ratio[np.ix_(*first)]
            assert ratio == pytest.approx(coarse[np.ix_(rows, columns)], rel=1e-6)
            ranges.append(np.ptp(coarse))
    assert max(ranges) > 0.1


@pytest.mark.parametrize(("most", "per_attribute"), [(100, 15), (47, 7), (30, 3), (12, 2), (1, 1)])
def test_many_functions_are_bounded_from_fine_to_coarse(
    most: int, per_attribute: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Six attributes of 16 labels have 90 functions, 42 in 8 groups, and 18 in 4.

    If not even the coarsest are few enough, each attribute keeps as many, but at least one.
    """
    monkeypatch.setattr(correlations, "MAX_FUNCTIONS", most)
    sizes = {f"x{index}": 16 for index in range(6)}
    _, pairs = mixture(sizes, seed=9)
    shares = dict.fromkeys(sizes, np.full(16, 1 / 16))
    singles: Tables = {(name,): values for name, values in shares.items()}
    evidence = evidence_of(singles, first=2)
    measure(evidence, pairs, deviation=0.001, generator=np.random.default_rng(9))
    known = Correlations.of(evidence, shares)
    assert [len(each.steps) for each in known.functions.values()] == [per_attribute] * 6
    assert len(known.values) == 6 * per_attribute
    for part, tables in zip(evidence, factor_tables(evidence, shares), strict=True):
        assert tables.shape == part.batch.shape(part.batch.finest)
        assert (tables >= 0).all()


def test_a_pair_counts_by_what_was_measured_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells with the share c of n records have the variance c / n: counts are in proportion to n.

    The tables of four fits are averaged, but with many labels there is one.
    """
    singles, pairs = mixture({"a": 2, "b": 2, "c": 2}, seed=10)
    evidence = evidence_of(singles, first=1)
    (part,) = evidence
    for place, precision in enumerate((400.0, 100.0)):
        part.add(place, part.batch.finest, pairs[part.batch.pairs[place]], precision)
    seen: list[dict[tuple[str, ...], float]] = []

    def fitted(*_: object, **options: Any) -> LatentClasses:
        seen.append(options["counts"])
        share = len(seen) / 10
        halves = {name: np.array([[share], [1 - share]]) for name in "abc"}
        return LatentClasses(np.ones(1), halves)

    monkeypatch.setattr(models, "latent_classes", fitted)
    domain = Domain(dict.fromkeys("abc", ("0", "1")))
    marginals = {pair: Marginal(pair, table) for pair, table in pairs.items()}
    generator = np.random.default_rng(1)
    (tables,) = models.class_tables(domain, evidence, marginals, generator=generator)
    assert len(seen) == 4
    counts = [seen[0][pair] for pair in part.batch.pairs]
    assert counts == pytest.approx([400 / 250 + 0.05, 100 / 250 + 0.05, 0.05])
    fits = [np.array([share, 1 - share]) for share in (0.1, 0.2, 0.3, 0.4)]
    expected = np.mean([np.outer(fit, fit) for fit in fits], axis=0)
    assert tables == pytest.approx(np.stack([expected] * 3))
    monkeypatch.setattr(models, "MANY_LABELS", 5)
    models.class_tables(domain, evidence, marginals, generator=generator)
    assert len(seen) == 5


def test_the_published_estimate_is_the_mean_of_one_for_each_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And it has the margins of its attributes; a plan's estimate has all models at once."""
    sizes = {"a": 3, "b": 4, "c": 3, "d": 2}
    singles, pairs = mixture(sizes, seed=11)
    shares = {name: values for (name,), values in singles.items()}
    evidence = evidence_of(singles, first=1)
    measure(evidence, pairs, deviation=0.02, generator=np.random.default_rng(11))
    made: list[tuple[int, list[Numbers]]] = []

    def noted(
        parts: list[Evidence], centres: list[Numbers], margins: dict[str, Numbers]
    ) -> list[Numbers]:
        tables = shrink_by_contrasts(parts, centres, margins)
        made.append((centres[0].shape[1], tables))
        return tables

    monkeypatch.setattr(estimate, "shrink_by_contrasts", noted)
    domain = Domain({name: tuple(map(str, range(size))) for name, size in sizes.items()})
    result = estimate_all(
        domain,
        {name: NoisySingle(values, 1e6) for name, values in shares.items()},
        evidence,
        generator=np.random.default_rng(1),
        published=True,
    )
    assert [count for count, _ in made] == [2, 5, 5, 5]
    means = [
        np.mean(tables, axis=0) for tables in zip(*(made[i][1] for i in (1, 2, 3)), strict=True)
    ]
    for pair, mean in by_pair(evidence, means).items():
        table = result.tables[pair].values
        assert table == pytest.approx(mean, abs=5e-3)
        assert distance(table, pairs[pair]) < 0.08
    assert sum(map(distance, made[1][1], made[3][1])) > 0.01  # classes and factors differ
