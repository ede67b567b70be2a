"""Sums among some of the parties, and several sums at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from house_suites import SampledSuite, VariantSuite
from scipy import stats

from sottovoce import (
    Budget,
    Curator,
    Party,
    audit,
)
from sottovoce.messages import BudgetError, MessageError, MisuseError, UsageError
from sottovoce.privacy import Batch, coalition, with_curator
from sottovoce.privacy.laplace_shares import excess
from sottovoce.protocols.secure_sum import (
    CuratorSums,
    PartySums,
    RealBatch,
    SecureSums,
    SumBatch,
    SumOptions,
    collusion,
)
from sottovoce.protocols.secure_sum.collusion import loss_by_view
from sottovoce.protocols.secure_sum.graph import Circle

Converse = Callable[..., Any]
AGGREGATORS = ["paillier", "masks", "clear"]
CHANCE = 1e-7
EXACT = 200.0
"""An epsilon at which the noise is zero but for a probability below 1e-40 a cell."""


def options_of(aggregator: str, *, colluding: int = 1) -> SumOptions:
    return SumOptions(aggregator=aggregator, colluding=colluding)  # type: ignore[arg-type]


def counts_of(party: int, *, cells: int = 7) -> np.ndarray:
    return np.random.default_rng(party).integers(0, 5, cells)


def sum_among(
    converse: Converse,
    groups: Sequence[Sequence[int]],
    *,
    aggregator: str,
    parties: int,
    epsilon: float = EXACT,
    cells: int = 7,
    colluding: int = 1,
    **more: Any,
) -> Any:
    """Sum once among each group of parties."""
    options = options_of(aggregator, colluding=colluding)
    batch = SumBatch(cells=cells, sensitivity=2, epsilon=epsilon)

    def party(me: Party) -> None:
        with me.phase("keys"):
            sums = PartySums(me, options)
        for group in groups:
            if me.number in group:
                with me.phase("count"):
                    sums.among(group).contribute([counts_of(me.number, cells=cells)], batch)

    def curator(desk: Curator) -> list[np.ndarray]:
        with desk.phase("keys"):
            sums = CuratorSums(desk, options)
        totals = []
        for group in groups:
            with desk.phase("count"):
                totals.append(sums.among(group).total(batch))
        return totals

    return converse(party, curator, parties=parties, **more)


@pytest.mark.parametrize("aggregator", AGGREGATORS)
def test_each_sum_is_that_of_its_members(converse: Converse, aggregator: str) -> None:
    groups = [(1, 3), (2, 4, 5), (1, 2, 3, 4, 5), (3, 1), (1, 3)]
    talk = sum_among(converse, groups, aggregator=aggregator, parties=5)
    for group, total in zip(groups, talk.curator, strict=True):
        assert np.array_equal(total, sum(counts_of(party) for party in group))
    for party in range(1, 6):
        releases = talk.party(party).accountant.releases
        assert len(releases) == sum(party in group for group in groups)


def test_among_more_parties_than_share_masks(converse: Converse) -> None:
    """Of 50 parties not all pairs are introduced; those of the smaller circle are, when needed."""
    group = range(3, 43)
    talk = sum_among(converse, [range(1, 51), group], aggregator="masks", parties=50)
    assert np.array_equal(talk.curator[0], sum(counts_of(party) for party in range(1, 51)))
    assert np.array_equal(talk.curator[1], sum(counts_of(party) for party in group))


def test_the_noise_is_that_of_the_members(converse: Converse) -> None:
    """A chi-squared test of 40,000 cells: without one share the noise is two-sided geometric.

    Shares of all four parties would leave too little noise in a sum of three. The share that is
    left out is that of party 4, whose answer a tap keeps.
    """
    cells, epsilon = 40_000, 1.0
    kept: dict[int, np.ndarray] = {}
    options = options_of("masks")
    batch = SumBatch(cells=cells, sensitivity=2, epsilon=epsilon)

    def party(me: Party) -> None:
        release = me.release

        def tapped(mechanism: Any, **more: Any) -> Any:
            pages = list(release(mechanism, **more))
            kept[me.number] = np.concatenate(pages)
            return iter(pages)

        me.release = tapped  # type: ignore[method-assign]
        with me.phase("keys"):
            sums = PartySums(me, options)
        if me.number > 1:
            with me.phase("count"):
                sums.among([2, 3, 4]).contribute([np.zeros(cells, np.int64)], batch)

    def curator(desk: Curator) -> np.ndarray:
        with desk.phase("keys"):
            sums = CuratorSums(desk, options)
        with desk.phase("count"):
            smaller = sums.among([2, 3, 4])
            assert smaller.variance(batch) == pytest.approx(1.5 * sums.variance(batch) * 3 / 4)
            return smaller.total(batch)

    talk = converse(party, curator, parties=4)
    assert sorted(kept) == [2, 3, 4]
    residual = talk.curator - kept[4]
    alpha = np.exp(-epsilon / 2)
    law = (1 - alpha) / (1 + alpha) * alpha ** np.abs(np.arange(-15, 16))
    counts = np.bincount(np.clip(residual, -16, 16) + 16, minlength=33)
    chances = np.concatenate([[(1 - law.sum()) / 2], law, [(1 - law.sum()) / 2]])
    assert stats.chisquare(counts, chances * cells).pvalue > CHANCE


@pytest.mark.parametrize(("members", "sharing"), [(2, 1), (3, 2), (4, 3), (5, 2), (6, 2)])
def test_the_loss_of_coalitions_agrees_with_linear_algebra(
    members: int, sharing: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The referee tries all coalitions of all parties, those outside the sum included.

    It finds the fewest tables, the victim's among them, whose sum is in the span of what a
    coalition knows. Unknown are the members' tables and the masks of neighbours.
    """
    monkeypatch.setattr(collusion, "degree", lambda **_: sharing)
    parties = members + 2
    inside = list(range(2, members + 2))  # parties 1 and the last are outside
    graph = Circle(tuple(inside), sharing)
    batch = Batch(
        cells=1, sensitivity=2, epsilon=0.5, rows=30 + sharing, parties=members, colluding=1
    )
    for aggregator in ("paillier", "masks", "clear"):
        losses = loss_by_view(batch, aggregator=aggregator, noise="shares", parties=parties)
        assert batch.loss.epsilon == 0.5
        for curator in (False, True):
            for size in range(1, parties):
                fewest = min(
                    isolated(victim, own, graph, aggregator, curator=curator)
                    for victim in inside
                    for own in combinations(range(1, parties + 1), size)
                    if victim not in own
                )
                honest = members - 1
                expected = 0.5 * excess(rate=0.25, shape=min(1, fewest / honest))
                view = with_curator(size) if curator else coalition(size)
                assert losses[view].epsilon == pytest.approx(expected), (aggregator, view)


