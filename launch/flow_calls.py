"""Read the calls of a plug-in's program, for what depends on records (`launch.record_flow`).

Functions and methods of the author are read with the values that they take. What sottovoce's own
objects give back is released, or a forecast, or was received. Of other functions the result depends
on what goes in.
"""

from __future__ import annotations

import ast
import builtins
import dataclasses
import inspect
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, Final

from ..runs.instance import is_own_module
from .flow_expressions import ExpressionFlow
from .flow_names import CHANGES, FILTERS, LISTS, NEUTRAL, REDUCTIONS, SENDS, STATED
from .flow_passages import Passage, passage_at, variable_in
from .flow_sources import function_at
from .flow_values import CLEAN, Frame, Function, Level, Source, Value, either, element_of, join

__all__ = ["CallFlow"]

MAX_DEPTH: Final = 8
"""Calls within calls that are followed."""
MAX_CALLS: Final = 5000
"""Calls that are read at most, so that the reading ends soon."""


class CallFlow(ExpressionFlow):
    """The reading of calls; bodies are read by a subclass."""

    def __init__(self, kind: type, *, files: Sequence[Path], records: Value) -> None:
        self.kind = kind
        self.files = files
        self.records = records
        self.attributes = {}
        self.passages: dict[tuple[Path, int, str], Passage] = {}
        self._stack: list[ast.AST] = []
        self._calls = 0

    @abstractmethod
    def body(self, statements: Sequence[ast.stmt], frame: Frame) -> None:
        """Read the statements of a function."""

    def call(self, node: ast.Call, frame: Frame) -> Value:
        self._calls += 1
        if isinstance(node.func, ast.Attribute):
            base = self.value_of(node.func.value, frame)
            if base.source is Source.PARTY:
                return self._act(node, node.func.attr, frame)
            if base.source is Source.LIBRARY:
                self._arguments(node, frame)
                return CLEAN
            return self._method(node, node.func, base, frame)
        if isinstance(node.func, ast.Name):
            name = node.func.id
            function = frame.find(name).function
            if function is not None:
                return self._follow(function, node, frame)
            if not frame.has(name):
                callee = frame.function.globals.get(name, getattr(builtins, name, None))
                return self._named(callee, name, node, frame)
        return join([self.value_of(node.func, frame), *self._arguments(node, frame)])

    def _act(self, node: ast.Call, act: str, frame: Frame) -> Value:
        """Read what the program lets the party do."""
        if act == "release":
            self._arguments(node, frame)
            if frame.control:
                self.note(node, act, frame.control, frame, decides=True)
            return CLEAN
        if act in SENDS:
            content = join(self._arguments(node, frame))
            if content:
                value = variable_in(node, frame) or content
                self.note(node, act, value, frame, decides=False)
            elif frame.control:
                self.note(node, act, frame.control, frame, decides=True)
            return CLEAN
        self._arguments(node, frame)
        if act == "partition":
            by_value = any(keyword.arg == "by" for keyword in node.keywords)
            source = Source.PARTS_BY_VALUE if by_value else Source.RANDOM_PARTS
            contents = Level.CONTENTS
            return replace(self.records, level=contents, inner=contents, source=source)
        return CLEAN

    def _method(self, node: ast.Call, method: ast.Attribute, base: Value, frame: Frame) -> Value:
        """Read the call of a method, or of a function in a module."""
        name = method.attr
        if base.source is Source.PROTOCOL:
            return self._of_class(self.kind, name, node, frame)
        if _is_super(method.value) and frame.function.owner is not None:
            kinds = [*self.kind.__mro__]
            later = kinds[kinds.index(frame.function.owner) + 1 :]
            owner = next((kind for kind in later if name in vars(kind)), None)
            return self._of_class(owner, name, node, frame) if owner is not None else CLEAN
        holder = self._object(method.value, frame)
        if isinstance(holder, ModuleType | type):
            return self._named(getattr(holder, name, None), name, node, frame)
        arguments = self._arguments(node, frame)
        if name in CHANGES and any(arguments):
            value = join(arguments)
            keyed = name in ("add", "update", "setdefault")
            changed = replace(
                value, level=Level.LENGTH if keyed else Level.CONTENTS, inner=value.level
            )
            self.mark(method.value, changed, frame)
        elif name in CHANGES and frame.control:
            self.mark(method.value, replace(frame.control, level=Level.LENGTH), frame)
        if any(arguments) or base:
            frame.evaluated = join([*arguments, base])
        return self._resized(name, node, join([base, *arguments]))

    def _of_class(self, kind: type, name: str, node: ast.Call, frame: Frame) -> Value:
        """Read the call of a method of the protocol."""
        static = inspect.getattr_static(kind, name, None)
        method = getattr(static, "__func__", static)
        function = self._function(method)
        if function is None:
            return join(self._arguments(node, frame))
        first = [] if isinstance(static, staticmethod) else [Value(source=Source.PROTOCOL)]
        return self._follow(function, node, frame, first=first)

    def _named(self, callee: Any, name: str, node: ast.Call, frame: Frame) -> Value:
        """Read the call of an object that the module names."""
        function = self._function(callee)
        if function is not None:
            return self._follow(function, node, frame)
        arguments = self._arguments(node, frame)
        ours = is_own_module(getattr(callee, "__module__", None) or "")
        if ours and any(value.source is Source.PARTY for value in arguments):
            return Value(source=Source.LIBRARY)
        if ours:
            for keyword in node.keywords:
                value = self.value_of(keyword.value, frame)
                if keyword.arg in STATED and value:
                    act = f"`{keyword.arg}` of {name}"
                    self.note(node, act, value, frame, decides=False)
        fields = _fields_of(callee)
        if fields and len(arguments) <= len(fields):
            named = [keyword.arg or "" for keyword in node.keywords]
            held = zip([*fields[: len(node.args)], *named], arguments, strict=True)
            return replace(join(arguments), fields=tuple(held))
        if name == "len":
            long = any(value.level == Level.LENGTH for value in arguments)
            return arguments[0].at_level(Level.CONTENTS) if long else CLEAN
        if any(arguments):
            frame.evaluated = join(arguments)
        whole = join([value.whole for value in arguments])
        return whole if name in LISTS else self._resized(name, node, whole)

    def _resized(self, name: str, node: ast.Call, value: Value) -> Value:
        """Say on what the number of elements of a result depends."""
        if not value or name in NEUTRAL or name.startswith("encrypt"):
            return CLEAN
        least = any(keyword.arg == "minlength" for keyword in node.keywords)
        if name in REDUCTIONS or (name == "bincount" and least):
            return value.at_level(Level.CONTENTS)
        if name in FILTERS and not (name == "where" and len(node.args) == 3):
            return value.at_level(Level.LENGTH)
        return value.whole

    def _follow(
        self, function: Function, node: ast.Call, frame: Frame, *, first: Sequence[Value] = ()
    ) -> Value:
        """Read the body of an author's function with the values that this call gives it."""
        arguments = self._arguments(node, frame)
        if function.node in self._stack or len(self._stack) > MAX_DEPTH or self._calls > MAX_CALLS:
            return join(arguments)
        names = function.node.args
        places = [argument.arg for argument in [*names.posonlyargs, *names.args]]
        variables = dict.fromkeys(
            [*places, *(argument.arg for argument in names.kwonlyargs)], CLEAN
        )
        values = [*first, *arguments[: len(node.args)]]
        variables |= dict(zip(places, values, strict=False))
        for keyword, value in zip(node.keywords, arguments[len(node.args) :], strict=True):
            if keyword.arg is not None:
                variables[keyword.arg] = value
        rest = join([*values[len(places) :]])
        for several in (names.vararg, names.kwarg):
            if several is not None:
                variables[several.arg] = rest
        inner = Frame(function, variables, frame.control)
        self._stack.append(function.node)
        try:
            if isinstance(function.node, ast.Lambda):
                return self.value_of(function.node.body, inner)
            self.body(function.node.body, inner)
        finally:
            self._stack.pop()
        return inner.returned[0] if len(inner.returned) == 1 else either(inner.returned)

    def _arguments(self, node: ast.Call, frame: Frame) -> list[Value]:
        """Read the arguments: those by place, and then those by name."""
        values = [
            element_of(self.value_of(part.value, frame))
            if isinstance(part, ast.Starred)
            else self.value_of(part, frame)
            for part in node.args
        ]
        return values + [self.value_of(keyword.value, frame) for keyword in node.keywords]

    def _object(self, node: ast.expr, frame: Frame) -> Any:
        """Find the module or class that an expression names; `None` if it is something else."""
        if isinstance(node, ast.Name):
            return None if frame.has(node.id) else frame.function.globals.get(node.id)
        if isinstance(node, ast.Attribute):
            holder = self._object(node.value, frame)
            return getattr(holder, node.attr, None) if isinstance(holder, ModuleType) else None
        return None

    def _function(self, callee: Any) -> Function | None:
        """Find the source of a function, if it is the author's."""
        if not isinstance(callee, FunctionType):
            return None
        file = Path(callee.__code__.co_filename).resolve()
        if file not in self.files:
            return None
        node = function_at(file, callee.__code__.co_firstlineno)
        owners = [
            kind
            for kind in self.kind.__mro__
            if any(function is callee for function in _functions_of(kind))
        ]
        owner = owners[0] if owners else None
        return Function(node, file, callee.__globals__, owner) if node is not None else None

    def note(
        self, node: ast.Call | ast.Raise, act: str, value: Value, frame: Frame, *, decides: bool
    ) -> None:
        """Note a line by which something of records leaves; each is noted once for each act."""
        passage = passage_at(node, act, value, frame, decides=decides)
        self.passages.setdefault((passage.file, passage.line, act), passage)


def _functions_of(kind: type) -> list[Any]:
    """List what a class itself defines, without what makes a method of a function."""
    return [getattr(static, "__func__", static) for static in vars(kind).values()]


def _fields_of(callee: Any) -> tuple[str, ...]:
    """List the fields of a dataclass or a named tuple, in the order of its arguments."""
    if isinstance(callee, type) and dataclasses.is_dataclass(callee):
        return tuple(field.name for field in dataclasses.fields(callee) if field.init)
    named = isinstance(callee, type) and issubclass(callee, tuple)
    return tuple(getattr(callee, "_fields", ())) if named else ()


def _is_super(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"
    )
