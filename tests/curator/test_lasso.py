"""Lasso, against its conditions of optimality and another library."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import nnls

from sottovoce.curator.lasso import lasso


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("alpha", [0.0, 0.05, 0.4])
def test_no_coefficient_can_be_improved(seed: int, alpha: float) -> None:
    """The gradient is 0 for weights above 0, and not negative for others (Karush, Kuhn, Tucker)."""
    generator = np.random.default_rng(seed)
    x = (generator.random((60, 12)) < 0.3).astype(float)
    y = x @ np.maximum(generator.normal(size=12), 0) + generator.normal(size=60) / 10
    weights = lasso(x, y, alpha=alpha)
    gradient = -x.T @ (y - x @ weights) / 60 + alpha
    assert (weights >= 0).all()
    assert np.abs(gradient[weights > 0]).max(initial=0.0) < 1e-6
    assert (gradient > -1e-6).all()
    if alpha == 0:
        assert weights == pytest.approx(nnls(x, y)[0], abs=1e-6)


def test_it_is_scikit_learns() -> None:
    linear = pytest.importorskip("sklearn.linear_model")
    generator = np.random.default_rng(1)
    x, y = generator.random((80, 10)), generator.random(80) * 100
    model = linear.Lasso(
        alpha=0.5, positive=True, fit_intercept=False, tol=1e-12, max_iter=100_000
    ).fit(x, y)
    assert lasso(x, y, alpha=0.5) == pytest.approx(model.coef_, abs=1e-6)


def test_columns_without_common_rows() -> None:
    """Each weight has a closed form: its own best value less the penalty."""
    x = np.repeat(np.eye(3), 4, axis=0)
    assert lasso(x, x @ np.array([5.0, 1.0, -2.0]), alpha=0.5).tolist() == pytest.approx(
        [3.5, 0.0, 0.0]
    )
    assert lasso(np.zeros((4, 2)), np.ones(4), alpha=0.5).tolist() == [0.0, 0.0]
