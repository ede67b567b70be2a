"""Beliefs about all pairs, level by level: groups, copulas, shrinkage, singles and plans."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import multivariate_normal, norm

from sottovoce.curator import Marginal
from sottovoce.curator.pairs import (
    Evidence,
    NoisySingle,
    PairEstimate,
    batches_of,
    estimate_all,
    first_halvings,
    nested_groups,
    plan_tables,
    shrink_singles,
)
from sottovoce.curator.pairs.copulas import CORRELATIONS, copula_tables, hermite_integrals
from sottovoce.curator.pairs.error_curves import AMOUNTS
from sottovoce.curator.pairs.groups import MAX_NOISE
from sottovoce.curator.pairs.prices import _Market
from sottovoce.curator.pairs.shrinkage_by_level import HALF, LEARNING_ROUNDS, learn_prior
from sottovoce.curator.pairs.spreads import changes_of_levels, hidden_ratios, spreads_of_levels
from sottovoce.curator.pairs.tree_paths import explained_shares
from sottovoce.privacy import Domain

Numbers = npt.NDArray[np.float64]


def domain_of(**sizes: int) -> Domain:
    return Domain({name: tuple(map(str, range(size))) for name, size in sizes.items()})


def shares_of(size: int, seed: int = 1) -> Numbers:
    return np.asarray(np.random.default_rng(seed).dirichlet(np.ones(size)))


@pytest.mark.parametrize("first", [1, 2])
@pytest.mark.parametrize("size", [2, 3, 5, 16, 40, 100])
def test_groups_are_nested_runs_of_labels(size: int, first: int) -> None:
    levels = nested_groups(shares_of(size), first=first)
    for level, bound in zip(levels, (2**first, 8, 32 if size >= 64 else size, size), strict=True):
        assert len(set(level.tolist())) == min(bound, size) or len(set(level.tolist())) < bound
        assert sorted(level.tolist()) == level.tolist()
        assert set(level.tolist()) == set(range(int(level[-1]) + 1))
    for coarse, fine in pairwise(levels):
        parents = {(int(a), int(b)) for a, b in zip(fine, coarse, strict=True)}
        assert len(parents) == int(fine[-1]) + 1


def test_halves_have_about_equal_mass() -> None:
    """No other cut would be nearer to one half: of all labels, and then of either half."""
    shares = shares_of(30, seed=5)

    def best(start: int, stop: int) -> int:
        half = shares[start:stop].sum() / 2
        return min(range(start + 1, stop), key=lambda cut: abs(shares[start:cut].sum() - half))

    middle = best(0, 30)
    cuts = np.flatnonzero(np.diff(nested_groups(shares, first=2)[0])) + 1
    assert cuts.tolist() == [best(0, middle), middle, best(middle, 30)]
    assert np.flatnonzero(np.diff(nested_groups(shares, first=1)[0])).tolist() == [middle - 1]


@pytest.mark.parametrize("power", [1, 2])
def test_four_groups_come_first_where_noise_is_small(power: int) -> None:
    """The referee draws the noise of all pairs' tables, which share the budget evenly.

    The mean of 20,000 distances deviates by less than .1 per cent; the bound is 1 per cent away.
    """
    pairs, generator = 10, np.random.default_rng(4)
    for distance, halvings in ((0.99 * MAX_NOISE, 2), (1.01 * MAX_NOISE, 1)):
        deviation = distance / np.abs(generator.normal(size=(20_000, 16))).sum(axis=1).mean() * 2
        whole = pairs**power / deviation**2
        assert first_halvings(pairs, table_precision=whole, power=power) == halvings
    assert first_halvings(0, table_precision=1.0, power=power) == 1


def groups_of(**sizes: int) -> dict[str, tuple[npt.NDArray[np.int64], ...]]:
    return {
        name: nested_groups(shares_of(size, seed=place), first=2)
        for place, (name, size) in enumerate(sizes.items())
    }


def test_merging_and_spreading_follow_the_groups() -> None:
    """The referee adds up cells one at a time."""
    groups = groups_of(a=11, b=6, c=2)
    generator = np.random.default_rng(3)
    seen = set()
    for batch in batches_of(groups):
        tables = generator.random(batch.shape(batch.levels - 1))
        for level, step in enumerate(batch.steps):
            merged = batch.merge(tables, start=batch.levels - 1, level=level)
            spread = batch.spread(merged, start=level, level=batch.levels - 1)
            for place, pair in enumerate(batch.pairs):
                seen.add(pair)
                left, right = (groups[name][step] for name in pair)
                expected = np.zeros(merged.shape[1:])
                for i, j in np.ndindex(*tables.shape[1:]):
                    expected[left[i], right[j]] += tables[place, i, j]
                assert merged[place] == pytest.approx(expected)
                for i, j in np.ndindex(*tables.shape[1:]):
                    assert spread[place, i, j] == pytest.approx(expected[left[i], right[j]])
    assert seen == set(combinations("abc", 2))


def test_copulas_agree_with_the_bivariate_normal() -> None:
    """Cells are differences of scipy's distribution function, for |r| up to .8."""
    left, right = shares_of(4), shares_of(3, seed=2)
    integrals = hermite_integrals(left)[None], hermite_integrals(right)[None]
    for r in CORRELATIONS[np.abs(CORRELATIONS) <= 0.8].tolist():
        table = copula_tables(*integrals, np.array([r]))[0, 0]
        rows, columns = (
            np.concatenate([[-8.0], norm.ppf(np.cumsum(each)[:-1]), [8.0]])
            for each in (left, right)
        )
        below = multivariate_normal([0, 0], [[1, r], [r, 1]]).cdf(
            np.stack(np.meshgrid(rows, columns, indexing="ij"), axis=-1)
        )
        expected = np.diff(np.diff(below, axis=0), axis=1)
        assert table == pytest.approx(expected, abs=2e-3)


