"""Figures of secure sums: who may be in one, what its noise hides, and what is digested."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from types import SimpleNamespace
from typing import Any, cast

import pytest

from sottovoce.messages import PeerLostError, UsageError
from sottovoce.parties import DEMO_SCHEMA
from sottovoce.privacy import Batch, Members
from sottovoce.privacy.budget import Budget
from sottovoce.privacy.conversion import rho_of
from sottovoce.privacy.local.bloom import BloomFilters
from sottovoce.privacy.local.hashed_heads import choose_hashes, field_size
from sottovoce.privacy.loss import UNBOUNDED
from sottovoce.protocols.lopub.filters import request
from sottovoce.protocols.mst.protocol import MST
from sottovoce.protocols.noisy_marginals import NoisyMarginals
from sottovoce.protocols.one_way import OneWay
from sottovoce.protocols.options import Mode
from sottovoce.protocols.secure_sum import CuratorSums, PartySums, SumBatch, SumOptions
from sottovoce.protocols.secure_sum.agreement import digest_of
from sottovoce.protocols.secure_sum.collusion import loss_by_view, unknown_shares
from sottovoce.protocols.secure_sum.graph import Circle
from sottovoce.protocols.secure_sum.members import cut_among, members_among, require_all
from sottovoce.protocols.secure_sum.options import Noise, choose_noise, colluding
from sottovoce.protocols.secure_sum.rows import rows_among
from sottovoce.protocols.secure_sum.summing import require_lasting_sums

BATCH = Batch(cells=4, sensitivity=2, epsilon=0.5, rows=90, parties=5, colluding=2)
AGGREGATORS = ("paillier", "masks", "clear")


def options(**values: Any) -> SumOptions:
    return SumOptions(**values)


# Which noise, and who may collude


@pytest.mark.parametrize("mode", ["rigorous", "paper"])
@pytest.mark.parametrize("aggregator", AGGREGATORS)
@pytest.mark.parametrize("delta", [0.0, 1e-9])
@pytest.mark.parametrize("noise", [None, "laplace", "gaussian", "auto", "selected"])
def test_the_noise_goes_with_mode_aggregator_and_delta(
    mode: Mode, aggregator: str, delta: float, noise: Noise | None
) -> None:
    """Selected noise is for Paillier in mode paper, and Gaussian noise needs a delta elsewhere."""
    chosen = options(aggregator=aggregator, delta=delta, noise=noise)
    if noise is None:
        expected: Noise | None = "auto" if delta else "laplace"
        if mode == "paper":
            expected = "selected" if aggregator == "paillier" else "laplace"
    elif noise == "selected":
        expected = noise if mode == "paper" and aggregator == "paillier" else None
    elif noise == "laplace":
        expected = noise
    else:
        may_be = mode == "rigorous" and (noise == "auto" or delta > 0)
        expected = noise if may_be else None
    if expected is None:
        with pytest.raises(UsageError, match="expected"):
            choose_noise(chosen, mode=mode)
    else:
        assert choose_noise(chosen, mode=mode) == expected


def test_fewer_than_all_parties_may_collude() -> None:
    for parties in (2, 3, 7):
        for threshold in range(parties):
            assert colluding(options(colluding=threshold), parties=parties) == threshold
        for threshold in (parties, parties + 1):
            with pytest.raises(UsageError, match=f"fewer colluding parties than the {parties}"):
                colluding(options(colluding=threshold), parties=parties)
    assert colluding(options(colluding=1), parties=1) == 0  # nobody else is there


@pytest.mark.parametrize("parties", [2, 5])
@pytest.mark.parametrize("threshold", [0, 1, 3])
def test_a_sum_that_goes_on_keeps_one_party_more_than_may_collude(
    parties: int, threshold: int
) -> None:
    if threshold >= parties:
        return
    chosen = options(aggregator="masks", colluding=threshold)
    for least in range(parties + 2):
        if max(2, threshold + 1) <= least <= parties:
            require_lasting_sums(chosen, mode="rigorous", parties=parties, min_parties=least)
        else:
            with pytest.raises(UsageError, match=f"found {least}$"):
                require_lasting_sums(chosen, mode="rigorous", parties=parties, min_parties=least)


@pytest.mark.parametrize(
    ("mode", "values"),
    [
        ("rigorous", {"aggregator": "clear"}),
        ("paper", {"aggregator": "clear"}),
        ("paper", {"aggregator": "paillier"}),
        ("paper", {"aggregator": "paillier", "noise": "selected"}),
    ],
)
def test_a_sum_without_shares_under_masks_never_goes_on(mode: Mode, values: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="nothing protects a table that was sent before the loss"):
        require_lasting_sums(options(**values), mode=mode, parties=5, min_parties=4)
    require_lasting_sums(
        options(aggregator="paillier", noise="laplace"), mode=mode, parties=5, min_parties=4
    )


@pytest.mark.parametrize("noise", [None, "auto", "gaussian", "laplace", "selected"])
@pytest.mark.parametrize("delta", [0.0, 1e-9])
def test_a_protocol_of_gaussian_noise_alone_takes_no_other(
    noise: Noise | None, delta: float
) -> None:
    parameters = MST.Parameters(noise=noise, delta=delta)  # type: ignore[call-arg]
    if delta and noise in (None, "auto", "gaussian"):
        protocol = MST(cast("Any", parameters), mode="rigorous")
        assert protocol.budgets == [Budget.of(protocol.epsilon, delta=delta)]
    else:
        with pytest.raises(UsageError, match="a delta above 0" if not delta else "noise=gaussian"):
            MST(cast("Any", parameters), mode="rigorous")


def test_the_budgets_of_a_sum_are_in_the_units_of_its_noise() -> None:
    def protocol(mode: Mode = "rigorous", **values: Any) -> NoisyMarginals:
        parameters = NoisyMarginals.Parameters(epsilon=2.0, **values)  # type: ignore[call-arg]
        return NoisyMarginals(cast("Any", parameters), mode=mode)

    pure, rho = Budget("epsilon", 2.0), Budget("rho", rho_of(2.0, delta=1e-9))
    gaussian = Budget.of_noise(2.0, delta=1e-9)
    assert protocol(noise="laplace").budgets == [pure]
    assert protocol(noise="gaussian").budgets == [rho, gaussian]
    assert protocol(noise="auto").budgets == [pure, rho, gaussian]
    assert protocol(noise="auto", delta=0.0).budgets == [pure]
    selected = protocol("paper")
    assert selected.budgets == [pure]
    assert (selected.noise, selected.curator_may_collude) == ("selected", False)
    assert (protocol().noise, protocol().curator_may_collude) == ("shares", True)
    assert [protocol(aggregator=name).parties_talk for name in AGGREGATORS] == [False, False, True]


def test_gaussian_sums_may_spend_a_gaussian_loss_and_subclasses_say_so_anew() -> None:
    class Further(OneWay):
        """May release otherwise, too."""

    parameters: Any = OneWay.Parameters(epsilon=2.0)  # type: ignore[call-arg]
    usual = Budget.candidates(2.0, delta=1e-9)
    larger = Budget.of_noise(2.0, delta=1e-9)
    assert OneWay(parameters, mode="rigorous").budgets == [*usual, larger]
    assert larger.amount > 1.05 * usual[1].amount
    assert Further(parameters, mode="rigorous").budgets == usual
    after_a_schema = OneWay(parameters, mode="rigorous")
    after_a_schema.is_whole_run = False
    assert after_a_schema.budgets == usual


# Who is in a sum


def members_of(ranks: list[int], *, noise: Any = "shares", threshold: int = 1) -> list[int]:
    return members_among(
        ranks, parties=range(1, 6), options=options(colluding=threshold), noise=noise
    )


def test_a_sum_has_two_members_and_more_than_may_collude() -> None:
    assert members_of([4, 2, 2]) == [2, 4]
    assert members_of([5, 4, 3, 2, 1], threshold=4) == [1, 2, 3, 4, 5]
    assert members_of([1, 2, 3, 4, 5], noise="selected") == [1, 2, 3, 4, 5]
    assert members_of([1, 2, 3], threshold=2) == [1, 2, 3]
    for ranks, text in (
        ([], "at least two parties in a secure sum, found none"),
        ([3], "at least two parties in a secure sum, found party 3"),
        ([1, 6], "parties 1 to 5, found rank 6"),
        ([0, 1], "parties 1 to 5, found rank 0"),
    ):
        with pytest.raises(UsageError, match=text):
            members_of(ranks)
    with pytest.raises(UsageError, match="more parties in a sum than the 3 that may collude"):
        members_of([1, 2, 3], threshold=3)
    with pytest.raises(UsageError, match="noise in shares for a sum among some"):
        members_of([1, 2, 3], noise="selected")


def test_sums_among_some_parties_do_not_go_on() -> None:
    require_all(cast("Any", SimpleNamespace(min_parties=None)))
    for least in (0, 2):
        with pytest.raises(UsageError, match="--on-loss stop"):
            require_all(cast("Any", SimpleNamespace(min_parties=least)))


@dataclass
class Rows:
    rows: int
    rows_by_party: list[int]


def test_lost_parties_have_no_rows_in_a_sum() -> None:
    assert rows_among([1, 3], Rows(99, [10, 20, 30])) == 40
    assert rows_among([1, 2], Rows(99, [10, -1, 30])) == 10
    assert rows_among([1, 2], Rows(99, [])) == 99  # a public bound on all rows


def test_a_graph_that_few_members_part_is_refused() -> None:
    """On a circle of 40 with few neighbours, a set may fall apart; with all neighbours none can."""
    whole = Circle.among(range(1, 6), colluding=2, seed=bytes(32))
    assert cut_among(whole, [1, 2, 3, 4], colluding=2) == 3
    assert cut_among(whole, [1, 3], colluding=2) == 1  # one other member is all there is
    cut = SimpleNamespace(cut=lambda _: 2)
    members = [1, 2, 3, 4]
    assert cut_among(cast("Any", cut), members, colluding=1) == 2
    assert cut_among(cast("Any", cut), members[:3], colluding=2) == 2
    with pytest.raises(PeerLostError, match="no 2 are all that share masks"):
        cut_among(cast("Any", cut), members, colluding=2)


@pytest.mark.parametrize(("parties", "threshold", "larger"), [(5, 2, 3), (6, 1, 4), (4, 2, 3)])
def test_the_price_of_covering_more_parties_is_that_of_their_noise(
    parties: int, threshold: int, larger: int
) -> None:
    """As many as the claim covers cost nothing. The referee is the deviation of full noise."""
    given = options(colluding=threshold)
    covered = [Members(size, curator) for size in range(threshold + 1) for curator in (False, True)]
    assert given.covering(covered, parties=parties) == ""
    now, then = (
        SumBatch(cells=1, sensitivity=2, epsilon=0.5)
        .among(parties=parties, rows=9, colluding=size)
        .variance(shares=True)
        for size in (threshold, larger)
    )
    text = given.covering([*covered, Members(larger, curator=True)], parties=parties)
    assert text.startswith(f"--set colluding={larger} covers {larger} parties together")
    assert text.endswith(f", at {math.sqrt(then / now):.3g} times the noise")
    everybody = [Members(size, curator=True) for size in range(parties)]
    assert options(colluding=parties - 1).covering(everybody, parties=parties) == ""


def test_the_least_and_the_largest_price_of_covering_more_parties_are_named() -> None:
    """Of seven parties two may collude: five, three and one are left of all shares of the noise."""
    adversaries = [Members(size, curator=size != 4) for size in (6, 2, 4, 5)]
    assert options(colluding=2).covering(adversaries, parties=7) == (
        "--set colluding=C covers C parties together, at "
        f"{math.sqrt(5 / 3):.3g} times the noise for 4, {math.sqrt(5):.3g} times the noise for 6"
    )


@pytest.mark.parametrize("side", [CuratorSums, PartySums])
def test_either_side_refuses_members_whom_few_could_part(side: Any) -> None:
    """Nobody sends a table, though the other side may not have noticed."""
    sums = side.__new__(side)
    vars(sums).update(
        _me=SimpleNamespace(parties=range(1, 6)),
        _aggregator="masks",
        _noise="shares",
        circle=SimpleNamespace(cut=lambda _: 2),
        rows=99,
        rows_by_party=[10, 20, 30, 40, 50],
    )
    batch = SumBatch(cells=4, sensitivity=2, epsilon=0.5)
    for threshold in (2, 3):
        sums.colluding = threshold
        with pytest.raises(PeerLostError, match=f"no {threshold} are all that share masks"):
            sums._terms(batch, [1, 2, 3, 4])
    sums.colluding = 1
    terms = sums._terms(batch, [1, 2, 3, 4])
    assert terms.batch == batch.among(parties=4, rows=100, colluding=1)
    if side is PartySums:  # what two parties and the curator may learn is accounted for
        seen = loss_by_view(terms.batch, aggregator="masks", noise="shares", parties=5, sharing=2)
        assert terms.seen == seen
        assert seen != loss_by_view(terms.batch, aggregator="masks", noise="shares", parties=5)


# What hides a table


@pytest.mark.parametrize("aggregator", AGGREGATORS)
@pytest.mark.parametrize("curator", [False, True])
@pytest.mark.parametrize("sharing", [2, 4])
def test_the_shares_that_a_coalition_does_not_know(
    aggregator: Any, *, curator: bool, sharing: int
) -> None:
    """All parties outside it; the party's own where masks, or their lack, leave it alone."""
    members = [1, 2, 4, 5, 7]
    others = [rank for rank in range(1, 8) if rank != 4]
    for size in range(len(others) + 1):
        for colluders in combinations(others, size):
            unknown = unknown_shares(
                BATCH,
                members=members,
                party=4,
                colluders=colluders,
                curator=curator,
                aggregator=aggregator,
                sharing=sharing,
            )
            inside = {*colluders} & {*members}
            alone = curator and (aggregator == "clear" or len(inside) >= sharing)
            assert sorted(unknown) == ([4] if alone else sorted({*members} - inside))


