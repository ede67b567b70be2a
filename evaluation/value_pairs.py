"""Releases of another author's mechanism on exact values that no made-up table had.

A choice among scores loses most where the leader is closely followed, or a count where it passes a
number that the program names. Tables with such values may be rare. So the mechanism is copied, and
other values are put in the place of its exact value. From the first to the second they change as
they did on a pair of neighbouring tables: a mechanism may rest on that, for instance where scores
only grow. No number is below 0 if none was: a count may be the row of a matrix.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from ..privacy.exact_value import Inspectable
from ..privacy.mechanism import AnyMechanism
from ..privacy.taping import ReleasePair

__all__ = ["TABLES", "value_pairs"]

MAX_CHANGES: Final = 3
"""Number of different changes that are put on other values."""
GAPS: Final = (0, 1, 2, 3, 5)
"""Leads of one number over all others, as multiples of the scale of the noise."""
MAX_NAMED: Final = 12
"""Number of constants of the program near which a single number is put."""
TABLES: Final = "on exact values that no table had"
"""The tables of such pairs, in words."""
Numbers: TypeAlias = npt.NDArray[np.float64]


def value_pairs(
    pairs: Sequence[ReleasePair], constants: Collection[str | float]
) -> Iterator[ReleasePair]:
    """Make pairs of a release on other exact values, from pairs on neighbouring tables.

    Args:
        pairs: the same release on pairs of tables.
        constants: texts and numbers that the program names.
    """
    changes: dict[bytes, tuple[ReleasePair, Numbers, Numbers]] = {}
    for pair in pairs:
        first, second = _value_of(pair.first), _value_of(pair.second)
        if first is None or second is None or first.shape != second.shape:
            continue
        change = second - first
        if change.any():
            # Of vectors only the pattern matters, wherever in them it stands.
            changes.setdefault(np.sort(change, axis=None).tobytes(), (pair, first, change))
        if len(changes) == MAX_CHANGES:
            break
    for pair, before, change in changes.values():
        names, scale = _names_of_value(pair), pair.first.scale
        least = min(0.0, before.min(), (before + change).min())
        for value in _values(before, change, scale, constants) if names else ():
            if min(value.min(), (value + change).min()) < least:
                continue
            here, there = (_with(pair.first, names, each) for each in (value, value + change))
            if here is not None and there is not None:
                yield pair._replace(first=here, second=there, tables=TABLES)


def _value_of(mechanism: AnyMechanism[Any]) -> Numbers | None:
    """Give the exact value, if it is a single array in a norm of numbers."""
    if not isinstance(mechanism, Inspectable):
        return None
    exact = mechanism.exact_value()
    if len(exact.parts) != 1 or exact.norm == "records":
        return None
    return np.asarray(exact.parts[0], np.float64)


def _names_of_value(pair: ReleasePair) -> list[str]:
    """Name the attributes that hold the exact value; none if others follow from it."""
    attributes = [_attributes(mechanism) for mechanism in (pair.first, pair.second)]
    values = [_value_of(mechanism) for mechanism in (pair.first, pair.second)]
    # An epsilon of 1 is the value of a count of 1, but does not change with it.
    names = [
        name
        for name in attributes[0]
        if all(
            _is_same(held.get(name), value) for held, value in zip(attributes, values, strict=True)
        )
    ]
    others = attributes[0].keys() - {*names}
    if any(not _is_same(attributes[0][name], attributes[1].get(name)) for name in others):
        return []
    return names


def _attributes(mechanism: AnyMechanism[Any]) -> dict[str, Any]:
    slots = [name for kind in type(mechanism).__mro__ for name in getattr(kind, "__slots__", ())]
    held = {name: getattr(mechanism, name) for name in slots if hasattr(mechanism, name)}
    return {**held, **getattr(mechanism, "__dict__", {})}


def _is_same(first: object, second: object) -> bool:
    if first is second:
        return True
    try:
        return bool(np.array_equal(np.ravel(np.asarray(first)), np.ravel(np.asarray(second))))
    except (TypeError, ValueError):
        return False


def _values(
    before: Numbers, change: Numbers, scale: float, constants: Collection[str | float]
) -> Iterator[Numbers]:
    """List values from which the change is made."""
    if before.size == 1:
        numbers = [constant for constant in constants if isinstance(constant, int | float)]
        for number in numbers[:MAX_NAMED]:
            for near in (number - 1, number, number + 1):
                yield np.full_like(before, near)
        return
    unit = max(1.0, float(round(scale))) if np.isfinite(scale) else 1.0
    for place in dict.fromkeys([int(change.argmin()), int(change.argmax())]):
        for gap in GAPS:
            value = np.full_like(before, np.floor(np.median(before)))
            value.flat[place] += gap * unit
            yield value


def _with(
    mechanism: AnyMechanism[Any], names: Sequence[str], value: Numbers
) -> AnyMechanism[Any] | None:
    """Copy a mechanism with another exact value, in the type of its own; `None` if it cannot be."""
    changed = copy.copy(mechanism)
    for name in names:
        held = getattr(mechanism, name)
        array = value.astype(np.asarray(held).dtype)
        if (array != value).any():
            return None
        array = array.reshape(np.shape(held))
        object.__setattr__(changed, name, array if isinstance(held, np.ndarray) else array.tolist())
    return changed if _is_same(_value_of(changed), value) else None
