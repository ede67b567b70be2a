"""Proposals for columns of numbers: bins, or a category for each number.

A column is one of numbers if nine tenths of its values are, without what people write for a value
that is not there. Codes such as ICD's are mostly numbers, too; the remark names what is none. With
up to 16 different numbers each has a category of its own, because bins would be no fewer.

A number stands for a missing value if it is one that people use so (-1, -999, 99), more than one
row has it, and it lies apart: below zero where nothing else does, or beyond the others by more than
their whole range.

Numbers in two groups far apart, such as heights of 1.7 and of 170, may have two units. A schema
knows one, so a remark names them.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import msgspec
import numpy as np

from .bins import Bins, NumberKind
from .categories import Categories
from .category_kinds import kind_of_texts
from .number_bins import MAX_BINS, number_edges
from .number_steps import common_step
from .number_texts import (
    PLAIN,
    NumberForm,
    choose_form,
    has_leading_zeros,
    has_other_signs,
    loses_digits,
    number,
)
from .profile import MISSING_WORDS, NUMBER_CODES, ColumnProfile
from .proposal import FEW, Proposal, listed, missing_of, name_identifies

__all__ = ["MIN_READABLE", "propose_numbers"]

MIN_READABLE: Final = 0.9
"""Share of the values that must be numbers, or dates."""
MIN_ROWS_OF_NUMBER: Final = 4
"""Rows of each different number, on average, from which on a few numbers are categories."""
MIN_IDENTIFIER_ROWS: Final = 64
"""In a smaller table different whole numbers may be measurements."""
IDENTIFIER_DIGITS: Final = 6
UNITS_FACTOR: Final = 10
"""Factor between two groups of numbers that may have two units: as litres, metres and grams."""
MIN_ROWS_OF_UNIT: Final = 3
"""Fewer rows than that far from the others may be typing errors."""
MAX_FORM_TEXTS: Final = 5000
"""Texts from which it is found how numbers are written."""


@dataclass(frozen=True)
class _Reading:
    """The numbers of a column, and what else it has."""

    form: NumberForm
    sums: Counter[float]
    """Rows of each number."""
    codes: list[str]
    """Texts that stand for missing values."""
    strange: list[str]
    """Other texts that are no numbers."""
    remarks: list[str]


def propose_numbers(profile: ColumnProfile, texts: Mapping[str, int]) -> Proposal | None:
    """Propose bins or categories of numbers; `None` if the column has something else."""
    if reason := _other_signs(texts):
        return Proposal(name=profile.name, rule=None, reason=reason)
    reading = _read(profile.name, texts)
    if reading is None:
        return None
    if reason := _identifier(profile, reading.sums):
        return Proposal(name=profile.name, rule=None, reason=reason)
    reading.remarks.extend(_two_units(reading.sums))
    missing = missing_of(profile, reading.codes)
    is_plain = not reading.strange and reading.form == PLAIN
    has_missing = bool(missing or reading.strange)
    categories = _categories(profile, reading.sums, has_missing=has_missing) if is_plain else None
    if categories is not None:
        rule: Categories | Bins = msgspec.structs.replace(categories, **missing)
        how = "a few numbers, each by itself"
    else:
        bins, how = _bins(profile, reading.sums, has_missing=has_missing)
        if reading.strange:
            missing = {"missing": "category", "unreadable": "missing", **missing}
        rule = msgspec.structs.replace(bins, form=reading.form, **missing)
    return Proposal(name=profile.name, rule=rule, reason=how, remarks=tuple(reading.remarks))


def _read(name: str, texts: Mapping[str, int]) -> _Reading | None:
    """Read the numbers of a column; `None` if too few of its values are numbers."""
    codes = [text for text in texts if text.strip().casefold() in MISSING_WORDS]
    values = {text: count for text, count in texts.items() if text not in codes}
    if not values or has_leading_zeros(values) or any(map(loses_digits, values)):
        return None
    form, remarks = _form(values)
    numbers = {text: form.read(text) for text in values}
    strange = [text for text, value in numbers.items() if not np.isfinite(value)]
    if sum(values[text] for text in strange) > (1 - MIN_READABLE) * sum(values.values()):
        return None
    sums: Counter[float] = Counter()
    for text in values.keys() - {*strange}:
        sums[numbers[text]] += values[text]
    code_numbers = _number_codes(sums)
    for value in code_numbers:
        del sums[value]
    codes += [text for text in values if numbers[text] in code_numbers]
    if codes:
        remarks.insert(0, f"taken for missing: {listed(codes, texts)}")
    if strange:
        remarks.append(f"counted as missing, as they are no numbers: {listed(strange, texts)}")
    if name in strange:
        remarks.append("a line has the name of the column: does it repeat the header?")
    return _Reading(form, sums, codes, strange, remarks) if sums else None


def _form(values: Mapping[str, int]) -> tuple[NumberForm, list[str]]:
    """Find how numbers are written, and remark on it if it is not as Python writes them."""
    if all(np.isfinite(number(text)) for text in values):
        return PLAIN, []
    frequent = [text for text, _ in Counter(values).most_common(MAX_FORM_TEXTS)]
    form, is_unsure = choose_form(frequent)
    if form == PLAIN:
        return PLAIN, []
    how = [f"{name} {mark!r}" for name, mark in msgspec.structs.asdict(form).items() if mark]
    remarks = [f"numbers are written with {', '.join(how)}"]
    if is_unsure and form.thousands:
        remarks.append(
            f"if {form.thousands!r} is not between thousands but before decimals, write "
            f'"decimal": "{form.thousands}" instead of thousands'
        )
    return form, remarks


def _categories(
    profile: ColumnProfile, sums: Counter[float], *, has_missing: bool
) -> Categories | None:
    """Make a category of each number, if there are few; of whole numbers also those between."""
    low, high = min(sums), max(sums)
    is_whole = _is_whole(profile, sums, has_missing=has_missing)
    if is_whole and high - low < MAX_BINS:
        labels = tuple(str(value) for value in range(int(low), int(high) + 1))
        return Categories(categories=labels, kind="integers")
    if len(sums) > MAX_BINS or sums.total() < MIN_ROWS_OF_NUMBER * len(sums):
        return None
    labels = tuple(str(int(value)) if is_whole else str(value) for value in sorted(sums))
    kind = kind_of_texts(labels)
    return Categories(categories=labels, kind=kind) if kind in {"integers", "numbers"} else None


def _bins(profile: ColumnProfile, sums: Counter[float], *, has_missing: bool) -> tuple[Bins, str]:
    is_whole = _is_whole(profile, sums, has_missing=has_missing)
    if not profile.is_exact:  # the ends of the range may not be among the texts that were kept
        for end in (profile.low, profile.high):
            sums[end] = max(sums[end], 1)
    if len(sums) == 1:
        value = next(iter(sums))
        sums[value + 1] = 0
    values = np.array(sorted(sums))
    weights = np.array([sums[value] for value in values.tolist()], np.int64)
    edges, how = number_edges(values, weights, is_whole=is_whole)
    kind: NumberKind = "integers" if is_whole else "numbers"
    what = "whole numbers" if is_whole else "numbers"
    step = common_step(values)
    if step is not None and (step != 1 or not is_whole):
        with contextlib.suppress(ValueError):  # a bin may have no multiple of it
            bins = Bins(edges=edges, kind=kind, step=step)
            return bins, f"{what} in steps of {step:g}, {how}"
    return Bins(edges=edges, kind=kind), f"{what}, {how}"


def _is_whole(profile: ColumnProfile, sums: Mapping[float, int], *, has_missing: bool) -> bool:
    """Tell whether a column has whole numbers.

    pandas has no whole numbers beside missing ones, so it makes floats of them. Without missing
    values the type float is taken at its word.
    """
    is_whole = all(value.is_integer() and abs(value) < 2**53 for value in sums)
    return is_whole and (has_missing or not profile.has_float_type)


def _number_codes(sums: Mapping[float, int]) -> list[float]:
    """Find numbers that stand for missing values."""
    codes: list[float] = []
    rest = dict(sums)
    for value in sorted(NUMBER_CODES, key=abs, reverse=True):
        if rest.get(value, 0) < 2 or len(rest) < 3:
            continue
        others = [other for other in rest if other != value]
        low, high = min(others), max(others)
        # A code such as -999 may hide behind another one, so the largest is tried first.
        is_only_negative = value < 0 <= low
        is_apart = (value > high and value - high > high - low) or (
            value < low and low - value > high - low
        )
        if (is_only_negative or is_apart) and (abs(value) > 9 or is_only_negative):
            codes.append(value)
            del rest[value]
    return codes


def _two_units(sums: Mapping[float, int]) -> list[str]:
    """Remark on numbers in two groups, if the gap between them is wider than either group.

    Distances are factors, so that a group keeps its width in any unit. Zeros belong to no group.
    """
    values = sorted(value for value in sums if value > 0)
    gaps = [high / low for low, high in pairwise(values)]
    if not gaps or max(gaps) < UNITS_FACTOR or min(sums) < 0:
        return []
    place = gaps.index(max(gaps)) + 1
    groups = values[:place], values[place:]
    rows = [sum(sums[value] for value in group) for group in groups]
    is_wide = any(group[-1] / group[0] >= gaps[place - 1] for group in groups)
    if is_wide or min(rows) < MIN_ROWS_OF_UNIT:
        return []
    named = " and ".join(
        f"{count:,} rows from {group[0]:g} to {group[-1]:g}"
        for group, count in zip(groups, rows, strict=True)
    )
    return [f"{named}, far apart: convert them to one unit; a code belongs into missing_as"]


def _other_signs(texts: Mapping[str, int]) -> str:
    """Refuse numbers with signs that are not read; empty if there are too few of them."""
    signed = [text for text in texts if has_other_signs(text)]
    if sum(texts[text] for text in signed) <= (1 - MIN_READABLE) * sum(texts.values()):
        return ""
    return f"numbers whose sign is not read, such as {signed[0]!r}: write a minus before the digits"


def _identifier(profile: ColumnProfile, sums: Counter[float]) -> str:
    """Say why numbers identify rows; empty if they do not."""
    rows, low, high = sums.total(), min(sums), max(sums)
    is_whole = all(value.is_integer() for value in sums)
    if rows <= MIN_IDENTIFIER_ROWS or not is_whole or len(sums) <= FEW:
        return ""
    is_all_different = profile.is_mostly_unique and max(sums.values()) << 3 <= rows
    if profile.is_exact and len(sums) == rows and high - low < 2 * rows:
        return f"{rows:,} different whole numbers that number the rows"
    digits = {len(str(int(abs(value)))) for value in sums}
    if is_all_different and len(digits) == 1 and min(digits) >= IDENTIFIER_DIGITS:
        return f"an identifier: whole numbers of {min(digits)} digits, most of which occur once"
    if name_identifies(profile.name):
        return f"an identifier, as its name says, with {profile.different_text} different numbers"
    return ""
