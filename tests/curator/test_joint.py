"""One joint distribution that explains the estimates of all pairs."""

from __future__ import annotations

from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest
from noisy_pairs import Tables, by_pair, distance, evidence_of, measure, mixture

from sottovoce.curator.latent_classes import LatentClasses, latent_classes
from sottovoce.curator.marginal import Marginal, Numbers
from sottovoce.curator.pairs import (
    Evidence,
    NoisySingle,
    PairEstimate,
    estimate,
    estimate_all,
    joint,
)
from sottovoce.messages import WorkKind, WorkMeter, metered
from sottovoce.privacy import Domain


def domain_of(sizes: dict[str, int]) -> Domain:
    return Domain({name: tuple(map(str, range(size))) for name, size in sizes.items()})


def marginals(pairs: Tables) -> dict[tuple[str, ...], Marginal]:
    return {pair: Marginal(pair, table) for pair, table in pairs.items()}


def shares_of(singles: Tables) -> dict[str, Numbers]:
    return {name: values for (name,), values in singles.items()}


def fitted_to(evidence: list[Evidence], pairs: Tables, singles: Tables) -> list[Numbers] | None:
    """Fit a joint distribution to exact pairs, beginning at random."""
    return joint.joint_tables(
        domain_of({name: len(shares) for name, shares in shares_of(singles).items()}),
        evidence,
        marginals(pairs),
        shares_of(singles),
        start=[],
        generator=np.random.default_rng(1),
    )


def published(
    sizes: dict[str, int], pairs: Tables, singles: Tables, *, deviation: float, seed: int
) -> PairEstimate:
    """Measure all pairs with noise, and estimate them for publication."""
    evidence = evidence_of(singles, first=1)
    measure(evidence, pairs, deviation=deviation, generator=np.random.default_rng(seed))
    return estimate_all(
        domain_of(sizes),
        {name: NoisySingle(values, 1e6) for name, values in shares_of(singles).items()},
        evidence,
        generator=np.random.default_rng(seed),
        published=True,
    )


def mean_distance(estimated: PairEstimate, pairs: Tables) -> float:
    return float(np.mean([distance(estimated.tables[pair].values, pairs[pair]) for pair in pairs]))


@pytest.mark.parametrize("first", [1, 2])
def test_the_misfit_is_over_the_variance_of_each_level(first: int) -> None:
    """A shift counts at each level where a pair was measured; the margins are not counted."""
    singles, _ = mixture({"a": 8, "b": 8}, seed=1)
    (part,) = evidence_of(singles, first=first)
    generator = np.random.default_rng(2)
    estimates = generator.dirichlet(np.ones(64)).reshape(1, 8, 8)
    shift = generator.normal(0, 0.01, (1, 8, 8))
    assert joint.misfit([part], [estimates + shift], [estimates]) == 0
    part.add(0, part.batch.finest, estimates[0], 100.0)
    square = float((shift**2).sum())
    assert joint.misfit([part], [estimates + shift], [estimates]) == pytest.approx(
        100 * square / 49
    )
    part.add(0, 0, np.zeros(part.batch.shape(0)[1:]), 900.0)
    coarse = part.batch.merge(shift, start=part.batch.finest, level=0)
    _, rows, columns = coarse.shape
    numbers = 49 + (rows - 1) * (columns - 1)
    expected = (100 * square + 900 * float((coarse**2).sum())) / numbers
    assert joint.misfit([part], [estimates + shift], [estimates]) == pytest.approx(expected)


