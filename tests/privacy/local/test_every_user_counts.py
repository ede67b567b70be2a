"""No user is left out: supports at an epsilon at which reports are true, in batches of any size."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

import numpy as np
import pytest

from sottovoce.crypto.user_words import UserWords, UserWordStream
from sottovoce.privacy.local import (
    DirectEncoding,
    HadamardResponse,
    LocalHashing,
    Randomizer,
    SubsetSelection,
    SymmetricUnary,
    bloom,
    hashed_heads,
    hashing,
    randomizer,
    report,
    sets,
)
from sottovoce.privacy.local.hashed_heads import HashedHeads
from sottovoce.privacy.local.heads import HeadsResponse
from sottovoce.privacy.local.randomizer import Codes, Reports

CELLS: Final = 12
MAKERS: Final[dict[str, Callable[[], Randomizer]]] = {
    "direct": partial(DirectEncoding, CELLS, epsilon=30.0),
    "symmetric unary": partial(SymmetricUnary, CELLS, epsilon=40.0),
    "subset": partial(SubsetSelection, CELLS, epsilon=20.0),
    "hashing": partial(LocalHashing, CELLS, epsilon=20.0),
    "hadamard": partial(HadamardResponse, CELLS, epsilon=20.0),
    "heads": partial(HeadsResponse, CELLS, epsilon=20.0, belief=1.0, chosen=3),
    "hashed heads": partial(HashedHeads, CELLS, epsilon=20.0, labels=2, belief=1.0, hashes=5),
}
BATCHES: Final = (
    (hashing, "BATCH_REPORTS"),
    (hashed_heads, "BATCH_REPORTS"),
    (sets, "BATCH_REPORTS"),
    (randomizer, "BATCH_USERS"),
    (bloom, "BATCH_USERS"),
)


@pytest.fixture(params=[1, 3, 100])
def _batches(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in BATCHES:
        monkeypatch.setattr(module, name, request.param)


@pytest.mark.usefixtures("_batches")
@pytest.mark.parametrize("kind", MAKERS)
def test_every_report_supports_the_value_of_its_user(kind: str) -> None:
    """A report is false with a probability below 2e-4, and the seeds are fixed."""
    response = MAKERS[kind]()
    assert response.p > 1 - 2e-4
    values = np.random.default_rng(1).permutation(np.arange(2 * CELLS + 1) % CELLS)
    users = np.arange(len(values))
    reports = report(response, values, users=users, words=UserWords(b"k" * 16))
    alone = [response.support(reports[user : user + 1]) for user in users]
    for value, support in zip(values.tolist(), alone, strict=True):
        assert support[value] == 1
        assert set(support.tolist()) <= {0, 1}
    assert np.array_equal(response.support(reports), np.sum(alone, axis=0))


@pytest.mark.usefixtures("_batches")
@pytest.mark.parametrize("kind", MAKERS)
def test_every_simulated_user_supports_the_own_value(kind: str) -> None:
    response = MAKERS[kind]()
    generator = np.random.default_rng(2)
    for value in range(CELLS):
        one = np.zeros(CELLS, np.int64)
        one[value] = 1
        support = response.simulate(one, generator)
        assert support[value] == 1
        assert support.max() <= 1
    counts = np.arange(CELLS) * 7 % 5
    support = response.simulate(counts, generator)
    assert (support >= counts).all()
    assert (support <= counts.sum()).all()
    assert not response.simulate(np.zeros(CELLS, np.int64), generator).any()


@pytest.mark.parametrize(
    ("users", "cells", "size"), [(4, 10**6, 4), (100, 5 * CELLS, 5), (9, 1, 1)]
)
def test_reports_are_made_for_few_users_at_once(
    users: int, cells: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At most so many users, whose values have at most so many cells together; at least one."""
    sizes: list[int] = []

    class Counted(DirectEncoding):
        def randomize(self, values: Codes, words: UserWordStream) -> Reports:
            sizes.append(len(values))
            return super().randomize(values, words)

    monkeypatch.setattr(randomizer, "BATCH_USERS", users)
    monkeypatch.setattr(randomizer, "MAX_BATCH_CELLS", cells)
    response = Counted(CELLS, epsilon=1.0)
    values = np.arange(11) % CELLS
    report(response, values, users=np.arange(11), words=UserWords(b"k" * 16))
    assert sum(sizes) == 11
    assert max(sizes) == size
