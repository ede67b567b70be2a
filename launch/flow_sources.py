"""Find the source of a function in its file."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

__all__ = ["function_at"]


def function_at(file: Path, line: int) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """Find the function that begins in a line, or whose first decorator does."""
    return _functions_in(file, file.stat().st_mtime_ns).get(line)


@functools.lru_cache(maxsize=256)
def _functions_in(file: Path, changed: int) -> dict[int, ast.FunctionDef | ast.AsyncFunctionDef]:  # noqa: ARG001 - for the cache
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError, OSError):
        return {}
    return {
        min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]): node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
