"""The entry of a rule in a schema's file: an object of JSON, which is read and written here.

`schema_file` says what its fields mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Any, Final, Literal, cast

import msgspec
import numpy as np

from ..privacy.domain import MAX_LABELS
from .bins import Bins, NumberKind, has_whole_numbers
from .categories import Categories, CategoryKind
from .clock_texts import HOURS
from .date_texts import MONTHS, WEEKDAYS, Period, day_number, day_text
from .number_texts import NumberForm
from .rules import MISSING_TEXTS, Missing
from .schema_plan import Learnt, LearntKind

__all__ = ["CALENDAR", "RuleEntry", "entry_of"]

CALENDAR: Final[dict[str, Categories]] = {
    "weekday": Categories(categories=WEEKDAYS, kind="weekdays"),
    "month-of-year": Categories(categories=MONTHS, kind="months"),
    "hour": Categories(categories=HOURS, kind="hours"),
}
"""Categories of dates and of times of day."""
OF_BINS: Final = (
    "edges",
    "bins",
    "range",
    "clip",
    "step",
    "decimal",
    "thousands",
    "unit",
    "unreadable",
)
OF_CATEGORIES: Final = ("categories", "other", "spellings")


class RuleEntry(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A rule as an object in the file."""

    categories: list[str] | None = None
    private: LearntKind | None = None
    by: Literal["weekday", "month-of-year", "hour"] | Period | None = None
    edges: list[float | str] | None = None
    bins: Annotated[int, msgspec.Meta(ge=1, le=MAX_LABELS - 1)] | None = None
    range: tuple[float | str, float | str] | None = None
    kind: NumberKind | CategoryKind | None = None
    spellings: dict[str, str] | None = None
    other: str | None = None
    clip: bool = False
    step: float | None = None
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
                first, last = _range(low, high, kind="dates")
                bins = Bins.of_periods(first, last, by=cast("Period", period))
                return msgspec.structs.replace(self._bins(bins.edges, kind="dates"), by=bins.by)
            case None, int(bins), (low, high), None:
                first, last = _range(low, high, kind=self._number_kind)
                inner = Bins.equal(first, last, bins=bins).edges
                is_date = isinstance(low, str)
                return self._bins(tuple(map(float, map(round, inner))) if is_date else inner)
        raise ValueError(
            "expected either categories, or edges, or bins and range, or by and range of dates"
        )

    def _learnt(self) -> Learnt:
        if self not in (
            RuleEntry(private=self.private),
            RuleEntry(private=self.private, bins=self.bins),
        ):
            raise ValueError("expected nothing but bins beside private")
        kind = self.private or "any"
        return Learnt(kind=kind) if self.bins is None else Learnt.of(kind, bins=self.bins)

    def _categories(self) -> Categories:
        for name in OF_BINS:
            if getattr(self, name) != getattr(RuleEntry(), name):
                what = ": other is theirs" if name == "clip" else ""
                if name in {"edges", "bins", "range"}:
                    raise ValueError("expected either categories, or edges, or bins and range")
                raise ValueError(f"expected {name} beside bins, found it beside categories{what}")
        if self.kind in {"dates", "weekdays", "months", "hours"} or self.by is not None:
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
        defaults = RuleEntry()
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
        kind = kind or ("dates" if is_date else self._number_kind) or _usual_kind(edges, self.step)
        form = NumberForm(decimal=self.decimal, thousands=self.thousands, unit=self.unit)
        if kind == "dates" and form != NumberForm():
            raise ValueError("expected formats for dates, found how numbers are written")
        if kind != "dates" and self.formats:
            raise ValueError("expected formats beside dates, found them beside numbers")
        return Bins(
            edges=edges,
            kind=kind,
            clip=self.clip,
            step=self.step,
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


def _range(low: float | str, high: float | str, *, kind: NumberKind | None) -> tuple[float, float]:
    """Read the two ends of a range, as `_edges` reads them."""
    first, last = _edges((low, high), kind=kind)
    if not first < last:
        raise ValueError(f"expected a range that rises, found {_text(low)} to {_text(high)}")
    return first, last


def _text(end: float | str) -> str:
    return end if isinstance(end, str) else f"{end:g}"


def _usual_kind(edges: Sequence[float], step: float | None) -> NumberKind:
    """Choose the kind of numbers that a schema says nothing of."""
    if (step is not None and not step.is_integer()) or len(edges) < 2:
        return "numbers"
    if not all(low < high for low, high in pairwise(edges)):
        return "numbers"
    ends_are_whole = float(edges[0]).is_integer() and float(edges[-1]).is_integer()
    return "integers" if ends_are_whole and has_whole_numbers(edges) else "numbers"


def entry_of(rule: Categories | Bins) -> RuleEntry | list[str]:
    entry = RuleEntry(
        missing=rule.missing,
        missing_as=None if rule.missing_as == MISSING_TEXTS else list(rule.missing_as),
        formats=[*rule.formats] or None,
    )
    if isinstance(rule, Categories):
        for by, calendar in CALENDAR.items():
            if rule.kind == calendar.kind:
                return msgspec.structs.replace(entry, by=by)
        entry = msgspec.structs.replace(
            entry,
            categories=list(rule.categories),
            other=rule.other,
            kind=None if rule.kind == "texts" else rule.kind,
            spellings=dict(rule.spellings) or None,
        )
        only = RuleEntry(categories=entry.categories)
        return list(rule.categories) if entry == only else entry
    entry = msgspec.structs.replace(
        entry,
        kind=None if rule.kind == _usual_kind(rule.edges, rule.step) else rule.kind,
        clip=rule.clip,
        step=None if rule.step is None else _short(rule.step),
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
