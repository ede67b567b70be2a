"""What the choice of an edge costs, over all small tables of three attributes.

A choice claims epsilon. The largest change of a log-probability between neighbours is the loss. The
range of the changes, over all candidates, is what bounded-range accounting counts.
"""

from __future__ import annotations

from itertools import combinations
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from sottovoce.parties import Records, read_schema
from sottovoce.privacy.exponential import STEPS, choose
from sottovoce.protocols.dp_subn.initial import NO_EDGE
from sottovoce.protocols.dp_subn.options import Score
from sottovoce.protocols.dp_subn.scores import score_families, sensitivity_of

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
    values = np.stack(np.unravel_index(np.arange(cells), sizes), axis=1)
    some = records_of(values[np.arange(rows) % cells], sizes)
    sensitivity = sensitivity_of(some, [*PAIRS, NO_EDGE], score=score)
    bars = np.array(list(combinations(range(rows + cells - 2), cells - 1)))
    ends = np.full((len(bars), 1), rows + cells - 2)
    shared = np.diff(np.hstack([np.full_like(ends, -1), bars, ends]), axis=1) - 1
    logs = np.empty((cells, len(shared), len(PAIRS) + 1))
    for cell, record in enumerate(np.eye(cells, dtype=np.int64)):
        tables = (shared + record).reshape(-1, *sizes)
        for row, scores in enumerate(worths(tables, noise=noise, score=score)):
            choice = choose(scores, sensitivity=sensitivity, epsilon=epsilon)
            behind = choice.steps * (epsilon / (2 * STEPS))
            logs[cell, row] = behind - np.log(np.exp(behind).sum())
    return logs


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
