"""Find the source of a function in its file, and how its statements may end."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

__all__ = ["function_at", "item_of", "looped_over", "may_return", "may_turn"]


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


def may_turn(statement: ast.stmt) -> bool:
    """Tell whether a statement may leave the loop around it, or begin its next pass."""
    if isinstance(statement, ast.Break | ast.Continue):
        return True
    is_loop = isinstance(statement, ast.For | ast.AsyncFor | ast.While)
    return not is_loop and any(map(may_turn, _within(statement)))


def may_return(statement: ast.stmt) -> bool:
    """Tell whether a statement may leave the function."""
    return isinstance(statement, ast.Return) or any(map(may_return, _within(statement)))


def _within(statement: ast.stmt) -> list[ast.stmt]:
    """List the statements within another one, but for those of a function or class."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return []
    parts: list[ast.stmt] = []
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, ast.stmt):
            parts.append(child)
        elif isinstance(child, ast.ExceptHandler | ast.match_case):
            parts += child.body
    return parts


def looped_over(node: ast.For | ast.AsyncFor) -> tuple[str, str]:
    """Name the dict or list over all of which a loop goes, and the variable of its keys.

    >>> (loop,) = ast.parse("for name, count in counts.items(): pass").body
    >>> looped_over(loop)
    ('counts', 'name')
    """
    every, target = node.iter, node.target
    key = target.elts[0] if isinstance(target, ast.Tuple) else target
    holder: ast.expr = every
    if isinstance(every, ast.Call):
        called, function = every.args[:1], every.func
        if isinstance(function, ast.Attribute) and function.attr in ("keys", "items"):
            holder = function.value
        elif isinstance(function, ast.Name) and function.id in ("list", "enumerate", "range"):
            holder = called[0] if called else every
            if function.id == "range" and isinstance(holder, ast.Call):  # range(len(counts))
                holder = holder.args[0] if holder.args else every
    if isinstance(holder, ast.Name) and isinstance(key, ast.Name):
        return holder.id, key.id
    return "", ""


def item_of(name: str, key: str) -> ast.Subscript:
    """Make the expression `name[key]` as a target."""
    holder = ast.Name(id=name, ctx=ast.Load())
    return ast.Subscript(value=holder, slice=ast.Name(id=key, ctx=ast.Load()), ctx=ast.Store())