def isolated(
    victim: int, colluders: tuple[int, ...], graph: Circle, aggregator: str, *, curator: bool
) -> int:
    members = list(graph.order)
    pairs = [(a, b) for a in members for b in graph.neighbours(a) if a < b]
    names = [*members, *pairs]
    unit = dict(zip(names, np.eye(len(names)), strict=True))
    known = [sum(unit[party] for party in members)]
    known += [unit[party] for party in members if party in colluders]
    known += [unit[pair] for pair in pairs if set(pair) & set(colluders)]
    if curator:
        for party in members:
            masks = [((party == a) * 1.0 - (party == b) * 1.0) * unit[a, b] for a, b in pairs]
            known.append(unit[party] + sum(masks) * (aggregator != "clear"))
    rank = np.linalg.matrix_rank(np.array(known))
    others = [party for party in members if party not in colluders and party != victim]
    for more in range(len(others) + 1):
        for chosen in combinations(others, more):
            aim = sum(unit[party] for party in (victim, *chosen))
            if np.linalg.matrix_rank(np.array([*known, aim])) == rank:
                return 1 + more
    raise AssertionError("the sum of all outsiders follows from the sum of all")


def test_the_accounts_have_the_views_of_all_parties(converse: Converse) -> None:
    talk = sum_among(converse, [(1, 2, 3)], aggregator="masks", parties=5, epsilon=0.05)
    seen = {view: loss.epsilon for view, loss in talk.party(1).accountant.releases[0].seen.items()}
    two = 0.05 * excess(rate=0.025, shape=1 / 2)
    assert seen["other_party"] == seen["curator_and_1"] == seen["public"] == 0.05
    assert seen["2_parties"] == seen["curator_and_2"] == seen["4_parties"] == pytest.approx(two)
    assert talk.party(4).accountant.releases == []


