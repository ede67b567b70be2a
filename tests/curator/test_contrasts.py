"""Contrasts of labels, and the shrinkage of pairs in the space that they span."""

from __future__ import annotations

import numpy as np
import pytest

from sottovoce.curator.pairs import Evidence, batches_of, nested_groups
from sottovoce.curator.pairs.contrasts import contrasts_of
from sottovoce.curator.pairs.shrinkage_by_contrasts import shrink_by_contrasts


@pytest.mark.parametrize("parents", [[0, 0, 0, 0, 0], [0, 0, 1, 1, 1], [0, 1, 2, 2, 3]])
def test_contrasts_are_orthonormal_and_have_the_variances_of_a_random_label(
    parents: list[int],
) -> None:
    """The referee enumerates the labels: a contrast within a group leaves out the group's mean."""
    shares = np.array([0.5, 0.02, 0.28, 0.1, 0.1])
    groups = np.array(parents)
    contrasts = contrasts_of(shares, groups)
    vectors = contrasts.vectors
    assert vectors.T @ vectors == pytest.approx(np.eye(4), abs=1e-9)
    assert vectors.sum(axis=0) == pytest.approx(np.zeros(4), abs=1e-9)
    assert contrasts.between == max(parents)
    for place, vector in enumerate(vectors.T):
        means = np.full(5, shares @ vector)
        if place >= contrasts.between:
            for group in set(parents):
                inside = groups == group
                assert vector[inside].sum() == pytest.approx(0, abs=1e-9)
                means[inside] = np.average(vector[inside], weights=shares[inside])
        else:
            for group in set(parents):
                assert np.ptp(vector[groups == group]) == pytest.approx(0, abs=1e-9)
        variance = shares @ (vector - means) ** 2
        assert contrasts.variances[place] == pytest.approx(variance, abs=1e-9)


@pytest.mark.parametrize("first", [1, 2])
@pytest.mark.parametrize("seed", range(1, 13))
def test_tables_without_noise_stay_as_they_are(seed: int, first: int) -> None:
    """With four groups they do to a hundredth of a cell: an interpolated centre has other margins.

    Its margins are put right in proportion to the variances of its cells, which is not the whole
    of what was measured. Noise of sums is larger than that in all runs.
    """
    generator = np.random.default_rng(seed)
    table = generator.dirichlet(np.ones(60)).reshape(12, 5)
    singles = {"a": table.sum(axis=1), "b": table.sum(axis=0)}
    groups = {name: nested_groups(shares, first=first) for name, shares in singles.items()}
    (batch,) = batches_of(groups)
    evidence = Evidence.none(batch)
    evidence.add(0, batch.finest, table, 1e12)
    product = np.outer(singles["a"], singles["b"])
    (tables,) = shrink_by_contrasts([evidence], [product[None, None]], singles)
    assert tables[0] == pytest.approx(table, abs=2e-4 if first == 2 else 1e-5)
    assert tables[0].sum(axis=1) == pytest.approx(singles["a"], abs=1e-6)
    assert tables[0].sum(axis=0) == pytest.approx(singles["b"], abs=1e-6)


def test_the_error_of_correlations_is_that_of_the_posterior_mean() -> None:
    """Correlations are drawn with the variance s, and noise is added to each cell.

    If p q and p' q' are the variances of two attributes, the coefficient of the dependence has the
    variance 4 s p q p' q'. With the noise v of a cell, the least mean square error is their product
    over their sum. Over 780 pairs the mean of the squares is within 15 per cent of it, but for one
    seed in a thousand: its deviation is 5 per cent.
    """
    generator = np.random.default_rng(3)
    shares = np.array([0.2, 0.8])
    singles = {f"a{index:02d}": shares for index in range(40)}
    (batch,) = batches_of({name: nested_groups(shares, first=2) for name in singles})
    evidence = Evidence.none(batch)
    product = np.outer(shares, shares)
    spread, noise = 0.01, 0.03
    signs = np.array([[1, -1], [-1, 1]]) / 2
    signal = 4 * spread * 0.16 * 0.16
    truth = generator.normal(0, signal**0.5, len(batch.pairs))
    for place, coefficient in enumerate(truth.tolist()):
        table = product + coefficient * signs + generator.normal(0, noise, (2, 2))
        evidence.add(place, 0, table, 1 / noise**2)
    centres = np.tile(product, (len(batch.pairs), 1, 1, 1))
    (tables,) = shrink_by_contrasts([evidence], [centres], singles)
    estimates = ((tables - product) * signs).sum(axis=(1, 2))
    least = signal * noise**2 / (signal + noise**2)
    assert np.mean((estimates - truth) ** 2) == pytest.approx(least, rel=0.15)
