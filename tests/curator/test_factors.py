"""Models of all pairs: factors of correlations, and the mean of several fits and estimates."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from noisy_pairs import Tables, by_pair, distance, evidence_of, measure, mixture

from sottovoce.curator.latent_classes import LatentClasses, latent_classes
from sottovoce.curator.marginal import Marginal, Numbers
from sottovoce.curator.pairs import (
    Evidence,
    NoisySingle,
    correlations,
    estimate,
    estimate_all,
    factors,
    models,
    nested_groups,
)
from sottovoce.curator.pairs.correlations import Correlations, functions_of
from sottovoce.curator.pairs.factors import factor_tables
from sottovoce.curator.pairs.shrinkage_by_contrasts import shrink_by_contrasts
from sottovoce.privacy import Domain


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


@pytest.mark.parametrize("place", range(6))
def test_a_rare_label_makes_one_function_noisy(place: int) -> None:
    """Wherever it stands, all functions but one have the noise of usual labels."""
    shares = np.full(6, 0.2)
    shares[place] = 1e-7
    functions = functions_of(shares, nested_groups(shares, first=1))
    noise = np.sort((functions.values**2).sum(axis=0))
    assert (noise[:-1] < 30).all()
    assert noise[-1] > 1e5


def test_correlations_of_groups_use_all_levels_that_show_them() -> None:
    """Groups were measured and labels as well: their sums are pooled by their precision."""
    singles, pairs = mixture({"a": 8, "b": 8}, seed=13)
    shares = {name: values for (name,), values in singles.items()}
    evidence = evidence_of(singles, first=1)
    (part,) = evidence
    generator = np.random.default_rng(13)
    measure(evidence, pairs, deviation=0.02, generator=generator, finest=False)
    measure(evidence, pairs, deviation=0.01, generator=generator)
    correlations = Correlations.of(evidence, shares)
    left, right = (correlations.functions[name] for name in "ab")
    block = correlations.places["a"], correlations.places["b"]
    values, variances = correlations.values[block], correlations.variances[block]
    assert correlations.is_known[block].all()
    for level, step in ((0, 0), (part.batch.finest, 9)):
        tables, precisions = part.pooled(level)
        rows, columns = (groups[0] for groups in part.batch.groups[level])
        spread = tables[0][np.ix_(rows, columns)]
        noise = 1 / precisions[0][np.ix_(rows, columns)]
        # Each group counts once: by the first of its labels.
        firsts = [np.unique(each, return_index=True)[1] for each in (rows, columns)]
        of_left, of_right = left.values[firsts[0]], right.values[firsts[1]]
        cells = np.ix_(*firsts)
        expected = of_left.T @ spread[cells] @ of_right
        expected_noise = of_left.T**2 @ noise[cells] @ of_right**2
        coarse = np.outer(left.steps == 0, right.steps == 0)
        chosen = coarse if step == 0 else ~coarse
        if step:  # only what no coarser level of this batch shows
            chosen &= np.maximum.outer(left.steps, right.steps) > part.batch.steps[level - 1]
        assert chosen.any()
        assert values[chosen] == pytest.approx(expected[chosen])
        assert variances[chosen] == pytest.approx(expected_noise[chosen])


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


@pytest.mark.parametrize("attributes", [2, 3, 4, 6, 9])
def test_a_model_knows_nothing_of_its_own_pair(attributes: int) -> None:
    """What a pair's own table says changes the predictions of others, and not its own."""
    sizes = {f"x{index}": 2 + index % 3 for index in range(attributes)}
    singles, pairs = mixture(sizes, seed=16)
    shares = {name: values for (name,), values in singles.items()}
    other = {**pairs, ("x0", "x1"): pairs["x0", "x1"][::-1, ::-1]}
    predictions = []
    for tables in (pairs, other):
        evidence = evidence_of(singles, first=1)
        measure(evidence, tables, deviation=0.003, generator=np.random.default_rng(16))
        correlations = Correlations.of(evidence, shares)
        predictions.append(factors._predicted(correlations))
    own = correlations.places["x0"], correlations.places["x1"]
    assert predictions[0][own] == pytest.approx(predictions[1][own], abs=1e-12)
    is_other = attributes > 2
    assert (np.abs(predictions[0] - predictions[1]).max() > 0.01) == is_other
    assert predictions[0] == pytest.approx(predictions[0].T)


