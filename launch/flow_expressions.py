"""Read the expressions of a plug-in's program, for what depends on records (`launch.record_flow`).

Where an operation is not known, its result depends on all that goes into it.
"""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from .flow_values import CLEAN, Frame, Function, Level, Source, Value, either, element_of, join

__all__ = ["ExpressionFlow"]

SIZES: Final = {"shape", "size", "ndim", "nbytes", "empty"}
"""Attributes of arrays and tables that say how many elements there are."""
PUBLIC: Final = {"dtype", "attributes", "domain", "columns", "name", "names", "plan"}
"""Attributes of records, arrays and tables that depend on no record."""


class ExpressionFlow(ABC):
    """The reading of expressions; calls are read by a subclass."""

    records: Value
    """The party's records; the number of rows is public where a neighbour replaces one."""
    attributes: dict[str, Value]
    """Attributes that the program gives to the protocol or the party, by dotted names."""

    @abstractmethod
    def call(self, node: ast.Call, frame: Frame) -> Value:
        """Read a call."""

    def value_of(  # noqa: C901, PLR0911, PLR0912 - a case for each kind of expression
        self, node: ast.expr | None, frame: Frame
    ) -> Value:
        """Find out whether the value of an expression depends on records."""
        match node:
            case None | ast.Constant():
                return CLEAN
            case ast.Name(id=name):
                return frame.find(name)
            case ast.Attribute():
                return self._attribute(node, frame)
            case ast.Call():
                return self.call(node, frame)
            case ast.Subscript(value=base, slice=index):
                return self._item(self.value_of(base, frame), index, frame)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                return self._display(elements, frame)
            case ast.Dict(keys=keys, values=values) if keys:
                return self._dict(keys, values, frame)
            case ast.Lambda():
                within = frame.function
                function = Function(node, within.file, within.globals, within.owner, within=frame)
                return Value(function=function)
            case ast.IfExp(test=test, body=body, orelse=other):
                deciding = self.value_of(test, frame)
                results = [self.value_of(body, frame), self.value_of(other, frame)]
                if deciding:
                    return join([*results, deciding.at_level(Level.LENGTH)])
                return either(results)
            case ast.NamedExpr(target=target, value=value):
                result = self.value_of(value, frame)
                self.assign(target, result, frame)
                return result
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                return self._comprehension(node, frame)
            case ast.BinOp(left=left, op=ast.MatMult(), right=right):
                product = join([self.value_of(left, frame), self.value_of(right, frame)])
                return product.at_level(Level.CONTENTS)
            case _:
                parts = [
                    part.value if isinstance(part, ast.keyword | ast.FormattedValue) else part
                    for part in ast.iter_child_nodes(node)
                ]
                return join(
                    self.value_of(part, frame) for part in parts if isinstance(part, ast.expr)
                )

    def assign(self, target: ast.expr, value: Value, frame: Frame) -> None:
        """Put a value into a variable, or into several."""
        if frame.control:
            value = join([value, frame.control])
        match target:
            case ast.Name(id=name):
                if value and value.name != name:
                    value = replace(value, name=name, line=target.lineno)
                frame.variables[name] = value
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                spelled = len(value.items) == len(targets)
                items = value.items if spelled else [element_of(value)] * len(targets)
                for part, item in zip(targets, items, strict=True):
                    self.assign(part, item, frame)
            case ast.Starred(value=rest):
                self.assign(rest, value, frame)
            case ast.Attribute(value=base, attr=name):
                holder = self.value_of(base, frame)
                if holder.source in (Source.PROTOCOL, Source.PARTY):
                    key = f"{holder.source.name}.{name}"
                    before = self.attributes.get(key, CLEAN)
                    self.attributes[key] = value if value.function or not before else before
                elif value:
                    self.mark(base, value, frame)
            case ast.Subscript(value=base, slice=index):
                place = self.value_of(index, frame)
                if value or place:
                    level = Level.LENGTH if place else Level.CONTENTS
                    changed = replace(join([value, place]), level=level, inner=value.level)
                    self.mark(base, changed, frame)
            case _:
                pass

    def mark(self, node: ast.expr, value: Value, frame: Frame) -> None:
        """Note that what an expression names holds a value now, beside what it held."""
        while isinstance(node, ast.Attribute | ast.Subscript):
            if isinstance(node, ast.Attribute):
                base = self.value_of(node.value, frame)
                if base.source in (Source.PROTOCOL, Source.PARTY):
                    key = f"{base.source.name}.{node.attr}"
                    self.attributes[key] = join([self.attributes.get(key, CLEAN), value])
                    return
            node = node.value
        if isinstance(node, ast.Name):
            before = frame.find(node.id)
            if before.source is None:
                after = join([before, value])
                if after and after.name != node.id:
                    after = replace(after, name=node.id, line=node.lineno)
                frame.variables[node.id] = after

    def _attribute(self, node: ast.Attribute, frame: Frame) -> Value:
        base = self.value_of(node.value, frame)
        if base.source is not None:
            return self._of_source(base, base.source, node)
        if node.attr in dict(base.fields):
            return dict(base.fields)[node.attr]
        if node.attr in SIZES:
            return base.at_level(Level.CONTENTS) if base.level == Level.LENGTH else CLEAN
        return CLEAN if node.attr in PUBLIC else base.whole

    def _of_source(self, base: Value, source: Source, node: ast.Attribute) -> Value:
        """Read an attribute of the party, the protocol, or a part of the records."""
        if source in (Source.PARTY, Source.PROTOCOL):
            if source is Source.PARTY and node.attr == "records":
                return replace(self.records, line=node.lineno)
            return self.attributes.get(f"{source.name}.{node.attr}", CLEAN)
        if source is Source.LIBRARY or node.attr != "records":
            return CLEAN
        by_value = source is Source.PARTS_BY_VALUE
        level = Level.LENGTH if by_value else self.records.level
        return replace(base, level=level, source=None)

    def _item(self, base: Value, index: ast.expr, frame: Frame) -> Value:
        if isinstance(index, ast.Constant) and isinstance(index.value, int) and base.items:
            inside = -len(base.items) <= index.value < len(base.items)
            return base.items[index.value] if inside else CLEAN
        if isinstance(index, ast.Constant) and index.value in dict(base.fields):
            return dict(base.fields)[index.value]
        place = self.value_of(index, frame)
        if place:
            frame.evaluated = place
            return replace(join([base, place]), level=Level.LENGTH)
        if isinstance(index, ast.Slice):
            return base.whole
        return element_of(base) if base.inner else base.whole

    def _display(self, elements: Sequence[ast.expr], frame: Frame) -> Value:
        items = tuple(self.value_of(element, frame) for element in elements)
        several = any(isinstance(element, ast.Starred) for element in elements)
        whole = join(items)
        level = Level.LENGTH if several and whole.level == Level.LENGTH else Level.CONTENTS
        whole = replace(whole, level=level, inner=whole.level) if whole else CLEAN
        return whole if several else replace(whole, items=items)

    def _dict(
        self, keys: Sequence[ast.expr | None], values: Sequence[ast.expr], frame: Frame
    ) -> Value:
        contents = [self.value_of(value, frame) for value in values]
        names = [key.value if isinstance(key, ast.Constant) else None for key in keys]
        whole = join([*contents, *(self.value_of(key, frame) for key in keys)])
        level = Level.LENGTH if any(self.value_of(key, frame) for key in keys) else Level.CONTENTS
        whole = replace(whole, level=level, inner=whole.level) if whole else CLEAN
        if not all(isinstance(name, str) for name in names):
            return whole
        return replace(whole, fields=tuple(zip(map(str, names), contents, strict=True)))

    def _comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, frame: Frame
    ) -> Value:
        within = Frame(frame.function, dict(frame.variables), frame.control)
        within.function = replace(frame.function, within=frame)
        deciding = CLEAN
        for part in node.generators:
            every = self.value_of(part.iter, within)
            if every.level == Level.LENGTH:
                deciding = join([deciding, every])
            within.control = join([frame.control, deciding])
            self.assign(part.target, element_of(every), within)
            conditions = join([self.value_of(test, within) for test in part.ifs])
            deciding = join([deciding, conditions])
            within.control = join([frame.control, deciding])
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        element = join([self.value_of(part, within) for part in parts])
        frame.evaluated = join([frame.evaluated, within.evaluated])
        merged = isinstance(node, ast.SetComp) and bool(element)
        if isinstance(node, ast.DictComp):
            merged = bool(self.value_of(node.key, within))
        level = Level.LENGTH if deciding or merged else Level.CONTENTS
        whole = join([element, deciding])
        return replace(whole, level=level, inner=element.level) if whole else CLEAN