def test_joint_tables_are_those_of_records() -> None:
    """Of three attributes two must be alike, whatever the noise says: P(a != c) is bounded.

    The estimates say that a is b and b is c, but a is not c, which holds for no record.
    """
    alike, unlike = np.eye(2) / 2, (1 - np.eye(2)) / 2
    pairs: Tables = {("a", "b"): alike, ("a", "c"): unlike, ("b", "c"): alike}
    singles: Tables = {(name,): np.array([0.5, 0.5]) for name in "abc"}
    evidence = evidence_of(singles, first=1)
    measure(evidence, pairs, deviation=2.0, generator=np.random.default_rng(1))
    tables = fitted_to(evidence, pairs, singles)
    assert tables is not None
    (part,) = evidence
    differ = {
        frozenset(pair): float(1 - np.trace(table))
        for pair, table in zip(part.batch.pairs, tables[0], strict=True)
    }
    for first, middle, last in permutations("abc"):
        through = differ[frozenset((first, middle))] + differ[frozenset((middle, last))]
        assert differ[frozenset((first, last))] <= through + 1e-9
    assert sum(differ.values()) <= 2 + 1e-9


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_pairs_that_agree_are_closer(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise of fifteen attributes of four labels is partly taken off."""
    sizes = {f"x{index:02}": 4 for index in range(15)}
    singles, pairs = mixture(sizes, seed=seed, classes=4)
    with_joint = published(sizes, pairs, singles, deviation=0.02, seed=seed)
    monkeypatch.setattr(estimate, "joint_tables", lambda *_, **__: None)
    without = published(sizes, pairs, singles, deviation=0.02, seed=seed)
    assert mean_distance(with_joint, pairs) < 0.995 * mean_distance(without, pairs)


@pytest.mark.parametrize("first", [1, 2])
def test_a_pair_that_is_badly_explained_is_drawn_back(
    first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pair with the misfit m goes so near to its estimate that the misfit is the largest one.

    One that is explained well stays as it is in the joint distribution.
    """
    singles, pairs = mixture(dict.fromkeys("abcd", 8), seed=5)
    evidence = evidence_of(singles, first=first)
    measure(evidence, pairs, deviation=1e-3, generator=np.random.default_rng(1))
    measure(evidence, pairs, deviation=1e-2, generator=np.random.default_rng(2), finest=False)
    even = LatentClasses(np.ones(1), {name: np.full((8, 1), 1 / 8) for name in "abcd"})
    monkeypatch.setattr(joint, "latent_classes", lambda *_, **__: even)
    alone = [
        (part.chosen(np.arange(len(part.batch.pairs)) == place), pair)
        for part in evidence
        for place, pair in enumerate(part.batch.pairs)
    ]

    def misfits(of_pairs: Tables) -> list[float]:
        return [
            joint.misfit([part], [of_pairs[pair][None]], [pairs[pair][None]])
            for part, pair in alone
        ]

    before = misfits({pair: np.full((8, 8), 1 / 64) for pair in pairs})
    largest = float(np.median(before))
    monkeypatch.setattr(joint, "MAX_MISFIT", largest)
    tables = fitted_to(evidence, pairs, singles)
    assert tables is not None
    after = misfits(by_pair(evidence, tables))
    assert after == pytest.approx(np.minimum(before, largest))
    assert min(after) < largest


def test_a_pair_that_was_not_measured_gets_the_fitted_table() -> None:
    """Its estimate is the product of its attributes, and all other pairs tell that it depends."""
    sizes = {f"x{index}": 3 for index in range(6)}
    singles, pairs = mixture(sizes, seed=12)
    hidden = ("x0", "x1")
    evidence = evidence_of(singles, first=1)
    measure(
        evidence,
        pairs,
        deviation=1e-3,
        generator=np.random.default_rng(1),
        left_out=hidden,
    )
    product = np.outer(singles["x0",], singles["x1",])
    tables = fitted_to(evidence, {**pairs, hidden: product}, singles)
    assert tables is not None
    fitted = by_pair(evidence, tables)[hidden]
    assert distance(fitted, pairs[hidden]) < 0.9 * distance(product, pairs[hidden])


def test_a_pair_that_was_not_measured_hardly_counts() -> None:
    """Two measured pairs say that a third one agrees, and its estimate says the opposite."""
    agree = np.array([[0.45, 0.05], [0.05, 0.45]])
    singles: Tables = {(name,): np.full(2, 1 / 2) for name in "abc"}
    pairs: Tables = {("a", "b"): agree, ("a", "c"): agree[::-1], ("b", "c"): agree}
    evidence = evidence_of(singles, first=1)
    generator = np.random.default_rng(1)
    measure(evidence, pairs, deviation=1e-3, generator=generator, left_out=("a", "c"))
    tables = fitted_to(evidence, pairs, singles)
    assert tables is not None
    fitted = by_pair(evidence, tables)["a", "c"]
    assert np.trace(fitted) > 0.7  # .82 by the measured pairs alone, and .1 by its estimate


def test_the_fit_begins_with_the_classes_that_it_gets(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a single round it has what they explain."""
    monkeypatch.setattr(joint, "MIN_ROUNDS", 1)
    monkeypatch.setattr(joint, "ROUNDS", 1)
    sizes = dict.fromkeys("abcd", 4)
    singles, pairs = mixture(sizes, seed=5)
    evidence = evidence_of(singles, first=1)
    generator = np.random.default_rng(1)
    measure(evidence, pairs, deviation=10.0, generator=generator)  # nothing is drawn back
    domain, estimates = domain_of(sizes), marginals(pairs)
    start = [latent_classes(domain, estimates, generator=generator, classes=2)]
    found = joint.joint_tables(
        domain, evidence, estimates, shares_of(singles), start=start, generator=generator
    )
    without = fitted_to(evidence, pairs, singles)
    assert found is not None
    assert without is not None
    near, far = (
        np.mean([distance(table, pairs[pair]) for pair, table in by_pair(evidence, tables).items()])
        for tables in (found, without)
    )
    assert near < 0.3 * far


def test_what_is_beyond_noise_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A joint distribution that explains nothing does no harm where pairs were measured well."""
    sizes = dict.fromkeys("abcd", 4)
    singles, pairs = mixture(sizes, seed=5)
    even = LatentClasses(np.ones(1), {name: np.full((4, 1), 1 / 4) for name in "abcd"})
    monkeypatch.setattr(joint, "latent_classes", lambda *_, **__: even)
    fitted: list[object] = []

    def noted(*words: Any, **options: Any) -> object:
        fitted.append(joint.joint_tables(*words, **options))
        return fitted[-1]

    monkeypatch.setattr(estimate, "joint_tables", noted)
    found = published(sizes, pairs, singles, deviation=1e-4, seed=1)
    assert fitted[0] is not None
    products = {pair: np.outer(singles[pair[:1]], singles[pair[1:]]) for pair in pairs}
    assert np.mean([distance(products[pair], pairs[pair]) for pair in pairs]) > 0.05
    assert mean_distance(found, pairs) < 0.002


@pytest.mark.parametrize(("constant", "value"), [("MAX_PRODUCTS", 1.0), ("MIN_ROUNDS", 1001)])
def test_estimates_stay_where_a_fit_would_take_too_long(
    constant: str, value: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its work is not counted then."""
    sizes = dict.fromkeys("abc", 3)
    _, pairs = mixture(sizes, seed=6)
    singles: Tables = {(name,): np.full(3, 1 / 3) for name in "abc"}
    evidence = evidence_of(singles, first=1)
    measure(evidence, pairs, deviation=0.01, generator=np.random.default_rng(1))

    assert fitted_to(evidence, pairs, singles) is not None
    monkeypatch.setattr(joint, constant, value)
    meter = WorkMeter()
    with metered(meter):
        assert fitted_to(evidence, pairs, singles) is None
    assert (WorkKind.ARRAY, 0) not in meter.units


def test_many_labels_have_fewer_classes_and_rounds() -> None:
    """And beyond some thousands of labels there is no fit."""
    assert joint.count_joint_fit(domain_of(dict.fromkeys("ab", 30))) == (256, 1000)
    assert joint.count_joint_fit(domain_of(dict.fromkeys("ab", 450))) == (256, 482)
    assert joint.count_joint_fit(domain_of(dict.fromkeys("ab", 2400))) == (64, 67)
    assert joint.count_joint_fit(domain_of(dict.fromkeys("ab", 4000))) == (64, 0)


@pytest.mark.parametrize(("deviation", "fewest", "most"), [(0.3, 25, 25), (1e-5, 100, 1000)])
def test_with_small_noise_a_fit_takes_more_rounds(
    deviation: float, fewest: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = {f"x{index}": 4 for index in range(6)}
    singles, pairs = mixture(sizes, seed=7, classes=4)
    evidence = evidence_of(singles, first=1)
    measure(evidence, pairs, deviation=deviation, generator=np.random.default_rng(1))
    rounds: list[int] = []

    def noted(*words: Any, is_near: Any, **options: Any) -> LatentClasses:
        def near(model: LatentClasses) -> bool:
            rounds.append(25)
            return bool(is_near(model))

        return latent_classes(*words, is_near=near, **options)

    monkeypatch.setattr(joint, "latent_classes", noted)
    tables = fitted_to(evidence, pairs, singles)
    assert tables is not None
    assert fewest <= sum(rounds) <= most
    estimates = [np.stack([pairs[pair] for pair in part.batch.pairs]) for part in evidence]
    assert joint.misfit(evidence, tables, estimates) <= joint.MAX_MISFIT


def test_longer_steps_need_fewer_rounds() -> None:
    """With steps of 1.9 a hundred rounds explain all pairs better than 170 of length 1."""
    sizes = {f"x{index}": 4 for index in range(8)}
    _, pairs = mixture(sizes, seed=8, classes=6)

    def likelihood(model: LatentClasses) -> float:
        return sum(
            float((table * np.log(model.pair(*pair))).sum()) for pair, table in pairs.items()
        )

    short, long = (
        latent_classes(
            domain_of(sizes),
            marginals(pairs),
            generator=np.random.default_rng(1),
            classes=6,
            rounds=rounds,
            step=step,
        )
        for rounds, step in ((170, 1.0), (100, 1.9))
    )
    best = sum(float((table * np.log(table)).sum()) for table in pairs.values())
    assert best - likelihood(long) < best - likelihood(short)
    for model in (short, long):
        assert model.weights.sum() == pytest.approx(1)
        for table in model.tables.values():
            assert table.sum(axis=0) == pytest.approx(np.ones(6))


def test_a_fit_begins_with_other_models() -> None:
    """Each of their classes is there several times, with random changes that cancel out."""
    sizes = dict.fromkeys("abc", 3)
    _, pairs = mixture(sizes, seed=9)
    generator = np.random.default_rng(3)
    domain, tables = domain_of(sizes), marginals(pairs)
    start = [latent_classes(domain, tables, generator=generator, classes=2) for _ in range(2)]
    model = latent_classes(domain, tables, generator=generator, classes=4000, rounds=0, start=start)
    assert len(model.weights) == 4000
    for place, before in enumerate(start):
        for index in range(2):
            copies = slice(1000 * (2 * place + index), 1000 * (2 * place + index + 1))
            assert model.weights[copies] == pytest.approx(before.weights[index] / 2000)
            for name in sizes:
                mean = model.tables[name][:, copies].mean(axis=1)
                assert mean == pytest.approx(before.tables[name][:, index], abs=0.06)
    few = latent_classes(domain, tables, generator=generator, classes=1, rounds=1, start=start)
    assert len(few.weights) == 4


@pytest.mark.parametrize("share", [1 / 3, 0.02])
def test_strong_pairs_are_not_blurred_where_noise_hides_much(
    share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fit goes on until at most this share of the dependence is unexplained."""
    monkeypatch.setattr(joint, "MAX_UNEXPLAINED", share)
    sizes = {f"x{index}": 6 for index in range(8)}
    singles, pairs = mixture(sizes, seed=10, classes=12)
    pairs["x0", "x1"] = np.diag(singles["x0",])
    singles["x1",] = singles["x0",]
    for index in range(2, 8):
        pairs["x1", f"x{index}"] = pairs["x0", f"x{index}"]
    evidence = evidence_of(singles, first=1)
    measure(evidence, pairs, deviation=10.0, generator=np.random.default_rng(1))
    tables = fitted_to(evidence, pairs, singles)
    assert tables is not None
    unexplained = dependence = 0.0
    for pair, table in by_pair(evidence, tables).items():
        unexplained += distance(table, pairs[pair])
        dependence += distance(np.outer(singles[pair[:1]], singles[pair[1:]]), pairs[pair])
    assert unexplained <= share * dependence


def test_a_fit_ends_where_it_is_near() -> None:
    """It is asked every 25 rounds, and what it is asked about is what it returns."""
    sizes = dict.fromkeys("abc", 3)
    _, pairs = mixture(sizes, seed=9)
    seen: list[LatentClasses] = []

    def is_near(model: LatentClasses) -> bool:
        seen.append(model)
        return len(seen) == 2

    model = latent_classes(
        domain_of(sizes),
        marginals(pairs),
        generator=np.random.default_rng(1),
        classes=2,
        is_near=is_near,
    )
    assert len(seen) == 2
    assert model is seen[1]
    exact = latent_classes(
        domain_of(sizes),
        marginals(pairs),
        generator=np.random.default_rng(1),
        classes=2,
        rounds=50,
    )
    for first, second in combinations("abc", 2):
        assert model.pair(first, second) == pytest.approx(exact.pair(first, second))
