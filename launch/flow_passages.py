"""Lines of a plug-in's program in which something of records leaves a party without a release."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

from .flow_names import SENDS
from .flow_values import Frame, Value

__all__ = ["Passage", "passage_at", "variable_in"]


@dataclass(frozen=True)
class Passage:
    """A line in which something of records leaves a party without a release, by the program."""

    file: Path
    line: int
    act: str
    """The party's verb, or the argument of a mechanism that must be public."""
    kind: str
    """The kind of the message, if the line names it."""
    variable: str
    """The variable that brings it there."""
    since: int
    """The line in which the variable gets it from records."""
    since_file: str
    """The file of that line."""
    decides: bool
    """Whether records only decide if the line is reached."""


def passage_at(
    node: ast.Call | ast.Raise | ast.Assert, act: str, value: Value, frame: Frame, *, decides: bool
) -> Passage:
    """Describe the line of a call by which something of records leaves.

    Args:
        node: the call.
        act: what it does.
        value: what leaves, or what decides whether the line is reached.
        frame: the function in which it is.
        decides: whether records only decide that.
    """
    kind, called = "", None
    if act in SENDS and isinstance(node, ast.Call) and node.args:
        called = node.args[0].func if isinstance(node.args[0], ast.Call) else None
    if called is not None:
        kind = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    file = frame.function.file
    return Passage(file, node.lineno, act, kind, value.name, value.line, value.file, decides)


def variable_in(node: ast.Call, frame: Frame) -> Value | None:
    """Find the variable among a call's arguments that brings records there."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and frame.find(part.id):
            return frame.find(part.id)
    return None