def test_two_attributes_alone_are_the_product_of_their_shares() -> None:
    """Nothing else tells of them."""
    singles, pairs = mixture({"a": 3, "b": 4}, seed=16)
    shares = {name: values for (name,), values in singles.items()}
    evidence = evidence_of(singles, first=1)
    measure(evidence, pairs, deviation=0.001, generator=np.random.default_rng(16))
    ((table,),) = factor_tables(evidence, shares)
    product = np.outer(shares["a"], shares["b"])
    assert distance(pairs["a", "b"], product) > 0.1
    assert table == pytest.approx(product, abs=1e-9)


def test_predictions_are_trusted_as_far_as_they_agree_with_what_was_measured() -> None:
    """If predictions are twice too large they are halved, and if they are wrong nothing is left."""
    loadings = np.random.default_rng(3).normal(0, 0.5, (40, 1))
    correlations = made_correlations(loadings, rest=0.0, noise=1e-6, seed=4)
    explained = loadings @ loadings.T
    assert factors._trusted(correlations, 2 * explained) == pytest.approx(explained, rel=0.02)
    assert factors._trusted(correlations, explained / 2) == pytest.approx(explained / 2, rel=0.02)
    assert not factors._trusted(correlations, -explained).any()


@pytest.mark.parametrize(("labels", "deviation"), [(2, 0.05), (8, 0.02), (30, 0.005)])
@pytest.mark.parametrize("seed", range(3))
def test_independent_attributes_have_no_factors(labels: int, deviation: float, seed: int) -> None:
    """Noise that is as large as tables is no dependence: what is published stays near products."""
    sizes = {f"x{index:02d}": labels for index in range(12)}
    singles, pairs = mixture(sizes, seed=seed, classes=1)
    shares = {name: values for (name,), values in singles.items()}
    evidence = evidence_of(singles, first=1)
    measure(evidence, pairs, deviation=deviation, generator=np.random.default_rng(seed))
    tables = by_pair(evidence, factor_tables(evidence, shares))
    assert np.mean([distance(tables[pair], pairs[pair]) for pair in pairs]) < 0.005


