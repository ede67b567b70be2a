"""Charts of one or several panels, drawn by matplotlib for pages and for papers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from textwrap import fill
from typing import TYPE_CHECKING, Any

from .canvas import default_settings, new_figure, svg_of
from .chart_axes import MAX_BAR_NAME, draw_panel, styled
from .chart_look import PAGE, Look
from .chart_panel import Panel, description

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend

__all__ = ["draw", "panels"]

MIN_LETTERS = 16
"""Letters of a legend's line that are never broken."""


def panels(charts: Sequence[Panel], *, title: str, width: float = 420, height: float = 260) -> str:
    """Draw charts beside and below one another, as SVG for a page."""
    across = 1 if len(charts) == 1 else 2
    with default_settings():
        figure = draw(charts, PAGE, width=width * across, height=height, across=across)
        return svg_of(figure, title=title, text=" ".join(map(description, charts)))


def draw(
    charts: Sequence[Panel], look: Look, *, width: float, height: float, across: int
) -> Figure:
    """Draw charts, so many beside one another, within `default_settings`.

    A line has the same colour and shape in all of them, and stands once in the legend.

    Args:
        charts: The charts.
        look: Colours and sizes.
        width: Points of the whole figure.
        height: Points of one chart; the legend is added.
        across: Number of charts beside one another.
    """
    coloured = [
        line.name for chart in charts for line in chart.lines if line.kind in ("measured", "level")
    ]
    order = {name: number for number, name in enumerate(dict.fromkeys(coloured))}
    down = ceil(len(charts) / across)
    if all(chart.is_bars for chart in charts):
        height = look.label_size * max(map(_bar_lines, charts))
    figure = new_figure(width, height * down)
    for number, chart in enumerate(charts, start=1):
        axes = styled(figure.add_subplot(down, across, number), look)
        draw_panel(axes, chart, order, look)
        if chart.shares_limits and not chart.is_bars and number % across != 1 % across:
            axes.set_ylabel("")
    _share_limits(figure, charts)
    _add_legend(figure, look, width=width, height=height * down)
    return figure


def _bar_lines(chart: Panel) -> float:
    """Give the height of a chart of bars, in lines of text, with its title and axis."""
    names = [fill(bar.name, MAX_BAR_NAME).count("\n") + 1 for bar in chart.bars]
    return 7 + sum(max(2.2, 1.3 * lines) for lines in names)


def _share_limits(figure: Figure, charts: Sequence[Panel]) -> None:
    """Give panels that show the same figure the same limits."""
    for bars in (False, True):
        together = [
            axes
            for axes, chart in zip(figure.axes, charts, strict=True)
            if chart.shares_limits and chart.is_bars is bars
        ]
        limits = [axes.get_xlim() if bars else axes.get_ylim() for axes in together]
        for axes in together:
            set_limits = axes.set_xlim if bars else axes.set_ylim
            set_limits(min(low for low, _ in limits), max(high for _, high in limits))


def _add_legend(figure: Figure, look: Look, *, width: float, height: float) -> None:
    """Put the legend above the charts, as wide as the figure, and make room for it."""
    handles: dict[str, Any] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    if not handles or (len(handles) == 1 and not any(axes.get_title() for axes in figure.axes)):
        return
    legend, tall = _legend_that_fits(figure, handles, look, width=width)
    legend.set_in_layout(True)
    figure.set_size_inches(width / 72, (height + tall) / 72)


def _legend_that_fits(
    figure: Figure, handles: Mapping[str, Any], look: Look, *, width: float
) -> tuple[Legend, float]:
    """Make the legend of the most columns that the width allows, and give its height in points."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    renderer = FigureCanvasAgg(figure).get_renderer()  # type: ignore[no-untyped-call]
    longest = max(map(len, handles))
    letters = max(MIN_LETTERS, int((width - 50) / (0.62 * look.tick_size)))
    for columns in range(min(len(handles), 6), 0, -1):
        legend = figure.legend(
            handles.values(),
            [fill(name, letters) if columns == 1 else name for name in handles],
            loc="outside upper left",
            ncols=columns,
            frameon=False,
            fontsize=look.tick_size,
            labelcolor=look.ink,
            handlelength=3.4,
            columnspacing=1.4,
            borderaxespad=0.2,
        )
        box = legend.get_window_extent(renderer)
        points = 72 / figure.dpi
        if columns == 1 or (longest <= letters and box.width * points <= width):
            return legend, box.height * points
        legend.remove()
    raise AssertionError("expected a legend of one column to be taken")
