"""The papers' datasets: where each is to be had, and how the file that a person gives becomes the
tables that runs take.

Nothing is downloaded. A file is a CSV (also .gz) with a header, or Parquet. Its schema is, in this
order: `NAME.schema.json` or `schema.json` beside it, as `--schema` reads it; what a `*-domain.json`
beside it says, which describes columns and codes; for Adult the public code book; otherwise it is
inferred from the file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from ..messages import UsageError
from ..parties import (
    DEMO_SCHEMA,
    Bins,
    Categories,
    Schema,
    blocks,
    infer,
    merge,
    read_schema,
    write_schema,
)
from ..parties.raw import join_tables
from ..parties.rules import MISSING_TEXTS
from ..report.folder import put
from .cells import key_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["DATASETS", "TABLES", "Dataset", "Given", "Prepared", "prepare", "read_given"]


class Dataset(NamedTuple):
    """Where a dataset is to be had."""

    title: str
    where: str
    rows: int
    """How many it has."""


DATASETS: Final[Mapping[str, Dataset]] = {
    "adult": Dataset(
        "Adult, 48,842 people of the US census of 1994, 15 attributes",
        "UCI Machine Learning Repository, dataset 2: adult.data and adult.test one after the other, with a header",
        48_842,
    ),
    "smartgrid": Dataset(
        "Smart Grid Stability, augmented: 60,000 simulated grids, 14 columns with stab and stabf",
        "Kaggle, pcbreviglieri/smart-grid-stability: smart_grid_stability_augmented.csv",
        60_000,
    ),
    "healthcare": Dataset(
        "AV Healthcare Analytics II, 318,438 hospital stays, 18 columns with Stay",
        "Kaggle, nehaprabhavalkar/av-healthcare-analytics-ii: train_data.csv",
        318_438,
    ),
    "retail": Dataset(
        "Retail, 88,162 purchases: a 0/1 column for each of the 50 most frequent items",
        "FIMI repository, retail.dat; count the items and keep 50",
        88_162,
    ),
    "aol": Dataset(
        "AOL's search log, 619,418 users, 45 0/1 columns as PriView's authors made them",
        "withdrawn by its publisher in 2006; of PriView's authors, if at all",
        619_418,
    ),
    "kosarak": Dataset(
        "Kosarak, clicks on a news site: a 0/1 column for each of the most frequent pages",
        "FIMI repository, kosarak.dat; count the pages and keep as many as the experiment needs",
        990_002,
    ),
    "br2000": Dataset(
        "BR2000, 38,000 people of Brazil's census of 2000, 14 attributes",
        "IPUMS International, with registration; PrivBayes's authors have the sample",
        38_000,
    ),
    "tpc-e": Dataset(
        "TPC-E, 40,000 trades of a simulated broker, 24 columns",
        "the generator EGen of tpc.org; everybody's are others than the authors'",
        40_000,
    ),
}

MARKS: Final = ("standin", "stand-in", "stand_in", "synthetic")
"""In the name of a file or folder, or of a description beside it: not the dataset itself."""
GENERATED: Final = ("tpc-e",)
LABELS: Final = {"smartgrid": ("stabf",), "healthcare": ("Stay",)}
CLASSES: Final = {"0-10": "<=30", "11-20": "<=30", "21-30": "<=30"}
"""CLLDP's two classes of Stay; all others are more than 30 days."""
ASKED: Final = 32_561
"""Rows of Adult that CLLDP takes: adult.data."""


class Given(NamedTuple):
    """A file that a person gave for a dataset."""

    dataset: str
    path: Path
    stand_in: bool
    rows: int | None
    """How many are in it; `None`: it cannot be read, which whoever reads it will say."""
    digest: str
    """SHA-256 of the file."""

    @property
    def kind(self) -> str:
        """Say whether it is the dataset, as far as that can be seen."""
        of = DATASETS[self.dataset].rows
        part = "" if self.rows in (None, of) else f"{self.rows:,} rows of {of:,}"
        return (
            ", ".join(own for own in ("stand-in" if self.stand_in else "", part) if own)
            or "as given"
        )


class Prepared(NamedTuple):
    """A table as runs take it."""

    data: Path
    schema: Path


class _Raw(NamedTuple):
    """What is in a file."""

    table: pd.DataFrame
    schema: Schema
    fixed: bool
    """Whether the person has said the schema."""


