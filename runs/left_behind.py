"""What a part leaves outside of its own modules, where a later play or another role can read it.

A rehearsal compares the author's modules (`launch.kept_state`). A part can also leave a value in
the environment, in a class of sottovoce, or in another package's module. The environment is put
back before each replay, so that a replay finds what the part found. Late imports set variables,
too, so these are no finding in themselves. New names in classes and modules are never taken away,
as a library may need them. They are named. Files, and objects that other packages made before, are
not seen.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from .instance import is_own_module

__all__ = ["Surroundings"]

HOLDERS: Final = (bool, int, float, complex, str, bytes, list, tuple, dict, set, np.ndarray)
"""Types of what is left; other packages may import their own modules and functions late."""

_CLASSES: Final[dict[str, tuple[int, list[tuple[str, type]]]]] = {}
"""By module of sottovoce its number of names, and its classes."""


class Surroundings:
    """The environment, and how many names modules and classes have, when a part begins."""

    def __init__(self, *, with_names: bool = True) -> None:
        """Note what there is; without names of modules and classes, `left` finds none."""
        self._environment = dict(os.environ)
        self._sizes = {name: len(names) for name, names in _namespaces()} if with_names else {}
        self._first: dict[str, str | None] = {}

    def variables(self) -> dict[str, str | None]:
        """List the variables of the environment that have other values now; `None` if removed."""
        values = dict(os.environ)
        if values == self._environment:
            return {}
        return {
            name: values.get(name)
            for name in sorted(self._environment.keys() | values.keys())
            if values.get(name) != self._environment.get(name)
        }

    def note(self) -> None:
        """Note what the part itself has set, before any replay of any part begins."""
        self._first = self.variables()

    def restore(self) -> list[str]:
        """Put the environment back, and name the variables that a replay has set otherwise."""
        variables = self.variables()
        for name in variables:
            if name in self._environment:
                os.environ[name] = self._environment[name]
            else:
                os.environ.pop(name, None)
        return [
            name
            for name, value in variables.items()
            if name in self._first and self._first[name] != value
        ]

    def left(self) -> list[str]:
        """Name the values that modules and classes have under new names."""
        places = []
        for namespace, names in _namespaces():
            size = self._sizes.get(namespace, len(names))
            if len(names) > size:
                # New names come last in a namespace.
                places += [
                    f"{namespace}.{name}"
                    for name, value in [*names.items()][size:]
                    if isinstance(value, HOLDERS) and not name.startswith("__")
                ]
        return places


def _namespaces() -> Iterator[tuple[str, Mapping[str, Any]]]:
    """List the modules that are imported, and the classes of sottovoce's."""
    for name, module in [*sys.modules.items()]:
        if getattr(getattr(module, "__spec__", None), "_initializing", False):
            continue  # another thread imports it now
        names = getattr(module, "__dict__", None)
        if names is None:
            continue
        yield name, names
        if is_own_module(name):
            for label, kind in _classes(name, names):
                yield label, vars(kind)


def _classes(name: str, names: Mapping[str, Any]) -> list[tuple[str, type]]:
    """List the classes of a module. They are looked up anew when it has more names than before."""
    size, classes = _CLASSES.get(name, (0, []))
    if size != len(names):
        values = [*names.items()]
        classes = [
            (f"{name}.{key}", value)
            for key, value in values
            if isinstance(value, type) and value.__module__ == name
        ]
        _CLASSES[name] = len(values), classes
    return classes
