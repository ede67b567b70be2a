"""What a source shows without any value: functions in files, and forms of statements and calls."""

from __future__ import annotations

import ast
import functools
from collections.abc import Sequence
from pathlib import Path

from .flow_errors import name_of_error
from .flow_names import REDUCTIONS

__all__ = [
    "errors_suppressed",
    "function_at",
    "converts_number",
    "is_scalar",
    "is_super",
    "item_of",
    "looped_over",
    "may_return",
    "may_turn",
    "nodes_in",
]


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


def nodes_in(statements: Sequence[ast.stmt]) -> list[ast.AST]:
    """List all nodes of the syntax trees of some statements."""
    return [node for statement in statements for node in ast.walk(statement)]


def errors_suppressed(item: ast.withitem) -> ast.expr | None:
    """Give the errors that `with suppress(...)` catches; `None` for other blocks."""
    called = item.context_expr if isinstance(item.context_expr, ast.Call) else None
    if called is None or name_of_error(called) != "suppress" or not called.args:
        return None
    return ast.Tuple(elts=called.args, ctx=ast.Load())


def converts_number(nodes: Sequence[ast.expr]) -> bool:
    """Tell whether what is converted is surely a number, such as a sum: that never fails."""
    called = nodes[0].func if nodes and isinstance(nodes[0], ast.Call) else None
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return name in REDUCTIONS


def is_scalar(nodes: Sequence[ast.expr]) -> bool:
    """Tell whether an argument is surely a single number, by its source."""
    node = nodes[0] if nodes else None
    called = node.func if isinstance(node, ast.Call) else None
    return isinstance(called, ast.Name) and called.id in {"int", "float", "len", "sum", "round"}


def is_super(node: ast.expr) -> bool:
    """Tell whether an expression is a call of `super`."""
    return (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"
    )
