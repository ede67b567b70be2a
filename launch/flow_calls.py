"""Read the calls of a plug-in's program, for what depends on records (`launch.record_flow`).

Functions and methods of the author are read with the values that they take. What sottovoce's own
objects give back is released, or a forecast, or was received. Of other functions the result depends
on what goes in (`launch.flow_results`).
"""

from __future__ import annotations

import ast
import builtins
import functools
from collections.abc import Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any

from ..runs.instance import is_own_module
from .flow_assignments import constant_of
from .flow_collections import collection, element_of, keys_of
from .flow_names import (
    CHANGES,
    COUNTED,
    DECIDED,
    FALLIBLE,
    OF_MECHANISM,
    OF_OBJECT,
    ONE_ROW,
    REMOVALS,
    SEARCHES,
    SENDS,
    STATED,
    SUMS,
    VECTORS,
)
from .flow_outputs import OutputFlow
from .flow_passages import variable_in
from .flow_results import fields_of, method_of_collection, resized, result_of, with_fields
from .flow_single_rows import sums_single_row
from .flow_sources import converts_number, is_scalar, is_super
from .flow_values import CLEAN, Frame, Level, Source, Value, join

__all__ = ["CallFlow"]


class CallFlow(OutputFlow):
    """The reading of calls; statements are read by a subclass."""

    def call(self, node: ast.Call, frame: Frame) -> Value:  # noqa: PLR0911 - a case for each callee
        if isinstance(node.func, ast.Attribute):
            if is_super(node.func.value):
                return self._of_base(node, node.func.attr, frame)
            callee = self._object(node.func.value, frame)
            if isinstance(callee, ModuleType | type):
                return self._named(
                    getattr(callee, node.func.attr, None), node.func.attr, node, frame
                )
            base = self.value_of(node.func.value, frame)
            if base.source is Source.PARTY and (
                base.instance is None or node.func.attr not in base.instance.attributes
            ):
                return self._act(node, node.func.attr, frame)
            if base.source is Source.LIBRARY:
                self.arguments(node, frame)
                if frame.deciding:
                    self.note(node, node.func.attr, frame.deciding, frame, decides=True)
                return CLEAN
            if base.instance is not None:
                method = self.attribute_of(base, base.instance, node.func.attr, frame)
                return self._of_value(method, node, frame)
            return self._method(node, node.func, base, frame)
        if isinstance(node.func, ast.Name) and not frame.has(node.func.id):
            name = node.func.id
            callee = frame.object_of(name)
            callee = getattr(builtins, name, None) if callee is None else callee
            return self._named(callee, name, node, frame)
        return self._of_value(self.value_of(node.func, frame), node, frame)

    def _of_value(self, callee: Value, node: ast.Call, frame: Frame) -> Value:
        """Read the call of what a variable or an attribute holds."""
        if callee.verb:
            return self._act(node, callee.verb, frame)
        if callee.function is not None:
            return self.follow(callee.function, node, frame)
        if callee.instance is not None and callee.source is None:
            method = self.attribute_of(callee, callee.instance, "__call__", frame)
            if method.function is not None:
                return self.follow(method.function, node, frame)
        arguments = self.arguments(node, frame)
        return join([callee, *arguments, *self.callback_results(arguments, frame)])

    def _act(self, node: ast.Call, act: str, frame: Frame) -> Value:
        """Read what the program lets the party do."""
        arguments = self.arguments(node, frame)
        if act in SENDS:
            if content := join(arguments):
                self.note(node, act, variable_in(node, frame) or content, frame, decides=False)
            elif frame.deciding:
                self.note(node, act, frame.deciding, frame, decides=True)
            return CLEAN
        if frame.deciding and act in DECIDED:
            self.note(node, act, frame.deciding, frame, decides=True)
        if content := join([*(arguments if act == "phase" else ()), *_addressing(node, arguments)]):
            self.note(node, act, content, frame, decides=False)
        if act == "release" and node.args and (deciding := self._chosen_by(node.args[0], frame)):
            self.note(node, act, deciding, frame, decides=False)
        if act == "partition":
            by_value = any(keyword.arg == "by" for keyword in node.keywords)
            source = Source.PARTS_BY_VALUE if by_value else Source.RANDOM_PARTS
            part = replace(self.records, level=Level.CONTENTS, inner=Level.CONTENTS, source=source)
            return replace(part, element=part)
        return CLEAN

    def _chosen_by(self, node: ast.expr, frame: Frame) -> Value:
        """Find what decides which of two mechanisms is released, if they may state other things."""
        if not isinstance(node, ast.IfExp):
            return CLEAN
        stated = [
            [ast.dump(word) for word in part.keywords] if isinstance(part, ast.Call) else part
            for part in (node.body, node.orelse)
        ]
        return CLEAN if stated[0] == stated[1] else self.test(node.test, frame).whole

    def _method(self, node: ast.Call, method: ast.Attribute, base: Value, frame: Frame) -> Value:
        """Read the call of a method of an object that is not the author's."""
        name = method.attr
        arguments = self.arguments(node, frame)
        self.written_out(node, arguments, frame)
        part = method_of_collection(name, base, node, arguments)
        if part is not None and name not in REMOVALS:
            return part
        added = self._added_by(name, arguments)
        if name in CHANGES and added is not None:
            self.mark(method.value, added, frame)
            if frame.merging:
                decided = frame.merging.at_level(Level.LENGTH)
                self.mark(method.value, decided, frame)
        elif frame.merging and name in REMOVALS:
            # What it takes out of the object, it takes out in this case alone.
            self.mark(method.value, frame.merging.at_level(Level.LENGTH), frame)
        if part is not None:
            return part
        called = self.callback_results(arguments, frame)
        if name in FALLIBLE:
            frame.evaluated = join([frame.evaluated, *arguments, base])
        if name == "join" and isinstance(method.value, ast.Constant):
            arguments = [*map(keys_of, arguments)]
        if name in COUNTED and join(arguments):
            return join([base, *arguments]).at_level(Level.LENGTH)
        if name in SEARCHES:
            return replace(join([base, *arguments]).whole, optional=bool(join([base, *arguments])))
        return resized(name, node, join([base, *arguments, *called]))

    def _added_by(self, name: str, arguments: Sequence[Value]) -> Value | None:
        """Make what a method adds to its object, as a collection of it."""
        if not arguments:
            return None
        if name in ("append", "appendleft", "add", "push"):
            length = Level.LENGTH if name == "add" and arguments[0] else Level.CONTENTS
            return collection(arguments[0], level=length)
        if name == "extend":
            return arguments[0]
        value = join(arguments)
        level = Level.LENGTH if name in ("update", "setdefault") else Level.CONTENTS
        return replace(value.at_level(level), inner=value.level) if value else CLEAN

    def _of_base(self, node: ast.Call, name: str, frame: Frame) -> Value:
        """Read `super().method(...)`."""
        owner = frame.function.owner
        me = next(iter(frame.variables.values()), CLEAN)
        if owner is None or me.instance is None:
            return join(self.arguments(node, frame))
        kinds = [*me.instance.kind.__mro__]
        later = kinds[kinds.index(owner) + 1 :] if owner in kinds else []
        static = next((vars(kind)[name] for kind in later if name in vars(kind)), None)
        function = self.function_of(getattr(static, "__func__", static))
        if function is None:
            return join(self.arguments(node, frame))
        return self.follow(replace(function, bound=(me,)), node, frame)

    def _named(self, callee: Any, name: str, node: ast.Call, frame: Frame) -> Value:
        """Read the call of an object that the module names."""
        function = self.function_of(callee)
        if function is not None:
            return self.follow(function, node, frame)
        special, arguments = self._by_name(callee, node, frame), list[Value]()
        if special is None:
            arguments = self.arguments(node, frame)
            special = self._of_object(name, arguments, frame)
        if special is not None:
            return special
        ours = is_own_module(getattr(callee, "__module__", None) or "")
        if ours:
            return self._of_library(callee, name, node, arguments, frame)
        if isinstance(callee, type) and self.is_authors(callee):
            return self.object_of(callee, node, arguments, frame)
        if name in FALLIBLE and not converts_number(node.args):
            frame.evaluated = join([frame.evaluated, *arguments])
        self.shown_of_module(callee, name, node, arguments, frame)
        if callee is functools.partial and arguments:
            return self.partial(arguments[: len(node.args)])
        called = self.callback_results(arguments, frame)
        return result_of(name, node, arguments, called)

    def _of_object(self, name: str, arguments: Sequence[Value], frame: Frame) -> Value | None:
        """Read calls of Python's own that ask an object; `None` for others."""
        first = arguments[0] if arguments else CLEAN
        if name in ("isinstance", "type") and first.optional:
            return first.whole
        if name == "type" and len(arguments) == 1 and first.instance is not None:
            return first
        if name not in OF_OBJECT or first.instance is None or first.source is not None:
            return None
        return self.method_result(first, first.instance, OF_OBJECT[name], [], frame)

    def _columns(self, node: ast.Call, frame: Frame) -> Value | None:
        """Read `zip(*pairs)`: a collection for each item of the pairs."""
        part = node.args[0] if len(node.args) == 1 else None
        if not isinstance(part, ast.Starred):
            return None
        rows = self.value_of(part.value, frame)
        items = element_of(rows).items
        level = Level.LENGTH if rows.level == Level.LENGTH else Level.CONTENTS
        columns = tuple(collection(item, level=level) for item in items)
        return replace(join(columns), items=columns) if columns else None

    def _by_name(self, callee: Any, node: ast.Call, frame: Frame) -> Value | None:
        """Read `getattr(me, "records")`, `setattr(self, "ages", ages)` and `zip(*pairs)`."""
        first = node.args[0] if node.args else None
        if callee is zip:
            return self._columns(node, frame)
        if first is None or callee not in (getattr, setattr, eval):
            return None
        if callee is eval:
            text = constant_of(first)
            return self._evaluated(text, frame) if isinstance(text, str) else None
        name = constant_of(node.args[1]) if len(node.args) > 1 else None
        if not isinstance(name, str):
            return None
        if callee is setattr:
            target = ast.Attribute(value=first, attr=name, ctx=ast.Store())
            value = self.value_of(node.args[2], frame) if len(node.args) > 2 else CLEAN
            self.assign(ast.copy_location(target, node), value, frame)
            return CLEAN
        attribute = ast.Attribute(value=first, attr=name, ctx=ast.Load())
        value = self.attribute(ast.copy_location(attribute, node), frame)
        other = self.value_of(node.args[2], frame) if len(node.args) > 2 else CLEAN
        return join([value, other]) if other else value

    def _evaluated(self, text: str, frame: Frame) -> Value:
        try:
            return self.value_of(ast.parse(text.strip(), mode="eval").body, frame)
        except SyntaxError:
            return CLEAN

    def _of_library(
        self, callee: Any, name: str, node: ast.Call, arguments: Sequence[Value], frame: Frame
    ) -> Value:
        """Read the call of a function or class of sottovoce."""
        if any(value.source is Source.PARTY for value in arguments):
            return Value(source=Source.LIBRARY)
        for keyword, value in zip(node.keywords, arguments[len(node.args) :], strict=True):
            # `laplace(count, **options)` has its options as fields
            options = ((keyword.arg, value),) if keyword.arg else value.fields
            for option, stated in options:
                if option in STATED and stated:
                    self.note(node, f"`{option}` of {name}", stated, frame, decides=False)
        is_vector = name in VECTORS and not is_scalar(node.args[:1])
        if is_vector and arguments and arguments[0].level == Level.LENGTH:
            self.note(node, f"the length of {name}", arguments[0], frame, decides=False)
        adds = getattr(self.kind, "neighbours", "") == "add-or-remove-one"
        if name in SUMS and adds and arguments and arguments[0] and sums_single_row(node):
            self.note(node, f"{ONE_ROW}{name}", arguments[0], frame, decides=False)
        fields = fields_of(callee)
        if fields:
            return with_fields(callee, fields, node, arguments)
        public = tuple((field, CLEAN) for field in sorted(OF_MECHANISM))
        return replace(join(arguments), fields=public)


def _addressing(node: ast.Call, arguments: Sequence[Value]) -> list[Value]:
    """List the arguments that say to whom something goes, or about which part it is."""
    named = zip(node.keywords, arguments[len(node.args) :], strict=True)
    names = ("to", "of", "into", "by", "users")
    return [value for word, value in named if word.arg in names and value.source is None]
