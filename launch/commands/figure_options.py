"""The options of commands that draw figures for papers."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from ...report.figures import FigureRequest, FigureWidth, read_request, read_width

__all__ = ["FigureNames", "FigureWidthName", "read_figure_options"]

FigureNames: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--figure",
        metavar="Y:X",
        help="draw this as SVG and PDF, such as bytes:parties, error:epsilon, or "
        "seconds:parties:network with a panel for each network; may be repeated",
    ),
]
FigureWidthName: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--figure-width",
        metavar="one|two",
        help="columns of a paper that a figure takes (default: two if it has panels)",
    ),
]


def read_figure_options(
    figures: list[str] | None, width: str | None
) -> tuple[list[FigureRequest], FigureWidth | None]:
    """Read both options, before anything is started."""
    return [read_request(text) for text in figures or []], read_width(width)
