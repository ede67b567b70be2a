"""Impossible combinations of labels in a schema file, under `never`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from .bins import Bins
from .categories import Categories
from .date_texts import day_number

__all__ = ["read_never"]


class _Range(msgspec.Struct, forbid_unknown_fields=True, rename={"low": "from", "high": "to"}):
    """A range of values, with both ends."""

    low: float | str | None = None
    high: float | str | None = None


def read_never(
    entries: Sequence[Any], rules: Mapping[str, Categories | Bins]
) -> Iterator[dict[str, tuple[str, ...]]]:
    """Read the entries: for each the labels of its attributes.

    Raises:
        ValueError: An entry has an unknown attribute or label, or a range that cuts a bin.
    """
    for entry in entries:
        if not isinstance(entry, dict) or not entry:
            raise ValueError(
                f"expected an object with labels of each attribute, such as "
                f'{{"age": ["0-14"], "marital": ["married"]}}, found {entry!r}'
            )
        if unknown := [name for name in entry if name not in rules]:
            raise ValueError(f"expected an attribute of the schema, found {unknown[0]!r}")
        yield {name: _labels(name, rules[name], value) for name, value in entry.items()}


def _labels(name: str, rule: Categories | Bins, value: Any) -> tuple[str, ...]:
    if isinstance(value, dict) and isinstance(rule, Categories):
        raise ValueError(  # noqa: TRY004 - this is about the file's text
            f"expected a list of labels of {name!r}, found a range"
        )
    if isinstance(value, dict) and isinstance(rule, Bins):
        try:
            return tuple(_bins_within(msgspec.convert(value, _Range), rule))
        except (msgspec.ValidationError, ValueError) as error:
            raise ValueError(f"attribute {name!r}: {error}") from None
    labels = tuple(value) if isinstance(value, list) else (value,)
    if not labels or len(set(map(str, labels))) < len(labels):
        raise ValueError(f"expected different labels of {name!r}, found {value!r}")
    for label in labels:
        if label not in rule.labels:
            first = ", ".join(rule.labels[:8])
            more = ", ..." if len(rule.labels) > 8 else ""
            raise ValueError(f"expected labels of {name!r} ({first}{more}), found {label!r}")
    return labels


def _bins_within(chosen: _Range, rule: Bins) -> Iterator[str]:
    """List the bins in a range. A bin that lies partly in it is refused."""
    if chosen == _Range():
        raise ValueError('expected "from" or "to", found neither')
    low = -np.inf if chosen.low is None else _number(chosen.low, rule)
    high = np.inf if chosen.high is None else _number(chosen.high, rule)
    count = 0
    for place, label in enumerate(rule.bin_labels):
        first, last = rule.edges[place], rule.edges[place + 1]
        if rule.kind == "numbers":
            is_outside = last < low or first > high or (place > 0 and first >= high)
        else:
            first = np.ceil(first) if place == 0 else np.floor(first) + 1
            last = np.floor(last)
            is_outside = last < low or first > high
        if low <= first and last <= high:
            count += 1
            yield label
        elif not is_outside:
            raise ValueError(f"expected a range that ends where bins end, found an end in {label}")
    if not count:
        raise ValueError("expected a range with at least one bin, found none in it")


def _number(value: float | str, rule: Bins) -> float:
    """Read an end of a range: a number, or a date where bins hold dates."""
    number = day_number(value) if isinstance(value, str) else float(value)
    if isinstance(value, str) != (rule.kind == "dates") or np.isnan(number):
        kind = "a date such as 2024-01-31" if rule.kind == "dates" else "a number"
        raise ValueError(f"expected {kind}, found {value!r}")
    return number
