"""Inference of a schema from the data, for a quick start. It is not private; the report says so.

Each party summarises its own table, block by block. `merge` unites the summaries of all parties
into one schema. A column is numeric if its values are numbers and more than 64 of them differ, or
if most of them occur once (`column_summary`). It gets bins of equal width from the least number to
the greatest. Every other column has categories. Absent values get a category of their own. Digits
with a zero before them, as in 01234, are codes and no numbers, and what a DataFrame holds as texts
are texts.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Collection, Iterable, Sequence
from typing import Final

import msgspec
import numpy as np

from ..messages import Private, UsageError
from ..privacy.domain import MAX_LABELS
from .bins import Bins, has_whole_numbers
from .categories import Categories
from .category_kinds import kind_of_texts
from .column_summary import NO_VALUE, ColumnSummary, too_many_texts
from .date_texts import day_number
from .number_steps import step_of_texts
from .number_texts import number
from .raw import RawTable
from .rules import Missing
from .schema import Schema

__all__ = ["infer", "merge"]

MAX_NAMED: Final = 5
"""The most columns that an error names."""
INFERRED_BINS: Final = 16


def infer(blocks: Iterable[RawTable]) -> Schema:
    """Summarise one table as a schema. Numeric columns have one bin until schemas are merged."""
    summaries: dict[str, ColumnSummary] = {}
    for block in blocks:
        for name, column in block.columns.items():
            summaries.setdefault(name, ColumnSummary(name)).add(column)
    return Schema({name: summary.rule() for name, summary in summaries.items()}, inferred=True)


def merge(schemas: Iterable[Schema]) -> Schema:
    """Unite inferred schemas: all categories, the widest range, and bins for numbers."""
    first, *rest = schemas
    names = [schema.attributes.keys() for schema in (first, *rest)]
    if lone := sorted(set().union(*names) - set(first.attributes).intersection(*names)):
        raise UsageError(
            "expected the same columns in every party's data, found ",
            Private(f"{', '.join(lone[:MAX_NAMED])} in some of them alone"),
            ": leave such columns out with --columns, or give --schema",
        )
    rules = {
        name: _unite(name, [schema.attributes[name] for schema in (first, *rest)])
        for name in first.attributes
    }
    return Schema(rules, inferred=True)


def _unite(name: str, rules: list[Categories | Bins]) -> Categories | Bins:
    missing: Missing = "category" if any(rule.has_category for rule in rules) else "refuse"
    texts = {label for rule in rules if isinstance(rule, Categories) for label in rule.categories}
    texts = texts - {NO_VALUE} or texts
    edges = [edge for rule in rules if isinstance(rule, Bins) for edge in rule.edges]
    if not edges:
        if len(texts) + (missing == "category") > MAX_LABELS:
            raise too_many_texts(name)
        stated = {rule.kind for rule in rules if isinstance(rule, Categories)}
        if stated in ({"categorical"}, {"ordered"}):
            # The order of a type is taken at its word; what others have besides comes after it.
            listed = dict.fromkeys(
                label for rule in rules if isinstance(rule, Categories) for label in rule.categories
            )
            kind = stated.pop()
            return Categories(
                categories=tuple(label for label in listed if label in texts),
                kind=kind,
                missing=missing,
            )
        kind = "texts" if any(map(_states_texts, rules)) else kind_of_texts(texts)
        return Categories(categories=_sorted(texts), kind=kind, missing=missing)
    kinds = {rule.kind for rule in rules if isinstance(rule, Bins)}
    read = day_number if kinds == {"dates"} else number
    numbers = np.array([*edges, *(read(text) for text in texts - {NO_VALUE})])
    if not np.isfinite(numbers).all() or kinds > {"dates"}:
        raise UsageError(
            f"expected numbers or categories in {name!r}, "
            f"found {'dates' if 'dates' in kinds else 'numbers'} at one party and "
            "other texts at another"
        )
    low, high = float(numbers.min()), float(numbers.max())
    if kinds == {"dates"}:
        bins = int(min(INFERRED_BINS, high - low))
        days = tuple(float(round(edge)) for edge in np.linspace(low, high, bins + 1))
        return Bins(edges=days, kind="dates", missing=missing)
    try:
        rule = Bins.equal(low, high, bins=INFERRED_BINS, missing=missing)
    except ValueError:
        raise UsageError(
            f"expected a range that {INFERRED_BINS} bins can divide, found ",
            Private(f"{low:g} to {high:g}"),
            f" in {name!r}: give --schema",
        ) from None
    is_whole = all(text.removeprefix("-").isdecimal() for text in texts - {NO_VALUE})
    if is_whole and kinds == {"integers"} and has_whole_numbers(rule.edges):
        return msgspec.structs.replace(rule, kind="integers")
    with contextlib.suppress(ValueError):  # a bin may be narrower than the step
        return msgspec.structs.replace(rule, step=_step(rules, texts - {NO_VALUE}))
    return rule


def _step(rules: Sequence[Categories | Bins], texts: Collection[str]) -> float | None:
    """Find the step of all parties' numbers, if all have one."""
    steps = [
        1.0 if rule.kind == "integers" else rule.step for rule in rules if isinstance(rule, Bins)
    ]
    steps += [step_of_texts(texts)] if texts else []
    finest = [step for step in steps if step is not None]
    return min(finest) if len(finest) == len(steps) else None


def _states_texts(rule: Categories | Bins) -> bool:
    """Tell whether a party's type says that what may be read as numbers are texts."""
    return (
        isinstance(rule, Categories)
        and rule.kind == "texts"
        and kind_of_texts(rule.categories) != "texts"
    )


def _sorted(labels: set[str]) -> tuple[str, ...]:
    """Sort labels: as numbers if any of them is one, otherwise as texts."""
    numbers = {label: number(label) for label in labels}
    if not any(math.isfinite(value) for value in numbers.values()):
        return tuple(sorted(labels))

    def key(label: str) -> tuple[float, str]:
        # NaN has no place among numbers, and every role must find the same order.
        return (numbers[label] if math.isfinite(numbers[label]) else math.inf, label)

    return tuple(sorted(labels, key=key))
