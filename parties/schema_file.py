"""A schema as JSON: an object with an entry for each attribute, in the order of the result.

    {"workclass": ["Private", "State-gov"],                 categories
     "age": {"edges": [17, 30, 45, 90]},                    bins [17, 30], (30, 45], (45, 90]
     "hours-per-week": {"bins": 16, "range": [1, 99]},      bins of equal width over a public range
     "occupation": {"categories": ["Sales", "Tech-support"], "missing": "drop"},
     "country": {"categories": ["France", "Italy"], "other": "elsewhere"},
     "capital-gain": {"edges": [0, 5000, 10000], "clip": true},
     "weight": {"edges": [40, 60, 80, 120], "kind": "numbers"},
     "admitted": {"edges": ["2023-01-01", "2023-06-30", "2023-12-31"]},     bins of dates
     "born": {"by": "year", "range": ["1920-01-01", "2023-12-31"]},         a bin for each year
     "visit": {"by": "weekday"},                                            Monday to Sunday
     "smoker": {"categories": ["no", "yes"], "spellings": {"No": "no", "Y": "yes"}},
     "insured": {"categories": ["False", "True"], "kind": "booleans"},
     "grade": {"categories": ["low", "high"], "kind": "ordered"},
     "weight_de": {"edges": [40, 60.5, 120], "decimal": ",", "unit": "kg"}}

`missing` says what becomes of an absent value: "category" gives it a category of its own, "drop"
drops its row. Without it an absent value is refused, like any other value outside the schema.
Absent values are nulls and the texts in `missing_as` that are no category. The first of these texts
is the label of the category.

`kind` says what an attribute with bins holds: "numbers", "integers", or "dates". Without it, edges
that are texts are dates. Numbers are integers if the first edge and the last are whole and each bin
has a whole number. A published table has values of this kind, drawn within their bins. Categories
are "texts", or "categorical", "ordered", "integers", "numbers" or "booleans".

`by` makes bins of dates by "day", "week", "month", "quarter", "year" or "decade"; "weekday" and
"month-of-year" make categories. `formats` says how dates are written, and `decimal`, `thousands`
and `unit` how numbers are. `spellings` maps other texts to categories. `"unreadable": "missing"`
counts a text that is no number, or no date, as missing.

Combinations of labels that no record has stand under `never`, beside the attributes:

     "never": [{"age": {"to": 14}, "marital": ["married", "widowed"]}]

An attribute of an entry has a list of labels, or a range of its bins: `from`, `to`, or both. A
record with such a combination counts as a near one that is possible. The last attribute of the
entry gives way. No published row has such a combination.

An attribute may be learnt privately (`schema_plan`):

     "income": "private"                                    bins or categories, as noisy counts say
     "hours": {"private": "numbers", "bins": 8}             at most 8 bins
     "children": {"private": "integers"}                    bins whose edges are whole numbers
     "city": {"private": "categories"}
     "*": "private"                                         all columns that the file does not name

`other` is the label of all values that are not listed. With `clip` a number outside all bins counts
in the nearest one, and a value that is no number in the middle one. Neither refuses anything.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Final, Literal, cast

import msgspec
import numpy as np

from ..messages import UsageError
from ..privacy.domain import MAX_LABELS
from .date_texts import MONTHS, WEEKDAYS, Period, day_number, day_text
from .never import read_never
from .number_texts import NumberForm
from .rules import (
    MISSING_TEXTS,
    Bins,
    Categories,
    CategoryKind,
    Missing,
    NumberKind,
    has_whole_numbers,
)
from .schema import Schema
from .schema_plan import LEARN_ALL, Learnt, LearntKind, SchemaPlan

__all__ = ["PRIVATE", "SCHEMA_FILE", "read_plan", "read_schema", "write_schema"]

PRIVATE: Final = "private"
"""The word for what is learnt privately: a whole schema, or the rule of an attribute."""
NEVER: Final = "never"
"""The name of the list of impossible combinations; an attribute has no list of objects."""
REST: Final = "*"
"""The name that stands for all columns that a file does not name."""

SCHEMA_FILE: Final = "schema.json"
"""The file in a run's folder that has its schema."""


