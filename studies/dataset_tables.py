"""The tables that runs take, each made of a dataset's file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

from ..messages import UsageError
from ..parties import Bins, Categories, Schema, write_schema
from ..parties.rules import MISSING_TEXTS, Missing
from ..report.folder import put
from .cell import key_of
from .datasets import DatasetFile
from .source_tables import SourceTable, read_source

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TABLES", "PreparedTable", "TableRecipe", "prepare_table"]

LABELS: Final = {"smartgrid": ("stabf",), "healthcare": ("Stay",)}
"""Columns that a dataset's file must have, whatever its schema says."""
SHORT_STAYS: Final = ("0-10", "11-20", "21-30")
"""Days of stay that are CLLDP's class "<=30"; all others are more than 30 days."""
ADULT_USERS: Final = 32_561
"""Number of Adult's rows that CLLDP takes: those of adult.data."""

TableAndSchema: TypeAlias = "tuple[pd.DataFrame, Schema]"
Build: TypeAlias = Callable[[SourceTable], TableAndSchema]
"""Makes a table, and its schema, of what a file holds."""


class PreparedTable(NamedTuple):
    """A table that runs can take: the paths of its file and of its schema."""

    data: Path
    schema: Path


class TableRecipe(NamedTuple):
    """How a table is made: of which dataset, and by which function."""

    dataset: str
    build: Build


def prepare_table(name: str, file: DatasetFile, *, out: Path) -> PreparedTable:
    """Write a table and its schema, unless they were written before from the same file."""
    key = key_of([name], files=[str(file.path)])
    prepared = PreparedTable(out / f"{name}-{key}.csv", out / f"{name}-{key}.schema.json")
    if prepared.data.is_file() and prepared.schema.is_file():
        return prepared
    source = read_source(file)
    for column in (*source.schema.attributes, *LABELS.get(file.dataset, ())):
        if column not in source.table:
            columns = ", ".join(map(str, source.table.columns[:8]))
            raise UsageError(
                f"{file.path}: expected a column {column!r} of {file.dataset}, found {columns}"
            )
    table, schema = TABLES[name].build(source)
    # The schema is written first, so that after an interruption no table is without one.
    put({prepared.schema.name: write_schema(schema).encode()}, folder=out)
    put({prepared.data.name: table.to_csv(index=False).encode()}, folder=out)
    return prepared


def _whole(source: SourceTable) -> TableAndSchema:
    return source.table, source.schema


def _complete_rows(source: SourceTable) -> TableAndSchema:
    """Leave out rows with missing values, as DP-SUBN, JTree and PrivIncr do.

    Adult has 45,222 complete rows.
    """
    if source.user_schema:
        return source.table, source.schema
    missing = source.table[[*source.schema.attributes]].isin(MISSING_TEXTS).any(axis=1)
    return source.table[~missing], source.schema


def _part(build: Build, *, share: float, test: bool, groups: int = 0) -> Build:
    """Make the part of a table to learn from, or with `test` the other part."""

    def build_part(source: SourceTable) -> TableAndSchema:
        table, schema = build(source)
        return _split(table, share=share, groups=groups)[test], schema

    return build_part


def _split(table: pd.DataFrame, *, share: float, groups: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Split a table at random, always in the same way: the rows to learn from, and the others.

    Rows whose numbers are equal modulo `groups` stay together.
    """
    size = groups or len(table)
    order = np.random.Generator(np.random.Philox(0)).permutation(min(size, len(table)))
    is_learnt = np.zeros(size, np.bool_)
    is_learnt[order[: int(share * len(order))]] = True
    kept = is_learnt[np.arange(len(table)) % size]
    return table[kept], table[~kept]


def _clldp_schema(source: SourceTable, *, label: str, drop: tuple[str, ...] = ()) -> Schema:
    """Make CLLDP's schema: numbers in 10 bins, missing values as a category, the label last."""
    if source.user_schema:
        return source.schema
    attributes = source.schema.attributes
    names = [name for name in attributes if name != label]
    names += [label] if label in attributes else []
    return Schema(
        {
            name: _clldp_rule(attributes[name], source.table[name])
            for name in names
            if name not in drop
        }
    )


def _clldp_rule(rule: Categories | Bins, column: pd.Series[str]) -> Categories | Bins:
    missing: Missing = "category" if column.isin(rule.missing_as).any() else "refuse"
    if isinstance(rule, Bins):
        return Bins.equal(rule.edges[0], rule.edges[-1], bins=10, missing=missing)
    categories = tuple(label for label in rule.categories if label not in rule.missing_as)
    return Categories(categories=categories, missing=missing)


def _adult_users(source: SourceTable) -> TableAndSchema:
    table = source.table.iloc[:ADULT_USERS]
    rules = dict(_clldp_schema(source, label="income").attributes)
    workclass = rules["workclass"]
    # "Never-worked" occurs only in rows without an occupation, which are kept here.
    if (
        isinstance(workclass, Categories)
        and not source.user_schema
        and "Never-worked" in {*table["workclass"]}
    ):
        categories = (*workclass.categories, "Never-worked")
        rules["workclass"] = Categories(categories=categories, missing=workclass.missing)
    return table, Schema(rules)


def _smartgrid_users(source: SourceTable) -> TableAndSchema:
    return source.table, _clldp_schema(source, label="stabf")


def _smartgrid_without_stab(source: SourceTable) -> TableAndSchema:
    return source.table, _clldp_schema(source, label="stabf", drop=("stab",))


def _healthcare_users(source: SourceTable) -> TableAndSchema:
    schema = _clldp_schema(source, label="Stay", drop=("case_id", "patientid"))
    is_short = source.table["Stay"].isin(SHORT_STAYS)
    table = source.table.assign(Stay=np.where(is_short, "<=30", ">30"))
    return table, Schema({**schema.attributes, "Stay": Categories(categories=("<=30", ">30"))})


def _recipes() -> dict[str, TableRecipe]:
    """List the tables, by name."""
    recipes = {
        "retail": TableRecipe("retail", _whole),
        "aol": TableRecipe("aol", _whole),
        "kosarak": TableRecipe("kosarak", _whole),
        "br2000": TableRecipe("br2000", _whole),
        "tpc-e": TableRecipe("tpc-e", _whole),
        "adult": TableRecipe("adult", _complete_rows),
        "adult-users": TableRecipe("adult", _adult_users),
        "smartgrid-users": TableRecipe("smartgrid", _smartgrid_users),
        "smartgrid-without-stab": TableRecipe("smartgrid", _smartgrid_without_stab),
        "healthcare-users": TableRecipe("healthcare", _healthcare_users),
    }
    # Smart Grid's rows are six copies of 10,000 grids; the copies of a grid stay together.
    groups = {"smartgrid-users": 10_000, "smartgrid-without-stab": 10_000}
    for name, recipe in [*recipes.items()]:
        if name == "adult" or name.endswith(("-users", "-stab")):
            for part in ("learn", "test"):
                build = _part(
                    recipe.build,
                    share=0.8 if name == "adult" else 0.7,
                    test=part == "test",
                    groups=groups.get(name, 0),
                )
                recipes[f"{name}-{part}"] = recipe._replace(build=build)
    return recipes


TABLES: Final[Mapping[str, TableRecipe]] = _recipes()
"""The recipe of every table, by the table's name."""
