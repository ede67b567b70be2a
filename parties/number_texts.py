"""How numbers are written in a file: 1234.5, 1,234.5, 1.234,5, 12 %, 70 kg.

A schema says how the numbers of an attribute are written, and by default as Python writes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Final

import msgspec
import numpy as np

__all__ = ["PLAIN", "NumberForm", "choose_form", "has_leading_zeros", "number"]

LEADING_ZEROS: Final = re.compile(r"0\d+")
SPACES: Final = re.compile(r"[\s\u00a0\u2009\u202f]+")
UNIT: Final = re.compile(
    r"^([^\w\s.,'+-]*)[\s\u00a0]*[+-]?\d[\d\s\u00a0\u202f.,']*?\s*([^\d\s.,']*)$"
)
"""A text with digits in the middle, and what stands before and after them.

Before them there is no letter: J45 is a code.
"""


class NumberForm(msgspec.Struct, frozen=True, kw_only=True):
    """How numbers are written."""

    decimal: str = "."
    thousands: str = ""
    """What stands between groups of three digits; a blank is any kind of blank."""
    unit: str = ""
    """A text before or after a number that is left out, such as % or kg."""

    def __post_init__(self) -> None:
        if self.decimal not in {".", ","}:
            raise ValueError(f'expected "." or "," for decimal, found {self.decimal!r}')
        if self.thousands not in {"", ".", ",", " ", "'"} or self.thousands == self.decimal:
            raise ValueError(
                f'expected ".", ",", " " or "\'", and not that of decimal, for thousands, '
                f"found {self.thousands!r}"
            )

    def read(self, text: str) -> float:
        """Read a number. Any other text gives NaN."""
        if self == PLAIN:
            return number(text)
        digits = text.strip()
        if self.unit:
            digits = digits.removesuffix(self.unit).removeprefix(self.unit).strip()
        if self.thousands:
            mark = SPACES.pattern if self.thousands == " " else re.escape(self.thousands)
            grouped = rf"[+-]?\d{{1,3}}(?:{mark}\d{{3}})+(?:{re.escape(self.decimal)}\d*)?"
            if re.fullmatch(grouped, digits):
                digits = re.sub(mark, "", digits)
        if self.decimal == ",":
            if self.thousands == "." and "." in digits:
                return np.nan
            digits = digits.replace(",", ".")
        return number(digits)

    def write(self, text: str) -> str:
        """Write a number, given as Python writes it; groups of thousands stay together.

        >>> NumberForm(decimal=",", unit="kg").write("70.5")
        '70,5 kg'
        """
        return f"{text.replace('.', self.decimal)} {self.unit}".rstrip()


PLAIN: Final = NumberForm()


def number(text: str) -> float:
    """Read a number as Python does. Any other text gives NaN."""
    try:
        return float(text) if "_" not in text else np.nan
    except ValueError:
        return np.nan


def has_leading_zeros(texts: Iterable[str]) -> bool:
    """Tell whether digits are codes: 01234 is no number."""
    return any(LEADING_ZEROS.fullmatch(text) for text in texts)


def choose_form(texts: Sequence[str]) -> tuple[NumberForm, bool]:
    """Choose how the numbers among these texts are written; tell whether another form fits, too.

    The form reads most of the texts. Of two that read as many, the first in this order is taken:
    as Python writes numbers, with commas between thousands, with decimal commas. So 1,234 is
    1234 where no text says otherwise.

    >>> choose_form(["1,5", "12,25"])[0]
    NumberForm(decimal=',', thousands='', unit='')
    >>> choose_form(["12 %", "7 %"])[0].unit
    '%'
    """
    units = [
        unit for text in texts if (match := UNIT.match(text.strip())) for unit in match.groups()
    ]
    unit = max({*units} - {""}, key=lambda unit: (units.count(unit), unit), default="")
    marks = ((".", ""), (".", ","), (",", ""), (",", "."), (",", " "), (".", " "), (".", "'"))
    forms = [
        NumberForm(decimal=decimal, thousands=thousands, unit=ending)
        for (decimal, thousands), ending in product(marks, dict.fromkeys(("", unit)))
    ]
    read = {form: np.array([form.read(text) for text in texts]) for form in forms}
    counts = {form: int(np.isfinite(values).sum()) for form, values in read.items()}
    best = max(forms, key=lambda form: counts[form])
    rivals = [
        form
        for form in forms
        if counts[form] == counts[best]
        and not np.array_equal(read[form], read[best], equal_nan=True)
    ]
    return best, bool(rivals)
