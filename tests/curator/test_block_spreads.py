"""Spreads of blocks: the posterior, and what is learnt of all pairs."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from sottovoce.curator.pairs.block_spreads import BlockPrior, learn_blocks, weights_of_blocks
from sottovoce.messages import Unread, WorkMeter, metered

SPREADS = np.array([0.0, 0.1, 1.0, 10.0])


def test_the_posterior_is_that_of_enumeration() -> None:
    """The referee enumerates the spread of a pair, and for each block whether it has its own."""
    generator = np.random.default_rng(1)
    prior = BlockPrior(np.array([0.2, 0.5, 0.3]), np.array([0.6, 0.1, 0.3]), 0.25)
    likelihoods = scaled(generator.normal(0, 2, (5, 2, 3)))
    weights = weights_of_blocks(likelihoods, prior)
    for pair in range(5):
        of_pair, of_blocks = np.zeros(3), np.zeros((2, 3))
        choices = [(False, 0), *((True, spread) for spread in range(3))]
        for shared, *blocks in product(range(3), choices, choices):
            chance = prior.pairs[shared]
            spreads = []
            for block, (is_own, own) in enumerate(blocks):
                spreads.append(own if is_own else shared)
                chance *= prior.own * prior.blocks[own] if is_own else 1 - prior.own
                chance *= likelihoods[pair, block, spreads[-1]]
            of_pair[shared] += chance
            for block, spread in enumerate(spreads):
                of_blocks[block, spread] += chance
        assert weights.pairs[pair] == pytest.approx(of_pair / of_pair.sum())
        assert weights.blocks[pair] == pytest.approx(of_blocks / of_pair.sum())


def scaled(logs: np.ndarray) -> np.ndarray:
    return np.asarray(np.exp(logs - logs.max(axis=2, keepdims=True)))


def likelihoods_of(
    variances: np.ndarray, *, count: int, generator: np.random.Generator
) -> np.ndarray:
    """Draw the coefficients of each block with a variance of its own, and noise of variance 1."""
    draws = generator.normal(size=(*variances.shape, count)) * np.sqrt(variances + 1)[..., None]
    candidates = SPREADS + 1
    squares = (draws**2).sum(axis=2)[..., None]
    return scaled(-squares / candidates / 2 - count * np.log(candidates) / 2)


def test_the_share_of_blocks_with_another_spread_is_learnt() -> None:
    """A fifth of 4,000 blocks has the variance 10, and the others have 0.

    With 20 coefficients a block the two are told apart nearly always, so what is learnt is the
    share that was drawn; its deviation is .006, and .025 is passed once in 30,000 seeds. A block's
    own spread may be that of its pair, so only the share of other spreads is determined. Where all
    blocks are alike it is nearly 0.
    """
    generator = np.random.default_rng(2)
    is_other = generator.random((200, 20)) < 0.2
    likelihoods = likelihoods_of(np.where(is_other, 10.0, 0.0), count=20, generator=generator)
    prior = learn_blocks([likelihoods[:120], likelihoods[120:]])
    assert prior.own * prior.blocks[3] == pytest.approx(0.2, abs=0.025)
    assert prior.pairs[0] > 0.95
    blocks = weights_of_blocks(likelihoods, prior).blocks
    assert blocks[is_other][:, 3].mean() > 0.95
    assert blocks[~is_other][:, 0].mean() > 0.9  # a variance of .1 looks much like 0
    alike = learn_blocks([likelihoods_of(np.ones((200, 20)), count=20, generator=generator)])
    assert alike.own * (1 - alike.blocks[2]) < 0.05
    assert alike.pairs[2] > 0.95


def test_blocks_without_coefficients_tell_nothing() -> None:
    generator = np.random.default_rng(3)
    likelihoods = likelihoods_of(np.ones((50, 4)), count=20, generator=generator)
    empty = np.ones((50, 3, len(SPREADS)))
    wider = np.concatenate([likelihoods, empty], axis=1)
    prior, of_wider = learn_blocks([likelihoods]), learn_blocks([wider])
    assert of_wider.own == pytest.approx(prior.own)
    assert of_wider.pairs == pytest.approx(prior.pairs)
    assert of_wider.blocks == pytest.approx(prior.blocks)


def test_one_round_stands_for_all_where_nobody_reads_the_tables() -> None:
    """It is counted as all of them; what is learnt then differs."""
    generator = np.random.default_rng(3)
    likelihoods = [scaled(generator.normal(0, 2, (40, blocks, 4))) for blocks in (1, 6)]
    learnt, units = [], []
    for unread in (Unread.NOTHING, Unread.TABLES):
        meter = WorkMeter(only_counts=True, unread=unread)
        with metered(meter):
            learnt.append(learn_blocks(likelihoods).own)
        units.append(dict(meter.units))
    assert units[0] == pytest.approx(units[1])
    assert learnt[0] != pytest.approx(learnt[1], rel=1e-3)
