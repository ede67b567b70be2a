"""Finding protocols: by the entry point group `sottovoce.protocols`, or by `module:Class`."""

from __future__ import annotations

import difflib
import importlib
import sys
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Final, TypeGuard

from ..messages import UsageError
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
    """Find a protocol by its name or by `module:Class` (a module in the current folder will do)."""
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
    return _checked(load(f"{point.module}:{point.attr}", what="a protocol"), reference)


def load(reference: str, *, what: str) -> Any:
    """Import what `module:name` says; a module in the current folder will do. What is not there is
    a `UsageError`.
    """
    module, _, attribute = reference.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(
            0, here
        )  # a console script, unlike `python -m`, does not look in the current folder
    try:
        found = importlib.import_module(module)
        for name in attribute.split("."):
            found = getattr(found, name)
    except (ImportError, AttributeError, SyntaxError, ValueError) as error:
        raise UsageError(
            f"expected {what} at {reference}, found {type(error).__name__}: {error}"
        ) from None
    return found


def _checked(found: Any, reference: str) -> type[AnyProtocol]:
    if not _is_protocol(found):
        raise UsageError(
            f"expected a subclass of sottovoce.Protocol at {reference}, found {found!r}"
        )
    missing = sorted(found.__abstractmethods__)
    missing += [name for name in ("name", "neighbours") if not hasattr(found, name)]
    if missing:
        raise UsageError(f"expected {reference} to define {', '.join(missing)}")
    return found


def _is_protocol(found: Any) -> TypeGuard[type[AnyProtocol]]:
    return isinstance(found, type) and issubclass(found, Protocol)