@pytest.mark.parametrize("aggregator", AGGREGATORS)
def test_losses_by_view_are_those_of_the_shares_that_are_left(aggregator: Any) -> None:
    losses = loss_by_view(BATCH, aggregator=aggregator, noise="shares")
    expected = {}
    for size in range(1, 5):
        view = "other_party" if size == 1 else f"{size}_parties"
        expected[view] = BATCH.loss_with(5 - size)
        hidden_by = 1 if aggregator == "clear" else 5 - size
        expected[f"curator_and_{size}"] = BATCH.loss_with(hidden_by)
    if aggregator == "clear":
        expected["curator"] = BATCH.loss_with(1)
    assert dict(losses) == expected
    # The claim holds up to the threshold, and no further.
    assert losses["2_parties"].epsilon <= BATCH.epsilon * (1 + 1e-9) < losses["3_parties"].epsilon


def test_selected_noise_bounds_nothing_for_parties() -> None:
    losses = loss_by_view(BATCH, aggregator="paillier", noise="selected")
    names = {"other_party", *(f"{n}_parties" for n in (2, 3, 4))}
    names |= {f"curator_and_{n}" for n in (1, 2, 3, 4)}
    assert dict(losses) == dict.fromkeys(names, UNBOUNDED)


# What masks agree on


