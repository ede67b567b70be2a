"""How times of day are written, and the hours to which they belong.

A time counts as its seconds since midnight. A date before it and a time zone after it are left out.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from datetime import datetime, time
from typing import Final

import numpy as np

__all__ = [
    "HOURS",
    "WITH_SECONDS",
    "hour_name",
    "is_clock_format",
    "read_clock",
    "shows_seconds",
    "write_clock",
]

HOURS: Final = tuple(f"{hour:02}:00" for hour in range(24))
"""The hours of a day, each named by its beginning."""
WITHOUT_SECONDS: Final = "%H:%M"
WITH_SECONDS: Final = "%H:%M:%S"
DAY_SECONDS: Final = 86_400
CLOCK: Final = re.compile(
    r"(?P<date>(?:\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\d{1,2}[ -][A-Za-z]{3,9}\.?[ -]\d{2,4}"
    r"|[A-Za-z]{3,9}\.? \d{1,2},? \d{4})[T ] *)?"
    r"(?P<hour>\d{1,2}):(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d)(?:[.,]\d*)?)?"
    r" *(?P<half>[AaPp]\.?[Mm]\.?)?(?: *(?:Z|UTC|(?P<zone>[+-](?:0\d|1[0-4]):?[0-5]\d)))?"
)
OF_DATES: Final = re.compile(r"%[-#]?[YymdbBjxcUWGuVaAwDFsf]")
"""Directives of `strftime` that write something of a date, or parts of a second."""


def read_clock(text: str, formats: Sequence[str] = ()) -> float:
    """Read a time of day as seconds since midnight. Any other text gives NaN.

    Formats are tried first, in the notation of `strptime`.

    >>> read_clock("14:05"), read_clock("2:05 pm"), read_clock("2024-02-29T00:00:30Z")
    (50700.0, 50700.0, 30.0)
    """
    for form in formats:
        try:
            read = datetime.strptime(text.strip(), form)  # noqa: DTZ007 - a time of day
        except ValueError:
            continue
        return float(read.hour * 3600 + read.minute * 60 + read.second)
    parts = CLOCK.fullmatch(text.strip())
    if parts is None:
        return np.nan
    if parts["zone"] and not (parts["date"] or parts["second"]):
        return np.nan  # a span of time, such as 06:00-14:30
    hour, half = int(parts["hour"]), (parts["half"] or "").lower()
    if half and not 1 <= hour <= 12:
        return np.nan
    hour = hour % 12 + 12 * half.startswith("p") if half else hour
    seconds = hour * 3600 + int(parts["minute"]) * 60 + int(parts["second"] or 0)
    return float(seconds % DAY_SECONDS) if seconds <= DAY_SECONDS else np.nan


def write_clock(seconds: int, formats: Sequence[str] = ()) -> str:
    """Write a time of day in the first of these formats, and otherwise as 14:05.

    >>> write_clock(50_700), write_clock(50_700, ["%I:%M %p"])
    ('14:05', '02:05 PM')
    """
    clock = time(seconds // 3600, seconds // 60 % 60, seconds % 60)
    return clock.strftime(formats[0] if formats else WITHOUT_SECONDS)


def is_clock_format(form: str) -> bool:
    """Tell whether each hour that is written in a format can be read again.

    >>> is_clock_format("%I:%M %p"), is_clock_format("HH:MM"), is_clock_format("%Y-%m-%d %H:%M")
    (True, False, False)
    """
    if OF_DATES.search(form):
        return False
    try:
        texts = [write_clock(hour * 3600, [form]) for hour in range(len(HOURS))]
        times = [datetime.strptime(text, form) for text in texts]  # noqa: DTZ007 - a time of day
    except ValueError:
        return False
    return [read.hour for read in times] == [*range(len(HOURS))]


def hour_name(seconds: float) -> str:
    """Name the hour of a time; NaN gives an empty text."""
    return "" if np.isnan(seconds) else HOURS[int(seconds) // 3600]


def shows_seconds(texts: Collection[str]) -> bool:
    """Tell whether times are written with seconds."""
    matches = [parts for text in texts if (parts := CLOCK.fullmatch(text.strip()))]
    return any(parts["second"] is not None for parts in matches)
