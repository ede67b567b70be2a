"""What the choice of an edge costs, over all small tables of three attributes.

A choice claims epsilon. The largest change of a log-probability between neighbours is the loss. The
range of the changes, over all candidates, is what bounded-range accounting counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations, product
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from sottovoce.curator.spanning_forest import SpanningForest
from sottovoce.parties import Party, Records, read_schema
from sottovoce.privacy import Budget
from sottovoce.privacy.exponential import STEPS, ExponentialChoice, choose
from sottovoce.protocols.dp_subn.budget import PhaseBudgets
from sottovoce.protocols.dp_subn.edge_choice import choose_edges_in_turn
from sottovoce.protocols.dp_subn.edge_plan import EdgePlan
from sottovoce.protocols.dp_subn.initial import NO_EDGE
from sottovoce.protocols.dp_subn.options import Score
from sottovoce.protocols.dp_subn.scores import score_families, sensitivity_of
from sottovoce.protocols.mst.choosing import choose_edges
from sottovoce.protocols.mst.rare_labels import MergedLabels
from sottovoce.protocols.secure_sum.graph import Circle

Numbers = npt.NDArray[np.float64]

SCORES: Final[tuple[Score, ...]] = ("R", "I")
PAIRS = [("a", "b"), ("a", "c"), ("b", "c")]


def records_of(values: npt.NDArray[np.int64], sizes: tuple[int, ...]) -> Records:
    schema = {name: [str(v) for v in range(size)] for name, size in zip("abc", sizes, strict=True)}
    table = pd.DataFrame(values.astype(str), columns=list("abc"))
    return Records(table, schema=read_schema(schema))


def worths(tables: npt.NDArray[np.int64], *, noise: float, score: Score = "R") -> Numbers:
    """Compute the score less the noise of each pair, by its definition, and 0 for no edge."""
    p = tables / tables.sum(axis=(1, 2, 3), keepdims=True)
    columns = []
    for left_out in (3, 2, 1):
        joint = p.sum(axis=left_out)
        product = joint.sum(axis=2, keepdims=True) * joint.sum(axis=1, keepdims=True)
        cells = joint.shape[1] * joint.shape[2]
        if score == "R":
            dependence = np.abs(joint - product) / 2
        else:
            dependence = joint * np.log2(np.where(joint > 0, joint / (product + (joint == 0)), 1))
        columns.append(dependence.sum(axis=(1, 2)) - cells * noise)
    return np.stack([*columns, np.zeros(len(p))], axis=1)


def all_choices(
    rows: int, sizes: tuple[int, ...], *, epsilon: float, noise: float, score: Score = "R"
) -> Numbers:
    """Compute the log-probabilities of all candidates.

    The first axis is the value of one record, the second are all tables of the other records. So
    two entries along the first axis are neighbours.
    """
    cells = int(np.prod(sizes))
    some = records_of(values_of(sizes)[np.arange(rows) % cells], sizes)
    sensitivity = sensitivity_of(some, [*PAIRS, NO_EDGE], score=score)
    shared = all_tables(rows - 1, cells=cells)
    logs = np.empty((cells, len(shared), len(PAIRS) + 1))
    for cell, record in enumerate(np.eye(cells, dtype=np.int64)):
        tables = (shared + record).reshape(-1, *sizes)
        for row, scores in enumerate(worths(tables, noise=noise, score=score)):
            choice = choose(scores, sensitivity=sensitivity, epsilon=epsilon)
            logs[cell, row] = log_probabilities(choice)
    return logs


def values_of(sizes: tuple[int, ...]) -> npt.NDArray[np.int64]:
    """List the record of each cell."""
    return np.stack(np.unravel_index(np.arange(int(np.prod(sizes))), sizes), axis=1)


def all_tables(rows: int, *, cells: int) -> npt.NDArray[np.int64]:
    """List all tables of so many rows."""
    bars = np.array(list(combinations(range(rows + cells - 1), cells - 1)))
    ends = np.full((len(bars), 1), rows + cells - 1)
    return np.diff(np.hstack([np.full_like(ends, -1), bars, ends]), axis=1) - 1


def log_probabilities(choice: ExponentialChoice) -> Numbers:
    behind = choice.steps * (choice.epsilon / (2 * STEPS))
    return np.asarray(behind - np.log(np.exp(behind).sum()))


def largest_loss(logs: Numbers) -> float:
    return float(np.ptp(logs, axis=0).max())


def largest_range(logs: Numbers) -> float:
    pairs = combinations(logs, 2)
    return max(float(np.ptp(one - other, axis=1).max()) for one, other in pairs)


@pytest.mark.parametrize("score", ["R", "I"])
@pytest.mark.parametrize("rows", [4, 6, 8])
@pytest.mark.parametrize(("epsilon", "noise"), [(0.1, 0.0), (1.0, 0.02), (4.0, 0.0)])
def test_a_choice_among_binary_attributes_uses_what_it_claims(
    rows: int, epsilon: float, noise: float, score: Score
) -> None:
    """At least half of epsilon is lost by some table, and the whole of it is the range.

    All records but one are equal, and this one differs in two of the attributes. Let it differ in
    the first two before, and in the last two after. Then R of the first pair falls from 2 (n - 1) /
    n^2 to 0, and that of the last pair rises by as much. The information does the same.
    """
    logs = all_choices(rows, (2, 2, 2), epsilon=epsilon, noise=noise, score=score)
    assert 0.49999 * epsilon <= largest_loss(logs) <= epsilon
    assert 0.99999 * epsilon <= largest_range(logs) <= epsilon


@pytest.mark.parametrize(
    ("sizes", "rows", "part"), [((2, 2, 3), 6, 0.5), ((3, 3, 3), 4, 0.38), ((3, 3, 2), 4, 0.3)]
)
def test_a_choice_among_wider_attributes_keeps_its_claim(
    sizes: tuple[int, ...], rows: int, part: float
) -> None:
    """Small tables of three labels are further from their bound, which large ones reach."""
    logs = all_choices(rows, sizes, epsilon=1.0, noise=0.01)
    assert part - 1e-5 <= largest_loss(logs) <= 1.0
    assert largest_range(logs) <= 1.0


def test_scores_of_a_party_are_those_of_the_search() -> None:
    values = np.random.default_rng(4).integers(0, 2, (9, 3))
    counts = np.zeros((1, 2, 2, 2), np.int64)
    np.add.at(counts[0], tuple(values.T), 1)
    for score in SCORES:
        scores = score_families(records_of(values, (2, 2, 2)), [*PAIRS, NO_EDGE], score=score)
        assert scores == pytest.approx(worths(counts, noise=0.0, score=score)[0])


# ---- Choices against published margins


class OneParty:
    """A stand-in for the only party, whose choices have given results."""

    number = 1
    min_parties = None

    def __init__(self, records: Records, results: tuple[int, ...]) -> None:
        self.records = records
        self.results = iter(results)
        self.choices: list[ExponentialChoice] = []

    def release(self, choice: ExponentialChoice, *, to: int) -> int:
        self.choices.append(choice)
        return next(self.results)

    def progress(self, *_: Any, **__: Any) -> None:
        """Tell nobody."""

    broadcast = progress

    def gather_living(self, *_: Any, sources: Sequence[int]) -> dict[int, Any]:
        """Receive nothing: nobody chooses before the only party."""
        assert not sources
        return {}


MARGINS = {"a": np.array([0.9, 0.1]), "b": np.full(2, 0.5), "c": np.array([0.6, 0.4, 0.0])}
"""Published shares, which need not be those of any table."""


def choices_of_edges(me: OneParty, *, picks: int, whole: Budget) -> None:
    """Let the party choose edges of DP-SUBN."""
    domain = me.records.domain
    plan = EdgePlan(
        domain=domain,
        budget=PhaseBudgets.of(whole, 0.0, 1.0, 0.0, 0.0),
        edges=picks,
        chosen=True,
        groups=3,
        edge_noise=0.01,
        usual_noise=0.0,
    )
    choose_edges_in_turn(
        cast("Party", me), me.records, plan=plan, power=0.5, margins=MARGINS, circle=Circle((1,), 0)
    )


def choices_of_a_tree(me: OneParty, *, picks: int, whole: Budget) -> None:
    """Let the party choose the edges of MST's tree."""
    merged = MergedLabels(me.records.domain, {})
    choose_edges(cast("Party", me), merged, MARGINS, SpanningForest(), quota=picks, budget=whole)


