"""Sums that are bounded above alone, in columns without a negative number.

Nothing bounds such a column below if no schema declares its range. The neighbouring tables of a
rehearsal keep it at 0 or above, as ages and amounts are, and so a sum of `min(income, 50_000)`
keeps its sensitivity there. Whether it does is for its author to say. So one record is given
negative numbers, and what then changes too much is a remark, and not a finding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from ..parties import Records
from ..parties.lacking import Rules
from ..privacy.exact_value import Inspectable
from ..privacy.taping import ReleasePair
from ..runs.replay import PartTape, replay_part

__all__ = ["ONE_SIDED", "one_sided_releases"]

ONE_SIDED: Final = (
    "if a record had a negative number in a column that has none, it would change release {} ({}) "
    "by more than the stated sensitivity of {:g}: clip at both ends, or declare the column's range "
    "in a schema"
)


def one_sided_releases(
    tape: PartTape, *, records: Records, longest: float, rules: Rules
) -> list[str]:
    """Name the releases that a negative number would change by more than they state."""
    high, low = records.opposite_ends(rules)
    if not low:
        return []
    row = np.array([len(records) // 2])
    fewer = records.take(np.delete(np.arange(len(records)), row))
    is_add_or_remove = tape.accountant.neighbours == "add-or-remove-one"
    first, second = (
        replay_part(tape, records=table, seconds=longest)
        for table in (fewer if is_add_or_remove else records.put(row, high), records.put(row, low))
    )
    # Most parts do not expect such numbers: that one ends in an error shows nothing.
    if first.error is not None or second.error is not None:
        return []
    return [
        ONE_SIDED.format(number, pair.second.name, pair.second.sensitivity)
        for number, (pair, low_pair) in enumerate(zip(first.pairs, second.pairs, strict=False))
        if _is_beyond([pair, low_pair])
    ]


def _is_beyond(pairs: Sequence[ReleasePair]) -> bool:
    """Tell whether a release on two tables differs by more than its sensitivity."""
    release, low_release = (pair.second for pair in pairs)
    if not isinstance(release, Inspectable) or not isinstance(low_release, Inspectable):
        return False
    try:
        change = release.exact_value().change(low_release.exact_value())
    except Exception:  # noqa: BLE001 - an author's mechanism may raise any
        return False
    return change > release.sensitivity * (1 + 1e-9)
