"""Every form encodes every set, and bytes that are no set are refused."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import pytest

from sottovoce.privacy.local.sets import (
    Form,
    bits_of_set,
    count_sets,
    shortest,
    write_sets,
    write_values,
)


def bitmaps(sets: list[tuple[int, ...]], *, cells: int) -> np.ndarray:
    return np.packbits(
        np.array([[cell in members for cell in range(cells)] for members in sets]),
        axis=1,
        bitorder="little",
    )


@pytest.mark.parametrize(("cells", "chosen"), [(2, 1), (5, 2), (7, 3), (12, 6), (13, 12)])
def test_every_number_below_the_number_of_sets_is_a_rank(cells: int, chosen: int) -> None:
    sets = list(combinations(range(cells), chosen))
    reports = write_sets(bitmaps(sets, cells=cells), cells=cells, chosen=chosen, form="rank")
    ranks = [int.from_bytes(report.tobytes(), "little") for report in reports]
    assert sorted(ranks) == list(range(comb(cells, chosen)))
    for members, report in zip(sets, reports, strict=True):
        counts = count_sets(report[None], cells=cells, chosen=chosen, form="rank")
        assert np.flatnonzero(counts).tolist() == list(members)


@pytest.mark.parametrize(("cells", "chosen"), [(2, 1), (7, 3), (40, 20), (300, 9)])
def test_few_and_many_sets_are_counted_equally(
    cells: int, chosen: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(cells)
    values = np.sort(np.argsort(rng.random((50, cells)), axis=1)[:, :chosen], axis=1)
    reports = write_values(values, cells=cells, chosen=chosen, form="rank")
    wrong = np.full_like(reports, 255)
    counts = []
    for limit in (0, 1 << 30):
        monkeypatch.setattr("sottovoce.privacy.local.sets.MIN_VALUES_PER_CELL", limit)
        counts.append(count_sets(reports, cells=cells, chosen=chosen, form="rank").tolist())
        if comb(cells, chosen) < 1 << 8 * reports.shape[1]:
            with pytest.raises(ValueError, match=r"too large"):
                count_sets(wrong, cells=cells, chosen=chosen, form="rank")
    assert counts[0] == counts[1] == np.bincount(values.reshape(-1), minlength=cells).tolist()


@pytest.mark.parametrize("form", ["bitmap", "list", "rank"])
@pytest.mark.parametrize(
    ("cells", "chosen"), [(250, 1), (250, 12), (250, 68), (250, 124), (63, 31)]
)
def test_large_sets_are_read_in_every_form(cells: int, chosen: int, form: Form) -> None:
    """Ranks of hundreds of bits take several limbs, and equal those of Python's integers."""
    rng = np.random.default_rng(cells * chosen)
    members = np.zeros((200, cells), np.uint8)
    np.put_along_axis(members, np.argsort(rng.random((200, cells)), axis=1)[:, :chosen], 1, axis=1)
    reports = write_sets(
        np.packbits(members, axis=1, bitorder="little"), cells=cells, chosen=chosen, form=form
    )
    values = (np.flatnonzero(members) % cells).reshape(200, chosen)
    assert (write_values(values, cells=cells, chosen=chosen, form=form) == reports).all()
    assert reports.shape == (200, -(-bits_of_set(cells, chosen, form) // 8))
    assert (count_sets(reports, cells=cells, chosen=chosen, form=form) == members.sum(axis=0)).all()
    if form == "rank":
        members_of_first = np.flatnonzero(members[0])
        rank = sum(comb(int(value), i) for i, value in enumerate(members_of_first, start=1))
        assert int.from_bytes(reports[0].tobytes(), "little") == rank


@pytest.mark.parametrize(
    ("form", "report"),
    [
        ("bitmap", b"\x07"),
        ("bitmap", b"\x81"),
        ("list", b"\x09"),
        ("rank", b"\x0a"),
        ("rank", b"\x0f"),
    ],
)
def test_reports_that_are_no_sets_are_refused(form: Form, report: bytes) -> None:
    """Sets shall have two of five values; these have three, a sixth, one twice, or large ranks."""
    with pytest.raises(ValueError, match=r"expected .* found"):
        count_sets(np.frombuffer(report, np.uint8)[None], cells=5, chosen=2, form=form)


def test_the_shortest_form_is_chosen() -> None:
    """The numbers are D13 and spec A8, for m = 250."""
    ranks = {1: 8, 5: 33, 12: 67, 30: 129, 68: 207, 95: 236}
    assert {chosen: bits_of_set(250, chosen, "rank") for chosen in ranks} == ranks
    assert shortest(250, 1) == "list"  # It is as short as the rank, and faster to read.
    assert all(shortest(250, chosen) == "rank" for chosen in ranks if chosen > 1)
    assert shortest(250, 12, ranks=False) == "list"
    assert shortest(1 << 20, 1 << 19) == "bitmap"  # The table of all C(c, i) would not fit.
