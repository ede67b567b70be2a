"""What a part leaves outside of its own modules, where a later play or another role can read it.

A rehearsal compares the author's modules (`launch.kept_state`). A part can also leave a value in
the environment, in a class of sottovoce, or in another package's module. Nobody replays that, so
whatever is left there is named. Files, and objects that other packages made before, are not seen.
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


class Surroundings:
    """The environment, and how many names modules and classes have, when a part begins."""

    def __init__(self) -> None:
        self._environment = dict(os.environ)
        self._sizes = {name: len(names) for name, names in _namespaces()}

    def left(self) -> list[str]:
        """Name what is in them now and was not, or was something else in the environment."""
        changed = {
            name
            for name in self._environment.keys() | os.environ.keys()
            if self._environment.get(name) != os.environ.get(name)
        }
        places = [f"the environment ({name})" for name in sorted(changed)]
        for namespace, names in _namespaces():
            if namespace in self._sizes:
                # New names come last in a namespace.
                places += [
                    f"{namespace}.{name}"
                    for name, value in [*names.items()][self._sizes[namespace] :]
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
        for key, value in [*names.items()] if is_own_module(name) else []:
            if isinstance(value, type) and value.__module__ == name:
                yield f"{name}.{key}", vars(value)
