"""Read what a program puts into variables, lists, dicts and objects (`launch.record_flow`)."""

from __future__ import annotations

import ast
import inspect
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .flow_collections import either, element_of, trimmed, with_field
from .flow_values import CLEAN, Frame, Instance, Level, Value, join

__all__ = ["AssignmentFlow", "constant_of"]


class AssignmentFlow(ABC):
    """The reading of assignments; expressions are read by a subclass."""

    @abstractmethod
    def value_of(self, node: ast.expr | None, frame: Frame) -> Value:
        """Find out whether the value of an expression depends on records."""

    @abstractmethod
    def global_of(self, name: str, frame: Frame) -> Value:
        """Read a name of the module."""

    @abstractmethod
    def is_set_by(self, setter: Any, instance: Instance, value: Value, frame: Frame) -> bool:
        """Read a property's setter; tell whether it is the author's."""

    @abstractmethod
    def method_result(
        self, base: Value, instance: Instance, name: str, arguments: Sequence[Value], frame: Frame
    ) -> Value | None:
        """Read what a method of an object of the author gives back; `None` if it has none."""

    @abstractmethod
    def hold(self, name: str, value: Value, frame: Frame) -> None:
        """Note what a variable of the module, or the object in it, holds now."""

    def assign(self, target: ast.expr, value: Value, frame: Frame) -> None:
        """Put a value into a variable, or into several."""
        local = isinstance(target, ast.Name | ast.Tuple | ast.List | ast.Starred)
        deciding = frame.control if local else frame.merging
        if deciding:
            is_optional = value.optional or self._may_be_none(target, value, frame)
            value = replace(join([value, deciding]), optional=is_optional)
        match target:
            case ast.Name(id=name):
                if name in frame.outer and frame.left:
                    value = join([value, frame.left])
                if value and value.name != name:
                    file = frame.function.file.name
                    value = replace(value, name=name, line=target.lineno, file=file)
                if name in frame.shared:
                    before = [self.global_of(name, frame)] if frame.branches else []
                    self.hold(name, either([*before, value]), frame)
                    return
                holder = frame.holder_of(name) if name in frame.outer else frame
                holder.variables[name] = value
                frame.forget(name)
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                self._unpack(targets, value, frame)
            case ast.Starred(value=rest):
                self.assign(rest, value, frame)
            case ast.Attribute(value=base, attr=name):
                owner = self.value_of(base, frame)
                if owner.instance is not None:
                    self._put(owner.instance, name, value, frame)
                else:
                    self.mark(base, value, frame, name)
            case ast.Subscript(value=base, slice=index):
                self._put_item(base, index, value, frame)
            case _:
                pass

    def change(self, target: ast.expr, value: Value, frame: Frame) -> None:
        """Change what is there: `counts[job] += 1` adds no key to a dict that is spelled out."""
        if isinstance(target, ast.Subscript):
            held = self.value_of(target.value, frame)
            place = self.value_of(target.slice, frame)
            is_dict = held.mapped is not None or bool(held.fields)
            if place and is_dict and not held.grows and held.level < Level.LENGTH:
                changed = join([value, place, frame.merging]).at_level(Level.CONTENTS)
                after = replace(changed, mapped=changed, element=held.element or CLEAN)
                self.mark(target.value, after, frame)
                return
        self.assign(target, value, frame)

    def _may_be_none(self, target: ast.expr, value: Value, frame: Frame) -> bool:
        """Tell whether a variable is `None` either before this line or after it."""
        if not isinstance(target, ast.Name):
            return value.is_none
        before = frame.find(target.id) if frame.has(target.id) else CLEAN
        return value.is_none or before.is_none

    def mark(self, node: ast.expr, value: Value, frame: Frame, key: object = None) -> None:
        """Note that what an expression names holds a value now, beside what it held.

        Args:
            node: what holds it.
            value: what it holds now; of a collection, the elements that are added.
            frame: the function in which it is.
            key: the constant name or key of the value there; `None` if it has none.
        """
        if isinstance(node, ast.Name):
            for name in frame.aliases.get(node.id, {node.id}):
                held = frame.find(name) if frame.has(name) else self.global_of(name, frame)
                if held.source is not None:
                    continue
                after = replace(self._added(held, value, key=key), grows=held.grows)
                if after and after.name != name:
                    file = frame.function.file.name
                    after = replace(after, name=name, line=node.lineno, file=file)
                if frame.has(name):
                    frame.holder_of(name).variables[name] = after
                else:
                    self.hold(name, after, frame)
        else:
            self._mark_part(node, value, frame, key)

    def _mark_part(self, node: ast.expr, value: Value, frame: Frame, key: object) -> None:
        if isinstance(node, ast.Attribute):
            base = self.value_of(node.value, frame)
            if base.instance is not None:
                for instance in base.instance.everyone:
                    before = instance.attributes.get(node.attr, CLEAN)
                    instance.attributes[node.attr] = self._added(before, value, key=key)
            elif base.source is None:
                held = self._added(self.value_of(node, frame), value, key=key)
                self.mark(node.value, held, frame, node.attr)
        elif isinstance(node, ast.Call):
            self._mark_default(node, value, frame, key)
        elif isinstance(node, ast.Subscript):
            place = self.value_of(node.slice, frame)
            held = self._added(self.value_of(node, frame), value, key=key)
            if place:
                self.mark(node.value, join([value, place]).at_level(Level.LENGTH), frame)
            else:
                self.mark(node.value, held, frame, constant_of(node.slice))

    def _mark_default(self, node: ast.Call, value: Value, frame: Frame, key: object) -> None:
        """Note what is put into `table.setdefault(name, [])`, which adds the name if it is new."""
        method = node.func
        if isinstance(method, ast.Attribute) and method.attr == "setdefault" and node.args:
            item = ast.Subscript(value=method.value, slice=node.args[0], ctx=ast.Load())
            self.mark(ast.copy_location(item, node), value, frame, key)
            if frame.merging:
                self.mark(method.value, frame.merging.at_level(Level.LENGTH), frame)

    def _added(self, before: Value, value: Value, *, key: object) -> Value:
        if key is not None and not before.items:
            return with_field(before, key, value)
        if not value:
            # A clean element is one more that is known.
            if before.element is not None and not before.items:
                return replace(before, element=either([before.element, trimmed(value)]))
            return before
        after = join([replace(before, instance=None), value])
        if value.mapped is not None:
            mapped = (
                value.mapped if before.mapped is None else either([before.mapped, value.mapped])
            )
            return replace(after, element=value.element, mapped=mapped)
        # A changed element leaves the length as it is, and one that is added does not.
        if value.element is None:
            return replace(after, fixed=before.fixed)
        # An empty list has nothing but what is added.
        is_empty = not before.items and before.element in (None, CLEAN)
        held = [] if is_empty else [element_of(before)]
        is_listed = bool(held) or before.element is not None
        element = trimmed(either([*held, value.element])) if is_listed else None
        return replace(after, element=element)

    def _put(self, instance: Instance, name: str, value: Value, frame: Frame) -> None:
        """Set an attribute; what it held is forgotten only where this line is surely reached."""
        setter = getattr(inspect.getattr_static(instance.kind, name, None), "fset", None)
        if setter is not None and self.is_set_by(setter, instance, value, frame):
            return
        for part in instance.everyone[1:]:
            part.attributes[name] = either([part.attributes.get(name, CLEAN), value])
        before = instance.attributes.get(name)
        if before is None or (not frame.branches and not frame.control):
            instance.attributes[name] = value
        else:
            instance.attributes[name] = either([before, value])

    def _put_item(self, base: ast.expr, index: ast.expr, value: Value, frame: Frame) -> None:
        place = self.value_of(index, frame)
        key = constant_of(index)
        held = self.value_of(base, frame)
        if held.instance is not None and held.source is None:
            self.method_result(held, held.instance, "__setitem__", [place, value], frame)
        whole = isinstance(index, ast.Slice) and index.lower is None and index.upper is None
        if whole and not value and not frame.branches:
            self.assign(base, CLEAN, frame)
        elif key is not None and not held.items and not held.fixed:
            self.mark(base, value, frame, key)
        elif place or value:
            level = Level.LENGTH if place and not held.fixed else Level.CONTENTS
            changed = join([value, place])
            inner = max(changed.inner, value.level)
            changed = replace(changed, level=level, inner=inner)
            if place and not held.fixed:
                key_of = place.at_level(Level.CONTENTS)
                changed = replace(changed, element=key_of, mapped=trimmed(value))
            self.mark(base, changed, frame)
        elif held.mapped is not None or held.element is not None or not held:
            self._put_clean(base, held, value, frame)

    def _put_clean(self, base: ast.expr, held: Value, value: Value, frame: Frame) -> None:
        """Note a value under a key that is not known, neither of which depends on records."""
        if isinstance(base, ast.Name) and not held.items and frame.has(base.id):
            mapped = value if held.mapped is None else either([held.mapped, value])
            element = CLEAN if held.element is None else held.element
            holder = frame.holder_of(base.id)
            holder.variables[base.id] = replace(held, mapped=trimmed(mapped), element=element)

    def _unpack(self, targets: Sequence[ast.expr], value: Value, frame: Frame) -> None:
        starred = [place for place, part in enumerate(targets) if isinstance(part, ast.Starred)]
        items = list(value.items)
        if starred and len(items) >= len(targets) - 1:
            first, after = starred[0], len(targets) - 1 - starred[0]
            last = len(items) - after
            rest = items[first:last]
            whole = replace(join(rest), items=tuple(rest))
            items = [*items[:first], whole, *items[last:]]
        if len(items) != len(targets):
            others = value if value.element is not None else replace(value, items=())
            items = [
                others if isinstance(part, ast.Starred) else element_of(value) for part in targets
            ]
        for part, item in zip(targets, items, strict=True):
            self.assign(part, item, frame)


def constant_of(node: ast.expr) -> Any:
    """Give a constant of the source, with its sign; `None` for anything else."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = constant_of(node.operand)
        return -value if isinstance(value, int) else None
    return node.value if isinstance(node, ast.Constant) else None
