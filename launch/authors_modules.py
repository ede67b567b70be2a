"""The modules of a plug-in's author: those of the protocol's class, and those that they import.

A plug-in may keep its functions, and what they remember, in another file of the working folder. The
sources of its modules name what they import. Of that, packages that are installed are another
author's, and compiled modules cannot be imported twice.
"""

from __future__ import annotations

import ast
import functools
import sys
import sysconfig
import traceback
from collections.abc import Set as AbstractSet
from pathlib import Path

from ..runs.instance import is_own_module

__all__ = ["attributes_in", "authors_modules", "files_of", "place_in"]


def authors_modules(kind: type) -> list[str]:
    """List the imported modules of the author: of a class and its bases, and what these import.

    Modules of sottovoce and of the standard library are left out, and so are other packages that
    are installed, or have compiled modules.
    """
    packages = {base.__module__.partition(".")[0] for base in kind.__mro__}
    packages -= {*sys.stdlib_module_names, "__main__"}
    new = packages
    while new:
        imported = {name for module in _modules_in(new) for name in _imports_of(module)}
        new = {name for name in imported - packages if _is_beside(name)}
        packages |= new
    return _modules_in(packages)


def files_of(kind: type) -> list[Path]:
    """List the source files of the author's modules."""
    return [path for path in map(_origin, authors_modules(kind)) if path is not None]


def attributes_in(kind: type) -> frozenset[str]:
    """List the names of attributes and methods that the source of the author's modules has."""
    return frozenset().union(
        *(_attributes_of(path, path.stat().st_mtime_ns) for path in files_of(kind))
    )


@functools.lru_cache(maxsize=256)
def _attributes_of(path: Path, changed: int) -> frozenset[str]:  # noqa: ARG001 - for the cache
    try:
        nodes = [*ast.walk(ast.parse(path.read_bytes()))]
    except (SyntaxError, ValueError, OSError):
        return frozenset()
    return frozenset(node.attr for node in nodes if isinstance(node, ast.Attribute))


def place_in(error: BaseException, kind: type) -> str:
    """Say in which line of the author's modules an error came up, if in any.

    Of the lines that were being executed it is the innermost one there. It names no value.
    """
    files = {*files_of(kind)}
    frames = traceback.walk_tb(error.__traceback__)
    lines = [(Path(frame.f_code.co_filename), line) for frame, line in frames]
    places = [f"{path.name}, line {line}" for path, line in lines if path.resolve() in files]
    return places[-1] if places else ""


def _modules_in(packages: AbstractSet[str]) -> list[str]:
    """List the imported modules of these packages."""
    return [
        name
        for name in [*sys.modules]
        if name.partition(".")[0] in packages
        and not is_own_module(name)
        and getattr(sys.modules[name], "__spec__", None) is not None
    ]


def _imports_of(module: str) -> frozenset[str]:
    """List the packages that the source of a module names in its imports, in functions, too."""
    origin = _origin(module)
    return _imports_in(origin, origin.stat().st_mtime_ns) if origin is not None else frozenset()


@functools.lru_cache(maxsize=256)
def _imports_in(path: Path, changed: int) -> frozenset[str]:  # noqa: ARG001 - for the cache
    """List the packages that a file imports."""
    try:
        nodes = [*ast.walk(ast.parse(path.read_bytes()))]
    except (SyntaxError, ValueError, OSError):
        return frozenset()
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [
        node.module
        for node in nodes
        if isinstance(node, ast.ImportFrom) and node.module is not None and not node.level
    ]
    return frozenset(name.partition(".")[0] for name in names)


def _is_beside(package: str) -> bool:
    """Tell whether a package that an author imports is neither installed nor compiled."""
    modules = [] if is_own_module(package) else _modules_in({package})
    origins = [_origin(name) for name in modules]
    return bool(modules) and all(
        origin is not None and not any(origin.is_relative_to(folder) for folder in _installed())
        for origin in origins
    )


def _origin(module: str) -> Path | None:
    """Give the file of a module's source, if it is a file that is there."""
    origin = getattr(getattr(sys.modules.get(module), "__spec__", None), "origin", None)
    path = Path(origin) if isinstance(origin, str) and origin.endswith(".py") else None
    return path.resolve() if path is not None and path.is_file() else None


@functools.cache
def _installed() -> list[Path]:
    """List the folders of Python and of packages that are installed."""
    return [Path(path).resolve() for path in {*sysconfig.get_paths().values()}]
