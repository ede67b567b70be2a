"""The schema: how raw values become codes of a public domain.

A JSON object, an entry an attribute, in the order of the result:

    {"workclass": ["Private", "State-gov"],                 categories
     "age": {"edges": [17, 30, 45, 90]},                    bins (17, 30], (30, 45], (45, 90]; the first includes 17
     "hours-per-week": {"bins": 16, "range": [1, 99]}}      equal-width bins over a public range

Columns of the data that the schema does not name are left out. Without a schema one is inferred from the data, for a quick
start: that categories and ranges are taken from private data is not private, and the report says so.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from ..messages import UsageError
from ..privacy.domain import Domain
from .demo import DEMO_CATEGORIES, DEMO_RANGES

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["DEMO_SCHEMA", "Bins", "Schema", "infer", "merge", "read_schema"]

Codes = npt.NDArray[np.uint16]

MOST_BINS: Final = 65_535
"""Codes are of 16 bits."""
MOST_CATEGORIES: Final = 64
"""A column with more different numbers than this is inferred as numeric; with more different texts it is refused."""
INFERRED_BINS: Final = 16


class Bins(msgspec.Struct, frozen=True):
    """A numeric attribute's bins: left-open, right-closed, the first closed on both sides."""

    edges: tuple[float, ...]

    def __post_init__(self) -> None:
        if (
            not 2 <= len(self.edges) <= MOST_BINS + 1
            or not np.all(np.isfinite(self.edges))
            or not np.all(np.diff(self.edges) > 0)
        ):
            found = list(self.edges) if len(self.edges) < 20 else f"{len(self.edges)} of them"
            raise ValueError(f"expected 2 to {MOST_BINS + 1} finite bin edges that rise, found {found}")

    @classmethod
    def equal(cls, low: float, high: float, *, bins: int) -> Bins:
        return cls((*(low + (high - low) * i / bins for i in range(bins)), high))

    @property
    def labels(self) -> tuple[str, ...]:
        shown = _shown(self.edges)
        return tuple(f"{'[' if i == 0 else '('}{low}, {high}]" for i, (low, high) in enumerate(pairwise(shown)))


def _shown(edges: tuple[float, ...]) -> list[str]:
    """Write edges with as few digits as keep them apart, to a thousandth of the narrowest bin."""
    least = min(high - low for low, high in pairwise(edges)) / 1000
    for digits in range(6, 18):
        shown = [f"{edge:.{digits}g}" for edge in edges]
        if len(set(shown)) == len(edges) and all(
            abs(float(text) - edge) <= least for text, edge in zip(shown, edges, strict=True)
        ):
            break
    return shown


class Schema(msgspec.Struct, frozen=True):
    """Attributes in order: categories, or bins."""

    attributes: dict[str, tuple[str, ...] | Bins]
    inferred: bool = False

    @property
    def domain(self) -> Domain:
        return Domain({name: rule.labels if isinstance(rule, Bins) else rule for name, rule in self.attributes.items()})

    def encode(self, table: pd.DataFrame) -> Codes:
        """Write a table as codes, an attribute a row; a value outside the schema is a `UsageError` that names it."""
        codes = np.empty((len(self.attributes), len(table)), np.uint16)
        for at, (name, rule) in enumerate(self.attributes.items()):
            if name not in table.columns:
                raise UsageError(f"expected a column {name!r}, as the schema says, found {', '.join(map(str, table.columns))}")
            column = table[name]
            codes[at] = _bin(name, rule, column) if isinstance(rule, Bins) else _look_up(name, rule, column)
        return codes


def _look_up(name: str, labels: tuple[str, ...], column: pd.Series[Any]) -> npt.NDArray[np.int64]:
    import pandas as pd

    codes = pd.Index(labels).get_indexer(pd.Index(_text(column)))
    if len(wrong := np.flatnonzero(codes < 0)):
        some = ", ".join(labels[:8]) + (", ..." if len(labels) > 8 else "")
        raise UsageError(
            f"expected a category of {name} ({some}), found {str(column.iloc[wrong[0]])!r} in row {_row(column, wrong[0])}"
        )
    return np.asarray(codes, np.int64)


def _text(column: pd.Series[Any]) -> pd.Series[Any]:
    """Write values as text, a missing one as `nan`: the same for inferring categories and for looking them up."""
    return column.astype(str).astype(object).where(column.notna(), "nan")


def _bin(name: str, rule: Bins, column: pd.Series[Any]) -> npt.NDArray[np.int64]:
    import pandas as pd

    values = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64)
    edges = np.array(rule.edges)
    outside = ~((values >= edges[0]) & (values <= edges[-1]))
    if len(wrong := np.flatnonzero(outside)):
        raise UsageError(
            f"expected a number from {edges[0]:g} to {edges[-1]:g} for {name}, "
            f"found {str(column.iloc[wrong[0]])!r} in row {_row(column, wrong[0])}"
        )
    # side="left": a value on an edge belongs to the bin that it closes.
    return np.asarray(np.maximum(np.searchsorted(edges, values, side="left") - 1, 0), np.int64)


def _row(column: pd.Series[Any], at: int) -> int:
    """Say which line of the data, from 1; a share keeps the file's index."""
    label = column.index[at]
    return int(label) + 1 if isinstance(label, int | np.integer) else int(at) + 1


