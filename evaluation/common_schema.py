"""The schema by which two tables are compared: that of a run, or one inferred from both tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..messages import UsageError
from ..parties import (
    SCHEMA_FILE,
    Bins,
    Categories,
    CsvForm,
    Schema,
    blocks,
    infer,
    merge,
    read_schema,
)

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["find_schema", "schema_beside"]


def find_schema(
    real: str | pd.DataFrame, synthetic: str | pd.DataFrame, *, form: CsvForm
) -> tuple[Schema, str, list[str]]:
    """Find the schema beside the synthetic table, or infer one from both tables.

    Returns:
        The schema, its origin, and notes about columns that are left out.
    """
    if (file := schema_beside(synthetic)) is not None:
        return read_schema(file), str(file), []
    rules = {
        "real": infer(blocks(real, form=form)).attributes,
        "synthetic": infer(blocks(synthetic, form=form)).attributes,
    }
    names = [name for name in rules["real"] if name in rules["synthetic"]]
    if not names:
        raise UsageError(
            "expected columns of the same names in both tables, "
            f"found {', '.join(rules['real'])} in the real one "
            f"and {', '.join(rules['synthetic'])} in the synthetic one"
        )
    notes = []
    for side, columns in rules.items():
        if missing := [name for name in columns if name not in names]:
            notes.append(f"left out, as only the {side} table has them: {', '.join(missing)}")
    common = {
        name: _common_rule(name, rules["real"][name], rules["synthetic"][name]) for name in names
    }
    return Schema(common, inferred=True), "inferred", notes


def schema_beside(table: str | pd.DataFrame) -> Path | None:
    """Find the schema.json that a run wrote beside its table."""
    if not isinstance(table, str) or not (file := Path(table).parent / SCHEMA_FILE).is_file():
        return None
    return file


def _common_rule(
    name: str, real: Categories | Bins, synthetic: Categories | Bins
) -> Categories | Bins:
    """Unite the rules that were inferred from the two tables for one column.

    If the synthetic table has labels of the real table's bins, the rule is that of the real one.
    """
    rule = merge([Schema({name: real})]).attributes[name]
    if (
        isinstance(rule, Bins)
        and isinstance(synthetic, Categories)
        and set(synthetic.categories) <= set(rule.labels)
    ):
        return rule
    return merge([Schema({name: real}), Schema({name: synthetic})]).attributes[name]
