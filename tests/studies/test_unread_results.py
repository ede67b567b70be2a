"""Plays whose published tables nobody reads: as many messages, and as much work."""

from typing import Any

import pytest

from sottovoce.curator.latent_classes import LatentClasses, latent_classes
from sottovoce.curator.pairs import estimate, models
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
from sottovoce.runs.made_up import run_on_made_up
from sottovoce.runs.record import RunRecord
from sottovoce.runs.settings import settings

COLUMNS = ["age", "sex", "income", "race", "education"]


def played(
    unread: Unread, *, protocol: str = "adaptive-pairs"
) -> tuple[RunRecord, list[WorkMeter]]:
    """Play a protocol on made-up records, and give the meters of its roles."""
    meters: dict[int, WorkMeter] = {}

    def costs(meter: WorkMeter) -> float:
        meters[id(meter)] = meter
        return 1e-9 * sum(meter.units.values())

    values = {"aggregator": "masks", "rounds": 3} if protocol == "adaptive-pairs" else {}
    job = settings(
        {"protocol": protocol, "columns": COLUMNS, "seed": 4, "parties": 3, "set": values}
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

    monkeypatch.setattr(models, "latent_classes", counted)
    exact, meters = counting(Unread.NOTHING)
    unread, unread_meters = counting(Unread.TABLES)
    assert fits == [12, 4]  # two times four for the published table, which is a stand-in
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


def test_where_only_messages_matter_lopub_searches_for_no_table() -> None:
    """A step of the search stands for all of it, and messages are the same."""
    searched, _ = played(Unread.TABLES, protocol="lopub")
    unsearched, _ = played(Unread.WORK, protocol="lopub")
    assert searched.outcome.summary["steps a table"] > "2"
    assert unsearched.outcome.summary["steps a table"].startswith("1.0,")
    assert messages_of(searched) == messages_of(unsearched)


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
