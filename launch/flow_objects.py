"""Read objects of a plug-in's own classes: their attributes, properties and methods."""

from __future__ import annotations

import functools
import inspect
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from .flow_expressions import ExpressionFlow
from .flow_sources import function_at
from .flow_values import CLEAN, Frame, Function, Instance, Value, content_of

__all__ = ["ObjectFlow"]


class ObjectFlow(ExpressionFlow):
    """The reading of objects; calls are read by a subclass."""

    kind: type
    files: Sequence[Path]

    @abstractmethod
    def apply(
        self, function: Function, values: Sequence[Value], named: dict[str, Value], frame: Frame
    ) -> Value:
        """Read the body of a function with these values, and give what it returns."""

    held: dict[object, Value]
    """What objects of modules hold, by the object, or by module and name."""

    def global_of(self, name: str, frame: Frame) -> Value:
        function = self.function_of(frame.object_of(name))
        if function is not None:
            return Value(function=function)
        return self.held.get(_place_of(name, frame), CLEAN)

    def hold(self, name: str, value: Value, frame: Frame) -> None:
        callee = frame.object_of(name)
        if not isinstance(callee, FunctionType | ModuleType):
            self.held[_place_of(name, frame)] = value

    def attribute_of(self, base: Value, instance: Instance, name: str, frame: Frame) -> Value:
        """Read what an object has, what its class computes, or a method."""
        if name == "__class__":
            return base  # an attribute that is set there is the object's, too
        held = instance.attributes.get(name, self._of_class(instance.kind, name))
        if held is not None:
            return held
        static = inspect.getattr_static(instance.kind, name, None)
        if isinstance(static, property | functools.cached_property):
            getter = static.fget if isinstance(static, property) else static.func
            function = self.function_of(getter)
            if function is None:
                return CLEAN
            return self.apply(replace(function, bound=(base,)), [], {}, frame)
        function = self.function_of(getattr(static, "__func__", static))
        if function is None:
            # Something of a base class that is not the author's may tell of all that it holds.
            is_ours = base.source is not None or static is not None
            return CLEAN if is_ours else content_of(base).whole
        bound = () if isinstance(static, staticmethod) else (base,)
        return Value(function=replace(function, bound=bound))

    def method_result(
        self, base: Value, instance: Instance, name: str, arguments: Sequence[Value], frame: Frame
    ) -> Value | None:
        method = self.attribute_of(base, instance, name, frame)
        if method.function is None:
            return None
        return self.apply(method.function, arguments, {}, frame)

    def is_set_by(self, setter: Any, instance: Instance, value: Value, frame: Frame) -> bool:
        function = self.function_of(setter)
        if function is None:
            return False
        self.apply(replace(function, bound=(Value(instance=instance),)), [value], {}, frame)
        return True

    def truth_of(self, base: Value, instance: Instance, frame: Frame) -> Value:
        for name in ("__bool__", "__len__"):
            result = self.method_result(base, instance, name, [], frame)
            if result is not None:
                return result
        return CLEAN  # an object without them is true

    def _of_class(self, kind: type, name: str) -> Value | None:
        """Find what the program has set as an attribute of a class, or of one that it extends."""
        held = [self.held.get(id(each), CLEAN) for each in kind.__mro__]
        return next((part for each in held for field, part in each.fields if field == name), None)

    def is_authors(self, kind: type) -> bool:
        """Tell whether a class is defined in one of the files that are read."""
        try:
            return Path(inspect.getfile(kind)).resolve() in self.files
        except (TypeError, OSError):
            return False

    def function_of(self, callee: Any) -> Function | None:
        """Find the source of a function, if it is the author's."""
        if not isinstance(callee, FunctionType):
            callee = getattr(callee, "__wrapped__", None)
        # A function of another package may be wrapped while a part is played.
        callee = inspect.unwrap(callee) if isinstance(callee, FunctionType) else None
        if not isinstance(callee, FunctionType):
            return None
        file = Path(callee.__code__.co_filename).resolve()
        if file not in self.files:
            return None
        node = function_at(file, callee.__code__.co_firstlineno)
        owner = self._owner_of(callee)
        return Function(node, file, callee.__globals__, owner) if node is not None else None

    def _owner_of(self, callee: FunctionType) -> type | None:
        """Find the class that defines a method, by the name that Python gives it."""
        place: Any = callee.__globals__
        for name in callee.__qualname__.split(".")[:-1]:
            place = place.get(name) if isinstance(place, dict) else getattr(place, name, None)
        return place if isinstance(place, type) else None


def _place_of(name: str, frame: Frame) -> object:
    """Find the key of an object of a module.

    One that may be changed is the same under each name, and in each module that imports it.
    """
    callee = frame.object_of(name)
    is_value = callee is None or isinstance(callee, int | float | complex | str | bytes | tuple)
    return (id(frame.function.globals), name) if is_value else id(callee)
