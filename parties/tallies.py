"""Counts of raw columns, before there is a schema: numbers on a public grid, and texts.

They are exact, so they are for the party alone.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .bins import Bins
from .number_texts import number
from .raw import NumberColumn, RawColumn
from .rules import MISSING_TEXTS

__all__ = ["count_texts", "tally_numbers"]


def tally_numbers(column: RawColumn, bins: Bins) -> npt.NDArray[np.int64]:
    """Count the numbers in each bin, then the texts, and last the absent values.

    `bins` clip, so that every number is counted.
    """
    cells = len(bins.edges) - 1
    if isinstance(column, NumberColumn):
        numbers = column.numbers.astype(np.float64)
        places = np.where(np.isnan(numbers), cells + 1, bins.bins_of(numbers))
        return np.bincount(places, minlength=cells + 2)
    values = np.array([number(text) for text in column.texts], np.float64)
    is_absent = np.array([text in MISSING_TEXTS for text in column.texts], np.bool_)
    codes = np.where(is_absent, cells + 1, np.where(np.isnan(values), cells, bins.bins_of(values)))
    codes = np.append(codes, cells + 1)  # place -1, that of a null, is the last
    return np.bincount(codes[column.places].astype(np.int64), minlength=cells + 2)


def count_texts(column: RawColumn) -> dict[str, int]:
    """Count the rows of each text that occurs; absent values have none."""
    texts = column.as_texts()
    places, counts = np.unique(texts.places, return_counts=True)
    counted: dict[str, int] = {}
    for place, count in zip(places.tolist(), counts.tolist(), strict=True):
        if place >= 0 and texts.texts[place] not in MISSING_TEXTS:
            counted[texts.texts[place]] = counted.get(texts.texts[place], 0) + count
    return counted
