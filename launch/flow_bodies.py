"""Read the bodies of a plug-in's functions with the values of a call (`launch.record_flow`)."""

from __future__ import annotations

import ast
import inspect
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Final

from ..messages.message import is_message
from .flow_collections import collection, either, element_of
from .flow_objects import ObjectFlow
from .flow_passages import Passage
from .flow_results import fields_of, with_fields
from .flow_values import CLEAN, Frame, Function, Instance, Level, Value, join

__all__ = ["BodyFlow"]

MAX_DEPTH: Final = 12
"""Calls within calls that are followed."""
MAX_CALLS: Final = 4000
"""Bodies of functions that are read at most, so that the reading ends soon."""


class BodyFlow(ObjectFlow):
    """The reading of functions; calls and statements are read by subclasses."""

    def __init__(self, kind: type, *, files: Sequence[Path], records: Value) -> None:
        self.kind = kind
        self.files = files
        self.records = records
        self.held: dict[object, Value] = {}
        self.passages: dict[tuple[Path, int, str], Passage] = {}
        self.error: RecursionError | None = None
        """The error at which the reading ended, if any."""
        self.is_cut = False
        """Whether bodies were left out, as there are too many."""
        self._stack: list[ast.AST] = []
        self._changed: dict[str, Value] = {}
        self._calls = 0

    @abstractmethod
    def body(self, statements: Sequence[ast.stmt], frame: Frame) -> None:
        """Read the statements of a function."""

    def object_of(
        self, kind: type, node: ast.Call, arguments: Sequence[Value], frame: Frame
    ) -> Value:
        """Make an object of an author's class."""
        fields = fields_of(kind)
        if issubclass(kind, Enum):  # `Level(number)` is the member with this number
            return join(arguments).whole
        if issubclass(kind, tuple | BaseException) or is_message(kind):
            return with_fields(kind, fields, node, arguments)
        instance = Instance(kind)
        new_object = Value(instance=instance)
        static = inspect.getattr_static(kind, "__init__", None)
        function = self.function_of(static)
        if function is not None:
            self.follow(replace(function, bound=(new_object,)), node, frame)
        elif fields:
            held = with_fields(kind, fields, node, arguments)
            instance.attributes.update((str(name), value) for name, value in held.fields)
            after = self.function_of(inspect.getattr_static(kind, "__post_init__", None))
            if after is not None:
                self.apply(replace(after, bound=(new_object,)), [], {}, frame)
        elif any(arguments):
            instance.attributes[""] = join(arguments)
        return new_object

    def partial(self, arguments: Sequence[Value]) -> Value:
        """Make what `functools.partial` gives back: the function with its first arguments."""
        first, *bound = arguments
        if first.function is None:
            return first
        function = replace(first.function, bound=(*first.function.bound, *bound))
        return replace(first, function=function)

    def callback_results(self, arguments: Sequence[Value], frame: Frame) -> list[Value]:
        """Read the functions among the arguments, which are called with the others."""
        functions = [value.function for value in arguments if value.function is not None]
        others = [element_of(value) for value in arguments if value.function is None]
        return [self.apply(function, others or [CLEAN], {}, frame) for function in functions]

    def follow(self, function: Function, node: ast.Call, frame: Frame) -> Value:
        """Read the body of an author's function with the values that this call gives it."""
        values: list[Value] = []
        for part in node.args:
            if isinstance(part, ast.Starred):
                several = self.value_of(part.value, frame)
                values += several.items or [element_of(several)]
            else:
                values.append(self.value_of(part, frame))
        named: dict[str, Value] = {}
        for keyword in node.keywords:
            value = self.value_of(keyword.value, frame)
            named |= {keyword.arg: value} if keyword.arg else dict(_texts(value.fields))
        result = self.apply(function, values, named, frame)
        self._write_back(function, node, values, frame)
        return result

    def _write_back(
        self, function: Function, node: ast.Call, values: Sequence[Value], frame: Frame
    ) -> None:
        """Note what a function has put into the lists and dicts that it was given."""
        names = function.node.args
        places = [argument.arg for argument in [*names.posonlyargs, *names.args]]
        after, self._changed = self._changed, {}
        for part, name, before in zip(
            node.args, places[len(function.bound) :], values, strict=False
        ):
            held = after.get(name, CLEAN)
            if (
                held
                and not before
                and not before.instance
                and name in _written_names(function.node)
            ):
                self.mark(part, held, frame)

    def apply(
        self, function: Function, values: Sequence[Value], named: dict[str, Value], frame: Frame
    ) -> Value:
        """Read the body of a function with these values, and give what it returns."""
        if function.node in self._stack:
            return CLEAN  # what it returns is found without the calls of itself
        self._calls += 1
        if len(self._stack) > MAX_DEPTH or self._calls > MAX_CALLS:
            self.is_cut = True
            return CLEAN
        variables = self._bound(function, [*function.bound, *values], named)
        inner = Frame(
            function,
            variables,
            frame.control,
            frame.left,
            frame.ended,
            branches=frame.branches,
            caught=frame.caught,
        )
        self._stack.append(function.node)
        try:
            if isinstance(function.node, ast.Lambda):
                return self.value_of(function.node.body, inner)
            self.body(function.node.body, inner)
        finally:
            self._stack.pop()
            self._changed = inner.variables
        frame.evaluated = join([frame.evaluated, inner.evaluated])
        if inner.yielded:
            element = either(inner.yielded)
            decided = any(value.level == Level.LENGTH for value in inner.yielded) or inner.merging
            result = collection(element, level=Level.LENGTH if decided else Level.CONTENTS)
            if result and not element and (by := inner.merging):
                result = replace(result, name=by.name, line=by.line, file=by.file)
            return result
        if inner.returned and inner.merging and not _ends_by_return(function.node):
            inner.returned.append(replace(inner.merging, optional=True))
        return inner.returned[0] if len(inner.returned) == 1 else either(inner.returned)

    def _bound(
        self, function: Function, values: Sequence[Value], named: dict[str, Value]
    ) -> dict[str, Value]:
        """Give a function's variables the values of a call, or their defaults."""
        names = function.node.args
        places = [argument.arg for argument in [*names.posonlyargs, *names.args]]
        alone = [argument.arg for argument in names.kwonlyargs]
        variables = dict.fromkeys([*places, *alone], CLEAN)
        if function.within is not None:
            last = places[len(places) - len(names.defaults) :]
            defaults = [*zip(last, names.defaults, strict=True)]
            for name, default in [*defaults, *zip(alone, names.kw_defaults, strict=True)]:
                variables[name] = self.value_of(default, function.within)
        variables |= dict(zip(places, values, strict=False))
        variables |= {name: value for name, value in named.items() if name in variables}
        if names.vararg is not None:
            rest = tuple(values[len(places) :])
            variables[names.vararg.arg] = replace(join(rest), items=rest)
        if names.kwarg is not None:
            others = tuple((name, held) for name, held in named.items() if name not in variables)
            whole = join(held for _, held in others)
            variables[names.kwarg.arg] = replace(whole, fields=others, element=CLEAN)
        return variables

    def arguments(self, node: ast.Call, frame: Frame) -> list[Value]:
        """Read the arguments: those by place, and then those by name."""
        values = [
            element_of(self.value_of(part.value, frame))
            if isinstance(part, ast.Starred)
            else self.value_of(part, frame)
            for part in node.args
        ]
        return values + [self.value_of(keyword.value, frame) for keyword in node.keywords]


def _ends_by_return(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Tell whether the last statement returns or raises; otherwise the function may give `None`."""
    return isinstance(node.body[-1], ast.Return | ast.Raise)


def _texts(fields: Sequence[tuple[object, Value]]) -> list[tuple[str, Value]]:
    return [(name, value) for name, value in fields if isinstance(name, str)]


def _written_names(node: ast.AST) -> set[str]:
    """List the names whose items or attributes a function sets, or on which it calls a method."""
    holders = [
        part.value
        for part in ast.walk(node)
        if isinstance(part, ast.Attribute)
        or (isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Store | ast.Del))
    ]
    return {holder.id for holder in holders if isinstance(holder, ast.Name)}
