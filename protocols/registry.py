"""Finding protocols: by the entry point group `sottovoce.protocols`, or by `module:Class`."""

from __future__ import annotations

import difflib
import importlib
import sys
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Final, TypeGuard

from ..messages import Private, UsageError
from .protocol import AnyProtocol, Protocol

__all__ = ["available", "find", "load"]

GROUP: Final = "sottovoce.protocols"


def available() -> dict[str, EntryPoint]:
    """List what is installed, by name."""
    return {
        point.name: point
        for point in sorted(entry_points(group=GROUP), key=lambda point: point.name)
    }


def find(reference: str) -> type[AnyProtocol]:
    """Find a protocol by its name, or by `module:Class`."""
    if ":" in reference:
        return _checked(load(reference, what="a protocol"), reference)
    installed = available()
    if reference not in installed:
        close = difflib.get_close_matches(reference, installed, n=1)
        hint = (
            f"did you mean {close[0]}?"
            if close
            else f"there are {', '.join(installed)}; or give module:Class"
        )
        raise UsageError(f"expected the name of a protocol, found {reference!r}: {hint}")
    point = installed[reference]
    return _checked(_imported(f"{point.module}:{point.attr}", what="a protocol"), reference)


def load(reference: str, *, what: str) -> Any:
    """Import what a person named as `module:name`; the module may lie in the working folder.

    The working folder is searched last: a file of data or code in it never replaces an installed
    module, such as networkx, in a process that holds records.

    Raises:
        UsageError: there is no such module, or it has no such name.
    """
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.append(folder)
    return _imported(reference, what=what)


def _imported(reference: str, *, what: str) -> Any:
    module, _, attribute = reference.partition(":")
    try:
        target = importlib.import_module(module)
        for name in attribute.split("."):
            target = getattr(target, name)
    except (ImportError, AttributeError, SyntaxError, ValueError) as error:
        raise UsageError(
            f"expected {what} at {reference}, found {type(error).__name__}: ", Private(error)
        ) from None
    return target


def _checked(target: Any, reference: str) -> type[AnyProtocol]:
    if not _is_protocol(target):
        raise UsageError(
            f"expected a subclass of sottovoce.Protocol at {reference}, found {target!r}"
        )
    missing = sorted(target.__abstractmethods__)
    missing += [name for name in ("name", "neighbours") if not hasattr(target, name)]
    if missing:
        raise UsageError(f"expected {reference} to define {', '.join(missing)}")
    return target


def _is_protocol(target: Any) -> TypeGuard[type[AnyProtocol]]:
    return isinstance(target, type) and issubclass(target, Protocol)
