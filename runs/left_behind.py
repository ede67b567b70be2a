"""What a part leaves outside of its own modules, where a later play or another role can read it.

A rehearsal compares the author's modules (`launch.kept_state`). A part can also leave a value in
the environment, in a class of sottovoce, or in another package's module. Each replay has an
environment of its own, as the part found it (`runs.private_environment`). Late imports set
variables, too, so these are no finding in themselves. New names in classes and modules are never
taken away, as a library may need them. They are named. Objects that other packages made before are
not seen.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
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
        self.environment = dict(os.environ)
        """The variables that there were."""
        self.folder = str(Path.cwd())
        """The folder in which the process worked."""
        self._sizes = {name: len(names) for name, names in _namespaces()} if with_names else {}
        self.variables: dict[str, str | None] = {}
        """Variables that had other values when the part had ended; `None` if removed."""

    def changed_in(self, values: Mapping[str, str]) -> dict[str, str | None]:
        """List the variables that have other values than when the part began."""
        if values == self.environment:
            return {}
        return {
            name: values.get(name)
            for name in sorted(self.environment.keys() | values.keys())
            if values.get(name) != self.environment.get(name)
        }

    def note(self) -> None:
        """Note what the part itself has set."""
        self.variables = self.changed_in(dict(os.environ))

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
