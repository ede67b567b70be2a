"""Cells of a study that processes other than the test's import."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sottovoce import UsageError


class DyingCell:
    """A cell whose process dies, or that fails, or that has a result, by its number."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.key = self.label = f"cell-{number}"
        self.columns: dict[str, Any] = {"number": number}

    def compute(self, *, out: Path) -> dict[str, Any]:
        if self.number == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.number == 3:
            raise UsageError("expected another number, found 3")
        return {"twice": 2 * self.number, "process": os.getpid()}

    def figures(self, result: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        yield dict(result)