def widest_use(
    choose_all: Callable[..., None],
    *,
    picks: int,
    whole: Budget,
    sizes: tuple[int, ...],
    rows: int,
) -> float:
    """Compute the largest part of its claim that a choice uses.

    It is taken over all neighbouring tables of so many records, and all results of the choices.
    """
    values = values_of(sizes)
    tables = all_tables(rows, cells=len(values))
    place_of = {tuple(table): place for place, table in enumerate(tables.tolist())}
    shared = all_tables(rows - 1, cells=len(values))
    units = np.eye(len(values), dtype=int)
    neighbours = np.array([[place_of[tuple(table + unit)] for table in shared] for unit in units])
    some = [records_of(np.repeat(values, table, axis=0), sizes) for table in tables]
    widest = 0.0
    for results in product(range(2), repeat=picks):
        transcripts = []
        for records in some:
            me = OneParty(records, results)
            choose_all(me, picks=picks, whole=whole)
            transcripts.append(me.choices)
        claims = [choice.loss for choice in transcripts[0]]
        if whole.concentrated:
            assert sum(claim.rho for claim in claims) == pytest.approx(whole.amount)
        else:
            assert sum(claim.epsilon for claim in claims) == pytest.approx(whole.amount)
        for pick, claim in enumerate(claims):
            logs = np.array([log_probabilities(choices[pick]) for choices in transcripts])
            used = largest_range(logs[neighbours])
            assert used <= claim.epsilon
            widest = max(widest, used / claim.epsilon)
    return widest


