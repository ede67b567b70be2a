"""How dates are written, and the days, weeks, months and years to which they belong.

A date counts as its days since 1970-01-01.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from typing import Final, Literal, TypeAlias

import numpy as np

__all__ = [
    "ISO",
    "MONTHS",
    "PERIODS",
    "WEEKDAYS",
    "Period",
    "choose_formats",
    "day_number",
    "day_text",
    "period_edges",
    "period_text",
    "read_day",
]

Period: TypeAlias = Literal["day", "week", "month", "quarter", "year", "decade"]
PERIODS: Final[tuple[Period, ...]] = ("day", "week", "month", "quarter", "year", "decade")
"""From the shortest to the longest."""
MONTHS_OF: Final[dict[str, int]] = {"month": 1, "quarter": 3, "year": 12, "decade": 120}
WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS: Final = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
EPOCH: Final = date(1970, 1, 1).toordinal()
ISO: Final = "%Y-%m-%d"
FORMATS: Final = (
    ISO,
    "%d.%m.%Y",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d-%m-%Y",
    "%m-%d-%Y",
    "%Y/%m/%d",
    "%Y.%m.%d",
    "%d %b %Y",
    "%d-%b-%Y",
    "%b %d, %Y",
    "%d %B %Y",
    "%B %d, %Y",
    "%d.%m.%y",
    "%d/%m/%y",
    "%m/%d/%y",
)
"""Formats that are tried. A number of eight digits is none: it may be an identifier."""
TIME: Final = re.compile(r"[T ]+\d{1,2}:\d{2}.*$")


def day_number(text: str) -> float:
    """Read a date, such as 2024-02-29, as days since 1970-01-01. Any other text gives NaN.

    A time after the date is left out.
    """
    if text[4:5] != "-" or text[7:8] != "-" or text[10:11] not in ("", " ", "T"):
        return np.nan
    try:
        return float(date.fromisoformat(text[:10]).toordinal() - EPOCH)
    except ValueError:
        return np.nan


def read_day(text: str, formats: Sequence[str]) -> float:
    """Read a date in one of these formats, of which the first that fits is taken."""
    if tuple(formats) in ((), (ISO,)):
        return day_number(text)
    plain = TIME.sub("", text.strip())
    return next((day for form in formats if not np.isnan(day := _read(plain, form))), np.nan)


@functools.lru_cache(maxsize=1 << 17)
def _read(text: str, form: str) -> float:
    if form == ISO:
        return day_number(text)
    try:
        return float(datetime.strptime(text, form).toordinal() - EPOCH)  # noqa: DTZ007 - a day
    except ValueError:
        return np.nan


def choose_formats(counts: Counter[str]) -> tuple[tuple[str, ...], str]:
    """Choose the formats in which dates are written, and name one that fits as well.

    The first format reads most rows; each further one reads rows that are left. Two formats that
    differ in the order of day and month are not both taken: nobody could tell which is meant.

    >>> choose_formats(Counter({"31.12.2023": 5, "2024-01-02": 9}))[0]
    ('%Y-%m-%d', '%d.%m.%Y')
    """
    left = {TIME.sub("", text.strip()): count for text, count in counts.items()}
    chosen: list[str] = []
    rival = ""
    while left:
        rows = {
            form: sum(count for text, count in left.items() if not np.isnan(_read(text, form)))
            for form in FORMATS
            if not any(_parts(form) == _parts(other) for other in chosen)
        }
        best = max(rows, key=lambda form: rows[form], default=ISO)
        if not rows.get(best):
            break
        rival = rival or next(
            (
                form
                for form in rows
                if form != best and _parts(form) == _parts(best) and rows[form] == rows[best]
            ),
            "",
        )
        chosen.append(best)
        left = {text: count for text, count in left.items() if np.isnan(_read(text, best))}
    return tuple(chosen), rival


def _parts(form: str) -> tuple[str, ...]:
    """Give what two formats have in common that differ in the order of day and month."""
    return tuple(sorted(form.replace("b", "m").replace("B", "m")))


def day_text(day: float) -> str:
    """Write a day: 2024-02-29."""
    return date.fromordinal(int(day) + EPOCH).isoformat()


def period_edges(low: float, high: float, period: Period) -> tuple[float, ...]:
    """List the edges of the periods from one day to another, whole ones.

    The first edge is half a day before the first period, so that no period has a day more.
    """
    day = first = _first(date.fromordinal(int(low) + EPOCH), period)
    edges = [first.toordinal() - EPOCH - 0.5]
    while edges[-1] < high:
        day = _next(day, period)
        edges.append(float(day.toordinal() - EPOCH - 1))
    return tuple(edges)


def _first(day: date, period: Period) -> date:
    """Find the first day of the period of a day."""
    match period:
        case "day":
            return day
        case "week":
            return day - timedelta(days=day.weekday())
        case "month":
            return day.replace(day=1)
        case "quarter":
            return day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)
        case "year":
            return day.replace(month=1, day=1)
        case "decade":
            return day.replace(year=max(day.year // 10 * 10, 1), month=1, day=1)


def _next(day: date, period: Period) -> date:
    """Find the first day of the next period, given the first day of one.

    Raises:
        ValueError: It would be after the year 9999.
    """
    if period in {"day", "week"}:
        return day + timedelta(days=1 if period == "day" else 7)
    months = day.year * 12 + day.month - 1 + MONTHS_OF[period]
    return date(months // 12, months % 12 + 1, 1)


def period_text(last: float, period: Period) -> str:
    """Name a period by its last day: 2024-02, 2024-Q1, 1990s."""
    day = date.fromordinal(int(last) + EPOCH)
    year, week, _ = day.isocalendar()
    texts: dict[str, str] = {
        "day": day.isoformat(),
        "week": f"{year}-W{week:02}",
        "month": f"{day:%Y-%m}",
        "quarter": f"{day.year}-Q{(day.month + 2) // 3}",
        "year": f"{day.year}",
        "decade": f"{day.year // 10 * 10}s",
    }
    return texts[period]


def names_of_days(days: Iterable[float], *, kind: Literal["weekdays", "months"]) -> list[str]:
    """Name the weekdays, or the months, of days; NaN gives an empty text."""
    names = []
    for day in days:
        if np.isnan(day):
            names.append("")
        elif kind == "weekdays":
            names.append(WEEKDAYS[(int(day) + EPOCH - 1) % 7])
        else:
            names.append(MONTHS[date.fromordinal(int(day) + EPOCH).month - 1])
    return names