def test_attributes_are_weighted_by_precision_and_shrunk() -> None:
    noisy = NoisySingle(np.array([0.2, 0.8]), 100.0).pooled(NoisySingle(np.array([0.5, 0.5]), 300))
    assert noisy.precision == 400
    assert noisy.values == pytest.approx([0.425, 0.575])
    sure = shrink_singles({"a": NoisySingle(np.array([0.1, 0.9]), 1e10)})["a"]
    assert sure.shares == pytest.approx([0.1, 0.9], abs=1e-4)
    vague = shrink_singles({"a": NoisySingle(np.array([-0.4, 1.4]), 1e-4)})["a"]
    assert vague.shares == pytest.approx([0.5, 0.5], abs=0.05)


def measured(
    domain: Domain, exact: dict[tuple[str, ...], Numbers], precision: float
) -> list[Evidence]:
    """Measure the finest tables of all pairs."""
    groups = {
        name: nested_groups(np.full(domain.cells((name,)), 1.0 / domain.cells((name,))), first=2)
        for name in domain.attributes
    }
    evidence = [Evidence.none(batch) for batch in batches_of(groups)]
    generator = np.random.default_rng(7)
    for each in evidence:
        for place, pair in enumerate(each.batch.pairs):
            table = exact[pair]
            noisy = table + generator.normal(0, precision**-0.5, table.shape)
            each.add(place, each.batch.levels - 1, noisy, precision)
    return evidence


def chain_tables() -> tuple[Domain, dict[tuple[str, ...], Numbers]]:
    """Three attributes of which b depends on a, and c on nothing."""
    domain = domain_of(a=5, b=5, c=3)
    even = np.full(5, 0.2)
    strong = 0.6 * np.eye(5) / 5 + 0.4 * np.outer(even, even)
    third = np.array([0.5, 0.3, 0.2])
    return domain, {
        ("a", "b"): strong,
        ("a", "c"): np.outer(even, third),
        ("b", "c"): np.outer(even, third),
    }


@pytest.mark.parametrize("precision", [1e10, 1e-3])
def test_a_pair_is_estimated_as_far_as_its_noise_allows(precision: float) -> None:
    """Without noise the estimate is what was measured; with nothing but noise, the product."""
    domain, exact = chain_tables()
    singles = {
        "a": NoisySingle(np.full(5, 0.2), 1e10),
        "b": NoisySingle(np.full(5, 0.2), 1e10),
        "c": NoisySingle(np.array([0.5, 0.3, 0.2]), 1e10),
    }
    estimate = estimate_all(
        domain,
        singles,
        measured(domain, exact, precision),
        generator=np.random.default_rng(1),
    )
    expected = exact["a", "b"] if precision > 1 else np.full((5, 5), 0.04)
    assert estimate.tables["a", "b"].values == pytest.approx(expected, abs=2e-3)
    for pair, table in estimate.tables.items():
        for axis, name in enumerate(pair):
            margin = table.values.sum(axis=1 - axis)
            assert margin == pytest.approx(estimate.singles[name].shares, abs=1e-6)


def test_evidence_of_two_levels_is_pooled_by_precision() -> None:
    """A coarse cell's precision adds up: its own, and the finest cells' over their number."""
    (batch,) = batches_of(groups_of(a=6, b=6))
    evidence = Evidence.none(batch)
    fine = np.arange(36.0).reshape(6, 6) / 630
    last = batch.levels - 1
    evidence.add(0, last, fine, 8.0)
    coarse = np.full((4, 4), 1 / 16)
    evidence.add(0, 0, coarse, 3.0)
    values, precisions = evidence.pooled(0)
    merged = batch.merge(fine[None], start=last, level=0)[0]
    cells = batch.merge(np.ones((1, 6, 6)), start=last, level=0)[0]
    assert precisions[0] == pytest.approx(3 + 8 / cells)
    assert values[0] == pytest.approx((3 * coarse + 8 / cells * merged) / (3 + 8 / cells))
    _, finest = evidence.pooled(last)
    assert finest[0] == pytest.approx(np.full((6, 6), 8.0))


