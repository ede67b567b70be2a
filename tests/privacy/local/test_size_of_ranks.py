"""Ranks of sets need a table of all binomials, which is bounded."""

from __future__ import annotations

from math import comb

import pytest

from sottovoce.privacy.local.sets import LIMB_BITS, bits_of_set, shortest

LIMBS = (2 << 20) // 8
"""Integers of 64 bits in a table of 2 MiB, which is read for every report."""


@pytest.mark.parametrize("chosen", [2, 4, 8])
def test_ranks_are_sent_while_their_table_has_at_most_two_mebibytes(chosen: int) -> None:
    """The form with the fewest bits is taken, but for ranks whose table would be larger."""

    def expected(cells: int) -> str:
        limbs = -(-comb(cells, chosen).bit_length() // LIMB_BITS)
        fits = chosen * cells * limbs <= LIMBS
        forms = ["bitmap", "list", *(["rank"] if fits else [])]
        return min(forms, key=lambda form: bits_of_set(cells, chosen, form))  # type: ignore[arg-type]

    kinds = set()
    for limbs in (1, 2, 3, 4):
        for cells in (LIMBS // chosen // limbs + step for step in (-1, 0, 1)):
            form = shortest(cells, chosen)
            assert form == expected(cells), (cells, chosen)
            kinds.add(form)
    assert kinds == {"list", "rank"}
