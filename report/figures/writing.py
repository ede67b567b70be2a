"""The files of figures in a folder: all of them or none, and none of an earlier choice."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Container, Sequence
from pathlib import Path
from typing import Final

from ..folder import put
from .drawing import draw_request
from .figure_table import FigureTable
from .paper import FigureWidth, paper_files
from .request import FigureRequest, choice_text

__all__ = ["NOT_DRAWN", "FigureWidth", "write_figures"]

PATTERN: Final = "*-over-*"
"""Names of the files of figures."""
NOT_DRAWN: Final = "not drawn: "
"""How the line of a figure that the table cannot have begins."""
ENDINGS: Final = (".svg", ".pdf", ".csv")


def write_figures(
    table: FigureTable,
    requests: Sequence[FigureRequest],
    *,
    folder: Path,
    width: FigureWidth | None = None,
) -> list[str]:
    """Write figures in place of those of an earlier choice, and say which, a line for each."""
    files: dict[str, bytes] = {}
    lines: list[str] = []
    for request in dict.fromkeys(requests):
        drawing = draw_request(table, request)
        if drawing is None:
            lines.append(f"{NOT_DRAWN}{request.text}; these runs have {choice_text(table)}")
            continue
        name = _unused_name(drawing.name, files)
        files |= paper_files(drawing.panels, name=name, title=drawing.title, width=width)
        files[f"{name}.csv"] = drawing.csv
        remark = "".join(f"; {text}" for text in drawing.remarks)
        lines.append(f"figure   {folder / name}.svg, .pdf and .csv{remark}")
    if files:
        put(files, folder=folder)
    for path in folder.glob(PATTERN) if folder.is_dir() else ():
        if path.suffix in ENDINGS and path.name not in files:
            with contextlib.suppress(OSError):
                path.unlink()
    return lines


def _unused_name(name: str, files: Container[str]) -> str:
    """Number the figures whose names differ by what file names leave out.

    >>> _unused_name("outcome-a-b-over-rows", {"outcome-a-b-over-rows.csv"})
    'outcome-a-b-over-rows-2'
    """
    names = (f"{name}-{number}" if number > 1 else name for number in itertools.count(1))
    return next(unused for unused in names if f"{unused}.csv" not in files)
