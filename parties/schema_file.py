"""A schema as JSON: an object with an entry for each attribute, in the order of the result.

    {"workclass": ["Private", "State-gov"],                 categories
     "age": {"edges": [17, 30, 45, 90]},                    bins [17, 30], (30, 45], (45, 90]
     "hours-per-week": {"bins": 16, "range": [1, 99]},      bins of equal width over a public range
     "occupation": {"categories": ["Sales", "Tech-support"], "missing": "drop"},
     "country": {"categories": ["France", "Italy"], "other": "elsewhere"},
     "capital-gain": {"edges": [0, 5000, 10000], "clip": true},
     "weight": {"edges": [40, 60, 80, 120], "kind": "numbers"},
     "price": {"edges": [0, 5, 20, 100], "step": 0.05},     published in multiples of it
     "admitted": {"edges": ["2023-01-01", "2023-06-30", "2023-12-31"]},     bins of dates
     "born": {"by": "year", "range": ["1920-01-01", "2023-12-31"]},         a bin for each year
     "visit": {"by": "weekday"},                                            Monday to Sunday
     "called": {"by": "hour"},                                              times of day by hour
     "smoker": {"categories": ["no", "yes"], "spellings": {"No": "no", "Y": "yes"}},
     "insured": {"categories": ["False", "True"], "kind": "booleans"},
     "grade": {"categories": ["low", "high"], "kind": "ordered"},
     "weight_de": {"edges": [40, 60.5, 120], "decimal": ",", "unit": "kg"}}

`missing` says what becomes of an absent value: "category" gives it a category of its own, "drop"
drops its row, and "infer" is a category that published tables replace by values of other rows.
Without it an absent value is refused, like any other value outside the schema. Absent values are
nulls and the texts in `missing_as` that are no category. The first of these texts is the label of
the category.

`kind` says what an attribute with bins holds: "numbers", "integers", or "dates". Without it, edges
that are texts are dates. Numbers are integers if the first edge and the last are whole and each bin
has a whole number, and no `step` beside them is a fraction. A published table has values of this
kind, drawn within their bins: multiples of the `step`, if there is one. Categories are "texts", or
"categorical", "ordered", "integers", "numbers" or "booleans".

`by` makes bins of dates by "day", "week", "month", "quarter", "year" or "decade"; "weekday",
"month-of-year" and, of times of day, "hour" make categories. A published time lies within its hour.
`formats` says how dates and times are written, and `decimal`, `thousands` and `unit` how numbers
are. `spellings` maps other texts to categories. `"unreadable": "missing"` counts a text that is no
number, or no date, as missing.

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
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, get_args

import msgspec
import numpy as np

from ..messages import UsageError
from .bins import Bins, NumberKind
from .categories import Categories, CategoryKind
from .date_texts import PERIODS
from .never import read_never
from .rule_entry import CALENDAR, RuleEntry, entry_of
from .rules import Missing
from .schema import Schema
from .schema_plan import LEARN_ALL, Learnt, LearntKind, SchemaPlan

__all__ = ["PRIVATE", "SCHEMA_FILE", "read_plan", "read_schema", "write_schema"]

PRIVATE: Final = "private"
"""The word for what is learnt privately: a whole schema, or the rule of an attribute."""
CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "by": (*CALENDAR, *PERIODS),
    "kind": tuple(
        sorted(
            {*get_args(NumberKind), *get_args(CategoryKind)}
            - {categories.kind for categories in CALENDAR.values()}
        )
    ),
    "missing": get_args(Missing),
    "private": get_args(LearntKind),
    "unreadable": ("refuse", "missing"),
}
"""The words that a field of an entry can have."""
NEVER: Final = "never"
"""The name of the list of impossible combinations; an attribute has no list of objects."""
REST: Final = "*"
"""The name that stands for all columns that a file does not name."""

SCHEMA_FILE: Final = "schema.json"
"""The file in a run's folder that has its schema."""


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
        entry = json.dumps(msgspec.to_builtins(entry_of(rule)), ensure_ascii=False)
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
        return msgspec.convert(fields, RuleEntry).rule()
    except (msgspec.ValidationError, ValueError) as error:
        wrong = next((field for field in CHOICES if str(error).endswith(f"`$.{field}`")), None)
        text = str(error) if wrong is None else _choices_text(wrong, fields)
        raise UsageError(f"attribute {name!r} in {path}: {text}") from None


def _choices_text(field: str, fields: Mapping[str, Any]) -> str:
    """Say which words a field of an entry can have."""
    words = ", ".join(map(repr, CHOICES[field]))
    return f"expected one of {words} for {field}, found {fields[field]!r}"
