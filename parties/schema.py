"""The schema: how raw values become codes of a public domain.

A JSON object, an entry an attribute, in the order of the result:

    {"workclass": ["Private", "State-gov"],                 categories
     "age": {"edges": [17, 30, 45, 90]},                    bins [17, 30], (30, 45], (45, 90]
     "hours-per-week": {"bins": 16, "range": [1, 99]},      equal-width bins over a public range
     "occupation": {"categories": ["Sales", "Tech-support"], "missing": "drop"}}

`missing` says what becomes of an absent value: "category" gives it one of its own, "drop" leaves
its row out, and without it such a value is refused like any other that is no category. Absent are
nulls and the texts in `missing_as`, as far as none of them is a category; the first of these texts
is the label of the missing category.

Columns of the data that the schema does not name are left out. Without a schema one is inferred
from the data (`inference`), for a quick start: that categories and ranges are taken from private
data is not private, and the report says so.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from ..messages import UsageError
from ..privacy.domain import MOST_LABELS, Domain
from .demo import DEMO_CATEGORIES, DEMO_RANGES

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "DEMO_SCHEMA",
    "MISSING_TEXTS",
    "SCHEMA_FILE",
    "Bins",
    "Categories",
    "Missing",
    "Schema",
    "read_schema",
    "write_schema",
]

Codes = list[npt.NDArray[np.unsignedinteger[Any]]]
"""An array an attribute, of 8 bits where they are enough and of 16 otherwise."""
Missing = Literal["refuse", "category", "drop"]

SCHEMA_FILE: Final = "schema.json"
"""The file in a run's folder that has its schema."""
MISSING_TEXTS: Final = ("?", "", "NA", "N/A", "NaN", "nan", "<NA>", "null", "None")
ABSENT, WRONG = -1, -2


class _Rule(msgspec.Struct, frozen=True, kw_only=True):
    missing: Missing = "refuse"
    missing_as: tuple[str, ...] = MISSING_TEXTS

    def absent(self, text: str) -> bool:
        return self.missing != "refuse" and text in self.missing_as

    def with_missing(self, labels: tuple[str, ...]) -> tuple[str, ...]:
        """Add the label of absent values, which reads as absent again."""
        return (*labels, self.missing_as[0]) if self.missing == "category" else labels

    def check_missing(self, labels: tuple[str, ...]) -> None:
        if not self.missing_as:
            raise ValueError("expected at least one text in missing_as, found none")
        if len(self.with_missing(labels)) > MOST_LABELS:
            raise ValueError(
                f"expected at most {MOST_LABELS} labels, found {len(labels)} and one for missing values"
            )
        if self.missing == "category" and self.missing_as[0] in labels:
            raise ValueError(
                f"expected another category for missing values than {self.missing_as[0]!r}, which is one"
            )


class Categories(_Rule, frozen=True, kw_only=True, tag=True):
    """An attribute with a public list of values."""

    categories: tuple[str, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.categories) <= MOST_LABELS or len(set(self.categories)) < len(
            self.categories
        ):
            raise ValueError(
                f"expected 1 to {MOST_LABELS} different categories, found {len(self.categories)}"
            )
        self.check_missing(self.categories)

    @property
    def labels(self) -> tuple[str, ...]:
        return self.with_missing(self.categories)

    def wanted(self, name: str) -> str:
        return f"a category of {name} ({', '.join(self.categories[:8])}{', ...' if len(self.categories) > 8 else ''})"

    def look_up(self, texts: Sequence[str]) -> npt.NDArray[np.int64]:
        """Find the code of each text: ABSENT for a missing value, WRONG for what is none."""
        at = {label: code for code, label in enumerate(self.categories)}
        return np.array(
            [at.get(text, ABSENT if self.absent(text) else WRONG) for text in texts], np.int64
        )


