"""How charts look: colours and sizes on pages and on paper, and shapes and strokes in both.

Lines differ in shape and stroke besides colour, so they can be distinguished in grey, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from .canvas import GRID, INK, QUIET, SERIES

__all__ = ["BASELINES", "PAGE", "PAPER", "SHAPES", "STROKES", "Look", "Stroke"]

Stroke: TypeAlias = str | tuple[int, tuple[float, ...]]
SHAPES: Final = "os^DvPX*"
STROKES: Final[tuple[Stroke, ...]] = (
    "-",
    (0, (5, 1.5)),
    (0, (1.2, 1.2)),
    (0, (6, 1.5, 1.2, 1.5)),
    (0, (3, 1.2, 1.2, 1.2, 1.2, 1.2)),
    (0, (9, 2)),
    (0, (2.5, 2.5)),
)
"""Strokes of lines. Their number shares no factor with that of the shapes."""
BASELINES: Final[tuple[Stroke, ...]] = (":", "-.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Colours and sizes of a chart."""

    ink: str
    quiet: str
    grid: str
    colours: Sequence[str]
    tick_size: float
    """Size of letters at ticks and in the legend, in points."""
    label_size: float
    """Size of letters of titles and axes."""
    line_width: float
    marker_size: float
    upright: int
    """Letters at most of a line beside a chart."""


PAGE: Final = Look(
    ink=INK,
    quiet=QUIET,
    grid=GRID,
    colours=SERIES,
    tick_size=10.5,
    label_size=11,
    line_width=1.6,
    marker_size=5,
    upright=36,
)
PAPER: Final = Look(
    ink="#000000",
    quiet="#444444",
    grid="#d9d9d9",
    # Okabe and Ito's colours, which the colour-blind can tell apart, without yellow.
    colours=(
        "#0072b2",
        "#d55e00",
        "#009e73",
        "#cc79a7",
        "#000000",
        "#e69f00",
        "#56b4e9",
        "#7f7f7f",
    ),
    tick_size=7,
    label_size=8,
    line_width=1.1,
    marker_size=3.8,
    upright=30,
)
"""For printing at the size in which it was drawn."""