def test_every_figure_of_a_batch_changes_the_digest() -> None:
    gaussian = replace(BATCH, epsilon=math.inf, rho=0.25, squares=2)
    whole: dict[str, Any] = {"members": [1, 2, 3], "number": 4, "instructions": b"all"}

    def digest(*batches: Batch, **other: Any) -> bytes:
        return digest_of(batches, **(whole | other))

    changed = [
        replace(BATCH, **change)
        for change in (
            {"cells": 5},
            {"sensitivity": 3},
            {"epsilon": 0.5000000000000001},
            {"rows": 91},
            {"parties": 6},
            {"colluding": 1},
        )
    ]
    changed += [
        gaussian,
        replace(gaussian, rho=0.25000000000000006),
        replace(gaussian, squares=3),
    ]
    digests = [digest(batch) for batch in (BATCH, *changed)]
    digests += [digest(BATCH, BATCH), digest(BATCH, gaussian), digest(gaussian, BATCH), digest()]
    digests += [
        digest(BATCH, number=5),
        digest(BATCH, members=[1, 2]),
        digest(BATCH, members=[1, 2, 4]),
        digest(BATCH, instructions=b"other"),
    ]
    assert len({*digests}) == len(digests)
    assert all(len(value) == 32 for value in digests)
    assert digest(BATCH, members=[3, 1, 2]) == digests[0]