class Bins(_Rule, frozen=True, kw_only=True, tag=True):
    """A numeric attribute's bins: left-open, right-closed, the first closed on both sides."""

    edges: tuple[float, ...]

    def __post_init__(self) -> None:
        rising = all(low < high for low, high in pairwise(self.edges))
        if (
            not 2 <= len(self.edges) <= MOST_LABELS
            or not rising
            or not np.isfinite(self.edges).all()
        ):
            found = list(self.edges) if len(self.edges) < 20 else f"{len(self.edges)} of them"
            raise ValueError(
                f"expected 2 to {MOST_LABELS} finite bin edges that rise, found {found}"
            )
        self.check_missing(self.own_labels)

    @classmethod
    def equal(cls, low: float, high: float, *, bins: int, missing: Missing = "refuse") -> Bins:
        return cls(
            edges=(*(low + (high - low) * i / bins for i in range(bins)), high), missing=missing
        )

    @property
    def own_labels(self) -> tuple[str, ...]:
        shown = _shown(self.edges)
        return tuple(
            f"{'[' if i == 0 else '('}{low}, {high}]"
            for i, (low, high) in enumerate(pairwise(shown))
        )

    @property
    def labels(self) -> tuple[str, ...]:
        return self.with_missing(self.own_labels)

    def wanted(self, name: str) -> str:
        return f"a number from {self.edges[0]:g} to {self.edges[-1]:g} for {name}"

    def bin(self, numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """Find the bin of each number; WRONG outside of all, and for no number."""
        # side="left": a value on an edge belongs to the bin that it closes.
        codes = np.maximum(np.searchsorted(self.edges, numbers, side="left") - 1, 0)
        inside = (numbers >= self.edges[0]) & (numbers <= self.edges[-1])
        return np.where(inside, codes, WRONG).astype(np.int64)

    def look_up(self, texts: Sequence[str]) -> npt.NDArray[np.int64]:
        """Find the bin of each text: of a number, or of a bin's own label, as a published table has
        them.
        """
        at = {label: code for code, label in enumerate(self.own_labels)}
        codes = self.bin(np.array([number(text) for text in texts], np.float64))
        others = [at.get(text, ABSENT if self.absent(text) else WRONG) for text in texts]
        return np.where(codes == WRONG, np.array(others, np.int64), codes)


def number(text: str) -> float:
    """Read a number as Python does; anything else is not a number."""
    try:
        return float(text) if "_" not in text else np.nan
    except ValueError:
        return np.nan


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
    """Attributes in order, and the rule of each."""

    attributes: dict[str, Categories | Bins]
    inferred: bool = False

    @property
    def domain(self) -> Domain:
        return Domain({name: rule.labels for name, rule in self.attributes.items()})

    @property
    def numeric(self) -> tuple[str, ...]:
        return tuple(name for name, rule in self.attributes.items() if isinstance(rule, Bins))

    def encode(self, table: pd.DataFrame, *, before: int = 0) -> Codes:
        """Write a table as codes, without the rows that `missing` drops.

        A value outside the schema is a `UsageError` that names it and its row, counted from 1 after
        so many rows `before`.
        """
        columns: list[npt.NDArray[np.int64]] = []
        keep = np.ones(len(table), np.bool_)
        for name, rule in self.attributes.items():
            if name not in table.columns:
                raise UsageError(
                    f"expected a column {name!r}, as the schema says, found {', '.join(map(str, table.columns))}"
                )
            codes = _codes(rule, table[name])
            if len(
                wrong := np.flatnonzero(
                    (codes == WRONG) | ((codes == ABSENT) & (rule.missing == "refuse"))
                )
            ):
                row, found = before + int(wrong[0]) + 1, _show(table[name].iloc[wrong[0]])
                raise UsageError(f"expected {rule.wanted(name)}, found {found} in row {row}")
            if rule.missing == "category":
                codes = np.where(codes == ABSENT, len(rule.labels) - 1, codes)
            else:
                keep &= codes != ABSENT
            columns.append(codes)
        kept = columns if keep.all() else [codes[keep] for codes in columns]
        rules = self.attributes.values()
        return [
            codes.astype(code_type(len(rule.labels)))
            for codes, rule in zip(kept, rules, strict=True)
        ]


def code_type(labels: int) -> type[np.uint8 | np.uint16]:
    """Choose how wide the codes of so many labels are."""
    return np.uint8 if labels <= 256 else np.uint16


def _show(value: object) -> str:
    """Quote a value as it was written, as far as that is known, and not all of a long one."""
    text = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
    return repr(text if len(text) <= 60 else f"{text[:57]}...")


def _codes(rule: Categories | Bins, column: pd.Series[Any]) -> npt.NDArray[np.int64]:
    """Look a column up, each different value once; nulls are ABSENT."""
    if isinstance(rule, Bins) and column.dtype.kind in "iuf":
        numbers = column.to_numpy(dtype=np.float64)
        return np.where(np.isnan(numbers), ABSENT, rule.bin(numbers))
    places, texts = values_of(column)
    found = np.append(rule.look_up(texts), ABSENT)  # place -1, a null, is the last
    return found[places]


def values_of(column: pd.Series[Any]) -> tuple[npt.NDArray[np.int64], list[str]]:
    """List a column's values as texts, and say for each row which it has: -1 for a null. A text may
    be listed twice.
    """
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        return np.asarray(column.cat.codes, np.int64), [
            str(value) for value in column.cat.categories
        ]
    if column.dtype == object and pd.api.types.infer_dtype(column, skipna=True) != "string":
        # 1, 1.0 and True are equal and have one hash, but are three texts.
        texts = [
            None if null else str(value) for value, null in zip(column, column.isna(), strict=True)
        ]
        column = pd.Series(texts, dtype=object)
    elif column.dtype.kind == "f":
        column = column + 0.0
    places, values = pd.factorize(column, use_na_sentinel=True)
    return np.asarray(places, np.int64), [str(value) for value in values]


class _Written(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A rule in a file."""

    categories: list[str] | None = None
    edges: list[float] | None = None
    bins: Annotated[int, msgspec.Meta(ge=1, le=MOST_LABELS - 1)] | None = None
    range: tuple[float, float] | None = None
    missing: Missing = "refuse"
    missing_as: list[str] | None = None

    def rule(self) -> Categories | Bins:
        texts = MISSING_TEXTS if self.missing_as is None else tuple(self.missing_as)
        given = [
            self.categories is not None,
            self.edges is not None,
            self.bins is not None,
            self.range is not None,
        ]
        if given == [True, False, False, False]:
            return Categories(
                categories=tuple(self.categories or ()), missing=self.missing, missing_as=texts
            )
        if given == [False, True, False, False]:
            return Bins(edges=tuple(self.edges or ()), missing=self.missing, missing_as=texts)
        if self.bins is not None and self.range is not None and given[:2] == [False, False]:
            return msgspec.structs.replace(
                Bins.equal(*self.range, bins=self.bins, missing=self.missing), missing_as=texts
            )
        raise ValueError("expected either categories, or edges, or bins and range")


def read_schema(source: str | os.PathLike[str] | Mapping[str, Any]) -> Schema:
    """Read a schema from a file, or from a dictionary; what is wrong in it is a `UsageError` that
    names the attribute.
    """
    path = "the schema" if isinstance(source, Mapping) else str(source)
    try:
        given = json.dumps({**source}, default=_of_numpy) if isinstance(source, Mapping) else None
        found = _parse(
            given if given is not None else Path(str(source)).read_text(encoding="utf-8-sig")
        )
    except OSError as error:
        raise UsageError(f"expected a schema at {path}, found {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"expected a schema, a JSON object, in {path}, found: {error}") from None
    if not found:
        raise UsageError(f"expected at least one attribute in {path}, found none")
    return Schema({name: _read_rule(name, rule, path) for name, rule in found.items()})


def _of_numpy(value: Any) -> Any:
    """Write numpy's numbers and arrays, of which edges are often made, as JSON has them."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise ValueError(f"{type(value).__name__}: expected labels, numbers and lists of them")


def _parse(text: str) -> dict[str, Any]:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
            raise ValueError(f"{twice[0]!r} twice")
        return dict(pairs)

    found = json.loads(text, object_pairs_hook=once)
    if not isinstance(found, dict):
        raise ValueError(f"no object but {text.strip()[:20]}")  # noqa: TRY004 - of the text, not of a type in the program
    return found


def _read_rule(name: str, written: Any, path: str) -> Categories | Bins:
    try:
        return msgspec.convert(
            {"categories": written} if isinstance(written, list) else written, _Written
        ).rule()
    except (msgspec.ValidationError, ValueError) as error:
        raise UsageError(f"attribute {name!r} in {path}: {error}") from None


def write_schema(schema: Schema) -> str:
    """Write a schema as `read_schema` reads it, an attribute a line."""
    lines = [
        f"  {json.dumps(name, ensure_ascii=False)}: {json.dumps(msgspec.to_builtins(_written(rule)), ensure_ascii=False)}"
        for name, rule in schema.attributes.items()
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _written(rule: Categories | Bins) -> object:
    texts = None if rule.missing_as == MISSING_TEXTS else list(rule.missing_as)
    if isinstance(rule, Categories):
        if rule.missing == "refuse" and texts is None:
            return list(rule.categories)
        return _Written(categories=list(rule.categories), missing=rule.missing, missing_as=texts)
    bins, low, high = len(rule.edges) - 1, rule.edges[0], rule.edges[-1]
    if rule.edges == Bins.equal(low, high, bins=bins).edges:
        return _Written(
            bins=bins, range=(_plain(low), _plain(high)), missing=rule.missing, missing_as=texts
        )
    return _Written(edges=[*map(_plain, rule.edges)], missing=rule.missing, missing_as=texts)


def _plain(value: float) -> float:
    return int(value) if value == int(value) else value


DEMO_SCHEMA: Final = Schema(
    {
        name: Categories(categories=DEMO_CATEGORIES[name])
        if name in DEMO_CATEGORIES
        else Bins.equal(*DEMO_RANGES[name], bins=16)
        for name in (
            "age",
            "workclass",
            "fnlwgt",
            "education",
            "education-num",
            "marital-status",
            "occupation",
            "relationship",
            "race",
            "sex",
            "capital-gain",
            "capital-loss",
            "hours-per-week",
            "native-country",
            "income",
        )
    }
)
"""The demo table's own: public, since nobody's data made it."""
