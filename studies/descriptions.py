"""Descriptions of datasets: a `*-domain.json` beside a file names its columns, codes and bins."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from ..messages import UsageError
from ..parties import Bins

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ColumnDescription", "Description", "read_description"]

NUMERIC_BINS = 16
"""Number of bins of a column of which only the range is described."""


class ColumnDescription(msgspec.Struct, frozen=True, kw_only=True):
    """What a description says about one column. Other keys are ignored."""

    type: str = ""
    code_to_label: list[str | float] | None = None
    """Labels in the order of their codes, for a column that holds codes."""
    bins: int = 0
    edges: list[float] = []
    """Edges of the bins, for a column of type "binned"."""
    min: float | None = None
    max: float | None = None
    bin_edges_16: list[float] = []

    @property
    def rule(self) -> Bins | None:
        """The bins of a numeric column; `None` if they are not described."""
        if self.type == "binned" and self.edges:
            return Bins(edges=tuple(self.edges))
        if self.type == "numeric" and self.min is not None:
            high = self.max if self.max is not None else (self.bin_edges_16 or [0.0])[-1]
            return Bins.equal(self.min, high, bins=NUMERIC_BINS)
        return None

    def decode(self, column: pd.Series[Any]) -> pd.Series[Any]:
        """Replace codes by labels, or by the middle of their bin. Other texts stay."""
        if self.code_to_label is not None:
            return _replace_codes(column, self.code_to_label)
        if self.type == "binned" and {*column.unique()} <= set(map(str, range(self.bins))):
            edges = np.asarray(self.edges, float)
            middles = (edges[1:] + edges[:-1]) / 2
            return _replace_codes(column, [f"{middle:.6g}" for middle in middles])
        return column


class Description(msgspec.Struct, frozen=True, kw_only=True):
    """A description of a dataset. Other keys are ignored."""

    name: str = ""
    attributes: dict[str, ColumnDescription] = {}


def read_description(path: Path) -> Description:
    """Read the description beside a file, or return an empty one.

    Of several descriptions that one is taken whose name has the longest beginning in common with
    the file's name.
    """
    beside = sorted(
        path.parent.glob("*-domain.json"), key=lambda other: _common_length(other.name, path.name)
    )
    if not beside:
        return Description()
    try:
        return msgspec.json.decode(beside[-1].read_bytes(), type=Description, strict=False)
    except (OSError, ValueError) as error:
        raise UsageError(
            f"expected a description of columns, JSON, in {beside[-1]}, found {error}"
        ) from None


def _common_length(name: str, other: str) -> int:
    """Count the characters that two names have in common at their beginning."""
    pairs = zip(name, other, strict=False)
    return next((index for index, (a, b) in enumerate(pairs) if a != b), len(name))


def _replace_codes(column: pd.Series[Any], labels: Sequence[str | float]) -> pd.Series[Any]:
    return column.replace({str(code): label for code, label in enumerate(labels)})