@pytest.mark.parametrize("power", [1, 2])
def test_a_plan_spends_the_budget_where_dependence_is_open(power: int) -> None:
    """The budget is spent whole, and what is open gets more than what is sure.

    With this precision no model explains the strong pair as well as its own table would.
    """
    domain, exact = chain_tables()
    singles = {
        name: NoisySingle(
            exact["a", "b"].sum(axis=1) if name != "c" else np.array([0.5, 0.3, 0.2]), 1e9
        )
        for name in domain.attributes
    }
    evidence = measured(domain, exact, 1e4)
    estimate = estimate_all(domain, singles, evidence, generator=np.random.default_rng(1))
    plan = plan_tables(estimate.singles, evidence, estimate, table_precision=1e4, power=power)
    total = sum(plan.singles.values()) + sum(plan.pairs.values())
    assert total == pytest.approx(1.0)
    by_pair = {pair: share for (pair, _), share in plan.pairs.items()}
    assert max(by_pair, key=lambda pair: by_pair[pair]) == ("a", "b")
    assert by_pair["a", "b"] > 0.5
    richer = plan_tables(estimate.singles, evidence, estimate, table_precision=1e7, power=power)
    assert richer.distance < plan.distance


def test_paths_of_strong_pairs_explain_others() -> None:
    """In a chain a - b - c the correlation of a and c is the product of the two others."""
    noisy = {name: NoisySingle(np.array([0.5, 0.5]), 1e9) for name in "abcd"}
    singles = shrink_singles(noisy)

    def pair(r: float) -> Numbers:
        return np.array([[1 + r, 1 - r], [1 - r, 1 + r]]) / 4

    def information(r: float) -> float:
        table = pair(r)
        return float((table * np.log(table / 0.25)).sum())

    strengths = {
        ("a", "b"): 0.8,
        ("b", "c"): 0.6,
        ("a", "c"): 0.5,
        ("c", "d"): 0.2,
        ("a", "d"): 0.1,
        ("b", "d"): 0.0,
    }
    tables: dict[tuple[str, ...], Marginal] = {
        names: Marginal(names, pair(r)) for names, r in strengths.items()
    }
    explained = explained_shares(PairEstimate(singles, [], [], [], tables))
    r = {names: np.sqrt(1 - np.exp(-2 * information(r))) for names, r in strengths.items()}
    assert set(explained) == {("a", "c"), ("a", "d"), ("b", "d")}
    assert explained["a", "c"] == pytest.approx(
        min(1, r["a", "b"] * r["b", "c"] / r["a", "c"]), rel=1e-4
    )
    whole = r["a", "b"] * r["b", "c"] * r["c", "d"]
    assert explained["a", "d"] == pytest.approx(min(1, whole / r["a", "d"]), rel=1e-3)
    assert explained["b", "d"] == 1.0


def test_before_anything_is_known_less_noise_means_finer_tables() -> None:
    groups = groups_of(a=16, b=16, c=16)
    singles = shrink_singles(
        {name: NoisySingle(shares_of(16, seed=place), 1e8) for place, name in enumerate(groups)}
    )
    evidence = [Evidence.none(batch) for batch in batches_of(groups)]
    levels = []
    for table_precision in (1e3, 1e8):
        plan = plan_tables(singles, evidence, None, table_precision=table_precision, power=1)
        levels.append(max(level for _, level in plan.pairs) if plan.pairs else 0)
    assert levels[0] < levels[1]


def test_what_groups_hide_is_foreseen_by_how_they_differ_from_their_neighbours() -> None:
    """One pair changes at two borders of eight groups, the other a little at each."""
    even = np.full(64, 1 / 64)
    slope = np.linspace(-1, 1, 8)
    hills = np.array([1.0, 1, -1, -1, -1, -1, 1, 1])
    singles = {name: NoisySingle(even, 1e12) for name in "abcd"}
    (batch,) = batches_of({name: nested_groups(even, first=2) for name in singles})
    evidence = Evidence.none(batch)
    for pair, signs in ((("a", "b"), slope), (("c", "d"), hills)):
        table = (1 + 0.4 * np.outer(signs, signs)) / 64
        evidence.add(batch.pairs.index(pair), 1, table, 1e9)
    domain = domain_of(a=64, b=64, c=64, d=64)
    estimate = estimate_all(
        domain, singles, [evidence], generator=np.random.default_rng(1), passes=0
    )
    changes = changes_of_levels(estimate)
    spreads = spreads_of_levels(
        batch,
        estimate.singles,
        levels=estimate.levels[0],
        copula_distances=None,
        ratios=hidden_ratios(estimate, changes),
        changes=changes[0],
    )
    foreseen = [
        HALF * np.sqrt(each.even).sum(axis=1) * (each.weights * np.sqrt(each.values)).sum(axis=1)
        for each in spreads
    ]
    of_slope, of_hills = (batch.pairs.index(pair) for pair in (("a", "b"), ("c", "d")))
    ratio = changes[0][2][of_hills] / changes[0][2][of_slope]
    assert ratio > 3
    assert foreseen[2][of_hills] == pytest.approx(ratio * foreseen[2][of_slope], rel=0.1)


