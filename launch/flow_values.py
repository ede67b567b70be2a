"""What a rehearsal knows of a value when it reads a plug-in's program: whether records are in it.

No value is computed. Of each there is a level (`Level`), and the variable in which records got into
it, so that a remark can name both.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, IntEnum
from pathlib import Path
from typing import Any, Final

__all__ = ["CLEAN", "Frame", "Function", "Level", "Source", "Value", "either", "element_of", "join"]


class Level(IntEnum):
    """How much of a value depends on records, other than through releases."""

    NOTHING = 0
    CONTENTS = 1
    """What is in it does, but not how many elements it has."""
    LENGTH = 2
    """Its number of elements does, too."""


class Source(Enum):
    """Values that the reading treats in a way of their own."""

    PARTY = "the party's role"
    PROTOCOL = "the protocol"
    LIBRARY = "an object of sottovoce that acts for the party, such as a secure sum"
    PARTS_BY_VALUE = "parts of the records by a value, or one of them"
    RANDOM_PARTS = "parts of random rows, or one of them"


@dataclass(frozen=True)
class Value:
    """What is known of a value."""

    level: Level = Level.NOTHING
    inner: Level = Level.NOTHING
    """The level of its elements."""
    name: str = ""
    """The variable that holds it, or through which records got into it."""
    line: int = 0
    """The line of that variable."""
    items: tuple[Value, ...] = ()
    """What is known of each item of a tuple or list that the program spells out."""
    fields: tuple[tuple[str, Value], ...] = ()
    """What is known of each field of the author's own dataclass, or key of a dict."""
    source: Source | None = None
    function: Function | None = None

    def __bool__(self) -> bool:
        """Tell whether it depends on records."""
        return self.level > Level.NOTHING

    @property
    def whole(self) -> Value:
        """Forget what is known of its parts."""
        return replace(self, items=(), fields=(), function=None)

    def at_level(self, level: Level) -> Value:
        """Make a value of another level from the same records."""
        return replace(self, level=level, items=(), fields=(), source=None) if self else CLEAN


@dataclass(frozen=True, eq=False)
class Function:
    """A function of the author."""

    node: ast.FunctionDef | ast.Lambda
    file: Path
    globals: Mapping[str, Any]
    owner: type | None = None
    """The class in which a method is defined."""
    within: Frame | None = None
    """The call in which it is defined, if in any."""


@dataclass(eq=False)
class Frame:
    """A call of a function while its body is read."""

    function: Function
    variables: dict[str, Value]
    control: Value
    """What decides whether this line is reached, if records do."""
    returned: list[Value] = field(default_factory=list)
    evaluated: Value = field(default_factory=Value)
    """The last value that depends on records, of those that a call or an index took."""

    def has(self, name: str) -> bool:
        """Tell whether a name is a variable here, or in the functions around this one."""
        around = self.function.within
        return name in self.variables or (around is not None and around.has(name))

    def find(self, name: str) -> Value:
        """Find a variable here, or in the functions around this one."""
        around = self.function.within
        if name in self.variables or around is None:
            return self.variables.get(name, CLEAN)
        return around.find(name)


CLEAN: Final = Value()


def join(values: Iterable[Value]) -> Value:
    """Make the value that depends on all that these depend on."""
    result = CLEAN
    for value in values:
        if value.level > result.level:
            inner = max(result.inner, value.inner)
            result = replace(value.whole, inner=inner, source=None)
        elif value.inner > result.inner:
            result = replace(result, inner=value.inner)
    return result


def either(values: Sequence[Value]) -> Value:
    """Make the value that is one of these; items and fields are kept where all have them."""
    whole = join(values)
    first, *others = values or [CLEAN]
    if all(len(value.items) == len(first.items) for value in others):
        items = zip(*(value.items for value in values), strict=True)
        whole = replace(whole, items=tuple(either(parts) for parts in items))
    if all(_names(value) == _names(first) for value in others):
        fields = [dict(value.fields) for value in values]
        held = [(name, either([each[name] for each in fields])) for name, _ in first.fields]
        whole = replace(whole, fields=tuple(held))
    return whole


def _names(value: Value) -> list[str]:
    return [name for name, _ in value.fields]


def element_of(value: Value) -> Value:
    """Make an element of a collection."""
    if value.items:
        return join(value.items)
    parts = value.source in (Source.PARTS_BY_VALUE, Source.RANDOM_PARTS)
    element = replace(value, level=max(value.inner, Level.CONTENTS)) if value else CLEAN
    return element.whole if parts else replace(element.whole, source=None)
