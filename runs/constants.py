"""The texts and numbers that a plug-in's source names, for tables that have them."""

from __future__ import annotations

import ast
import functools
import inspect
import sys
import textwrap
import threading
from collections.abc import Iterator
from types import ModuleType
from typing import Final

import msgspec

from ..protocols import AnyProtocol
from .patched import packages_of

__all__ = ["constants_for", "constants_of"]

_parsing: Final = threading.Lock()
MAX_NUMBER: Final = 2.0**53
"""Numbers below it are exact in double precision."""
MAX_LENGTH: Final = 100
"""Letters of a text that may be a label."""
MAX_CONSTANTS: Final = 1000
"""Constants of one plug-in that are tried."""


def constants_of(kind: type) -> tuple[str | float, ...]:
    """List the constants in the modules that a protocol's class and its bases come from.

    Those of the class itself come first, as later ones may be too many. Docstrings are none.
    Modules without a source have none.
    """
    packages = packages_of(kind)
    names = dict.fromkeys([base.__module__ for base in kind.__mro__] + [*sys.modules])
    modules = [
        module
        for name in names
        if name.partition(".")[0] in packages
        and isinstance(module := sys.modules.get(name), ModuleType)
    ]
    constants = dict.fromkeys(_constants_in(kind))
    for module in modules:
        if len(constants) >= MAX_CONSTANTS:
            break  # a package may have hundreds of modules, and to parse them takes seconds
        constants |= dict.fromkeys(_constants_in(module))
    return tuple(constants)[:MAX_CONSTANTS]


def constants_for(protocol: AnyProtocol) -> tuple[str | float, ...]:
    """List a protocol's parameters, and then the constants of its program."""
    values = msgspec.structs.asdict(protocol.parameters).values()
    chosen = [value for value in values if isinstance(value, str | int | float)]
    return tuple(dict.fromkeys([*chosen, *constants_of(type(protocol))]))


@functools.lru_cache(maxsize=1024)
def _constants_in(source_of: type | ModuleType) -> tuple[str | float, ...]:
    """List the constants in the source of a class or of a module."""
    try:
        # CPython 3.11 counts the depth of a tree for all threads together, and complains then. To
        # find the source of a class parses its module, too.
        with _parsing:
            return tuple(_walk(ast.parse(textwrap.dedent(inspect.getsource(source_of)))))
    except (OSError, TypeError, SyntaxError, ValueError, SystemError):
        return ()


def _walk(tree: ast.AST) -> Iterator[str | float]:
    statements = [node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)]
    docstrings = {id(value) for value in statements}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in docstrings:
            value = node.value
            if isinstance(value, str):
                if 0 < len(value) <= MAX_LENGTH:
                    yield value
            elif isinstance(value, int | float) and abs(value) < MAX_NUMBER:
                yield value
