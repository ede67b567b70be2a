"""Plays whose published tables nobody reads: as many messages, and as much work."""

from typing import Any

import numpy as np
import pytest

from sottovoce.crypto import RandomStream
from sottovoce.curator.latent_classes import LatentClasses, latent_classes
from sottovoce.curator.pairs import estimate
from sottovoce.curator.pairs.shrinkage_by_contrasts import shrink_by_contrasts
from sottovoce.messages import (
    Unread,
    WorkKind,
    WorkMeter,
    is_only_counted,
    is_uncounted,
    is_unread,
    metered,
)
from sottovoce.privacy import Batch, SelectedNoise, shares
from sottovoce.runs.made_up import run_on_made_up
from sottovoce.runs.record import RunRecord
from sottovoce.runs.settings import settings

COLUMNS = ["age", "sex", "income", "race", "education"]


def played(unread: Unread) -> tuple[RunRecord, list[WorkMeter]]:
    """Play adaptive-pairs on made-up records, and give the meters of its roles."""
    meters: dict[int, WorkMeter] = {}

    def costs(meter: WorkMeter) -> float:
        meters[id(meter)] = meter
        return 1e-9 * sum(meter.units.values())

    values = {"aggregator": "masks", "rounds": 3}
    job = settings(
        {"protocol": "adaptive-pairs", "columns": COLUMNS, "seed": 4, "parties": 3, "set": values}
    ).job
    record = run_on_made_up(job, rows=6000, costs=costs, unread=unread)
    return record, list(meters.values())


def messages_of(record: RunRecord) -> list[tuple[str, int, int, int]]:
    """List all messages of a play, in order."""
    return [
        (entry.kind, entry.sender, entry.receiver, entry.frame_bytes) for entry in record.entries
    ]


def test_what_nobody_reads_is_counted_and_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """All messages and the published plans are the same, and so is the work, to five per cent.

    How many rows are exchanged after raking is left to chance: with seeds 1 to 8 one kind of work
    differs by up to nine per cent.
    """
    fits: list[int] = []

    def counted(*arguments: Any, **options: Any) -> LatentClasses:
        fits[-1] += 1
        return latent_classes(*arguments, **options)

    def counting(unread: Unread) -> tuple[RunRecord, list[WorkMeter]]:
        fits.append(0)
        return played(unread)

    monkeypatch.setattr(estimate, "latent_classes", counted)
    exact, meters = counting(Unread.NOTHING)
    unread, unread_meters = counting(Unread.TABLES)
    assert fits == [3, 1]  # twice for the published table, which is a stand-in
    assert messages_of(exact) == messages_of(unread)
    assert exact.outcome.model["rounds"] == unread.outcome.model["rounds"]
    totals = [
        {kind: sum(each.units.get(kind, 0.0) for each in every) for kind in meters[0].units}
        for every in (meters, unread_meters)
    ]
    for kind in (WorkKind.ARRAY, WorkKind.CELL, WorkKind.TABLE, WorkKind.COUNTED, WorkKind.SAMPLED):
        assert totals[1][kind, 0] == pytest.approx(totals[0][kind, 0], rel=0.05), kind


def test_where_only_messages_matter_nothing_is_estimated_for_publication(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nor are more rows drawn than are asked for."""
    estimates: list[object] = []

    def noted(*arguments: Any) -> list[Any]:
        estimates.append(arguments)
        return shrink_by_contrasts(*arguments)

    monkeypatch.setattr(estimate, "shrink_by_contrasts", noted)
    counted, counted_meters = played(Unread.TABLES)
    assert len(estimates) == 1
    uncounted, meters = played(Unread.WORK)
    assert len(estimates) == 1
    assert messages_of(counted) == messages_of(uncounted)
    assert counted.outcome.model["rounds"] == uncounted.outcome.model["rounds"]
    weighed = [
        sum(each.units.get((WorkKind.RAKED, 0), 0.0) for each in every)
        for every in (counted_meters, meters)
    ]
    assert 0 < weighed[1] < weighed[0] / 10


def selected_noise(*, enters: bool) -> tuple[bool, float]:
    """Draw a selected noise of 50 cells: whether there is any, and how many values were counted."""
    batch = Batch(cells=50, sensitivity=2, epsilon=0.05, rows=100, parties=2, colluding=0)
    meter = WorkMeter(only_counts=True)
    mechanism = SelectedNoise(pages=[np.arange(50)], batch=batch, seen={}, enters=enters)
    with metered(meter):
        ((_, noise),) = mechanism.draw(RandomStream(b"n" * 32))
    return bool(noise.any()), meter.units[WorkKind.NOISE, 0]


def test_noise_that_does_not_enter_is_counted_and_not_drawn() -> None:
    assert selected_noise(enters=True) == (True, 100)
    assert selected_noise(enters=False) == (False, 100)


def test_where_a_record_is_hidden_all_noise_is_drawn() -> None:
    """A party does not know whether its noise is selected, so nothing else may be said to it."""
    batch = Batch(cells=50, sensitivity=2, epsilon=0.05, rows=100, parties=2, colluding=0)
    mechanism = SelectedNoise(pages=[np.arange(50)], batch=batch, seen={}, enters=False)
    ((_, noise),) = mechanism.draw(RandomStream(b"n" * 32))
    assert noise.any()


def test_a_play_without_noise_that_does_not_enter_has_the_same_result(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    options = {"protocol": "one-way", "mode": "paper", "key_bits": 512, "seed": 3, "parties": 4}
    job = settings({**options, "columns": COLUMNS, "insecure_test_keys": True}).job
    noisy: list[bool] = []

    def drawn(self: SelectedNoise, randomness: RandomStream) -> Any:
        for counts, noise in draw(self, randomness):
            noisy.append(bool(noise.any()))
            yield counts, noise

    def played_once() -> RunRecord:
        noisy.clear()
        return run_on_made_up(job, rows=900, costs=lambda _: 0.0)

    draw = SelectedNoise.draw
    monkeypatch.setattr(SelectedNoise, "draw", drawn)
    skipped = played_once()
    assert noisy.count(True) == 1
    monkeypatch.setattr(shares, "is_only_counted", lambda: False)
    whole = played_once()
    assert noisy == [True] * 4
    assert skipped.outcome == whole.outcome
    assert messages_of(skipped) == messages_of(whole)


def test_only_what_is_only_counted_is_unread() -> None:
    """Tables of real records are read, whatever a meter says of their readers."""
    for only_counts in (False, True):
        with metered(WorkMeter(only_counts=only_counts, unread=Unread.WORK)):
            assert is_uncounted() is is_unread() is is_only_counted() is only_counts
        with metered(WorkMeter(only_counts=only_counts, unread=Unread.TABLES)):
            assert is_unread() is only_counts
            assert not is_uncounted()
    assert not is_unread()
    assert not is_uncounted()