def test_several_factors_are_needed_for_several_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four classes take three factors: with one factor tables are half as far again."""
    sizes = {f"x{index:02d}": 4 for index in range(20)}
    singles, pairs = mixture(sizes, seed=12, classes=4)
    shares = {name: values for (name,), values in singles.items()}
    evidence = evidence_of(singles, first=2)
    measure(evidence, pairs, deviation=0.004, generator=np.random.default_rng(12))
    distances = []
    for most in (factors.FACTORS, 1):
        monkeypatch.setattr(factors, "FACTORS", most)
        tables = by_pair(evidence, factor_tables(evidence, shares))
        distances.append(np.mean([distance(tables[pair], pairs[pair]) for pair in pairs]))
    products = [
        distance(table, np.outer(*(shares[name] for name in pair))) for pair, table in pairs.items()
    ]
    assert 1.5 * distances[0] < distances[1] < np.mean(products)


def made_correlations(loadings: Numbers, *, rest: float, noise: float, seed: int) -> Correlations:
    """Make the correlations of attributes of two labels up, from their loadings."""
    generator = np.random.default_rng(seed)
    size = len(loadings)
    upper = np.triu(generator.normal(0, (rest + noise) ** 0.5, (size, size)), 1)
    functions = {
        f"x{place}": functions_of(np.array([0.5, 0.5]), [np.array([0, 1])]) for place in range(size)
    }
    return Correlations(
        functions,
        {name: slice(place, place + 1) for place, name in enumerate(functions)},
        np.zeros(size, np.int64),
        loadings @ loadings.T + upper + upper.T,
        np.full((size, size), noise),
        ~np.eye(size, dtype=np.bool_),
    )


@pytest.mark.parametrize("rest", [0.0005, 0.005])
@pytest.mark.parametrize("noise", [1e-6, 0.002])
def test_rests_are_what_factors_do_not_explain(rest: float, noise: float) -> None:
    """Their variance is learnt to within a quarter, beside noise of a known variance.

    A variance of 1,225 normal numbers has a deviation of 4 per cent, that of rest and noise has up
    to 20 per cent of a small rest. The seeds are fixed.
    """
    loadings = np.random.default_rng(1).normal(0, 0.4, (50, 2))
    correlations = made_correlations(loadings, rest=rest, noise=noise, seed=2)
    fitted = factors._fitted(correlations)
    assert fitted.rests == pytest.approx([rest], rel=0.25 if noise < rest else 0.6)
    explained = fitted.means @ fitted.means.T
    outside = correlations.is_known
    assert np.std((explained - loadings @ loadings.T)[outside]) < 0.5 * (rest + noise) ** 0.5


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
    fits = models.class_models(domain, evidence, marginals, generator=generator)
    (tables,) = models.class_tables(evidence, fits)
    assert len(seen) == 4
    counts = [seen[0][pair] for pair in part.batch.pairs]
    assert counts == pytest.approx([400 / 250 + 0.05, 100 / 250 + 0.05, 0.05])
    each = [np.array([share, 1 - share]) for share in (0.1, 0.2, 0.3, 0.4)]
    expected = np.mean([np.outer(shares, shares) for shares in each], axis=0)
    assert tables == pytest.approx(np.stack([expected] * 3))
    monkeypatch.setattr(models, "MANY_LABELS", 5)
    models.class_models(domain, evidence, marginals, generator=generator)
    assert len(seen) == 5


def test_counts_of_pairs_are_those_of_all_levels() -> None:
    """With the precision p a table of 4 groups counts as p / 4 records, one of 64 as p / 64."""
    singles, _ = mixture({"a": 8, "b": 8, "c": 2}, seed=14)
    evidence = evidence_of(singles, first=1)
    for part in evidence:
        for place, pair in enumerate(part.batch.pairs):
            if pair == ("a", "b"):
                part.add(place, 0, np.full(part.batch.shape(0)[1:], 0.25), 400.0)
                finest = part.batch.finest
                part.add(place, finest, np.full(part.batch.shape(finest)[1:], 1 / 64), 6400.0)
            if pair == ("a", "c"):
                level = part.batch.finest
                part.add(place, level, np.full(part.batch.shape(level)[1:], 1 / 16), 1600.0)
    counts = models.record_counts(evidence)
    usual = (200 + 100) / 2
    assert counts["a", "b"] == pytest.approx(200 / usual + 0.05)
    assert counts["a", "c"] == pytest.approx(100 / usual + 0.05)
    assert counts["b", "c"] == pytest.approx(0.05)


def test_a_table_of_few_records_hardly_moves_latent_classes() -> None:
    """With a count of .02 a wrong table of one pair is overruled by the fourteen others."""
    sizes = {f"x{index}": 3 for index in range(6)}
    _, pairs = mixture(sizes, seed=15)
    domain = Domain({name: tuple("012") for name in sizes})
    wrong = {pair: Marginal(pair, table) for pair, table in pairs.items()}
    first = ("x0", "x1")
    wrong[first] = Marginal(first, np.outer(pairs[first].sum(axis=1), pairs[first].sum(axis=0)))
    assert distance(wrong[first].values, pairs[first]) > 0.05
    fits = [
        latent_classes(
            domain,
            wrong,
            generator=np.random.default_rng(1),
            classes=2,
            rounds=2000,
            counts={pair: 0.02 if pair == first else 1.0 for pair in pairs} if weighted else None,
        ).pair(*first)
        for weighted in (True, False)
    ]
    assert distance(fits[0], pairs[first]) < 0.2 * distance(fits[1], pairs[first])


def test_pairs_in_a_clique_of_the_tree_get_the_table_of_another_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    singles, pairs = mixture({"a": 2, "b": 2, "c": 2}, seed=16)
    shares = {name: values for (name,), values in singles.items()}
    evidence = evidence_of(singles, first=1)
    counted = {("a", "c"): np.full((2, 2), 0.25)}
    monkeypatch.setattr(models, "counted_tree", lambda *_, **__: counted)
    domain = Domain(dict.fromkeys("abc", ("0", "1")))
    marginals = {pair: Marginal(pair, table) for pair, table in pairs.items()}
    others = [np.arange(12, dtype=float).reshape(3, 2, 2)]
    (tables,) = models.tree_tables(
        domain, evidence, marginals, shares, others=others, generator=np.random.default_rng(1)
    )
    assert (tables[[0, 2]] == others[0][[0, 2]]).all()
    assert (tables[1] == 0.25).all()


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
    even = {pair: np.full(table.shape, 1 / table.size) for pair, table in pairs.items()}
    monkeypatch.setattr(models, "counted_tree", lambda *_, **__: even)
    monkeypatch.setattr(estimate, "joint_tables", lambda *_, **__: None)
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
    for first, second in combinations((1, 2, 3), 2):  # the models differ
        assert sum(map(distance, made[first][1], made[second][1])) > 0.001
