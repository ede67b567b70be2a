"""Which errors of a program its own handlers catch, as far as the source shows."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Sequence
from typing import Final

from .flow_values import Frame

__all__ = ["is_caught", "name_of_error", "names_caught"]

ALL: Final = frozenset({"Exception", "BaseException"})


def names_caught(handlers: Sequence[ast.ExceptHandler]) -> frozenset[str]:
    r"""List the names of the errors that handlers catch; one without a name catches all.

    >>> (attempt,) = ast.parse("try: pass\nexcept (KeyError, OSError): pass").body
    >>> sorted(names_caught(attempt.handlers))
    ['KeyError', 'OSError']
    """
    names: set[str] = set()
    for handler in handlers:
        kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        for kind in kinds:
            names.add("BaseException" if kind is None else name_of_error(kind) or "Exception")
    return frozenset(names)


def name_of_error(node: ast.expr | None) -> str:
    """Give the name of an error's class; empty if the source does not show it."""
    node = node.func if isinstance(node, ast.Call) else node
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def is_caught(name: str, frame: Frame) -> bool:
    """Tell whether handlers around a line catch an error of this class, or may do so."""
    if not frame.caught:
        return False
    if frame.caught & ALL:
        return True
    kind = frame.function.globals.get(name, getattr(builtins, name, None))
    if not isinstance(kind, type):
        return True  # such as `raise error`, of which the class is not known
    return not frame.caught.isdisjoint(each.__name__ for each in kind.__mro__)
