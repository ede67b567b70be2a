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

__all__ = [
    "PLAIN",
    "NumberForm",
    "choose_form",
    "has_leading_zeros",
    "has_other_signs",
    "loses_digits",
    "number",
]

LEADING_ZEROS: Final = re.compile(r"0\d+")
SPACES: Final = re.compile(r"[\s\u00a0\u2009\u202f]+")
MINUS: Final = "\N{MINUS SIGN}"
SIGNS: Final = r"+<>=~\u00b1\u2012-\u2015\u2212\u2264\u2265-"
"""Characters that say something of a number, such as its sign, so they are no unit."""
UNIT: Final = re.compile(
    rf"^[-+{MINUS}]?([^\w\s.,'(){SIGNS}]*)[\s\u00a0]*[-+{MINUS}]?"
    rf"\d[\d\s\u00a0\u202f.,']*?\s*([^\d\s.,'(){SIGNS}]*)$"
)
"""A text with digits in the middle, and what stands before and after them.

Before them there is no letter: J45 is a code.
"""
OTHER_SIGN: Final = re.compile(
    r"[\u2012-\u2015]\W?\d[\d.,'\s]*|\(\W?[\d.,'\s]+\)|\W?\d[\d.,'\s]*(?:[-\u2012-\u2015\u2212]|CR|DR)",
    re.IGNORECASE,
)
"""A number that is below zero by other signs than a minus before it: (12.30), 12.30-, 12.30 CR."""


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
        digits = text.strip().replace(MINUS, "-")
        if self.unit:
            sign = digits[:1] if digits[:1] in {"-", "+"} else ""
            digits = digits.removeprefix(sign).removesuffix(self.unit).removeprefix(self.unit)
            digits = sign + digits.strip()
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
    """Read a number as Python does, also with a true minus sign. Any other text gives NaN."""
    try:
        return float(text.replace(MINUS, "-", 1)) if "_" not in text else np.nan
    except ValueError:
        return np.nan


def has_leading_zeros(texts: Iterable[str]) -> bool:
    """Tell whether digits are codes: 01234 is no number."""
    return any(LEADING_ZEROS.fullmatch(text) for text in texts)


def has_other_signs(text: str) -> bool:
    """Tell whether a number is below zero by a sign that is not read.

    >>> [has_other_signs(text) for text in ("12.30-", "(1,200)", "3 CR", "-12.30", "5")]
    [True, True, True, False, False]
    """
    return OTHER_SIGN.fullmatch(text.strip()) is not None


def loses_digits(text: str) -> bool:
    """Tell whether digits of a whole number are lost where numbers are kept in 64 bits.

    >>> loses_digits("12345678901234567891"), loses_digits("12345678901234567000")
    (True, True)
    >>> loses_digits("1234567890"), loses_digits("0.1")
    (False, False)
    """
    digits = text.strip().lstrip("+-")
    return digits.isdecimal() and int(digits) > 2**53


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
