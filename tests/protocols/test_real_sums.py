"""Sums of real numbers over all parties, by every aggregator and with both kinds of noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sottovoce.curator import Curator
from sottovoce.messages import MisuseError, SottovoceError
from sottovoce.parties import Party
from sottovoce.privacy import Budget
from sottovoce.protocols.secure_sum import CuratorSums, PartySums, RealBatch, SumOptions

Converse = Callable[..., Any]
ROWS = 20
PRECISE = {"epsilon": Budget("epsilon", 1e6), "rho": Budget("rho", 1e9)}
"""Budgets whose noise is far below a resolution of 1/64."""
PRIVATE = {"epsilon": Budget("epsilon", 0.5), "rho": Budget("rho", 0.05)}


def values_of(party: int, columns: int) -> Any:
    values = np.random.default_rng(party).normal(0, 3, (ROWS, columns))
    return values[:, 0] if columns == 1 else values


def groups_of(party: int) -> Any:
    return np.random.default_rng(100 + party).integers(0, 3, ROWS)


def sum_up(
    converse: Converse,
    batch: RealBatch,
    *,
    aggregator: str = "masks",
    parties: int = 3,
    rows: int | None = None,
    **options: Any,
) -> Any:
    chosen = SumOptions(aggregator=aggregator)  # type: ignore[arg-type]

    def party(me: Party) -> None:
        with me.phase("keys"):
            sums = PartySums(me, chosen, noise="shares", rows=rows)
        with me.phase("sum"):
            groups = None if batch.groups is None else groups_of(me.number)
            sums.real(values_of(me.number, batch.columns), batch, groups=groups)

    def curator(desk: Curator) -> Any:
        with desk.phase("keys"):
            sums = CuratorSums(desk, chosen, noise="shares", rows=rows)
        with desk.phase("sum"):
            return sums.real(batch)

    return converse(party, curator, parties=parties, rows=ROWS, **options)


@pytest.mark.parametrize("unit", PRECISE)
@pytest.mark.parametrize("aggregator", ["paillier", "masks", "clear"])
def test_the_sum_is_right_but_for_rounding(converse: Converse, aggregator: str, unit: str) -> None:
    """Numbers are negative, too. At this budget the noise is 0 but for a chance below 1e-20."""
    batch = RealBatch(
        columns=2,
        bounds=([-4, -1], [2, 9]),
        resolution=1 / 64,
        budget=PRECISE[unit],
        neighbours="replace-one",
    )
    talk = sum_up(converse, batch, aggregator=aggregator)
    exact = sum(np.clip(values_of(party, 2), [-4, -1], [2, 9]).sum(axis=0) for party in (1, 2, 3))
    assert talk.curator.shape == (2,)
    assert np.abs(talk.curator - exact).max() <= 3 * ROWS / 128


def test_one_number_and_groups_have_their_shapes(converse: Converse) -> None:
    alone = RealBatch(bound=5, resolution=1 / 64, budget=PRECISE["rho"], neighbours="replace-one")
    total = sum_up(converse, alone).curator
    exact = sum(np.clip(values_of(party, 1), -5, 5).sum() for party in (1, 2, 3))
    assert float(total) == pytest.approx(exact, abs=3 * ROWS / 128)
    grouped = RealBatch(
        bound=5, resolution=1 / 64, groups=3, budget=PRECISE["rho"], neighbours="replace-one"
    )
    by_group = sum_up(converse, grouped).curator
    expected = [
        sum(
            np.clip(values_of(party, 1), -5, 5)[groups_of(party) == group].sum()
            for party in (1, 2, 3)
        )
        for group in range(3)
    ]
    assert by_group == pytest.approx(expected, abs=3 * ROWS / 128)


@pytest.mark.parametrize("unit", PRIVATE)
@pytest.mark.parametrize("columns", [1, 4])
def test_a_release_has_the_stated_loss_and_sensitivity(
    converse: Converse, columns: int, unit: str
) -> None:
    batch = RealBatch(columns=columns, bound=2.0, budget=PRIVATE[unit], neighbours="replace-one")
    talk = sum_up(converse, batch)
    (release,) = talk.party(1).accountant.releases
    resolution = float(batch.clipping(rows=3 * ROWS).resolution)
    widest = 4 * (math.sqrt(columns) if unit == "epsilon" else 1)
    assert release.sensitivity * resolution == pytest.approx(widest, rel=0.02)
    if unit == "epsilon":
        assert release.loss.epsilon == 0.5
        assert release.scale * resolution == pytest.approx(widest / 0.5, rel=0.02)
    else:
        assert release.loss.rho == pytest.approx(0.05)
        assert release.scale * resolution == pytest.approx(4 / math.sqrt(0.1), rel=0.02)


@pytest.mark.parametrize("unit", PRIVATE)
def test_the_noise_has_its_size(converse: Converse, unit: str) -> None:
    """The spread of 2,000 sums; an honest run fails with a probability below 1e-6."""
    columns = 2000
    batch = RealBatch(
        columns=columns, bounds=(-1e-3, 1e-3), budget=PRIVATE[unit], neighbours="replace-one"
    )
    talk = sum_up(converse, batch)
    exact = sum(np.clip(values_of(party, columns), -1e-3, 1e-3).sum(axis=0) for party in (1, 2, 3))
    (release,) = talk.party(1).accountant.releases
    resolution = float(batch.clipping(rows=3 * ROWS).resolution)
    # All three shares are in the sum, and two of them are full noise.
    expected = release.scale * resolution * math.sqrt(1.5 * (2 if unit == "epsilon" else 1))
    assert batch.deviation(rows=3 * ROWS, parties=3, colluding=1) == pytest.approx(
        expected, rel=1e-3
    )
    spread = float(np.sqrt(((talk.curator - exact) ** 2).mean()))
    assert 0.85 < spread / expected < 1.15


def test_records_may_come_and_go_where_a_bound_on_rows_is_public(converse: Converse) -> None:
    batch = RealBatch(
        bound=5, resolution=1 / 64, budget=PRECISE["rho"], neighbours="add-or-remove-one"
    )
    talk = sum_up(converse, batch, rows=1000, neighbours="add-or-remove-one")
    (release,) = talk.party(1).accountant.releases
    assert release.sensitivity == pytest.approx(5 * 64)


def test_the_default_resolution_makes_the_sum_precise() -> None:
    for budget in PRIVATE.values():
        batch = RealBatch(columns=3, bound=7.0, budget=budget, neighbours="replace-one")
        clipping = batch.clipping(rows=10_000)
        summed = batch.sum_batch(rows=10_000).among(parties=3, rows=10_000, colluding=1)
        assert summed.scale / 8 >= 10_000 / 2
        assert clipping.resolution.numerator == 1


@pytest.mark.parametrize(("groups", "change"), [(None, 2.0), (4, 24.0)])
def test_steps_are_no_finer_than_the_noise_needs(groups: int | None, change: float) -> None:
    """A record of 10 to 12 changes a sum by 2, and where it may change its group by 24."""
    batch = RealBatch(
        bounds=(10, 12), groups=groups, budget=PRIVATE["epsilon"], neighbours="replace-one"
    )
    resolution = float(batch.clipping(rows=10_000).resolution)
    summed = batch.sum_batch(rows=10_000).among(parties=3, rows=10_000, colluding=1)
    assert summed.scale * resolution == pytest.approx(change / 0.5)
    # Both powers of two are rounded down: the noise scale, and the steps in it.
    assert 4 * 10_000 <= summed.scale < 4 * 4 * 10_000


def test_other_neighbours_than_the_protocol_declares_are_refused(converse: Converse) -> None:
    batch = RealBatch(bound=1, budget=PRIVATE["rho"], neighbours="add-or-remove-one")
    with pytest.raises(MisuseError, match="expected a batch for replace-one neighbours"):
        sum_up(converse, batch)


def test_groups_are_named_where_the_batch_has_them() -> None:
    values = [1.0, 2.0]
    plain = RealBatch(bound=1, budget=PRIVATE["rho"], neighbours="replace-one")
    with pytest.raises(ValueError, match="a batch with groups= for the group of each"):
        list(plain.steps(values, rows=2, groups=[0, 1]))
    grouped = RealBatch(bound=1, groups=2, budget=PRIVATE["rho"], neighbours="replace-one")
    with pytest.raises(ValueError, match=r"expected the group of each row .*, found none"):
        list(grouped.steps(values, rows=2))
    with pytest.raises(ValueError, match="expected groups from 0 to 1 in a secure sum"):
        list(grouped.steps(values, rows=2, groups=[0, 2]))


def test_rows_of_one_number_are_numbers() -> None:
    """Without its axis a column is the same; of several columns every row has them all."""
    alone, pair = (
        RealBatch(columns=columns, bound=5, budget=PRIVATE["rho"], neighbours="replace-one")
        for columns in (1, 2)
    )
    values = np.array([1.0, 2.5, -3.0])
    (flat,) = alone.steps(values, rows=3)
    (upright,) = alone.steps(values[:, np.newaxis], rows=3)
    assert flat.tolist() == upright.tolist() != [0]
    with pytest.raises(ValueError, match="rows of 2 numbers in a secure sum, found an array of 1"):
        list(pair.steps(values, rows=3))


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"budget": 0.5}, "expected a Budget in RealBatch, found a float"),
    ({"columns": 0}, "expected at least one column and one group"),
    ({"groups": 0}, "expected at least one column and one group"),
    ({"bound": None}, "found neither"),
    ({"bound": None, "bounds": (2, 2)}, "low = high in all columns"),
    ({"neighbours": "label-alone"}, "protects whole records"),
    ({"resolution": 1e-12}, r"expected sums below 2\*\*61 steps, found 10000000 rows"),
]


@pytest.mark.parametrize(("options", "text"), WRONG)
def test_batches_that_make_no_sense_are_refused(options: dict[str, Any], text: str) -> None:
    usual: dict[str, Any] = {
        "bound": 1.0,
        "budget": PRIVATE["epsilon"],
        "neighbours": "replace-one",
    }
    with pytest.raises((ValueError, SottovoceError), match=text):
        RealBatch(**{**usual, **options}).sum_batch(rows=10_000_000)


def test_the_largest_sum_is_just_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound is set where this batch stands; one step less of it refuses the batch."""
    batch = RealBatch(
        bound=8.0, budget=PRIVATE["epsilon"], neighbours="replace-one", resolution=0.25
    )
    largest = batch.clipping(rows=ROWS).largest
    for bound, is_accepted in ((ROWS * largest, True), (ROWS * largest - 1, False)):
        monkeypatch.setattr("sottovoce.protocols.secure_sum.reals.MAX_SUM", bound)
        if is_accepted:
            assert batch.sum_batch(rows=ROWS).weight == largest
        else:
            with pytest.raises(
                ValueError, match=r"expected sums below 2\*\*61 steps, found 20 rows"
            ):
                batch.sum_batch(rows=ROWS)
