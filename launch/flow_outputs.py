"""Read what a program prints, logs, writes into files and into its arguments (`record_flow`)."""

from __future__ import annotations

import ast
import io
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from .flow_bodies import BodyFlow
from .flow_collections import collection
from .flow_errors import is_caught
from .flow_names import CHANGES, EXITS, LOGS, PRINTS, STARTS, WRITES
from .flow_passages import passage_at
from .flow_values import CLEAN, Frame, Level, Value, join

__all__ = ["OutputFlow"]


class OutputFlow(BodyFlow):
    """The reading of what others see beside messages; calls are read by a subclass."""

    def shown_by(self, node: ast.Call, frame: Frame) -> None:
        """Note what a call without a use of its result shows: to a logger, or in a file."""
        method = node.func if isinstance(node.func, ast.Attribute) else None
        if method is None or isinstance(method.value, ast.Constant):
            return
        holder = self._object(method.value, frame)
        writes, saves = method.attr in ("write", "writelines"), method.attr in WRITES
        if isinstance(holder, ModuleType | type) or not (writes or saves or method.attr in LOGS):
            return
        if writes and not isinstance(holder, io.IOBase):
            is_file = isinstance(method.value, ast.Name) and method.value.id in frame.files
            if not is_file:
                return
        base = CLEAN if holder is not None else self.value_of(method.value, frame)
        if (base and not saves) or base.source is not None or base.instance or base.verb:
            return
        shown = join([*self.arguments(node, frame), base])
        if content := join([shown, frame.deciding]):
            self.note(node, "print", content, frame, decides=not shown)

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
        first = node.args[0] if holder is not None and node.args else method.value
        if method.attr in CHANGES and len(arguments) > 1:  # heapq.heappush(heap, age)
            self.mark(first, collection(arguments[1]), frame)
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
        if name not in PRINTS and getattr(callee, "__module__", "") not in STARTS:
            return
        if content := join(arguments):
            self.note(node, "print", content, frame, decides=False)
        elif frame.deciding:
            self.note(node, "print", frame.deciding, frame, decides=True)

    def written_out(self, node: ast.Call, arguments: Sequence[Value], frame: Frame) -> None:
        """Note what a call puts into its argument `out`."""
        for keyword in node.keywords:
            written = join(arguments)
            if keyword.arg == "out" and isinstance(keyword.value, ast.Name) and written:
                self.mark(keyword.value, written.at_level(Level.CONTENTS), frame)

    def _object(self, node: ast.expr, frame: Frame) -> Any:
        """Find the module or class that an expression names; `None` if it is something else."""
        if isinstance(node, ast.Name):
            return None if frame.has(node.id) else frame.object_of(node.id)
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