REFUSED: list[tuple[list[int], dict[str, Any], str]] = [
    ([2], {}, "expected at least two parties in a secure sum, found party 2: the sum of one"),
    ([], {}, "expected at least two parties in a secure sum, found none"),
    ([1, 9], {}, "expected a sum among parties 1 to 4, found rank 9"),
    ([0, 1], {}, "expected a sum among parties 1 to 4, found rank 0"),
    ([1, 2], {"colluding": 2}, "expected more parties in a sum than the 2 that may collude"),
]


@pytest.mark.parametrize(("group", "more", "text"), REFUSED)
def test_groups_that_are_no_secure_sum_are_refused(
    converse: Converse, group: list[int], more: dict[str, Any], text: str
) -> None:
    with pytest.raises(UsageError, match=text):
        sum_among(converse, [group], aggregator="masks", parties=4, **more)


def test_a_party_outside_of_a_sum_adds_nothing(converse: Converse) -> None:
    def party(me: Party) -> None:
        with me.phase("keys"):
            PartySums(me, options_of("masks")).among([1, 2])

    def curator(desk: Curator) -> None:
        with desk.phase("keys"):
            CuratorSums(desk, options_of("masks"))

    with pytest.raises(UsageError, match="expected a sum that party 3 is in, found one among"):
        converse(party, curator, parties=3)


def test_selected_noise_is_refused_among_some(converse: Converse) -> None:
    def party(me: Party) -> None:
        with me.phase("keys"):
            PartySums(me, options_of("paillier"), noise="selected").among([1, 2])

    def curator(desk: Curator) -> None:
        with desk.phase("keys"):
            CuratorSums(desk, options_of("paillier"), noise="selected").among([1, 2])

    with pytest.raises(UsageError, match="expected noise in shares for a sum among some"):
        converse(party, curator, parties=3)


def test_sums_among_some_are_refused_where_a_party_may_be_lost(converse: Converse) -> None:
    """The attempts at a sum are those of all parties that are left."""

    def refuse(sums: PartySums | CuratorSums) -> None:
        with pytest.raises(UsageError, match="expected --on-loss stop for a protocol with sums"):
            sums.among([1, 2])

    def party(me: Party) -> None:
        with me.phase("keys"):
            sums = PartySums(me, options_of("masks"))
        me.min_parties = 2
        refuse(sums)

    def curator(desk: Curator) -> None:
        with desk.phase("keys"):
            sums = CuratorSums(desk, options_of("masks"))
        desk.min_parties = 2
        refuse(sums)

    converse(party, curator, parties=3)


def test_roles_that_mean_other_members_are_refused(converse: Converse) -> None:
    options = options_of("masks")
    batch = SumBatch(cells=1, sensitivity=1, epsilon=1.0)

    def party(me: Party) -> None:
        with me.phase("keys"):
            sums = PartySums(me, options)
        with me.phase("count"):
            if me.number < 4:
                sums = sums.among([1, 2, 3])
            sums.contribute([[1]], batch)

    def curator(desk: Curator) -> Any:
        with desk.phase("keys"):
            sums = CuratorSums(desk, options)
        with desk.phase("count"):
            return sums.total(batch)

    with pytest.raises(MessageError, match="has received"):
        converse(party, curator, parties=4)


# ---- several at once


def send_together(
    converse: Converse,
    *,
    aggregator: str,
    epsilons: Sequence[float],
    together: bool,
    **more: Any,
) -> Any:
    options = options_of(aggregator)
    batches = [
        SumBatch(cells=3 + number, sensitivity=2, epsilon=epsilon)
        for number, epsilon in enumerate(epsilons)
    ]

    def party(me: Party) -> None:
        with me.phase("keys"):
            sums = PartySums(me, options)
        tables = [counts_of(10 * me.number + batch.cells, cells=batch.cells) for batch in batches]
        with me.phase("count"):
            if together:
                with sums.together():
                    for table, batch in zip(tables, batches, strict=True):
                        sums.contribute([table], batch)
            else:
                for table, batch in zip(tables, batches, strict=True):
                    sums.contribute([table], batch)

    def curator(desk: Curator) -> Any:
        with desk.phase("keys"):
            sums = CuratorSums(desk, options)
        with desk.phase("count"):
            return sums.totals(batches) if together else [sums.total(batch) for batch in batches]

    return converse(party, curator, **more)


