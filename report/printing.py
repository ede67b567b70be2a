"""Lines and tables on a terminal, or in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

from rich.console import Console
from rich.table import Table

from .plain_text import plain_text

__all__ = ["print_named", "print_red", "print_table", "terminal_width"]

WIDTH: Final = 240
"""Letters in a line of a pipe. A program reads it, so nothing is folded."""


def print_red(text: str, *, to_error: bool = False) -> None:
    """Print a line in red, where the terminal has colours."""
    console = Console(stderr=to_error, markup=False, highlight=False)
    console.print(plain_text(text), style="bold red", soft_wrap=True)


def print_named(lines: Sequence[tuple[str, str]], *, width: int = 0) -> None:
    """Print names and texts in two columns."""
    width = width or max((len(name) for name, _ in lines), default=0)
    for name, text in lines:
        sys.stdout.write(plain_text(f"{name:<{width}}  {text}\n"))


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table. Texts are folded on a terminal, but not in a pipe."""
    table = Table(box=None, pad_edge=False)
    for index, name in enumerate(head):
        numeric = all(_is_number(row[index]) for row in rows)
        table.add_column(
            name, overflow="fold", justify="right" if numeric else "left", no_wrap=numeric
        )
    for row in rows:
        table.add_row(*map(plain_text, row))
    Console(markup=False, highlight=False, width=terminal_width()).print(table)


def terminal_width() -> int:
    """Give the letters in a line."""
    console = Console()
    return console.width if console.is_terminal else WIDTH


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "") or 0)
    except ValueError:
        return False
    return True