def read_given(words: list[str]) -> dict[str, Given]:
    """Read `DATASET=FILE`, each dataset once; what is wrong is a `UsageError` that says what to
    do.
    """
    found: dict[str, Given] = {}
    for word in words:
        name, sign, text = word.partition("=")
        if not sign or name not in DATASETS:
            raise UsageError(
                f"expected --data DATASET=FILE, of {', '.join(DATASETS)}, found {word!r}"
            )
        if name in found:
            raise UsageError(f"expected each dataset once, found --data {name}= twice")
        path = Path(text)
        if not path.is_file():
            raise UsageError(
                f"expected a table at {text} for --data {name}, found none: get it from {DATASETS[name].where}"
            )
        described = str((_description(path) or {}).get("name", ""))
        names = f"{path.parent.name} {path.name} {described}".lower()
        stand_in = name in GENERATED or any(mark in names for mark in MARKS)
        found[name] = Given(
            name, path, stand_in, _rows(path), hashlib.sha256(path.read_bytes()).hexdigest()
        )
    return found


def _rows(path: Path) -> int | None:
    """Count a table's rows."""
    try:
        return sum(len(block) for block in blocks(str(path)))
    except (UsageError, OSError):
        return None


def prepare(table: str, given: Given, *, out: Path) -> Prepared:
    """Write a table as runs take it, and its schema, unless that was done before from this very
    file.
    """
    key = key_of([table], files=[str(given.path)])
    data, schema = (out / f"{table}-{key}{end}" for end in (".csv", ".schema.json"))
    if not (data.is_file() and schema.is_file()):
        raw = _read(given)
        if missing := [
            name
            for name in (*raw.schema.attributes, *LABELS.get(given.dataset, ()))
            if name not in raw.table
        ]:
            found = ", ".join(map(str, raw.table.columns[:8]))
            raise UsageError(
                f"{given.path}: expected a column {missing[0]!r} of {given.dataset}, found {found}"
            )
        made, rules = TABLES[table][1](raw)
        # The schema first: what has both is whole.
        put({schema.name: write_schema(rules).encode()}, folder=out)
        put({data.name: made.to_csv(index=False).encode()}, folder=out)
    return Prepared(data, schema)


def _read(given: Given) -> _Raw:
    table = join_tables([*blocks(str(given.path))]).frame()
    for path in (
        given.path.with_name(f"{given.path.name.split('.')[0]}.schema.json"),
        given.path.with_name("schema.json"),
    ):
        if path.is_file():
            return _Raw(table, read_schema(path), True)  # noqa: FBT003 - it is named above
    attributes = (_description(given.path) or {}).get("attributes", {})
    table = table.assign(
        **{
            name: _decoded(table[name], own)
            for name, own in attributes.items()
            if name in table.columns
        }
    )
    if given.dataset == "adult":  # as UCI has it: blanks after commas, and full stops in adult.test
        clean = {
            name: table[name].astype(str).str.strip().str.removesuffix(".")
            for name in table.columns
        }
        return _Raw(table.assign(**clean), ADULT, fixed=False)
    inferred = merge([infer(blocks(table))]).attributes
    rules = {name: _described(attributes.get(name, {})) or rule for name, rule in inferred.items()}
    return _Raw(table, Schema(rules), fixed=False)


def _description(path: Path) -> dict[str, Any] | None:
    """Find the description that stands beside a file: the one whose name has most in common with
    its own.
    """

    def common(one: Path) -> int:
        pairs = zip(one.name, path.name, strict=False)
        return next((at for at, (a, b) in enumerate(pairs) if a != b), len(one.name))

    beside = sorted(path.parent.glob("*-domain.json"), key=common)
    try:
        found = json.loads(beside[-1].read_text()) if beside else None
    except (OSError, ValueError) as error:
        raise UsageError(
            f"expected a description of columns, JSON, in {beside[-1]}, found {error}"
        ) from None
    return found if isinstance(found, dict) else None


def _decoded(column: pd.Series[Any], own: Mapping[str, Any]) -> pd.Series[Any]:
    """Replace codes by labels, or by the middle of their bin; what is no code stays."""
    if "code_to_label" in own:
        return column.replace({str(code): label for code, label in enumerate(own["code_to_label"])})
    if own.get("type") == "binned" and {*column.unique()} <= {
        str(code) for code in range(own["bins"])
    }:
        edges = np.asarray(own["edges"], float)
        return column.replace(
            {str(code): f"{middle:.6g}" for code, middle in enumerate((edges[1:] + edges[:-1]) / 2)}
        )
    return column


def _described(own: Mapping[str, Any]) -> Categories | Bins | None:
    """Read a rule from a description, as far as there is one."""
    if own.get("type") == "binned":
        return Bins(edges=tuple(map(float, own["edges"])))
    if own.get("type") == "numeric":
        return Bins.equal(
            float(own["min"]), float(own.get("max", own.get("bin_edges_16", [0.0])[-1])), bins=16
        )
    return None


