"""Likelihoods: how much likelier an answer is from one dataset than from its neighbour.

The audit adds these up over a run: the result is the privacy loss that the run realised. Pure
epsilon means that no answer has a larger log-ratio than epsilon.

A law is declared here for every mechanism of this room whose probabilities are known. Rooms above
register those of their own mechanisms by `log_ratio.register`. A plug-in's mechanism declares one
by a method `log_likelihood(answer)`, up to a constant that is the same for neighbouring datasets.
Without either, `log_ratio` raises `UnknownLaw`, and the distinguishing test takes over
(`evaluation.distinguishing`).

Noise that several parties share has a law that depends on the adversary: see `share_law`.
"""

from __future__ import annotations

import math
from functools import singledispatch
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from .disclosure import Disclosure
from .exponential import STEPS, ExponentialChoice
from .noisy_scores import GaussianScores, LaplaceScores
from .shares import SelectedNoise, SharedNoise
from .sparse_vector import SparseVector, ThresholdMechanism, log_probability

__all__ = ["UnknownLaw", "log_ratio"]


@runtime_checkable
class DeclaredLaw(Protocol):
    """A mechanism of a plug-in that declares its law."""

    def log_likelihood(self, answer: Any) -> float:
        """Compute ln P[answer], up to a constant that is the same for neighbouring datasets."""


class UnknownLaw(Exception):
    """A mechanism does not declare its likelihood."""


@singledispatch
def log_ratio(mechanism: Any, neighbour: Any, answer: Any) -> float:
    """Compute ln P[answer | mechanism] - ln P[answer | neighbour].

    Args:
        mechanism: the mechanism with the exact value of one dataset.
        neighbour: the same mechanism with the exact value of the neighbouring dataset.
        answer: what was released.

    Raises:
        UnknownLaw: the mechanism declares no likelihood.
    """
    if not isinstance(mechanism, DeclaredLaw):
        raise UnknownLaw(
            f"expected a mechanism that declares its law, found {mechanism.name}: "
            "give it a method log_likelihood(answer)"
        )
    return difference(
        float(mechanism.log_likelihood(answer)), float(neighbour.log_likelihood(answer))
    )


def difference(first: float, second: float) -> float:
    """Subtract log-likelihoods; two impossible answers have no ratio, which counts as 0."""
    return 0.0 if first == second else first - second


@log_ratio.register
def _(mechanism: SharedNoise, neighbour: SharedNoise, answer: Any) -> float:
    """Compare for an adversary that sees this party's tables with this party's share alone."""
    exact, other, noisy = (
        np.concatenate([np.asarray(page).reshape(-1) for page in pages] or [np.zeros(0, np.int64)])
        for pages in (mechanism.pages, neighbour.pages, answer)
    )
    return mechanism.batch.log_ratio(noisy - exact, other - exact, shares=1)


@log_ratio.register
def _(mechanism: SelectedNoise, neighbour: SelectedNoise, answer: Any) -> float:  # noqa: ARG001 - exact
    """Compare for an adversary that sees this party's counts, which are exact beside the noise."""
    pages = zip(mechanism.pages, neighbour.pages, strict=True)
    return 0.0 if all(np.array_equal(*pair) for pair in pages) else math.inf


@log_ratio.register
def _(mechanism: ExponentialChoice, neighbour: ExponentialChoice, answer: int) -> float:
    def likelihood(choice: ExponentialChoice) -> float:
        rate = choice.epsilon / (2 * STEPS)
        scores = (choice.steps - choice.steps.max()) * rate
        return float(scores[answer]) - math.log(float(np.exp(scores).sum()))

    return likelihood(mechanism) - likelihood(neighbour)


@log_ratio.register
def _(mechanism: LaplaceScores, neighbour: LaplaceScores, answer: Any) -> float:
    rate = mechanism.epsilon / (len(mechanism.steps) * STEPS)
    steps = _in_steps(answer, mechanism.step)
    distances = (np.abs(steps - choice.steps).sum() for choice in (neighbour, mechanism))
    return float(rate * (next(distances) - next(distances)))


@log_ratio.register
def _(mechanism: GaussianScores, neighbour: GaussianScores, answer: Any) -> float:
    variance = (mechanism.scale / mechanism.step) ** 2
    steps = _in_steps(answer, mechanism.step)
    squares = (((steps - choice.steps) ** 2.0).sum() for choice in (neighbour, mechanism))
    return float((next(squares) - next(squares)) / (2 * variance))


@log_ratio.register
def _(mechanism: SparseVector, neighbour: SparseVector, answer: Any) -> float:
    """Compare answers "above" and "below"; queries after the last answer say nothing."""
    above = np.zeros(len(mechanism.steps), bool)
    above[list(answer)] = True
    end = answer[-1] + 1 if len(answer) == mechanism.cutoff else len(above)
    of_threshold, of_queries = map(float, mechanism.shares)
    scales = STEPS / of_threshold, 2 * mechanism.cutoff * STEPS / of_queries

    def likelihood(vector: SparseVector) -> float:
        return log_probability(
            vector.steps[:end], above[:end], threshold_scale=scales[0], query_scale=scales[1]
        )

    return likelihood(mechanism) - likelihood(neighbour)


@log_ratio.register
def _(mechanism: ThresholdMechanism, neighbour: ThresholdMechanism, answer: Any) -> float:
    above = np.zeros(len(mechanism.steps), bool)
    above[list(answer)] = True
    scale = 2 * STEPS / mechanism.noise_epsilon

    def likelihood(queries: ThresholdMechanism) -> float:
        return log_probability(queries.steps, above, threshold_scale=scale, query_scale=scale)

    return likelihood(mechanism) - likelihood(neighbour)


@log_ratio.register
def _(mechanism: Disclosure, neighbour: Disclosure, answer: Any) -> float:  # noqa: ARG001 - exact
    return 0.0 if np.array_equal(mechanism.counts, neighbour.counts) else math.inf


def _in_steps(answer: Any, step: float) -> npt.NDArray[np.float64]:
    """Read scores as numbers of steps, which they are."""
    return np.asarray(np.rint(np.asarray(answer, np.float64) / step))
