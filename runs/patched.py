"""What a plug-in has replaced in sottovoce: functions and attributes whose code is the author's.

The checks of a run rest on sottovoce's own code: that a mechanism draws the noise that it states,
and that the accountant records it. Python lets every module put its own functions in their place.
A part that does so is not accounted.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from types import FunctionType

from .instance import is_own_module

__all__ = ["packages_of", "replaced_by"]


def packages_of(kind: type) -> set[str]:
    """List the packages that a protocol's class and its bases come from, but for sottovoce's."""
    modules = {base.__module__ for base in kind.__mro__}
    packages = {name.partition(".")[0] for name in modules if not is_own_module(name)}
    return packages - {*sys.stdlib_module_names}


def replaced_by(kind: type) -> list[str]:
    """Name what the packages of a protocol's class have replaced in sottovoce's modules."""
    packages = packages_of(kind)
    if not packages:
        return []
    homes: dict[type, str] = {}
    return sorted(
        f"{place}.{key}"
        for place, names in _namespaces()
        for key, value in names.items()
        if (home := _module_of(value, homes)) and home.partition(".")[0] in packages
    )


def _namespaces() -> Iterator[tuple[str, dict[str, object]]]:
    """List the attributes of sottovoce's modules and of their classes."""
    for name, module in [*sys.modules.items()]:
        if not is_own_module(name):
            continue
        names = dict(vars(module))
        yield name, names
        for key, value in names.items():
            if isinstance(value, type) and value.__module__ == name:
                yield f"{name}.{key}", dict(vars(value))


def _module_of(value: object, homes: dict[type, str]) -> str:
    """Name the module whose code a value is; empty for plain values.

    `homes` keeps the module of each type whose values are called, as most places hold few types.
    """
    kind = type(value)
    if kind in homes:
        return homes[kind]
    if kind is not FunctionType and not isinstance(value, type):
        if isinstance(value, staticmethod | classmethod):
            value = value.__func__
        elif isinstance(value, property):
            value = value.fget
        elif isinstance(value, functools.cached_property | functools.partial):
            value = value.func
    if isinstance(value, FunctionType):
        # A decorator may have copied the name of the module, but not the globals.
        return str(value.__globals__.get("__name__", ""))
    if isinstance(value, type):
        return value.__module__
    home = type(value).__module__ if callable(value) else ""
    if type(value) is kind:
        homes[kind] = home
    return home