def test_a_sure_table_is_projected_to_its_margins() -> None:
    """With equal noise in all cells the likeliest table with given margins is the nearest one."""
    domain = domain_of(a=2, b=2)
    singles = {
        "a": NoisySingle(np.array([0.5, 0.5]), 1e14),
        "b": NoisySingle(np.array([0.2, 0.8]), 1e14),
    }
    (batch,) = batches_of(
        {name: nested_groups(each.values, first=2) for name, each in singles.items()}
    )
    evidence = Evidence.none(batch)
    measured = np.array([[0.165, 0.355], [0.05, 0.43]])
    evidence.add(0, 0, measured, 1e6)
    estimate = estimate_all(
        domain, singles, [evidence], generator=np.random.default_rng(1), passes=0
    )
    # Of all tables with these margins, M + d [[1, -1], [-1, 1]], that with the best d is nearest.
    product, sign = np.outer([0.5, 0.5], [0.2, 0.8]), np.array([[1, -1], [-1, 1]])
    nearest = product + ((measured - product) * sign).sum() / 4 * sign
    assert estimate.tables["a", "b"].values == pytest.approx(nearest, abs=2e-4)


def test_the_prior_of_spreads_is_the_mean_posterior_of_all_pairs() -> None:
    """The reference goes through pairs one by one."""
    likelihoods = np.random.default_rng(7).random((30, 3, 4)) ** 4
    prior = np.full((3, 4), 1 / 12)
    for _ in range(LEARNING_ROUNDS):
        posteriors = [prior * one / (prior * one).sum() for one in likelihoods]
        prior = np.mean(posteriors, axis=0)
    learnt = learn_prior([likelihoods[:10], likelihoods[10:]])
    assert learnt == pytest.approx(prior, abs=1e-12)
    assert learn_prior([likelihoods[:0]]) == pytest.approx(np.full((3, 4), 1 / 12))


def test_a_finest_table_is_worth_what_both_attributes_gain_by_it() -> None:
    """The reference tries each level and amount of each pair; sizes differ on both sides."""
    singles = shrink_singles(
        {
            name: NoisySingle(shares_of(size, seed=size), 100.0)
            for name, size in {"a": 2, "b": 3, "c": 5, "d": 3}.items()
        }
    )
    evidence = [
        Evidence.none(batch)
        for batch in batches_of(
            {name: nested_groups(one.shares, first=2) for name, one in singles.items()}
        )
    ]
    generator = np.random.default_rng(3)
    errors = [
        np.sort(generator.random((len(part.batch.pairs), part.batch.levels + 1, len(AMOUNTS))))[
            :, :, ::-1
        ]
        * 1e-5
        for part in evidence
    ]
    precision, price = 1e5, 0.02
    market = _Market(singles, evidence, errors, table_precision=precision, power=1)
    market.demand(price)  # attributes learn what they are worth
    worth = dict(zip(market.names, market._slopes.tolist(), strict=True))
    more = dict(zip(market.names, market._from_pairs + market._from_singles, strict=True))

    def error(name: str, extra: float = 0.0) -> float:
        single, size = singles[name], len(singles[name].shares)
        total = single.precision + more[name] + extra
        return float((HALF * size) ** 2 * single.spread / (1 + single.spread * total))

    choices = []
    for part, table in zip(evidence, errors, strict=True):
        for (left, right), of_pair in zip(part.batch.pairs, table, strict=True):
            both, options = error(left) + error(right), {}
            for level in range(part.batch.levels):
                for place, amount in enumerate(AMOUNTS.tolist()):
                    cost = np.sqrt(both + of_pair[level + 1, place]) + price * amount
                    if level == part.batch.finest:
                        for name, other in ((left, right), (right, left)):
                            gain = precision * amount / len(singles[other].shares)
                            cost -= worth[name] * (error(name) - error(name, gain))
                    options[level, amount] = cost
            best = min(options, key=lambda option: options[option])
            idle = np.sqrt(both + of_pair[0, 0])
            choices.append(best[1] if options[best] < idle else 0.0)
    amounts = market._pairs_take(price)[1]
    assert amounts.tolist() == pytest.approx(choices)
    assert len(set(choices)) > 2
