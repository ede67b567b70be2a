"""Proposals for columns of dates: bins by the shortest period of which there are about 24."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

import msgspec
import numpy as np

from .bins import Bins
from .clock_columns import tells_hours
from .date_texts import ISO, choose_formats, day_text
from .number_bins import choose_period
from .number_columns import MIN_READABLE
from .profile import MISSING_WORDS, ColumnProfile
from .proposal import Proposal, listed, missing_of

__all__ = ["propose_dates"]

DATE_CODES: Final = (
    *("0001-01-01", "1800-01-01", "1900-01-01", "1970-01-01"),
    *("2099-12-31", "2999-12-31", "9999-12-31"),
)
"""What people write for a missing date."""


def propose_dates(profile: ColumnProfile, texts: Mapping[str, int]) -> Proposal | None:
    """Propose periods for dates; `None` if the column has something else."""
    codes = [text for text in texts if text.strip().casefold() in MISSING_WORDS]
    values = {text: count for text, count in texts.items() if text not in codes}
    if not any(letter.isdigit() for text in values for letter in text):
        return None
    formats, rival = choose_formats(Counter(values))
    reader = Bins(edges=(0, 1), kind="dates", formats=formats)
    days = {text: reader.read(text) for text in values}
    strange = [text for text, day in days.items() if np.isnan(day)]
    unread = sum(values[text] for text in strange)
    if not formats or unread > (1 - MIN_READABLE) * sum(values.values()):
        return None
    sums: Counter[float] = Counter()
    for text in values.keys() - {*strange}:
        sums[days[text]] += values[text]
    code_days = _date_codes(sums)
    codes += [text for text in values if days[text] in code_days]
    for day in code_days:
        del sums[day]
    remarks = [f"taken for missing: {listed(codes, texts)}"] if codes else []
    if strange:
        remarks.append(f"counted as missing, as they are no dates: {listed(strange, texts)}")
    if formats != (ISO,):
        remarks.append(f"written as {', '.join(formats)}")
    if rival:
        remarks.append(
            f"no date says whether day or month comes first: if {rival} is meant, write it in "
            "formats"
        )
    remarks.append('by weekday instead: {"by": "weekday"}')
    if tells_hours(values):
        remarks.append('times are left out; by hour of the day instead: {"by": "hour"}')
    missing = missing_of(profile, codes)
    if strange:
        missing = {"missing": "category", "unreadable": "missing", **missing}
    low, high = min(sums), max(sums)
    bins = Bins.of_periods(low, high, by=choose_period(low, high))
    rule = msgspec.structs.replace(bins, formats=() if formats == (ISO,) else formats, **missing)
    how = f"dates by {bins.by}, {day_text(low)} to {day_text(high)}"
    return Proposal(name=profile.name, rule=rule, reason=how, remarks=tuple(remarks))


def _date_codes(sums: Mapping[float, int]) -> set[float]:
    """Find dates that stand for missing values: usual ones, beyond all others by their range."""
    reader = Bins(edges=(0, 1), kind="dates")
    codes: set[float] = set()
    for text in DATE_CODES:
        day = reader.read(text)
        others = [other for other in sums if other != day and other not in codes]
        if sums.get(day, 0) < 2 or len(others) < 2:
            continue
        low, high = min(others), max(others)
        if (day > high and day - high > high - low) or (day < low and low - day > high - low):
            codes.add(day)
    return codes
