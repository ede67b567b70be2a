"""How far parts of a pair's table may lie from their centre: the spreads of blocks.

A block of a table has the coefficients of one group of rows and one group of columns, as the level
before has them (`contrasts`). Dependence beneath groups is rarely even: schooling follows age in
each year of childhood, and hardly at all from forty to forty-five. One spread for the whole table
would take the noise of the even blocks for signal, or the signal of the others for noise.

    pair    its spread is s with the probability `pairs[s]`
    block   has the spread of its pair or, with the probability `own`, one of its own, which is s
            with the probability `blocks[s]`

These probabilities are learnt from all pairs together (empirical Bayes).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from ...messages import WorkKind, count_work, is_unread, scaled_work
from ..marginal import Numbers

__all__ = ["BlockLikelihoods", "BlockPrior", "BlockWeights", "learn_blocks", "weights_of_blocks"]

BlockLikelihoods: TypeAlias = npt.NDArray[np.floating]
"""Likelihoods of each spread: pairs, blocks, spreads."""

LEARNING_ROUNDS: Final = 20
FIRST_OWN: Final = 0.2
OWN_BLOCKS: Final = (1.0, 5.0)
"""So many blocks, of so many, count as having spreads of their own before any block is seen."""
MIN_COUNT: Final = 0.05
"""Added to the count of each spread."""
MIN_PROBABILITY: Final = 1e-300
MAX_LEARNT: Final = 1 << 21
"""Most likelihoods to learn from; of more, every second pair is taken, or every third, ..."""


@dataclass(frozen=True)
class BlockPrior:
    """How often spreads occur."""

    pairs: Numbers
    """Probability of each spread for a pair."""
    blocks: Numbers
    """Probability of each spread for a block that has its own."""
    own: float
    """Probability that a block has its own."""


@dataclass(frozen=True)
class BlockWeights:
    """Posterior probabilities for the pairs of a batch."""

    pairs: Numbers
    """Probability of each spread: pairs, spreads."""
    own: Numbers
    """Probability that a block has a spread of its own: pairs, blocks."""
    own_spreads: Numbers
    """Probability of each spread, if it has one of its own: pairs, blocks, spreads."""
    shared: Numbers
    """Probability that it has the spread s because its pair has: pairs, blocks, spreads."""

    @property
    def blocks(self) -> Numbers:
        """Compute the probability of each spread for each block: pairs, blocks, spreads."""
        return np.asarray(self.shared + self.own[:, :, None] * self.own_spreads)


def weights_of_blocks(likelihoods: BlockLikelihoods, prior: BlockPrior) -> BlockWeights:
    """Compute the posterior of the spreads.

    Args:
        likelihoods: of each spread: pairs, blocks, spreads. The largest of a block is 1; so are all
            of a block without coefficients.
        prior: how often spreads occur.
    """
    count_work(WorkKind.CELL, 3 * likelihoods.size)
    with_own = prior.own * (likelihoods @ prior.blocks)[:, :, None]
    either = (1 - prior.own) * likelihoods + with_own
    totals = np.log(either).sum(axis=1) + np.log(prior.pairs + MIN_PROBABILITY)
    pairs = np.exp(totals - totals.max(axis=1, keepdims=True))
    pairs /= pairs.sum(axis=1, keepdims=True)
    is_own = with_own / either
    return BlockWeights(
        pairs,
        (pairs[:, None] * is_own).sum(axis=2),
        likelihoods * prior.blocks * prior.own / with_own,
        pairs[:, None] * (1 - is_own),
    )


def learn_blocks(likelihoods: Sequence[BlockLikelihoods]) -> BlockPrior:
    """Learn how often spreads occur, from the likelihoods of all batches' blocks.

    All rounds take as much work. So where nobody reads the tables, one of them stands for all.
    """
    step = 1 + sum(part.size for part in likelihoods) // MAX_LEARNT
    chosen = [part[::step].astype(float) for part in likelihoods]
    filled = [part.min(axis=2) < 1 for part in chosen]
    spreads = likelihoods[0].shape[2]
    even = np.full(spreads, 1 / spreads)
    prior = BlockPrior(even, even, FIRST_OWN)
    rounds = 1 if is_unread() else LEARNING_ROUNDS
    for _ in range(rounds):
        of_pairs, of_blocks = np.zeros(spreads), np.full(spreads, MIN_COUNT)
        blocks_with_own, all_blocks = OWN_BLOCKS
        for part, flags in zip(chosen, filled, strict=True):
            with scaled_work(LEARNING_ROUNDS / rounds):
                weights = weights_of_blocks(part, prior)
            of_pairs += weights.pairs.sum(axis=0)
            with_own = weights.own * flags
            of_blocks += np.einsum("pb,pbs->s", with_own, weights.own_spreads)
            blocks_with_own += float(with_own.sum())
            all_blocks += int(flags.sum())
        prior = BlockPrior(
            of_pairs / of_pairs.sum(), of_blocks / of_blocks.sum(), blocks_with_own / all_blocks
        )
    return prior
