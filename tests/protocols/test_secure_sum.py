"""Secure sums: three aggregators and two noises obey one law.

The curator learns the sum with the noise, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy import stats

from sottovoce.crypto import RandomStream
from sottovoce.curator import Curator
from sottovoce.messages import BudgetError, MessageError, MisuseError, SottovoceError
from sottovoce.parties import Party
from sottovoce.privacy import Batch, coalition, with_curator
from sottovoce.privacy.laplace_shares import excess
from sottovoce.privacy.shares import SelectedNoise, SharedNoise
from sottovoce.protocols.secure_sum import (
    CuratorSums,
    PartySums,
    SecureSums,
    SumBatch,
    SumOptions,
    clear,
    collusion,
    hidden_plaintexts,
    hidden_words,
    predict,
    ring,
    selected,
)
from sottovoce.protocols.secure_sum import pages as pages_module
from sottovoce.protocols.secure_sum.agreement import digest_of
from sottovoce.protocols.secure_sum.collusion import loss_by_view
from sottovoce.protocols.secure_sum.graph import Circle, shuffle
from sottovoce.protocols.secure_sum.hidden_words import check_cells, masked_width
from sottovoce.protocols.secure_sum.pages import page_sizes, recut

Converse = Callable[..., Any]
WAYS = [("paillier", "shares"), ("masks", "shares"), ("clear", "shares"), ("paillier", "selected")]
CHANCE = 1e-7


def cells_of(party: int, count: int) -> np.ndarray:
    return np.random.default_rng(party).integers(0, 7, count)


def sum_up(
    converse: Converse,
    *,
    aggregator: str = "paillier",
    noise: str = "shares",
    parties: int = 3,
    count: int = 50,
    epsilon: float = 1.0,
    batches: int = 1,
    colluding: int = 1,
    chunks: int = 1,
    **more: Any,
) -> Any:
    """Sum the `cells_of` all parties in several batches."""
    options = SumOptions(aggregator=aggregator, colluding=colluding)  # type: ignore[arg-type]
    batch = SumBatch(cells=count, sensitivity=2, epsilon=epsilon)

    def party(me: Party) -> None:
        with me.phase("keys"):
            sums = PartySums(me, options, noise=noise)  # type: ignore[arg-type]
        for _ in range(batches):
            with me.phase("count"):
                tables = np.array_split(cells_of(me.number, count), chunks)
                sums.contribute(tables, batch)

    def curator(desk: Curator) -> list[np.ndarray]:
        with desk.phase("keys"):
            sums = CuratorSums(desk, options, noise=noise)  # type: ignore[arg-type]
        totals = []
        for _ in range(batches):
            with desk.phase("count"):
                totals.append(sums.total(batch))
        return totals

    return converse(party, curator, parties=parties, **more)


def exact(parties: int, count: int) -> np.ndarray:
    return np.asarray(sum(cells_of(party, count) for party in range(1, parties + 1)))


@pytest.mark.parametrize(("aggregator", "noise"), WAYS)
@pytest.mark.parametrize("parties", [1, 2, 3, 5])
def test_the_sum_is_right(converse: Converse, aggregator: str, noise: str, parties: int) -> None:
    """At epsilon 200 the noise is zero except with a probability below 1e-40."""
    talk = sum_up(
        converse, aggregator=aggregator, noise=noise, parties=parties, epsilon=200.0, batches=2
    )
    for total in talk.curator:
        assert np.array_equal(total, exact(parties, 50))
    for party in range(1, parties + 1):
        released = talk.party(party).accountant.releases
        assert [release.epsilon for release in released] == [200.0, 200.0]
        assert {release.sensitivity for release in released} == {2}


def test_the_aggregators_agree_to_the_digit(converse: Converse) -> None:
    """With one seed the noise is the same: aggregators differ in what they hide."""
    totals = [
        sum_up(converse, aggregator=aggregator, epsilon=0.1).curator[0].tolist()
        for aggregator in ("paillier", "masks", "clear")
    ]
    assert totals[0] == totals[1] == totals[2] != exact(3, 50).tolist()


def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a ciphertext or 13 cells on a page, so that small batches have many pages."""
    for module in (hidden_plaintexts, ring, selected, predict):
        monkeypatch.setattr(module, "PAGE", 1)
    for words in (hidden_words, clear, predict):
        monkeypatch.setattr(words, "WORDS_PAGE", 13)
    monkeypatch.setattr(pages_module, "WINDOW", 2)


