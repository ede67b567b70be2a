"""What categories are, if all of them are written in the one way to write such a value."""

from __future__ import annotations

from collections.abc import Callable, Collection

from .categories import CategoryKind

__all__ = ["kind_of_texts"]


def kind_of_texts(texts: Collection[str]) -> CategoryKind:
    """Tell what categories are, if each is written in the one way to write such a value.

    01 and 1e3 are texts: read as numbers they could not be written again as they were.
    """
    kinds: dict[CategoryKind, Callable[[str], object]] = {
        "integers": _read_integer,
        "numbers": float,
        "booleans": {"True": True, "False": False}.__getitem__,
    }
    for kind, read in kinds.items():
        if texts and all(_is_written_so(text, read) for text in texts):
            return kind
    return "texts"


def _read_integer(text: str) -> int:
    """Read a whole number that fits into 64 bits.

    Raises:
        ValueError: It is none.
    """
    value = int(text)
    if not -(1 << 63) <= value < 1 << 63:
        raise ValueError(text)
    return value


def _is_written_so(text: str, read: Callable[[str], object]) -> bool:
    try:
        value = read(text)
    except (ValueError, KeyError):
        return False
    return str(value) == text and text not in {"nan", "inf", "-inf"}
