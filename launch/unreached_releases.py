"""Releases in a plug-in's program that no play of a rehearsal has made.

Nothing is known of them: a line that only rare records lead to may have any mistake. So they are
named. A call of `release` that says to whom (`to=`) counts as one, in any method of the class or of
its bases that is not overridden. Functions beside the class may be another protocol's.
"""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Final

from ..report.formats import numbers_text
from .authors_modules import files_of

__all__ = ["has_reached_all", "unreached_releases"]

UNREACHED: Final = (
    "no play came to {} in {}, {} {}, so nothing there was checked: other records or answers may "
    "lead there"
)


def unreached_releases(kind: type, reached: Iterable[tuple[str, int]]) -> list[str]:
    """Name the releases of a protocol's program that are not among the lines reached.

    Args:
        kind: the protocol's class.
        reached: files and lines from which releases were made.
    """
    lines = [(Path(file).resolve(), line) for file, line in reached]
    methods, remarks = [*_methods_of(kind)], []
    for path in files_of(kind):
        here = [line for file, line in lines if file == path]
        unreached = [
            first
            for first, last in _releases_in(path, path.stat().st_mtime_ns)
            if any(before <= first <= after for file, before, after in methods if file == path)
            and not any(first <= line <= last for line in here)
        ]
        if unreached:
            what, line = ("releases", "lines") if len(unreached) > 1 else ("the release", "line")
            remarks.append(UNREACHED.format(what, path.name, line, numbers_text(unreached)))
    return remarks


def has_reached_all(kind: type, reached: Iterable[tuple[str, int]]) -> bool:
    """Tell whether plays made every release in the class's methods and in the module's functions.

    The part may call functions that are in no class. Methods of other classes are left out.
    """
    lines = [(Path(file).resolve(), line) for file, line in reached]
    methods = [*_methods_of(kind)]
    for path in files_of(kind):
        changed = path.stat().st_mtime_ns
        places = [(low, high) for file, low, high in methods if file == path]
        places += _functions_in(path, changed)
        for first, last in _releases_in(path, changed):
            is_ours = any(low <= first <= high for low, high in places)
            if is_ours and not any(file == path and first <= line <= last for file, line in lines):
                return False
    return True


def _functions_in(path: Path, changed: int) -> list[tuple[int, int]]:
    """List the first and last lines of the functions of a module that are in no class."""
    functions = ast.FunctionDef | ast.AsyncFunctionDef
    return [
        (node.lineno, node.end_lineno or node.lineno)
        for node in _tree_of(path, changed).body
        if isinstance(node, functions)
    ]


def _methods_of(kind: type) -> Iterator[tuple[Path, int, int]]:
    """List the files of the methods that the class has, with their first and last lines."""
    for name in dir(kind):
        method = inspect.getattr_static(kind, name)
        method = getattr(method, "__func__", method)
        if isinstance(method, FunctionType):
            code = method.__code__
            yield Path(code.co_filename).resolve(), code.co_firstlineno, _last_line(code)


def _last_line(code: CodeType) -> int:
    """Find the last line of a function, and of those within it."""
    within = [_last_line(part) for part in code.co_consts if isinstance(part, CodeType)]
    return max([line for _, _, line in code.co_lines() if line is not None] + within)


def _releases_in(path: Path, changed: int) -> list[tuple[int, int]]:
    """List the first and last lines of the calls of `release` in a file."""
    return sorted(_calls(_tree_of(path, changed)))


@functools.lru_cache(maxsize=64)
def _tree_of(path: Path, changed: int) -> ast.Module:  # noqa: ARG001 - for the cache
    """Parse a file; one that cannot be parsed has nothing."""
    try:
        return ast.parse(path.read_bytes())
    except (SyntaxError, ValueError, OSError):
        return ast.Module(body=[], type_ignores=[])


def _calls(tree: ast.AST) -> Iterator[tuple[int, int]]:
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "release"
            and any(keyword.arg == "to" for keyword in node.keywords)
        ):
            yield node.lineno, node.end_lineno or node.lineno
