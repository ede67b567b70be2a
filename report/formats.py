"""Numbers as text, in one way on pages and terminals."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["bytes_text", "epsilon_text", "numbers_text", "quantity"]


def epsilon_text(epsilon: float) -> str:
    """Write a privacy loss.

    >>> epsilon_text(0.5), epsilon_text(float("inf"))
    ('0.5', 'infinity')
    """
    return "infinity" if epsilon == float("inf") else f"{epsilon:g}"


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