@pytest.mark.parametrize("aggregator", ["paillier", "masks"])
@pytest.mark.parametrize("count", [0, 1, 12, 13, 97])
def test_many_pages_give_the_same_sum(
    converse: Converse, aggregator: str, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batches of many pages have the sums of one page, wherever tables and pages end."""
    small_pages(monkeypatch)
    talk = sum_up(converse, aggregator=aggregator, count=count, epsilon=200.0, chunks=5)
    assert np.array_equal(talk.curator[0], exact(3, count))
    kinds = [heard.kind for heard in talk.heard]
    pages = kinds.count("Encrypted" if aggregator == "paillier" else "Masked") // 3
    assert pages >= -(-count // 50)
    assert kinds.count("Continue") == 3 * (
        max(0, pages - 1) // 2
    )  # so nobody is more than two pages ahead


@pytest.mark.parametrize(("aggregator", "noise"), WAYS)
def test_the_noise_has_its_stated_distribution(
    converse: Converse, aggregator: str, noise: str
) -> None:
    """All shares together, less any one party's own, are two-sided geometric.

    The test is a chi-squared test of 40,000 cells.
    """
    count, epsilon = 40_000, 1.0
    drawn: dict[int, np.ndarray] = {}
    with pytest.MonkeyPatch.context() as patch:
        _spy(patch, drawn)
        talk = sum_up(
            converse, aggregator=aggregator, noise=noise, count=count, epsilon=epsilon, key_bits=512
        )
    residual = talk.curator[0] - exact(3, count)
    if noise == "shares":
        assert np.array_equal(residual, sum(drawn.values()))
        residual = residual - drawn[2]  # what party 2 can compute
    alpha = np.exp(-epsilon / 2)
    law = (1 - alpha) / (1 + alpha) * alpha ** np.abs(np.arange(-15, 16))
    counts = np.bincount(np.clip(residual, -16, 16) + 16, minlength=33)
    chances = np.concatenate([[(1 - law.sum()) / 2], law, [(1 - law.sum()) / 2]])
    assert stats.chisquare(counts, chances * count).pvalue > CHANCE


def _spy(patch: pytest.MonkeyPatch, drawn: dict[int, np.ndarray]) -> None:
    """Record the noise that each party drew, in the order of the parties' first pages."""
    plain = SharedNoise.draw

    def spied(self: SharedNoise, randomness: Any) -> Any:
        pages = list(self.pages)
        noisy = list(plain(SharedNoise(pages=pages, batch=self.batch, seen=self.seen), randomness))
        counts = np.concatenate(pages)
        party = next(p for p in (1, 2, 3) if np.array_equal(counts, cells_of(p, len(counts))))
        drawn[party] = np.concatenate(noisy) - counts
        return iter(noisy)

    patch.setattr(SharedNoise, "draw", spied)


VIEWS = ("public", "curator", "other_party", "2_parties", "curator_and_1", "curator_and_2")


def test_the_accounted_loss_of_each_view(converse: Converse) -> None:
    """The accounted loss depends on the aggregator, the noise and the threshold."""

    def seen(**more: Any) -> dict[str, float]:
        talk = sum_up(converse, epsilon=0.05, count=5, **more)
        losses = talk.party(1).accountant.releases[0].seen
        return {view: loss.epsilon for view, loss in losses.items()}

    plain = dict.fromkeys(VIEWS, 0.05)
    one_of_two = 0.05 * excess(rate=0.025, shape=0.5)  # a share of 1/2 where a whole was due
    assert one_of_two == pytest.approx(0.05 * 17, rel=0.01)
    assert seen(aggregator="masks") == plain | dict.fromkeys(
        ("2_parties", "curator_and_2"), one_of_two
    )
    assert seen() == seen(aggregator="masks")  # encryption takes nothing away
    assert seen(colluding=2, aggregator="masks") == seen(colluding=2) == plain
    alone = dict.fromkeys(("public", "curator", "other_party"), 0.05)
    assert (
        seen(parties=1, noise="selected")
        == seen(parties=1, aggregator="clear")
        == seen(parties=1)
        == alone
    )
    assert seen(noise="selected") == plain | dict.fromkeys(VIEWS[2:], float("inf"))
    assert seen(aggregator="clear")["curator"] == one_of_two
    assert seen(colluding=0)["other_party"] == pytest.approx(7.3 * 0.05, rel=0.01)


@pytest.mark.parametrize(
    ("parties", "sharing"), [(2, 1), (3, 2), (4, 3), (6, 5), (5, 2), (6, 2), (7, 4)]
)
def test_the_loss_of_coalitions_agrees_with_linear_algebra(
    parties: int, sharing: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The referee finds the fewest outsiders' tables whose sum a coalition can isolate.

    Each party shares masks with `sharing` others. Some of these graphs are sparser than any that is
    drawn for so few parties.
    """
    monkeypatch.setattr(collusion, "degree", lambda **_: sharing)
    graph = Circle(tuple(range(1, parties + 1)), sharing)
    # Losses are kept by batch. So each graph has a batch of its own.
    batch = Batch(
        cells=1, sensitivity=2, epsilon=0.5, rows=10 + sharing, parties=parties, colluding=1
    )
    for victim in range(1, parties + 1):
        for aggregator in ("paillier", "masks", "clear"):
            seen = loss_by_view(batch, aggregator=aggregator, noise="shares")
            for size in range(1, parties):
                coalitions = [
                    own for own in combinations(range(1, parties + 1), size) if victim not in own
                ]
                for curator in (False, True):
                    fewest = min(
                        isolated(victim, own, graph, aggregator, curator) for own in coalitions
                    )
                    expected = 0.5 * excess(rate=0.25, shape=fewest / (parties - 1))
                    view = with_curator(size) if curator else coalition(size)
                    assert seen[view].epsilon == pytest.approx(expected), (victim, aggregator, view)


def isolated(
    victim: int, colluding: tuple[int, ...], graph: Circle, aggregator: str, curator: bool
) -> int:
    """Count the fewest outsiders, with the victim, whose sum is in the span of what is known.

    The unknowns are the parties' tables and the masks of pairs. The curator sees every party's
    table with its masks; a party knows its table and its masks.
    """
    parties = graph.parties
    pairs = [
        (party, other)
        for party in graph.order
        for other in graph.neighbours(party)
        if party < other
    ]
    tables = np.eye(parties + len(pairs))[:parties]
    masks = dict(zip(pairs, np.eye(parties + len(pairs))[parties:], strict=True))
    known = [tables.sum(axis=0)]  # the sum of all, which is published
    known += [tables[own - 1] for own in colluding]
    known += [mask for pair, mask in masks.items() if set(pair) & set(colluding)]
    for party in graph.order if curator else ():
        masked = tables[party - 1].copy()
        if aggregator != "clear":
            for (first, second), mask in masks.items():
                masked += (party == first) * mask - (party == second) * mask
        known.append(masked)
    rank = np.linalg.matrix_rank(np.array(known))
    outside = [own for own in range(1, parties + 1) if own not in colluding and own != victim]
    for more in range(len(outside) + 1):
        for others in combinations(outside, more):
            aim = tables[[party - 1 for party in (victim, *others)]].sum(axis=0)
            if np.linalg.matrix_rank(np.array([*known, aim])) == rank:
                return 1 + more
    raise AssertionError("the sum of all outsiders follows from the sum of all")


def test_the_budget_is_checked_before_anything_is_sent(converse: Converse) -> None:
    with pytest.raises(BudgetError, match="at most epsilon 1 "):
        sum_up(converse, epsilon=0.6, batches=2, budget=1.0)


def test_secret_numbers_of_rows_are_not_sent(converse: Converse) -> None:
    with pytest.raises(MisuseError, match="public bound on the rows"):
        sum_up(converse, neighbours="add-or-remove-one")


def test_a_public_bound_replaces_the_numbers_of_rows(converse: Converse) -> None:
    options, batch = SumOptions(), SumBatch(cells=1, sensitivity=1, epsilon=200.0)

    def party(me: Party) -> None:
        with me.phase("keys"):
            sums = PartySums(me, options, noise="shares", rows=1000)
            sums.contribute([np.array([5])], batch)

    def curator(desk: Curator) -> Any:
        with desk.phase("keys"):
            return CuratorSums(desk, options, noise="shares", rows=1000).total(batch)

    talk = converse(party, curator, neighbours="add-or-remove-one")
    assert talk.curator.tolist() == [15]
    assert not {"Rows", "RowsByParty"} & {heard.kind for heard in talk.heard}


@pytest.mark.parametrize("aggregator", ["paillier", "masks"])
def test_counts_beyond_the_bound_are_refused(converse: Converse, aggregator: str) -> None:
    """A party's counts exceed its rows.

    Masked sums wrap around modulo 256**width, so only sums outside the bound are seen.
    """
    options = SumOptions(aggregator=aggregator)  # type: ignore[arg-type]
    batch = SumBatch(cells=3, sensitivity=2, epsilon=200.0)
    wrong = {"paillier": 2**12, "masks": 100}[aggregator]

    def party(me: Party) -> None:
        with me.phase("keys"):
            sums = PartySums(me, options, noise="shares")
            sums.contribute([np.full(3, wrong if me.number == 2 else 0)], batch)

    def curator(desk: Curator) -> Any:
        with desk.phase("keys"):
            return CuratorSums(desk, options, noise="shares").total(batch)

    with pytest.raises(MessageError, match=r"expected (sums of at most|zeros)"):
        converse(party, curator)


def test_different_parameters_of_roles_are_refused(converse: Converse) -> None:
    def party(me: Party) -> None:
        with me.phase("keys"):
            sums = PartySums(me, SumOptions(), noise="shares")
            cells = 4 if me.number == 1 else 5
            epsilon = 1e-4 if me.number == 1 else 1.0
            batch = SumBatch(cells=cells, sensitivity=2, epsilon=epsilon)
            sums.contribute([np.zeros(cells, np.int64)], batch)

    def curator(desk: Curator) -> None:
        with desk.phase("keys"):
            CuratorSums(desk, SumOptions(), noise="shares").total(
                SumBatch(cells=5, sensitivity=2, epsilon=1.0)
            )

    with pytest.raises(MessageError, match=r"has received"):
        converse(party, curator)


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ([np.zeros(3, np.int64)], "5 cells in all, found 3"),
        ([np.zeros(3, np.int64)] * 2, "found more"),
        ([np.zeros(5)], "tables of integers"),
        ([np.full(5, 2**63, np.uint64)], "below 2\\*\\*63"),
    ],
)
def test_tables_of_a_wrong_size_or_type_are_refused(tables: list[np.ndarray], message: str) -> None:
    with pytest.raises(MisuseError, match=message):
        list(recut(tables, cells=5, size=2))


def test_recut_keeps_every_cell() -> None:
    for size in (1, 2, 7, 100):
        pages = list(
            recut(
                [np.arange(6).reshape(2, 3), np.arange(6, 7), np.arange(7, 31)], cells=31, size=size
            )
        )
        assert np.concatenate(pages).tolist() == list(range(31))
        assert [len(page) for page in pages] == page_sizes(31, size=size)


def test_a_key_of_another_length_is_refused(
    converse: Converse, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sottovoce.crypto.paillier import new_key
    from sottovoce.protocols.secure_sum import keys

    short = new_key(128, randomness=RandomStream(b"s" * 32))
    monkeypatch.setattr(keys, "new_key", lambda bits, randomness: short)
    with pytest.raises(
        MessageError, match="expected one odd Paillier modulus of 256 bits, found 128"
    ):
        sum_up(converse)


def test_the_permutation_is_the_specifications_kind() -> None:
    """Every order of 3 is equally frequent, by a chi-squared test over the 6 orders."""
    seeds = (number.to_bytes(32, "little") for number in range(6000))
    orders = [tuple(shuffle(RandomStream(seed), size=3)) for seed in seeds]
    counts = np.unique(orders, axis=0, return_counts=True)[1]
    assert len(counts) == 6
    assert stats.chisquare(counts).pvalue > CHANCE


def test_the_selected_noise_is_one_partys(converse: Converse) -> None:
    """Over 120 batches every party is the owner at times, and exactly one in each batch."""
    drawn: dict[int, list[np.ndarray]] = {1: [], 2: [], 3: []}
    plain = SelectedNoise.draw

    def spied(self: SelectedNoise, randomness: Any) -> Any:
        for counts, noise in plain(self, randomness):
            party = next(p for p in (1, 2, 3) if np.array_equal(counts, cells_of(p, 8)))
            drawn[party].append(noise)
            yield counts, noise

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SelectedNoise, "draw", spied)
        talk = sum_up(converse, noise="selected", count=8, epsilon=0.01, batches=120)
    owners = []
    for at, total in enumerate(talk.curator):
        fits = [
            party for party in (1, 2, 3) if np.array_equal(total - exact(3, 8), drawn[party][at])
        ]
        assert len(fits) == 1
        owners += fits
    assert stats.chisquare(np.bincount(owners, minlength=4)[1:]).pvalue > CHANCE


def test_selected_noise_of_two_parties(converse: Converse) -> None:
    talk = sum_up(converse, noise="selected", parties=2, epsilon=200.0)
    assert np.array_equal(talk.curator[0], exact(2, 50))


def test_too_many_colluding_parties_are_refused(converse: Converse) -> None:
    with pytest.raises(SottovoceError, match="fewer colluding parties than the 3"):
        sum_up(converse, colluding=3)


@pytest.mark.parametrize(("aggregator", "noise"), WAYS)
@pytest.mark.parametrize("parties", [1, 2, 4, 40])
def test_the_predicted_cost_of_many_pages_is_exact(
    converse: Converse, aggregator: str, noise: str, parties: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sottovoce.protocols import Public
    from sottovoce.protocols.introductions import predict_handshakes
    from sottovoce.protocols.secure_sum import predict_keys, predict_sum

    small_pages(monkeypatch)
    count = 200 if parties < 10 else 60
    talk = sum_up(converse, aggregator=aggregator, noise=noise, parties=parties, count=count)
    options = SumOptions(aggregator=aggregator)  # type: ignore[arg-type]
    public = Public(parties=parties, rows=20 * parties, key_bits=256, domain=None)
    lines = predict_handshakes(
        [
            *predict_keys(options, public, noise=noise, phase="keys"),  # type: ignore[arg-type]
            *predict_sum(
                options,
                public,
                SumBatch(cells=count, sensitivity=2, epsilon=1.0),
                noise=noise,  # type: ignore[arg-type]
                phase="count",
            ),
        ],
        hybrid=False,
    )
    expected = sorted((line.phase, line.kind, line.messages, line.payload_bytes) for line in lines)
    sent = [act for role in talk.roles.values() for act in role.acts if act.sent]
    found = []
    for phase, kind in {(act.phase, act.kind) for act in sent}:
        sizes = [act.payload for act in sent if (act.phase, act.kind) == (phase, kind)]
        found.append((phase, kind, len(sizes), sum(sizes)))
    assert sorted(found) == expected


def test_no_two_batches_share_masks(converse: Converse) -> None:
    """Two sub-protocols of a run share the channels.

    Their first batches must not share a keystream.
    """
    options = SumOptions(aggregator="masks")
    batch = SumBatch(cells=40, sensitivity=2, epsilon=200.0)

    def party(me: Party) -> None:
        for _ in range(2):
            with me.phase("keys"):
                sums = PartySums(me, options, noise="shares")
                sums.contribute([np.zeros(40, np.int64)], batch)

    def curator(desk: Curator) -> list[Any]:
        totals = []
        for _ in range(2):
            with desk.phase("keys"):
                totals.append(CuratorSums(desk, options, noise="shares").total(batch))
        return totals

    talk = converse(party, curator)
    assert not any(total.any() for total in talk.curator)
    first, second = (
        opened.message.cells
        for opened in talk.opened
        if isinstance(opened.message, SecureSums.Masked) and opened.sender == 1
    )
    assert not np.array_equal(
        first, second
    )  # zeros without noise: equal masks would give equal bytes


@pytest.mark.parametrize("aggregator", ["paillier", "masks"])
def test_masks_that_do_not_cancel_are_refused(
    converse: Converse, monkeypatch: pytest.MonkeyPatch, aggregator: str
) -> None:
    """With a wrong key at one party the sum is noise, at times as small as counts.

    It is not published.
    """
    from sottovoce.crypto import Channel

    keys = iter(range(100))
    monkeypatch.setattr(
        Channel, "next_key", lambda self, purpose: next(keys).to_bytes(32, "little")
    )
    match = {"masks": "expected masks that cancel", "paillier": "masks do not cancel"}[aggregator]
    with pytest.raises(MessageError, match=match):
        sum_up(converse, aggregator=aggregator, count=1)


MEMBERS = (1, 2, 3)
AGREED = Batch(cells=4, sensitivity=2, epsilon=0.5, rows=90, parties=3, colluding=1)
GAUSSIAN = Batch(cells=4, sensitivity=2, rho=0.01, squares=2, rows=90, parties=3, colluding=1)
SHARED_LIES: list[dict[str, Any]] = [
    {"cells": 5},
    {"sensitivity": 1},
    {"rows": 91},
    {"colluding": 0},
    {"parties": 4},
]
LIES = [
    *[(batch, lie) for batch in (AGREED, GAUSSIAN) for lie in SHARED_LIES],
    (AGREED, {"epsilon": 0.25}),
    *[(GAUSSIAN, lie) for lie in ({"rho": 0.02}, {"squares": 4}, {"of_gaussian": True})],
]


def test_there_is_a_lie_about_every_figure_of_a_batch() -> None:
    assert {name for _, lie in LIES for name in lie} == {field.name for field in fields(Batch)}


@pytest.mark.parametrize(("batch", "lie"), LIES)
def test_the_digest_covers_every_figure_of_a_batch(batch: Batch, lie: dict[str, Any]) -> None:
    """A curator that tells parties different figures gets masks of different keys."""
    digest = digest_of([batch], members=MEMBERS, number=0, instructions=b"same")
    assert (
        digest_of([replace(batch, **lie)], members=MEMBERS, number=0, instructions=b"same")
        != digest
    )
    assert digest_of([batch], members=MEMBERS, number=1, instructions=b"same") != digest
    assert digest_of([batch], members=(1, 2, 4), number=0, instructions=b"same") != digest
    assert digest_of([batch] * 2, members=MEMBERS, number=0, instructions=b"same") != digest
    assert digest_of([batch], members=MEMBERS, number=0, instructions=b"other") != digest
    assert digest_of([replace(batch)], members=MEMBERS, number=0, instructions=b"same") == digest


@pytest.mark.parametrize("aggregator", ["paillier", "masks"])
@pytest.mark.parametrize("lie", [{"sensitivity": 1}, {"epsilon": 0.3}])
def test_a_party_that_received_another_batch_ends_the_run(
    converse: Converse, lie: dict[str, Any], aggregator: str
) -> None:
    """The widths of cells stay the same here, so only the digests show the lie."""
    options = SumOptions(aggregator=aggregator)  # type: ignore[arg-type]
    figures: dict[str, Any] = {"cells": 4, "sensitivity": 2, "epsilon": 0.29}
    batch = SumBatch(**figures)
    other = SumBatch(**{**figures, **lie})

    def party(me: Party) -> None:
        with me.phase("keys"):
            sums = PartySums(me, options, noise="shares")
            sums.contribute([cells_of(me.number, 4)], other if me.number == 2 else batch)

    def curator(desk: Curator) -> Any:
        with desk.phase("keys"):
            return CuratorSums(desk, options, noise="shares").total(batch)

    with pytest.raises(MessageError, match=r"has received (the same as|what)"):
        converse(party, curator)


@pytest.mark.parametrize(
    ("bound", "width"),
    [(1, 1), (127, 1), (128, 2), (2**15 - 1, 2), (2**15, 3), (2**55, 8), (2**63 - 1, 8)],
)
def test_a_masked_cell_holds_the_bound_and_its_sign(
    bound: int, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Batch, "bound", lambda _, *, shares: bound)
    assert masked_width(AGREED) == width
    monkeypatch.setattr(Batch, "bound", lambda _, *, shares: 2**63)
    with pytest.raises(SottovoceError, match=r"expected sums below 2\*\*63"):
        masked_width(AGREED)


def test_masks_of_eight_bytes(converse: Converse, monkeypatch: pytest.MonkeyPatch) -> None:
    """The widest cells leave no bit over, and negative sums are read right."""
    monkeypatch.setattr(Batch, "bound", lambda _, *, shares: 2**62)
    batch = SumBatch(cells=3, sensitivity=1, epsilon=200.0)
    options = SumOptions(aggregator="masks")

    def party(me: Party) -> None:
        with me.phase("keys"):
            sums = PartySums(me, options, noise="shares")
            sums.contribute([np.array([2**60, -(2**60), 1]) // me.number], batch)

    def curator(desk: Curator) -> Any:
        with desk.phase("keys"):
            return CuratorSums(desk, options, noise="shares").total(batch)

    total = [2**60 + 2**59 + 2**60 // 3, -(2**60) - 2**59 - 2**60 // 3 - 1, 1]
    assert converse(party, curator).curator.tolist() == total


@pytest.mark.parametrize("width", range(1, 9))
def test_zero_cells_take_eight_bytes(width: int) -> None:
    """Masks that do not cancel leave 64 bits zero by chance alone; no cell is wasted."""
    assert 8 <= check_cells(width) * width < 8 + width


def test_unsigned_counts_are_added_up_below_two_to_the_63() -> None:
    fitting = np.array([5, 2**63 - 1], np.uint64)
    (page,) = recut([fitting], cells=2, size=8)
    assert page.tolist() == [5, 2**63 - 1]
    with pytest.raises(MisuseError, match=r"expected counts below 2\*\*63"):
        list(recut([np.array([5, 2**63], np.uint64)], cells=2, size=8))