@pytest.mark.parametrize("aggregator", AGGREGATORS)
def test_together_and_apart_give_the_same(converse: Converse, aggregator: str) -> None:
    """With one seed the noise is the same, too; fewer digests are sent, and as many pages."""
    totals, kinds, releases = [], [], []
    for together in (True, False):
        talk = send_together(
            converse, aggregator=aggregator, epsilons=[0.5, 0.1, 2.0], together=together
        )
        totals.append([total.tolist() for total in talk.curator])
        kinds.append([heard.kind for heard in talk.heard])
        released = talk.party(2).accountant.releases
        releases.append([(release.epsilon, release.sensitivity) for release in released])
    assert totals[0] == totals[1]
    assert releases[0] == releases[1] == [(0.5, 2), (0.1, 2), (2.0, 2)]
    page = {"paillier": "Encrypted", "masks": "Masked", "clear": "Unprotected"}[aggregator]
    assert [kind.count(page) for kind in kinds] == [9, 9]
    digests = 0 if aggregator == "clear" else 6
    assert [kind.count("Agreement") for kind in kinds] == [digests, 3 * digests]


@pytest.mark.parametrize("aggregator", AGGREGATORS)
def test_sums_follow_several_at_once(converse: Converse, aggregator: str) -> None:
    """All roles go on with the number of the next batch."""
    options, batch = options_of(aggregator), SumBatch(cells=2, sensitivity=2, epsilon=EXACT)

    def party(me: Party) -> None:
        with me.phase("keys"):
            sums = PartySums(me, options)
        with me.phase("count"):
            for _ in range(2):
                with sums.together():
                    sums.contribute([[1, 2]], batch)
                    sums.contribute([[3, 4]], batch)
            sums.contribute([[5, 6]], batch)

    def curator(desk: Curator) -> Any:
        with desk.phase("keys"):
            sums = CuratorSums(desk, options)
        with desk.phase("count"):
            several = [total.tolist() for _ in range(2) for total in sums.totals([batch, batch])]
            return [*several, sums.total(batch).tolist()]

    assert converse(party, curator).curator == [[3, 6], [9, 12], [3, 6], [9, 12], [15, 18]]


def test_no_two_batches_at_once_share_masks(converse: Converse) -> None:
    """Two batches of the same cells look different, and so does their difference."""
    talk = send_together(converse, aggregator="masks", epsilons=[EXACT, EXACT], together=True)
    pages = [
        opened.message.cells.tobytes()[:16]
        for opened in talk.opened
        if isinstance(opened.message, SecureSums.Masked)
    ]
    assert len(set(pages)) == len(pages) == 6


def test_a_budget_is_exceeded_before_anything_is_sent(converse: Converse) -> None:
    with pytest.raises(BudgetError, match="at most epsilon 1 "):
        send_together(converse, aggregator="masks", epsilons=[0.6, 0.6], together=True, budget=1.0)


def test_nothing_is_sent_where_the_block_fails(converse: Converse) -> None:
    def party(me: Party) -> None:
        with me.phase("keys"):
            sums = PartySums(me, options_of("masks"))
        batch = SumBatch(cells=1, sensitivity=1, epsilon=1.0)
        with me.phase("count"):
            with pytest.raises(KeyError), sums.together():
                sums.contribute([[1]], batch)
                raise KeyError
            match = "found it within another"
            with sums.together(), pytest.raises(MisuseError, match=match), sums.together():
                pass
        assert me.accountant.releases == []

    def curator(desk: Curator) -> Any:
        with desk.phase("keys"):
            sums = CuratorSums(desk, options_of("masks"))
        return sums.totals([])

    assert converse(party, curator).curator == []