# Adult's code book: what occurs in any of its 48,842 rows, and numbers in 16 bins of one width.
_RANGES: Final = {
    "age": (17, 90),
    "fnlwgt": (12_285, 1_490_400),
    "education-num": (1, 16),
    "capital-gain": (0, 99_999),
    "capital-loss": (0, 4_356),
    "hours-per-week": (1, 99),
}
ADULT: Final = Schema(
    {
        name: Bins.equal(*_RANGES[name], bins=16)
        if name in _RANGES
        else Categories(categories=rule.labels)
        for name, rule in DEMO_SCHEMA.attributes.items()
    }
)
"""The categories, education in the order of its length, are the ones that the demo table has,
too.
"""

Table = tuple["pd.DataFrame", Schema]


def _whole(raw: _Raw) -> Table:
    return raw.table, raw.schema


def _complete(raw: _Raw) -> Table:
    """Leave out who has not answered everything, as DP-SUBN, JTree and PrivIncr do: 45,222 rows are
    left.
    """
    missing = raw.table[[*raw.schema.attributes]].isin(MISSING_TEXTS).any(axis=1)
    return (raw.table, raw.schema) if raw.fixed else (raw.table[~missing], raw.schema)


def _split(
    table: pd.DataFrame, *, learn: float, groups: int = 0
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Draw who is learnt from, always the same; rows whose numbers are alike modulo `groups` stay
    together.
    """
    size = groups or len(table)
    order = np.random.Generator(np.random.Philox(0)).permutation(min(size, len(table)))
    chosen = np.zeros(size, np.bool_)
    chosen[order[: int(learn * len(order))]] = True
    kept = chosen[np.arange(len(table)) % size]
    return table[kept], table[~kept]


def _part(
    make: Callable[[_Raw], Table], *, learn: float, test: bool, groups: int = 0
) -> Callable[[_Raw], Table]:
    def part(raw: _Raw) -> Table:
        table, schema = make(raw)
        return _split(table, learn=learn, groups=groups)[test], schema

    return part


def _tens(raw: _Raw, *, drop: tuple[str, ...] = (), last: str) -> Schema:
    """Take numbers in 10 bins and missing values as a category, as CLLDP has them, with the label
    as the last.
    """
    if raw.fixed:
        return raw.schema
    rules: dict[str, Categories | Bins] = {}
    for name, rule in sorted(raw.schema.attributes.items(), key=lambda own: own[0] == last):
        some = raw.table[name].isin(rule.missing_as).any()
        missing: Any = "category" if some else "refuse"
        if isinstance(rule, Bins):
            rules[name] = Bins.equal(rule.edges[0], rule.edges[-1], bins=10, missing=missing)
        else:
            rules[name] = Categories(
                categories=tuple(own for own in rule.categories if own not in rule.missing_as),
                missing=missing,
            )
    return Schema({name: rule for name, rule in rules.items() if name not in drop})


def _asked_adult(raw: _Raw) -> Table:
    table = raw.table.iloc[:ASKED]
    schema = _tens(raw, last="income")
    # Never-worked occurs only where the occupation is missing, which is kept here.
    rules = dict(schema.attributes)
    own = rules["workclass"]
    if isinstance(own, Categories) and not raw.fixed and "Never-worked" in {*table["workclass"]}:
        rules["workclass"] = Categories(
            categories=(*own.categories, "Never-worked"), missing=own.missing
        )
    return table, Schema(rules)


def _grid(raw: _Raw) -> Table:
    return raw.table, _tens(raw, last="stabf")


def _grid_without(raw: _Raw) -> Table:
    return raw.table, _tens(raw, drop=("stab",), last="stabf")


def _stays(raw: _Raw) -> Table:
    schema = _tens(raw, drop=("case_id", "patientid"), last="Stay")
    table = raw.table.assign(Stay=raw.table["Stay"].map(lambda own: CLASSES.get(own, ">30")))
    return table, Schema({**schema.attributes, "Stay": Categories(categories=("<=30", ">30"))})


TABLES: Final[Mapping[str, tuple[str, Callable[[_Raw], Table]]]] = {
    **{name: (name, _whole) for name in ("retail", "aol", "kosarak", "br2000", "tpc-e")},
    "adult": ("adult", _complete),
    "adult-learn": ("adult", _part(_complete, learn=0.8, test=False)),
    "adult-test": ("adult", _part(_complete, learn=0.8, test=True)),
    "adult-users": ("adult", _asked_adult),
    "smartgrid-users": ("smartgrid", _grid),
    "smartgrid-without-stab": ("smartgrid", _grid_without),
    "healthcare-users": ("healthcare", _stays),
    **{
        f"{name}-{part}": (dataset, _part(make, learn=0.7, test=part == "test", groups=groups))
        for name, dataset, make, groups in (
            ("adult-users", "adult", _asked_adult, 0),
            ("smartgrid-users", "smartgrid", _grid, 10_000),
            ("smartgrid-without-stab", "smartgrid", _grid_without, 10_000),
            ("healthcare-users", "healthcare", _stays, 0),
        )
        for part in ("learn", "test")
    },
}
"""By name: of which dataset each is made, and how."""