def test_the_deviation_of_a_batch_is_that_of_its_noise() -> None:
    laplace = SumBatch.of(Budget("epsilon", 0.5), cells=3, sensitivity=4, squares=9)
    assert laplace.unit == "epsilon"
    assert laplace.deviation == pytest.approx(math.sqrt(2) * 8)
    assert (laplace.rho, laplace.squares, laplace.weight) == (None, None, 1)
    gaussian = SumBatch.of(Budget("rho", 0.5), cells=3, sensitivity=4, squares=9, weight=2)
    assert (gaussian.unit, gaussian.deviation, gaussian.epsilon) == ("rho", 3.0, math.inf)
    assert SumBatch(cells=1, sensitivity=2, epsilon=0.0).deviation == math.inf
    assert SumBatch(cells=1, sensitivity=2, rho=0.0, squares=2).deviation == math.inf
    batch = gaussian.among(parties=3, rows=50, colluding=1)
    assert (batch.rows, batch.rho, batch.squares) == (100, 0.5, 9)
    assert (batch.cells, batch.sensitivity, batch.parties, batch.colluding) == (3, 4, 3, 1)


# Requests and hashes of local protocols


def test_a_request_for_filters_names_their_figures() -> None:
    domain = DEMO_SCHEMA.domain
    names = domain.attributes[:2]
    filters = BloomFilters(
        domain.shape(names), epsilon=8.0, key=bytes(32), hashes=3, bits_per_value=32
    )
    asked = request(filters, domain, names)
    assert (asked.attributes, asked.hashes, asked.bits_per_value) == ((0, 1), 3, 32)
    assert Fraction(asked.turned, 2**asked.digits) == filters.flips
    assert asked.digits == filters.digits
    assert 0 < asked.turned < 1 << asked.digits


@pytest.mark.parametrize(("values", "size"), [(2, 2), (3, 3), (5, 5), (6, 7), (10, 11)])
def test_many_hashes_are_chosen_up_to_the_field(values: int, size: int) -> None:
    """With a large epsilon collisions are all that costs, and as many hashes as P have none."""
    beliefs = [named / values for named in range(1, values + 1)]
    assert field_size(values, 2) == size
    assert choose_hashes(2, values, epsilon=15.0, beliefs=beliefs) == size


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_few_hashes_are_chosen_where_a_report_is_mostly_noise(epsilon: float) -> None:
    assert choose_hashes(2, 11, epsilon=epsilon, beliefs=[1.0] * 11) == 3
