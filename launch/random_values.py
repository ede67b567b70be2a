"""Exact values of releases that depend on chance, and not on one record alone.

A part may draw a sample of its rows before it releases a count. A replay draws from the same
streams, so a replaced record leaves the sample as it is. Where neighbouring tables differ by a
record, the rows after it get other draws: then the exact values of two replays may differ by more
than one record changes, and nothing is shown. If a part draws from elsewhere, values differ even on
the same records.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..parties import Records
from ..privacy.exact_value import Inspectable
from ..privacy.taping import ReleasePair
from ..report.formats import numbers_text
from ..runs.guard import repeat_part
from ..runs.replay import PartTape
from .authors_modules import attributes_in
from .release_checks import FalseStatement

__all__ = ["draws_move", "names_randomness", "without_random_values"]

REPEATS: Final = 4
"""Replays on the same records: random counts are alike in some of them."""
FROM_ELSEWHERE: Final = (
    "its {} differ{} on the same records: a part that draws by itself has to draw from "
    "me.randomness, or no replay can compare two tables"
)


def draws_move(tape: PartTape) -> bool:
    """Tell whether a record less may give other draws of the author's to the rows after it."""
    return tape.party.draws_by_itself and tape.accountant.neighbours == "add-or-remove-one"


def names_randomness(kind: type) -> bool:
    """Tell whether the source of an author's modules calls `randomness`."""
    return "randomness" in attributes_in(kind)


def without_random_values(
    false: Sequence[FalseStatement], tape: PartTape, *, records: Records, longest: float
) -> list[FalseStatement]:
    """Name the cause where releases change too much, but differ on the same records as well."""
    suspects = [statement for statement in false if statement.release]
    if not suspects:
        return [*false]
    repeats = [repeat_part(tape, records=records, seconds=longest) for _ in range(REPEATS)]
    random = {
        pair.first.name: number
        for repeat in repeats
        for number, pair in reversed([*enumerate(repeat.pairs)])
        if _differs(pair)
    }
    named = [statement for statement in suspects if statement.release in random]
    if not named:
        return [*false]
    numbers = sorted({random[statement.release] for statement in named})
    several = len(numbers) > 1
    releases = f"release{'s' if several else ''} {numbers_text(numbers)}"
    text = FROM_ELSEWHERE.format(releases, "" if several else "s")
    return [*(each for each in false if each not in named), FalseStatement(text, text)]


def _differs(pair: ReleasePair) -> bool:
    first, second = pair.first, pair.second
    if not (isinstance(first, Inspectable) and isinstance(second, Inspectable)):
        return False
    return first.exact_value() != second.exact_value()
