"""Sets as bits: every form says every set, and nothing that is none is read."""

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
        np.array([[cell in own for cell in range(cells)] for own in sets]),
        axis=1,
        bitorder="little",
    )


@pytest.mark.parametrize(("cells", "chosen"), [(2, 1), (5, 2), (7, 3), (12, 6), (13, 12)])
def test_ranks_are_all_numbers_below_the_number_of_sets(cells: int, chosen: int) -> None:
    every = list(combinations(range(cells), chosen))
    said = write_sets(bitmaps(every, cells=cells), cells=cells, chosen=chosen, form="rank")
    ranks = [int.from_bytes(own.tobytes(), "little") for own in said]
    assert sorted(ranks) == list(range(comb(cells, chosen)))
    for own, report in zip(every, said, strict=True):
        found = count_sets(report[None], cells=cells, chosen=chosen, form="rank")
        assert np.flatnonzero(found).tolist() == list(own)


@pytest.mark.parametrize(("cells", "chosen"), [(2, 1), (7, 3), (40, 20), (300, 9)])
def test_few_and_many_are_counted_alike(
    cells: int, chosen: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(cells)
    values = np.sort(np.argsort(rng.random((50, cells)), axis=1)[:, :chosen], axis=1)
    said = write_values(values, cells=cells, chosen=chosen, form="rank")
    wrong = np.full_like(said, 255)
    found = []
    for few in (0, 1 << 30):
        monkeypatch.setattr("sottovoce.privacy.local.sets.MIN_VALUES_PER_CELL", few)
        found.append(count_sets(said, cells=cells, chosen=chosen, form="rank").tolist())
        if comb(cells, chosen) < 1 << 8 * said.shape[1]:
            with pytest.raises(ValueError, match=r"too large"):
                count_sets(wrong, cells=cells, chosen=chosen, form="rank")
    assert found[0] == found[1] == np.bincount(values.reshape(-1), minlength=cells).tolist()


@pytest.mark.parametrize("form", ["bitmap", "list", "rank"])
@pytest.mark.parametrize(
    ("cells", "chosen"), [(250, 1), (250, 12), (250, 68), (250, 124), (63, 31)]
)
def test_large_sets_travel_in_every_form(cells: int, chosen: int, form: Form) -> None:
    """Hundreds of bits: ranks take several limbs, and are checked against Python's integers."""
    rng = np.random.default_rng(cells * chosen)
    members = np.zeros((200, cells), np.uint8)
    np.put_along_axis(members, np.argsort(rng.random((200, cells)), axis=1)[:, :chosen], 1, axis=1)
    said = write_sets(
        np.packbits(members, axis=1, bitorder="little"), cells=cells, chosen=chosen, form=form
    )
    values = (np.flatnonzero(members) % cells).reshape(200, chosen)
    assert (write_values(values, cells=cells, chosen=chosen, form=form) == said).all()
    assert said.shape == (200, -(-bits_of_set(cells, chosen, form) // 8))
    assert (count_sets(said, cells=cells, chosen=chosen, form=form) == members.sum(axis=0)).all()
    if form == "rank":
        by_hand = sum(
            comb(int(value), at) for at, value in enumerate(np.flatnonzero(members[0]), start=1)
        )
        assert int.from_bytes(said[0].tobytes(), "little") == by_hand


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
def test_what_is_no_set_is_refused(form: Form, report: bytes) -> None:
    """Of two of five values: three of them, a sixth, one twice, and ranks from 10 on."""
    with pytest.raises(ValueError, match=r"expected .* found"):
        count_sets(np.frombuffer(report, np.uint8)[None], cells=5, chosen=2, form=form)


def test_bits() -> None:
    """D13 and spec A8: m = 250."""
    ranks = {1: 8, 5: 33, 12: 67, 30: 129, 68: 207, 95: 236}
    assert {chosen: bits_of_set(250, chosen, "rank") for chosen in ranks} == ranks
    assert shortest(250, 1) == "list"  # as short as the rank, and sooner read
    assert all(shortest(250, chosen) == "rank" for chosen in ranks if chosen > 1)
    assert shortest(250, 12, ranks=False) == "list"
    assert shortest(1 << 20, 1 << 19) == "bitmap"  # the table of all C(c, i) would not fit
