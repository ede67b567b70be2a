"""Rows of a graphical model, with less sampling error than independent draws have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .graphical_model import GraphicalModel
from .raking import ReportProgress, rake
from .sampling import SampleCodes, synthesise

if TYPE_CHECKING:
    import numpy as np

__all__ = ["draw_rows"]

MIN_DRAWN_ROWS: Final = 200_000
"""Rows that are drawn and raked, before as many as wanted are kept."""


def draw_rows(
    model: GraphicalModel,
    *,
    rows: int,
    generator: np.random.Generator,
    progress: ReportProgress | None = None,
) -> list[SampleCodes]:
    """Draw rows of the model, raked to its own tables of all measured sets of attributes."""
    drawn = synthesise(model.chain(), max(rows, MIN_DRAWN_ROWS), generator=generator)
    tables = {attributes: model.marginal(attributes) for attributes in model.parameters}
    return rake(
        model.domain, drawn.codes, tables, rows=rows, generator=generator, progress=progress
    )