# ---- a protocol with both


REFERENCE = "regional_protocols:RegionalMeans"


class TestRegionalMeans(SampledSuite):
    protocol = REFERENCE
    parties = 4
    parameters: ClassVar[dict[str, Any]] = {"aggregator": "masks"}

    @pytest.fixture(autouse=True)
    def _importable(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.syspath_prepend(Path(__file__).parent)
        monkeypatch.chdir(Path(__file__).parent)


class TestRegionalMeansUnderEncryption(TestRegionalMeans, VariantSuite):
    parameters: ClassVar[dict[str, Any]] = {
        "aggregator": "paillier",
        "key_bits": 512,
        "insecure_test_keys": True,
    }


def test_disjoint_parts_cost_the_largest_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    import sottovoce

    monkeypatch.syspath_prepend(Path(__file__).parent)
    run = sottovoce.run(
        REFERENCE,
        parties=4,
        rows=2000,
        seed=1,
        epsilon=20.0,
        aggregator="masks",
        judge=False,
        no_rehearsal=True,  # the suite rehearses it
    )
    assert run.report["privacy"]["epsilon"]["public"] == pytest.approx(20.0)
    assert run.report["communication"]["rounds"] == 5
    assert 30 < run.report["outcome"]["mean age"] < 50


def test_an_audit_finds_no_more_than_is_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parent)
    monkeypatch.chdir(Path(__file__).parent)  # where processes of the audit look for it, too
    found = audit(REFERENCE, parties=4, runs=100, epsilon=1.0, aggregator="masks", seed=1)
    assert found.ok, found


WHOLE = SumBatch(cells=1, sensitivity=1, epsilon=1.0)
REAL = RealBatch(bounds=(0, 1), budget=Budget("epsilon", 1.0), neighbours="replace-one")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda sums: sums.totals(WHOLE, WHOLE), r"one list of batches in `totals`.*\[first, sec"),
        (lambda sums: sums.totals([WHOLE], [WHOLE]), "one list of batches in `totals`"),
        (lambda sums: sums.totals(WHOLE), "one list of batches in `totals`"),
        (lambda sums: sums.totals([[WHOLE]]), "one list of batches in `totals`"),
        (lambda sums: sums.total([WHOLE]), r"a SumBatch in `total`, found a list: .*totals\(\["),
        (lambda sums: sums.total(REAL), "found a RealBatch: real numbers have `sums.real`"),
        (lambda sums: sums.total(3), "found something else: make it as SumBatch"),
        (lambda sums: sums.real(WHOLE), "found a SumBatch: whole numbers have `contribute`"),
        (lambda sums: sums.real([REAL]), r"found something else: .* sums.real\(values, batch\)"),
    ],
)
def test_a_curator_who_asks_in_the_wrong_way_reads_the_right_one(
    converse: Converse, call: Callable[[CuratorSums], object], message: str
) -> None:
    options = options_of("clear")

    def party(me: Party) -> None:
        with me.phase("keys"):
            PartySums(me, options)

    def curator(desk: Curator) -> None:
        with desk.phase("keys"):
            sums = CuratorSums(desk, options)
        with desk.phase("sum"):
            call(sums)

    with pytest.raises(MisuseError, match=message):
        converse(party, curator, parties=2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda sums: sums.contribute([[1]], REAL), "found a RealBatch: real numbers have"),
        (lambda sums: sums.real(REAL, [0.5]), r"a RealBatch in `real`, found something else"),
        (lambda sums: sums.real([0.5], WHOLE), "found a SumBatch: whole numbers have `contribute`"),
    ],
)
def test_a_party_that_adds_in_the_wrong_way_reads_the_right_one(
    converse: Converse, call: Callable[[PartySums], object], message: str
) -> None:
    options = options_of("clear")

    def party(me: Party) -> None:
        with me.phase("keys"):
            sums = PartySums(me, options)
        with me.phase("sum"):
            call(sums)

    def curator(desk: Curator) -> None:
        with desk.phase("keys"):
            sums = CuratorSums(desk, options)
        with desk.phase("sum"):
            sums.total(WHOLE)

    with pytest.raises(MisuseError, match=message):
        converse(party, curator, parties=2)
