"""Read the expressions of a plug-in's program, for what depends on records (`launch.record_flow`).

Where an operation is not known, its result depends on all that goes into it.
"""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from .flow_assignments import AssignmentFlow, constant_of
from .flow_collections import collection, either, element_of, trimmed, with_field
from .flow_values import CLEAN, NONE, Frame, Function, Instance, Level, Source, Value, join

__all__ = ["ExpressionFlow"]

SIZES: Final = {"shape", "size", "nbytes", "empty"}
"""Attributes of arrays and tables that say how many elements there are."""
PUBLIC: Final = {"dtype", "itemsize", "ndim", "attributes", "domain", "columns", "plan"}
"""Attributes of records, arrays and tables that depend on no record."""


class ExpressionFlow(AssignmentFlow):
    """The reading of expressions; calls are read by a subclass."""

    records: Value
    """The party's records; the number of rows is public where a neighbour replaces one."""

    @abstractmethod
    def call(self, node: ast.Call, frame: Frame) -> Value:
        """Read a call."""

    @abstractmethod
    def truth_of(self, base: Value, instance: Instance, frame: Frame) -> Value:
        """Read whether an object of the author counts as true."""

    @abstractmethod
    def attribute_of(self, base: Value, instance: Instance, name: str, frame: Frame) -> Value:
        """Read an attribute of an object of the author."""

    def value_of(  # noqa: C901, PLR0911, PLR0912 - a case for each kind of expression
        self, node: ast.expr | None, frame: Frame
    ) -> Value:
        """Find out whether the value of an expression depends on records."""
        match node:
            case ast.Constant(value=None):
                return NONE
            case None | ast.Constant():
                return CLEAN
            case ast.Name(id=name):
                return frame.find(name) if frame.has(name) else self.global_of(name, frame)
            case ast.Attribute():
                return self.attribute(node, frame)
            case ast.Call():
                return self.call(node, frame)
            case ast.Subscript(value=base, slice=index):
                return self._item(self.value_of(base, frame), index, frame)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                return self._display(elements, frame)
            case ast.Dict():
                return self._dict(node, frame)
            case ast.Lambda():
                within = frame.function
                function = Function(node, within.file, within.globals, within.owner, within=frame)
                return Value(function=function)
            case ast.IfExp(test=test, body=body, orelse=other):
                deciding = self.test(test, frame)
                return self._one_of([body, other], deciding, frame)
            case ast.BoolOp(values=[first, *others]):
                deciding = self.test(first, frame)
                rest = self._one_of(others, deciding, frame)
                return either([deciding, rest]) if not deciding else join([deciding, rest])
            case ast.NamedExpr(target=target, value=value):
                result = self.value_of(value, frame)
                self.assign(target, result, frame)
                if frame.is_comprehension:  # the variable is one of the function around it
                    around = frame.around
                    around.variables[target.id] = frame.variables[target.id]
                return result
            case ast.Yield(value=value):
                result = self.value_of(value, frame)
                frame.yielded.append(join([result, frame.control]) if frame.control else result)
                return CLEAN
            case ast.YieldFrom(value=value):
                frame.yielded.append(element_of(self.value_of(value, frame)))
                return CLEAN
            case ast.Compare():
                return self._comparison(node, frame)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                return self._comprehension(node, frame)
            case ast.BinOp(left=left, op=operator, right=right):
                return self._operation(
                    self.value_of(left, frame), operator, self.value_of(right, frame), frame
                )
            case _:
                parts = [
                    part.value if isinstance(part, ast.keyword | ast.FormattedValue) else part
                    for part in ast.iter_child_nodes(node)
                ]
                return join(
                    self.value_of(part, frame) for part in parts if isinstance(part, ast.expr)
                )

    def test(self, node: ast.expr, frame: Frame) -> Value:
        """Read a condition. Whether a list has elements depends on its length alone."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return self.test(node.operand, frame)
        value = self.value_of(node, frame)
        if value.instance is not None and value.source is None:
            return self.truth_of(value, value.instance, frame)
        is_collection = bool(value.items) or value.element is not None
        return CLEAN if is_collection and value.level == Level.CONTENTS else value

    def _one_of(self, nodes: Sequence[ast.expr], deciding: Value, frame: Frame) -> Value:
        """Read expressions of which one is taken, as a condition decides."""
        control = frame.control
        frame.control = join([control, deciding]) if deciding else control
        results = [self.value_of(node, frame) for node in nodes]
        frame.control = control
        if not deciding:
            return either(results)
        several = any(value.items or value.element is not None for value in results)
        return join([*results, deciding.at_level(Level.LENGTH if several else Level.CONTENTS)])

    def _comparison(self, node: ast.Compare, frame: Frame) -> Value:
        values = [self.value_of(part, frame) for part in [node.left, *node.comparators]]
        operators = [*map(type, node.ops)]
        if operators in ([ast.Is], [ast.IsNot]) and values[0].optional:
            return values[0].whole
        if operators in ([ast.Is], [ast.IsNot]) and not frame.control:
            return values[0] if values[0].level == Level.LENGTH and not values[0].inner else CLEAN
        if operators in ([ast.In], [ast.NotIn]) and values[1].element is not None:
            return join([values[0], values[1].element.at_level(Level.CONTENTS)])
        return join(values)

    def _operation(self, left: Value, operator: ast.operator, right: Value, frame: Frame) -> Value:
        both = join([left, right])
        if isinstance(operator, ast.MatMult):
            return both.at_level(Level.CONTENTS)
        if isinstance(operator, ast.Div | ast.FloorDiv | ast.Mod) and right:
            frame.evaluated = join([frame.evaluated, right])
        if isinstance(operator, ast.Mult) and (left.items or right.items or left.fixed):
            # `[0] * 10` has a public length, and `[0] * secret` has not.
            spelled, number = (left, right) if left.items or left.fixed else (right, left)
            if number:
                return number.at_level(Level.LENGTH)
            return replace(join([spelled]), fixed=True)
        if isinstance(operator, ast.Add) and left.items and right.items:
            return replace(both, items=left.items + right.items)
        return both

    def attribute(self, node: ast.Attribute, frame: Frame) -> Value:
        base = self.value_of(node.value, frame)
        if base.source not in (None, Source.PROTOCOL):
            return self._of_source(base, node, frame)
        if base.instance is not None:
            return self.attribute_of(base, base.instance, node.attr, frame)
        fields = dict(base.fields)
        if node.attr in fields:
            return fields[node.attr]
        if node.attr in SIZES:
            size = base.at_level(Level.CONTENTS) if base.level == Level.LENGTH else CLEAN
            return replace(size, items=(size, CLEAN)) if node.attr == "shape" and size else size
        return CLEAN if node.attr in PUBLIC else base.whole

    def _of_source(self, base: Value, node: ast.Attribute, frame: Frame) -> Value:
        """Read an attribute of the party, or of a part of the records."""
        if base.source is Source.PARTY:
            if node.attr == "records":
                return replace(self.records, line=node.lineno, file=frame.function.file.name)
            held = base.instance.attributes if base.instance is not None else {}
            return held.get(node.attr, Value(verb=node.attr))
        if base.source is Source.LIBRARY or node.attr != "records":
            return CLEAN
        by_value = base.source is Source.PARTS_BY_VALUE
        level = Level.LENGTH if by_value else self.records.level
        return replace(base.whole, level=level, source=None)

    def _item(  # noqa: PLR0911 - a case for each kind of index
        self, base: Value, index: ast.expr, frame: Frame
    ) -> Value:
        if base.instance is not None and base.source is None:
            place = self.value_of(index, frame)
            result = self.method_result(base, base.instance, "__getitem__", [place], frame)
            if result is not None:
                return result
        key = constant_of(index)
        if isinstance(key, int) and base.items and -len(base.items) <= key < len(base.items):
            return base.items[key]
        fields = dict(base.fields)
        if key is not None and key in fields:
            return fields[key]
        place = self.value_of(index, frame)
        if place or (base and base.mapped is not None and base.level == Level.LENGTH):
            frame.evaluated = join([frame.evaluated, place or base])
        if place and isinstance(index, ast.Slice):
            part = join([base, place])
            return replace(part, level=Level.LENGTH, element=element_of(base))
        if place and (base.fixed or base.mapped is not None or not base):
            part = base.mapped if base.mapped is not None else element_of(base)
            return join([part, place.at_level(Level.CONTENTS)])
        if place:
            return replace(join([base, place]), level=Level.LENGTH)
        if isinstance(index, ast.Slice):
            return self._slice(base, index)
        if base.mapped is not None:
            return base.mapped
        return element_of(base) if base.inner or base.element is not None else base.whole

    def _slice(self, base: Value, index: ast.Slice) -> Value:
        ends = [constant_of(end) if end is not None else None for end in (index.lower, index.upper)]
        if base.items and index.step is None and None not in ends:
            items = base.items[ends[0] : ends[1]]
            return replace(join(items), items=items)
        return replace(base.whole, element=base.element, fixed=base.fixed)

    def _display(self, elements: Sequence[ast.expr], frame: Frame) -> Value:
        values = [self.value_of(element, frame) for element in elements]
        several = any(isinstance(element, ast.Starred) for element in elements)
        whole = join(values)
        level = Level.LENGTH if several and whole.level == Level.LENGTH else Level.CONTENTS
        items = () if several else tuple(map(trimmed, values))
        if not whole:
            return Value(items=items, fixed=bool(items), element=None if items else CLEAN)
        return replace(whole, level=level, inner=whole.level, items=items, fixed=True)

    def _dict(self, node: ast.Dict, frame: Frame) -> Value:
        result = Value(element=CLEAN)
        for key, value in zip(node.keys, node.values, strict=True):
            held = self.value_of(value, frame)
            if key is None:  # {**others}
                for name, part in held.fields:
                    result = with_field(result, name, part)
                if held and not held.fields:
                    result = replace(join([result, held]), level=held.level)
                continue
            name, place = constant_of(key), self.value_of(key, frame)
            if name is not None:
                result = with_field(result, name, held)
                continue
            mapped = held if result.mapped is None else either([result.mapped, held])
            element = either([result.element or CLEAN, place])
            level = Level.LENGTH if place else Level.CONTENTS
            fields = result.fields
            result = replace(collection(element, level=level, mapped=mapped), fields=fields)
        return result

    def _comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, frame: Frame
    ) -> Value:
        within = Frame(
            replace(frame.function, within=frame),
            {},
            frame.control,
            frame.left,
            frame.ended,
            branches=frame.branches + 1,
            caught=frame.caught,
            is_comprehension=True,
        )
        deciding = CLEAN
        for part in node.generators:
            every = self.value_of(part.iter, within)
            if every.level == Level.LENGTH:
                deciding = join([deciding, every])
            within.control = join([frame.control, deciding]) if deciding else frame.control
            self.assign(part.target, element_of(every), within)
            conditions = join([self.test(test, within) for test in part.ifs])
            deciding = join([deciding, conditions]) if conditions else deciding
            within.control = join([frame.control, deciding]) if deciding else frame.control
        decided = Level.LENGTH if deciding else Level.CONTENTS
        if isinstance(node, ast.DictComp):
            key, value = self.value_of(node.key, within), self.value_of(node.value, within)
            level = Level.LENGTH if key else decided
            result = collection(key, level=level, mapped=value)
        else:
            element = self.value_of(node.elt, within)
            level = Level.LENGTH if isinstance(node, ast.SetComp) and element else decided
            result = collection(element, level=level)
        frame.evaluated = join([frame.evaluated, within.evaluated])
        whole = join([result, deciding])
        return replace(result, name=whole.name, line=whole.line, file=whole.file)
