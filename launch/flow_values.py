"""What a rehearsal knows of a value when it reads a plug-in's program: whether records are in it.

No value is computed. Of each there is a level (`Level`), and the variable in which records got into
it, so that a remark can name both.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, IntEnum
from pathlib import Path
from typing import Any, Final

__all__ = [
    "CLEAN",
    "NONE",
    "Frame",
    "Function",
    "Instance",
    "Level",
    "Source",
    "Value",
    "content_of",
    "join",
]


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
    file: str = ""
    """The file of that line."""
    items: tuple[Value, ...] = ()
    """What is known of each item of a tuple or list that the program spells out."""
    fields: tuple[tuple[object, Value], ...] = ()
    """What is known of each field of a named tuple, or of each constant key of a dict."""
    element: Value | None = None
    """What is known of every element of a collection, or of every key of a dict."""
    mapped: Value | None = None
    """What is known of every value of a dict."""
    is_none: bool = False
    """Whether it is the constant `None`."""
    optional: bool = False
    """Whether records decide that it is `None`."""
    fixed: bool = False
    """Whether it is a list or array, whose length a changed element leaves as it is."""
    grows: bool = False
    """Whether it is a dict that makes keys by itself, such as a Counter."""
    source: Source | None = None
    function: Function | None = None
    instance: Instance | None = None
    verb: str = ""
    """The party's verb that it is, such as `me.release` without a call."""

    def __bool__(self) -> bool:
        """Tell whether it depends on records."""
        return self.level > Level.NOTHING

    @property
    def whole(self) -> Value:
        """Forget what is known of its parts."""
        return Value(self.level, self.inner, self.name, self.line, self.file, source=self.source)

    def at_level(self, level: Level) -> Value:
        """Make a value of another level from the same records."""
        if not self:
            return CLEAN
        return Value(level, self.inner, self.name, self.line, self.file)


@dataclass(frozen=True, eq=False)
class Function:
    """A function of the author."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    file: Path
    globals: Mapping[str, Any]
    owner: type | None = None
    """The class in which a method is defined."""
    within: Frame | None = None
    """The call in which it is defined, if in any."""
    bound: tuple[Value, ...] = ()
    """Its first arguments, such as the object of a method."""


@dataclass(eq=False)
class Instance:
    """An object of an author's class, whose attributes change while the source is read."""

    kind: type
    attributes: dict[str, Value] = field(default_factory=dict)
    parts: tuple[Instance, ...] = ()
    """The objects of which this is one, if the reading does not know which."""

    @property
    def everyone(self) -> list[Instance]:
        """This object, and those of which it is one."""
        return [self, *(each for part in self.parts for each in part.everyone)]


@dataclass(eq=False)
class Frame:
    """A call of a function while its body is read."""

    function: Function
    variables: dict[str, Value]
    control: Value
    """The conditions on records around this line; after them both cases go on together."""
    left: Value = field(default_factory=Value)
    """The conditions on records under which this function has returned before this line."""
    ended: Value = field(default_factory=Value)
    """The conditions on records under which the part has ended before this line."""
    is_part: bool = False
    """Whether this is the party's part itself: if it returns, nothing follows."""
    is_comprehension: bool = False
    """Whether these are the variables of a comprehension."""
    branches: int = 0
    """Number of conditions and loops around this line, in the functions that call this one, too."""
    caught: frozenset[str] = frozenset()
    """Names of errors that handlers around this line catch, in functions that call this, too."""
    files: set[str] = field(default_factory=set)
    """Names of variables that are open files."""
    imported: dict[str, Any] = field(default_factory=dict)
    """What this function imports, by name."""
    texts: set[str] = field(default_factory=set)
    """Names of variables that are texts or bytes in memory, with the methods of a file."""
    aliases: dict[str, set[str]] = field(default_factory=dict)
    """Names of variables for the same object, by each of these names."""
    shared: set[str] = field(default_factory=set)
    """Names of variables of the module that it sets."""
    outer: set[str] = field(default_factory=set)
    """Names of variables of the functions around this one that it sets."""
    returned: list[Value] = field(default_factory=list)
    yielded: list[Value] = field(default_factory=list)
    evaluated: Value = field(default_factory=Value)
    """A value that depends on records, of those that a call or an index took."""

    @property
    def deciding(self) -> Value:
        """All conditions on records that decide whether this line is reached."""
        return join([self.control, self.left, self.ended])

    @property
    def merging(self) -> Value:
        """Those after which the program goes on in both cases, so that effects can be compared."""
        return join([self.control, self.left])

    def leave(self, deciding: Value) -> None:
        """Note that the function may have returned here, under this condition."""
        if self.is_part:
            self.ended = join([self.ended, deciding])
        else:
            self.left = join([self.left, deciding])

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

    def object_of(self, name: str) -> Any:
        """Find what an import, or the module, has under a name; `None` if there is nothing."""
        around = self.function.within
        if name in self.imported:
            return self.imported[name]
        return self.function.globals.get(name) if around is None else around.object_of(name)

    @property
    def around(self) -> Frame:
        """The function in which a comprehension stands, or this one."""
        within = self.function.within
        return within.around if self.is_comprehension and within is not None else self

    def alias(self, names: Iterable[str]) -> None:
        """Note that variables are the same object from here on."""
        same = set().union(*({name} | self.aliases.get(name, set()) for name in names))
        self.aliases |= dict.fromkeys(same, same)

    def forget(self, name: str) -> None:
        """Note that a variable is another object from here on."""
        for other in self.aliases.pop(name, set()):
            if other != name:
                self.aliases[other] = self.aliases[other] - {name}

    def holder_of(self, name: str) -> Frame:
        """Find the frame whose variable a name is; this one if it is new."""
        around = self.function.within
        if name not in self.variables and around is not None and around.has(name):
            return around.holder_of(name)
        return self


CLEAN: Final = Value()
NONE: Final = Value(is_none=True)
MAX_NESTED: Final = 3
"""Collections within collections of which parts are known."""


def join(values: Iterable[Value]) -> Value:
    """Make the value that depends on all that these depend on."""
    result = CLEAN
    for value in values:
        content = content_of(value)
        inner = max(result.inner, content.inner)
        if content.level > result.level:
            result = replace(content.whole, inner=inner, source=None)
        elif inner > result.inner:
            result = replace(result, inner=inner)
    return result


def content_of(value: Value, *, depth: int = MAX_NESTED) -> Value:
    """Make the value of all that an object holds."""
    if value.instance is None or not depth or value.source is not None:
        return value
    parts = [content_of(part, depth=depth - 1) for part in value.instance.attributes.values()]
    return max([value, *parts], key=lambda part: part.level)