WHOLES = [Budget.pure(2.0), Budget("rho", 0.5)]


@pytest.mark.parametrize("whole", WHOLES)
@pytest.mark.parametrize(
    ("choose_all", "picks", "part"), [(choices_of_edges, 3, 0.9), (choices_of_a_tree, 2, 0.6)]
)
def test_choices_against_published_margins_keep_their_claim(
    choose_all: Callable[..., None], picks: int, part: float, whole: Budget
) -> None:
    """DP-SUBN's third edge may close a circle, so that part of its distance counts."""
    assert widest_use(choose_all, picks=picks, whole=whole, sizes=(2, 2, 3), rows=3) > part


@pytest.mark.parametrize("whole", WHOLES)
@pytest.mark.parametrize("choose_all", [choices_of_edges, choices_of_a_tree])
def test_a_single_choice_keeps_its_claim_and_uses_most_of_it(
    choose_all: Callable[..., None], whole: Budget
) -> None:
    """Tables of two records are few, so this takes a moment."""
    assert widest_use(choose_all, picks=1, whole=whole, sizes=(2, 2, 3), rows=2) > 0.9


def worth_by_pick(*, edge_noise: float, power: float) -> list[dict[tuple[str, str], float]]:
    """Let DP-SUBN choose a-b, then no edge, then a-c: what each pair is worth beside no edge."""
    records = records_of(np.array([[0, 0, 0], [1, 1, 1], [0, 1, 2], [0, 0, 1]]), (2, 2, 3))
    me, left, picks = OneParty(records, (0, 2, 0)), [*PAIRS], []
    plan = EdgePlan(
        domain=records.domain,
        budget=PhaseBudgets.of(Budget.pure(2.0), 0.0, 1.0, 0.0, 0.0),
        edges=3,
        chosen=True,
        groups=3,
        edge_noise=edge_noise,
        usual_noise=0.0,
    )
    choose_edges_in_turn(
        cast("Party", me), records, plan=plan, power=power, margins=MARGINS, circle=Circle((1,), 0)
    )
    for choice in me.choices:
        scores = choice.steps * choice.sensitivity / STEPS
        picks.append(dict(zip(left, (scores[:-1] - scores[-1]).tolist(), strict=True)))
        left = [pair for pair in left if pair != ("a", "b")]
    return picks


@pytest.mark.parametrize("power", [0.5, 1.0])
def test_an_edge_is_charged_the_noise_of_all_tables_up_to_its_own(power: float) -> None:
    """No edge adds no table. Four fifths of a table's noise count against it."""
    exact, noisy = (worth_by_pick(edge_noise=noise, power=power) for noise in (0.0, 0.1))
    for tables, without, with_noise in zip((1, 2, 2), exact, noisy, strict=True):
        for pair, worth in with_noise.items():
            cells = 6 if "c" in pair else 4
            expected = 0.8 * 0.1 * cells * tables**power
            assert without[pair] - worth == pytest.approx(expected, rel=1e-3), pair
