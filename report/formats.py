"""Numbers as text, in one way on pages and terminals."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, floor, log10

__all__ = ["bound_text", "bytes_text", "epsilon_text", "numbers_text", "quantity"]


def epsilon_text(epsilon: float) -> str:
    """Write a privacy loss.

    >>> epsilon_text(0.5), epsilon_text(float("inf"))
    ('0.5', 'infinity')
    """
    return "infinity" if epsilon == float("inf") else f"{epsilon:g}"


def bound_text(loss: float) -> str:
    """Write an accounted privacy loss, a bound, with three digits: larger ones are rounded up.

    What four digits write exactly is kept, such as a budget that was spent whole.

    >>> [bound_text(loss) for loss in (2.77412, 126.98, 0.8345, 1.0000000001, 1e-9)]
    ['2.78', '127', '0.8345', '1', '1e-09']
    """
    if loss in (0, float("inf")) or abs(float(f"{loss:.4g}") - loss) <= 1e-6 * loss:
        return epsilon_text(float(f"{loss:.4g}"))
    unit = 10.0 ** (floor(log10(loss)) - 2)
    return epsilon_text(float(f"{ceil(loss / unit - 1e-6) * unit:.12g}"))


def bytes_text(number: float) -> str:
    """Write bytes with three digits and a unit.

    >>> bytes_text(999), bytes_text(12345), bytes_text(3_600_000)
    ('999 B', '12.3 kB', '3.6 MB')
    """
    units = ["B", "kB", "MB", "GB", "TB"]
    while number >= 999.5 and len(units) > 1:
        number /= 1000
        del units[0]
    unit = units[0]
    return f"{number:.0f} {unit}" if unit == "B" else f"{number:.3g} {unit}"


def quantity(number: int, noun: str, plural: str = "") -> str:
    """Write a number with its noun.

    >>> quantity(1, "round"), quantity(1200, "message"), quantity(2, "party", "parties")
    ('1 round', '1,200 messages', '2 parties')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def numbers_text(numbers: Iterable[int], *, last: str = "and") -> str:
    """Write whole numbers in order, those that follow each other as a range.

    >>> numbers_text([3, 1, 2]), numbers_text([1, 2], last="or"), numbers_text([7, 1, 2, 3, 5])
    ('1 to 3', '1 or 2', '1 to 3, 5 and 7')
    """
    ranges: list[list[int]] = []
    for number in sorted({*numbers}):
        if ranges and number == ranges[-1][-1] + 1:
            ranges[-1].append(number)
        else:
            ranges.append([number])
    texts = [
        text
        for numbers in ranges
        for text in (
            [f"{numbers[0]} to {numbers[-1]}"] if len(numbers) > 2 else [*map(str, numbers)]
        )
    ]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} {last} {texts[-1]}"
