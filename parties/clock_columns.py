"""Proposals for columns of times of day: the hours of a day."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np

from .categories import Categories
from .clock_texts import HOURS, WITH_SECONDS, hour_name, read_clock, shows_seconds
from .number_columns import MIN_READABLE
from .profile import MISSING_WORDS, ColumnProfile
from .proposal import FEW, Proposal, listed, missing_of

__all__ = ["propose_hours", "tells_hours"]

MAX_STRANGE: Final = 3
"""Different texts among times that are no times, and become texts of missing values."""


def propose_hours(profile: ColumnProfile, texts: Mapping[str, int]) -> Proposal | None:
    """Propose the hours of a day for times; `None` if the column has something else.

    A few different times, such as those at which shifts begin, are categories.
    """
    codes = [text for text in texts if text.strip().casefold() in MISSING_WORDS]
    values = {text: count for text, count in texts.items() if text not in codes}
    strange = [text for text in values if np.isnan(read_clock(text))]
    unread = sum(values[text] for text in strange)
    is_other = len(strange) > MAX_STRANGE  # they would all be named in the schema
    if len(values) <= FEW or is_other or unread > (1 - MIN_READABLE) * sum(values.values()):
        return None
    remarks = [f"taken for missing: {listed(codes, texts)}"] if codes else []
    if strange:
        remarks.append(f"counted as missing, as they are no times: {listed(strange, texts)}")
    remarks.append("if these are spans of time and no times of day, write them as numbers")
    rule = Categories(
        categories=HOURS,
        kind="hours",
        formats=(WITH_SECONDS,) if shows_seconds(values) else (),
        **missing_of(profile, [*codes, *strange]),
    )
    how = "times of day by hour; minutes are drawn again"
    return Proposal(name=profile.name, rule=rule, reason=how, remarks=tuple(remarks))


def tells_hours(texts: Iterable[str]) -> bool:
    """Tell whether dates have times of day of more than one hour."""
    return len({hour_name(read_clock(text)) for text in texts} - {""}) > 1
