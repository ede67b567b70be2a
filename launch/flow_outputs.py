"""Read what a program prints, logs, writes into files and into its arguments (`record_flow`)."""

from __future__ import annotations

import ast
import builtins
import io
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from .flow_assignments import constant_of
from .flow_bodies import BodyFlow
from .flow_collections import collection
from .flow_errors import is_caught, name_of_error
from .flow_names import (
    CHANGES,
    EXITS,
    IN_MEMORY,
    LOGS,
    PRINTS,
    SAVES,
    STARTS,
    WRITERS,
    WRITES,
    WRITES_LINES,
)
from .flow_passages import passage_at
from .flow_values import CLEAN, Frame, Level, Value, join

__all__ = ["OutputFlow", "opens", "writes_into_file"]


class OutputFlow(BodyFlow):
    """The reading of what others see beside messages; calls are read by a subclass."""

    def shown_by(self, node: ast.Call, frame: Frame) -> None:
        """Note what a call without a use of its result shows: to a logger, or in a file."""
        method = node.func if isinstance(node.func, ast.Attribute) else None
        if method is None or isinstance(method.value, ast.Constant):
            return
        holder = self._object(method.value, frame)
        writes, saves = method.attr in WRITES_LINES, method.attr in WRITES
        if isinstance(holder, ModuleType | type) or not (writes or saves or method.attr in LOGS):
            return
        if writes and not isinstance(holder, io.IOBase) and not _is_file(method.value, frame):
            return
        base = CLEAN if holder is not None else self.value_of(method.value, frame)
        if (base and not saves) or base.source is not None or base.instance or base.verb:
            return
        shown = join([*self.arguments(node, frame), base])
        if saves and self._kept_in_memory(node, shown, frame):
            return
        if content := join([shown, frame.deciding]):
            act = "write" if writes or saves else "print"
            self.note(node, act, content, frame, decides=not shown)

    def written_by(self, node: ast.Call, frame: Frame) -> None:
        """Note what a call without a use of its result may have written into its arguments.

        Such as `np.copyto(out, ages)`, `heapq.heappush(heap, age)` and `out.fill(age)`.
        """
        method = node.func if isinstance(node.func, ast.Attribute) else None
        if method is None or method.attr in PRINTS or method.attr in ("shuffle", "sort"):
            return
        holder = self._object(method.value, frame)
        if holder is None and method.attr in CHANGES:
            return
        base = CLEAN if holder is not None else self.value_of(method.value, frame)
        if base.source is not None or base.instance is not None or base.verb:
            return
        if self.function_of(getattr(holder, method.attr, None)) is not None:
            return
        arguments = self.arguments(node, frame)
        written = join(arguments)
        if isinstance(method.value, ast.Call) and name_of_error(method.value) in WRITERS:
            for text in method.value.args[:1] if written else ():
                self.mark(text, written.at_level(Level.CONTENTS), frame)
            return
        first = node.args[0] if holder is not None and node.args else method.value
        if method.attr in CHANGES and len(arguments) > 1:  # heapq.heappush(heap, age)
            self.mark(first, collection(join(arguments[1:])), frame)
            return
        if written and isinstance(first, ast.Name):
            self.mark(first, written.at_level(Level.CONTENTS), frame)

    def shown_of_module(
        self, callee: Any, name: str, node: ast.Call, arguments: Sequence[Value], frame: Frame
    ) -> None:
        """Note what a function of a module shows: on the screen, in a file, or by its time."""
        self.written_out(node, arguments, frame)
        if name in EXITS and frame.deciding and not is_caught("SystemExit", frame):
            self.note(node, "raise", frame.deciding, frame, decides=True)
        if name not in PRINTS | SAVES and getattr(callee, "__module__", "") not in STARTS:
            return
        act = "write" if name in SAVES else "print"
        if name in SAVES and self._kept_in_memory(node, join(arguments), frame):
            return
        target = next((word.value for word in node.keywords if word.arg == "file"), None)
        if name == "print" and isinstance(target, ast.Name | ast.Call):
            if not _is_file(target, frame):  # a text in memory holds it
                self.mark(target, join(arguments).at_level(Level.CONTENTS), frame)
                return
            act = "write"
        if content := join(arguments):
            self.note(node, act, content, frame, decides=False)
        elif frame.deciding:
            self.note(node, act, frame.deciding, frame, decides=True)

    def _kept_in_memory(self, node: ast.Call, content: Value, frame: Frame) -> bool:
        """Put into a text in memory what a call writes there; tell whether it does."""
        for part in node.args:
            is_text = isinstance(part, ast.Name) and part.id in frame.texts
            if is_text or name_of_error(part) in IN_MEMORY:
                self.mark(part, content.at_level(Level.CONTENTS), frame)
                return True
        return False

    def written_out(self, node: ast.Call, arguments: Sequence[Value], frame: Frame) -> None:
        """Note what a call puts into its argument `out`."""
        for keyword in node.keywords:
            written = join(arguments)
            if keyword.arg == "out" and isinstance(keyword.value, ast.Name) and written:
                self.mark(keyword.value, written.at_level(Level.CONTENTS), frame)

    def _object(self, node: ast.expr, frame: Frame) -> Any:
        """Find the module or class that an expression names; `None` if it is something else."""
        if isinstance(node, ast.Name):
            named = None if frame.has(node.id) else frame.object_of(node.id)
            of_python = getattr(builtins, node.id, None)
            is_type = named is None and isinstance(of_python, type) and not frame.has(node.id)
            return of_python if is_type else named
        if isinstance(node, ast.Attribute):
            holder = self._object(node.value, frame)
            return getattr(holder, node.attr, None) if isinstance(holder, ModuleType) else None
        return None

    def note(
        self,
        node: ast.Call | ast.Raise | ast.Assert,
        act: str,
        value: Value,
        frame: Frame,
        *,
        decides: bool,
    ) -> None:
        """Note a line by which something of records leaves; each is noted once for each act."""
        passage = passage_at(node, act, value, frame, decides=decides)
        self.passages.setdefault((passage.file, passage.line, act), passage)


def _is_file(node: ast.expr, frame: Frame) -> bool:
    """Tell whether an expression is an open file, or writes lines into one."""
    if isinstance(node, ast.Call):  # csv.writer(file).writerow(...)
        return bool(node.args) and _is_file(node.args[0], frame)
    return isinstance(node, ast.Name) and node.id in frame.files


def opens(node: ast.expr) -> bool:
    """Tell whether an expression opens a file, or a database that is not in memory."""
    if not isinstance(node, ast.Call) or name_of_error(node) not in ("open", "connect"):
        return False
    place = constant_of(node.args[0]) if node.args else None
    return name_of_error(node) == "open" or place != ":memory:"


def writes_into_file(node: ast.expr, frame: Frame) -> bool:
    """Tell whether an expression makes a writer of lines, or a cursor, of an open file."""
    if not isinstance(node, ast.Call):
        return False
    name = name_of_error(node)
    holder = node.func.value if isinstance(node.func, ast.Attribute) else None
    first = node.args[0] if node.args else None
    used = first if name in WRITERS else holder if name == "cursor" else None
    return isinstance(used, ast.Name) and used.id in frame.files
