"""The plan of an item: its cells, with tables and values in the place of their names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..evaluation.series import Condition
from ..messages import UsageError
from .cell import Cell
from .cells import Start
from .dataset_tables import TABLES, PreparedTable, prepare_table
from .datasets import DatasetFile
from .items import Item, Size
from .planning import plan_of

__all__ = ["files_used", "plan_item"]


def plan_item(
    item: Item, files: Mapping[str, DatasetFile], *, quick: bool, out: Path, start: Start
) -> list[Cell]:
    """Make the cells of an item, without the runs on datasets that are not given."""
    size: Size = "quick" if quick else "full"
    values = item.values(size)
    where = f"{item.name} ({size})"
    if "seeds" not in values:
        raise UsageError(f"{where}: expected seeds, found none")
    tables: dict[str, PreparedTable] = {}
    runs = []
    for entry in item.entries(size):
        names = _table_names(entry)
        if any(TABLES[name].dataset not in files for name in names):
            continue
        for name in names:
            if name not in tables:
                file = files[TABLES[name].dataset]
                tables[name] = prepare_table(name, file, out=out / "data")
        runs.append(_fill(entry, values, tables, where=where))
    return plan_of({"seeds": values["seeds"], "run": runs}, where=where, start=start)[1]


def files_used(item: Item, files: Mapping[str, DatasetFile], *, quick: bool) -> list[DatasetFile]:
    """List the files whose tables an item of this size takes."""
    names = [
        name for entry in item.entries("quick" if quick else "full") for name in _table_names(entry)
    ]
    used = {TABLES[name].dataset for name in names}
    return [files[name] for name in (*item.needs, *item.wants) if name in files and name in used]


def _table_names(entry: Mapping[str, Any]) -> list[str]:
    """List the tables that an entry names in braces."""
    return sorted({name for text in _texts(entry) if (name := _placeholder(text)) in TABLES})


def _texts(value: object) -> Iterator[str]:
    """List all texts in a value of TOML."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part)


def _placeholder(text: str) -> str:
    """Give the name in "{name}", or an empty text."""
    match = re.fullmatch(r"\{([\w-]+)\}", text)
    return match[1] if match else ""


def _fill(
    entry: Mapping[str, Any],
    values: Mapping[str, Condition],
    tables: Mapping[str, PreparedTable],
    *,
    where: str,
) -> dict[str, Any]:
    """Put values and tables in the place of their names; a table brings its schema."""

    def fill(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: fill(part) for key, part in value.items()}
        if not isinstance(value, str) or not (name := _placeholder(value)):
            return value
        if name in tables:
            return str(tables[name].data)
        if name not in values:
            raise UsageError(f"{where}: expected a value of {name!r}, found none")
        return values[name]

    filled = {key: fill(value) for key, value in entry.items()}
    if (name := _placeholder(str(entry.get("data", "")))) in tables:
        filled["schema"] = str(tables[name].schema)
    return filled