CALENDAR: Final[dict[str, Categories]] = {
    "weekday": Categories(categories=WEEKDAYS, kind="weekdays"),
    "month-of-year": Categories(categories=MONTHS, kind="months"),
}
"""Categories of dates."""
OF_BINS: Final = ("edges", "bins", "range", "clip", "decimal", "thousands", "unit", "unreadable")
OF_CATEGORIES: Final = ("categories", "other", "spellings")


class _RuleEntry(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A rule as an object in the file."""

    categories: list[str] | None = None
    private: LearntKind | None = None
    by: Literal["weekday", "month-of-year"] | Period | None = None
    edges: list[float | str] | None = None
    bins: Annotated[int, msgspec.Meta(ge=1, le=MAX_LABELS - 1)] | None = None
    range: tuple[float | str, float | str] | None = None
    kind: NumberKind | CategoryKind | None = None
    spellings: dict[str, str] | None = None
    other: str | None = None
    clip: bool = False
    decimal: str = "."
    thousands: str = ""
    unit: str = ""
    formats: list[str] | None = None
    unreadable: Literal["refuse", "missing"] = "refuse"
    missing: Missing = "refuse"
    missing_as: list[str] | None = None

    def rule(self) -> Categories | Bins | Learnt:
        if self.private is not None:
            return self._learnt()
        if self.categories is not None:
            return self._categories()
        if self.by in CALENDAR:
            self._allow("by", "formats", "missing", "missing_as")
            return msgspec.structs.replace(CALENDAR[self.by], **self._of_texts())
        for name in OF_CATEGORIES:
            if getattr(self, name) is not None:
                what = ": clip is theirs" if name == "other" else ""
                raise ValueError(f"expected {name} beside categories, found it beside bins{what}")
        match self.edges, self.bins, self.range, self.by:
            case list(edges), None, None, None:
                return self._bins(_edges(edges, kind=self._number_kind))
            case None, None, (low, high), str() as period:
                first, last = _edges((low, high), kind="dates")
                bins = Bins.of_periods(first, last, by=cast("Period", period))
                return msgspec.structs.replace(self._bins(bins.edges, kind="dates"), by=bins.by)
            case None, int(bins), (low, high), None:
                first, last = _edges((low, high), kind=self._number_kind)
                inner = Bins.equal(first, last, bins=bins).edges
                is_date = isinstance(low, str)
                return self._bins(tuple(map(float, map(round, inner))) if is_date else inner)
        raise ValueError(
            "expected either categories, or edges, or bins and range, or by and range of dates"
        )

    def _learnt(self) -> Learnt:
        if self not in (
            _RuleEntry(private=self.private),
            _RuleEntry(private=self.private, bins=self.bins),
        ):
            raise ValueError("expected nothing but bins beside private")
        kind = self.private or "any"
        return Learnt(kind=kind) if self.bins is None else Learnt.of(kind, bins=self.bins)

    def _categories(self) -> Categories:
        for name in OF_BINS:
            if getattr(self, name) != getattr(_RuleEntry(), name):
                what = ": other is theirs" if name == "clip" else ""
                if name in {"edges", "bins", "range"}:
                    raise ValueError("expected either categories, or edges, or bins and range")
                raise ValueError(f"expected {name} beside bins, found it beside categories{what}")
        if self.kind in {"dates", "weekdays", "months"} or self.by is not None:
            raise ValueError(
                "expected bins of dates, or by, found categories of dates: leave out the categories"
            )
        return Categories(
            categories=tuple(self.categories or ()),
            other=self.other,
            kind=cast("CategoryKind", self.kind or "texts"),
            spellings=self.spellings or {},
            **self._of_missing(),
        )

    def _allow(self, *names: str) -> None:
        """Refuse every field beside these."""
        defaults = _RuleEntry()
        for name in self.__struct_fields__:
            if name not in names and getattr(self, name) != getattr(defaults, name):
                raise ValueError(f"expected no {name} beside by: {self.by}")

    @property
    def _number_kind(self) -> NumberKind | None:
        if self.kind not in {None, "numbers", "integers", "dates"}:
            raise ValueError(f"expected categories of the kind {self.kind}, found bins")
        return self.kind

    def _of_missing(self) -> dict[str, Any]:
        texts = MISSING_TEXTS if self.missing_as is None else tuple(self.missing_as)
        return {"missing": self.missing, "missing_as": texts}

    def _of_texts(self) -> dict[str, Any]:
        return {**self._of_missing(), "formats": tuple(self.formats or ())}

    def _bins(self, edges: tuple[float, ...], *, kind: NumberKind | None = None) -> Bins:
        values = self.edges or self.range or ()
        is_date = any(isinstance(value, str) for value in values)
        kind = kind or ("dates" if is_date else self._number_kind) or _usual_kind(edges)
        form = NumberForm(decimal=self.decimal, thousands=self.thousands, unit=self.unit)
        if kind == "dates" and form != NumberForm():
            raise ValueError("expected formats for dates, found how numbers are written")
        if kind != "dates" and self.formats:
            raise ValueError("expected formats beside dates, found them beside numbers")
        return Bins(
            edges=edges,
            kind=kind,
            clip=self.clip,
            form=form,
            unreadable=self.unreadable,
            **self._of_texts(),
        )


def _edges(values: Sequence[float | str], *, kind: NumberKind | None) -> tuple[float, ...]:
    """Read edges: numbers, or dates as days."""
    texts = [value for value in values if isinstance(value, str)]
    if not texts and kind != "dates":
        return tuple(float(value) for value in values)
    days = [day_number(value) if isinstance(value, str) else np.nan for value in values]
    wrong = [value for value, day in zip(values, days, strict=True) if np.isnan(day)]
    if wrong or kind not in (None, "dates"):
        raise ValueError(
            f"expected numbers, or dates such as 2024-01-31, found {(wrong or texts)[0]!r}"
        )
    return tuple(days)


def _usual_kind(edges: Sequence[float]) -> NumberKind:
    """Choose the kind of numbers that a schema says nothing of."""
    if len(edges) < 2 or not all(low < high for low, high in pairwise(edges)):
        return "numbers"
    ends_are_whole = float(edges[0]).is_integer() and float(edges[-1]).is_integer()
    return "integers" if ends_are_whole and has_whole_numbers(edges) else "numbers"


def read_schema(source: str | os.PathLike[str] | Mapping[str, Any]) -> Schema:
    """Read a schema from a file or a dictionary.

    A mistake in it is a `UsageError` that names the attribute.
    """
    plan = read_plan(source)
    if isinstance(plan, SchemaPlan):
        name = next(iter([*plan.learnt, REST]))
        raise UsageError(
            f"attribute {name!r} in {_name(source)}: expected a rule, found that it is private, "
            "which only a run can learn"
        )
    return plan


def read_plan(source: str | os.PathLike[str] | Mapping[str, Any]) -> Schema | SchemaPlan:
    """Read a schema, or the plan of one that is learnt; "private" plans to learn all of it.

    A mistake in it is a `UsageError` that names the attribute.
    """
    if source == PRIVATE:
        return LEARN_ALL
    path = _name(source)
    try:
        if isinstance(source, Mapping):
            text = json.dumps({**source}, default=_numpy_value)
        else:
            text = Path(str(source)).read_text(encoding="utf-8-sig")
        entries = _parse(text)
    except OSError as error:
        raise UsageError(f"expected a schema at {path}, found {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"expected a schema, a JSON object, in {path}, found: {error}") from None
    if not entries:
        raise UsageError(f"expected at least one attribute in {path}, found none")
    never = entries.pop(NEVER) if _is_list_of_objects(entries.get(NEVER)) else []
    rules = {name: _read_rule(name, entry, path) for name, entry in entries.items()}
    rest = rules.pop(REST, None)
    if rest is not None and not isinstance(rest, Learnt):
        raise UsageError(f'attribute {REST!r} in {path}: expected "private", found a rule')
    public_rules = {name: rule for name, rule in rules.items() if not isinstance(rule, Learnt)}
    if rest is None and len(public_rules) == len(rules):
        try:
            return Schema(public_rules, never=tuple(read_never(never, public_rules)))
        except ValueError as error:
            raise UsageError(f"{NEVER!r} in {path}: {error}") from None
    if never:
        raise UsageError(f"{NEVER!r} in {path}: expected no private attributes beside it")
    try:
        return SchemaPlan(rules, rest=rest)
    except ValueError as error:
        raise UsageError(f"expected another schema in {path}: {error}") from None


def _name(source: object) -> str:
    return "the schema" if isinstance(source, Mapping) else str(source)


def write_schema(schema: Schema) -> str:
    """Write a schema as `read_schema` reads it, an attribute a line."""
    lines = []
    for name, rule in schema.attributes.items():
        entry = json.dumps(msgspec.to_builtins(_entry(rule)), ensure_ascii=False)
        lines.append(f"  {json.dumps(name, ensure_ascii=False)}: {entry}")
    if schema.never:
        lines.append(f'  "{NEVER}": {json.dumps(schema.never, ensure_ascii=False)}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _numpy_value(value: Any) -> object:
    """Convert numpy's numbers and arrays, of which edges are often made, for JSON."""
    if isinstance(value, np.generic | np.ndarray):
        converted: object = value.tolist()
        return converted
    raise ValueError(f"{type(value).__name__}: expected labels, numbers and lists of them")


def _parse(text: str) -> dict[str, Any]:
    def without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        if duplicates := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
            raise ValueError(f"{duplicates[0]!r} twice")
        return dict(pairs)

    entries = json.loads(text, object_pairs_hook=without_duplicates)
    if not isinstance(entries, dict):
        raise ValueError(f"no object but {text.strip()[:20]}")  # noqa: TRY004 - this is about the text
    return entries


def _is_list_of_objects(entry: object) -> bool:
    return isinstance(entry, list) and any(isinstance(item, dict) for item in entry)


def _read_rule(name: str, entry: Any, path: str) -> Categories | Bins | Learnt:
    try:
        fields = {"categories": entry} if isinstance(entry, list) else entry
        fields = {PRIVATE: "any"} if entry == PRIVATE else fields
        return msgspec.convert(fields, _RuleEntry).rule()
    except (msgspec.ValidationError, ValueError) as error:
        raise UsageError(f"attribute {name!r} in {path}: {error}") from None


def _entry(rule: Categories | Bins) -> _RuleEntry | list[str]:
    entry = _RuleEntry(
        missing=rule.missing,
        missing_as=None if rule.missing_as == MISSING_TEXTS else list(rule.missing_as),
        formats=[*rule.formats] or None,
    )
    if isinstance(rule, Categories):
        if rule.kind in {"weekdays", "months"}:
            return msgspec.structs.replace(
                entry, by="weekday" if rule.kind == "weekdays" else "month-of-year"
            )
        entry = msgspec.structs.replace(
            entry,
            categories=list(rule.categories),
            other=rule.other,
            kind=None if rule.kind == "texts" else rule.kind,
            spellings=dict(rule.spellings) or None,
        )
        only = _RuleEntry(categories=entry.categories)
        return list(rule.categories) if entry == only else entry
    entry = msgspec.structs.replace(
        entry,
        kind=None if rule.kind == _usual_kind(rule.edges) else rule.kind,
        clip=rule.clip,
        decimal=rule.form.decimal,
        thousands=rule.form.thousands,
        unit=rule.form.unit,
        unreadable=rule.unreadable,
    )
    edges: list[float | str] = [_short(edge) for edge in rule.edges]
    if rule.kind == "dates":
        edges = [day_text(np.ceil(edge)) for edge in rule.edges]
        entry = msgspec.structs.replace(entry, kind=None)
        if rule.by is not None:
            return msgspec.structs.replace(entry, by=rule.by, range=(edges[0], edges[-1]))
    bins, low, high = len(edges) - 1, rule.edges[0], rule.edges[-1]
    if rule.kind != "dates" and rule.edges == Bins.equal(low, high, bins=bins).edges:
        return msgspec.structs.replace(entry, bins=bins, range=(edges[0], edges[-1]))
    return msgspec.structs.replace(entry, edges=edges)


def _short(value: float) -> float:
    """Return a whole number as an integer, which is written without a fraction."""
    return int(value) if value == int(value) else value