class _Numeric(msgspec.Struct, forbid_unknown_fields=True):
    edges: list[float] | None = None
    bins: Annotated[int, msgspec.Meta(ge=1, le=65_535)] | None = None
    range: tuple[float, float] | None = None


def read_schema(source: str | os.PathLike[str] | Mapping[str, Any]) -> Schema:
    """Read a schema from a file, or from a dictionary; what is wrong in it is a `UsageError` that names the attribute."""
    path = "the schema" if isinstance(source, Mapping) else str(source)
    try:
        written = msgspec.json.encode(source) if isinstance(source, Mapping) else Path(source).read_bytes()
        found = msgspec.json.decode(written, type=dict[str, Any])
    except OSError as error:
        raise UsageError(f"expected a schema at {path}, found {error.strerror}") from None
    except msgspec.MsgspecError as error:
        raise UsageError(f"expected a schema, a JSON object, in {path}, found: {error}") from None
    if not found:
        raise UsageError(f"expected at least one attribute in {path}, found none")
    return Schema({name: _rule(name, rule, path) for name, rule in found.items()})


def _rule(name: str, rule: Any, path: str) -> tuple[str, ...] | Bins:
    try:
        if isinstance(rule, list):
            labels = tuple(msgspec.convert(rule, list[str]))
            if not labels or len(set(labels)) < len(labels) or len(labels) > 65_536:
                raise ValueError(f"expected 1 to 65536 different categories, found {len(labels)}")  # noqa: TRY301
            return labels
        numeric = msgspec.convert(rule, _Numeric)
        if numeric.edges is not None and numeric.bins is None and numeric.range is None:
            return Bins(tuple(numeric.edges))
        if numeric.edges is None and numeric.bins is not None and numeric.range is not None:
            return Bins.equal(*numeric.range, bins=numeric.bins)
        raise ValueError("expected either edges, or bins and range")  # noqa: TRY301
    except (msgspec.ValidationError, ValueError) as error:
        raise UsageError(f"attribute {name!r} in {path}: {error}") from None


DEMO_SCHEMA: Final = Schema(
    {
        name: DEMO_CATEGORIES[name] if name in DEMO_CATEGORIES else Bins.equal(*DEMO_RANGES[name], bins=INFERRED_BINS)
        for name in (
            "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship",
            "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income",
        )
    }
)  # fmt: skip
"""The demo table's own: public, since nobody's data made it."""


def infer(table: pd.DataFrame) -> Schema:
    """Take categories and ranges from the data itself. Not private."""
    import pandas as pd

    attributes: dict[str, tuple[str, ...] | Bins] = {}
    for name in map(str, table.columns):
        column = table[name]
        values = sorted(map(str, _text(column).unique()))
        numbers = pd.to_numeric(pd.Series(values), errors="coerce").to_numpy(dtype=np.float64)
        finite = np.isfinite(numbers)
        if finite.all() and len(values) > MOST_CATEGORIES and numbers.min() < numbers.max():
            attributes[name] = Bins((float(numbers.min()), float(numbers.max())))
        elif finite.sum() > MOST_CATEGORIES and (~finite).sum() < MOST_CATEGORIES and column.isna().any():
            raise UsageError(
                f"expected numbers in {name!r}, found {int(column.isna().sum())} missing: drop those rows, or give --schema"
            )
        elif len(values) > 65_536:
            found = f"found {len(values)} different texts in {name!r}"
            raise UsageError(f"expected a table of categories and numbers, {found}: give --schema")
        else:
            attributes[name] = tuple(values)
    return Schema(attributes, inferred=True)


def merge(schemas: Iterable[Schema]) -> Schema:
    """Unite what the parties inferred: all categories, the widest range; numbers are binned here."""
    first, *rest = schemas
    united: dict[str, tuple[str, ...] | Bins] = {}
    for name in first.attributes:
        rules = [schema.attributes.get(name) for schema in (first, *rest)]
        if any(rule is None for rule in rules) or any(schema.attributes.keys() != first.attributes.keys() for schema in rest):
            raise UsageError("expected the same columns in every party's data, found others: give --schema")
        ranges = [rule for rule in rules if isinstance(rule, Bins)]
        texts = {label for rule in rules if isinstance(rule, tuple) for label in rule}
        if not ranges:
            united[name] = _in_order(texts)
            continue
        try:
            ends = sorted(edge for rule in ranges for edge in rule.edges)
            numbers = [float(text) for text in sorted(texts)]
            if not np.all(np.isfinite(numbers)):
                raise ValueError  # noqa: TRY301
            ends = sorted([*ends, *numbers])
            united[name] = Bins.equal(ends[0], ends[-1], bins=INFERRED_BINS)
        except ValueError:
            raise UsageError(
                f"expected numbers or categories in {name!r}, found numbers at one party and texts at another"
            ) from None
    return Schema(united, inferred=True)


def _in_order(labels: set[str]) -> tuple[str, ...]:
    """Sort numbers as numbers, texts as texts."""
    try:
        numbers = {label: float(label) for label in labels}
    except ValueError:
        return tuple(sorted(labels))
    # NaN has no place among numbers, and every role must come to the same order.
    return tuple(
        sorted(labels, key=lambda label: (numbers[label], label) if math.isfinite(numbers[label]) else (math.inf, label))
    )
