"""Infinity in JSON: a float in memory, and a word in files, since JSON has no such number."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

__all__ = ["INFINITY", "from_json", "in_json"]

INFINITY: Final = "infinity"


def in_json(value: Any) -> Any:
    """Write infinity as the word, in nested dictionaries and lists."""
    return _replaced(value, _word)


def from_json(value: Any) -> Any:
    """Read the word as infinity, in nested dictionaries and lists."""
    return _replaced(value, _number)


def _replaced(value: Any, leaf: Callable[[Any], Any]) -> Any:
    """Apply a function to every leaf of nested dictionaries and lists."""
    if isinstance(value, Mapping):
        return {key: _replaced(item, leaf) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_replaced(item, leaf) for item in value]
    return leaf(value)


def _word(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value).replace("inf", INFINITY)
    return value


def _number(value: Any) -> Any:
    return math.inf if value == INFINITY else value
