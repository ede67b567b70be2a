"""Values for made-up codes of a schema, written as in a file that the schema fits.

A protocol without a schema of its own reads texts. What it would read in a table that nobody has
opened follows from the public schema of that table.
"""

from __future__ import annotations

from datetime import date
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from .bins import Bins
from .categories import Categories
from .clock_texts import HOURS, write_clock
from .counting import CodedTable
from .date_texts import ISO, day_text
from .number_steps import edges_in_steps, numbers_of_steps
from .raw import NumberColumn, RawTable, TextColumn
from .schema import Schema

__all__ = ["made_up_values"]

Codes = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.integer[Any] | np.floating[Any]]
STEPS: Final = 1000
"""Steps into which the narrowest bin is divided, at least: numbers are rounded."""
FIRST_MONDAY: Final = date(2024, 1, 1)
"""The week and the year that begin with this day have a date for each weekday and each month."""


def made_up_values(
    table: CodedTable, *, schema: Schema, generator: np.random.Generator
) -> RawTable:
    """Write a value for each code: a number or a date in its bin, or the text of its category."""
    columns = {
        name: TextColumn(codes.astype(np.int64), _texts(rule))
        if isinstance(rule, Categories)
        else _binned(rule, codes.astype(np.int64), generator=generator)
        for (name, rule), codes in zip(schema.attributes.items(), table.codes, strict=True)
    }
    return RawTable(columns, len(table))


def _texts(rule: Categories) -> list[str]:
    """List the text of each code of categories; those of dates are dates."""
    days = {
        "weekdays": [FIRST_MONDAY.replace(day=1 + place) for place in range(7)],
        "months": [FIRST_MONDAY.replace(month=1 + place) for place in range(12)],
    }.get(rule.kind)
    if rule.kind == "hours":
        times = (write_clock(3600 * hour, rule.formats) for hour in range(len(HOURS)))
        return [*rule.with_missing(tuple(times))]
    if days is None:
        return [*rule.labels]
    form = rule.formats[0] if rule.formats else ISO
    return [*rule.with_missing(tuple(day.strftime(form) for day in days))]


def _binned(rule: Bins, codes: Codes, *, generator: np.random.Generator) -> TextColumn:
    """Draw a number or a date uniformly in the bin of each code, and write it as the rule says."""
    count = len(rule.edges) - 1
    is_absent = codes == count  # the code of absent values, where the rule has one, is the last
    numbers = _numbers(rule, np.minimum(codes, count - 1), generator=generator)
    written = NumberColumn(numbers).as_texts()
    texts = [_write(rule, text) for text in written.texts]
    # A text that occurs nowhere would count as one that a neighbouring table may have.
    absent = [rule.missing_as[0]] if rule.has_category else []
    return TextColumn(np.where(is_absent, len(texts), written.places), [*texts, *absent])


def _numbers(rule: Bins, codes: Codes, *, generator: np.random.Generator) -> Numbers:
    edges = np.array(rule.edges)
    if rule.step is not None:
        steps = edges_in_steps(rule.edges, rule.step)
        numbers = numbers_of_steps(_whole_numbers(np.array(steps), codes, generator), rule.step)
        return numbers.astype(np.int64) if rule.kind == "integers" else numbers
    if rule.kind == "numbers":
        widths = np.diff(edges)
        low, high = edges[codes], edges[codes + 1]
        drawn = high - generator.random(len(codes)) * (high - low)
        digits = int(np.clip(np.ceil(np.log10(STEPS / widths.min())), 0, 15))
        rounded = np.round(drawn, digits)
        inside: Numbers = np.where((rounded > low) & (rounded <= high), rounded, drawn)
        return inside
    return _whole_numbers(edges, codes, generator)


def _whole_numbers(
    edges: npt.NDArray[np.float64], codes: Codes, generator: np.random.Generator
) -> npt.NDArray[np.int64]:
    # A bin is open on the left, and the first one is closed: each has a whole number.
    first = np.floor(edges[:-1]).astype(np.int64) + 1
    first[0] = int(np.ceil(edges[0]))
    last = np.floor(edges[1:]).astype(np.int64)
    return generator.integers(first[codes], last[codes], endpoint=True)


def _write(rule: Bins, number: str) -> str:
    if rule.kind != "dates":
        return rule.form.write(number)
    day = day_text(float(number))
    return date.fromisoformat(day).strftime(rule.formats[0]) if rule.formats else day
