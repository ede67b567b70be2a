"""The papers' tables and figures. Each is an item: one TOML file of package data.

title, paper, where, shows      what the item is
needs, wants                    datasets that it requires; datasets that only some lines require
notes                           how it differs from the paper, and why
[picture]                       x and its name; scales; [[picture.panel]]: title, y, where, `floor`
[full], [quick]                 seeds, and values by name
[every]                         options of all runs
[[run]]                         a sweep's entry with a `line`; "{adult}" stands for a table and
                                "{epsilon}" for a value; `only` names the size that has the entry
[[printed]]                     numbers that the paper prints
[[claim]]                       claims of the paper: `evaluation/claims.py`
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from importlib.resources import files as package_files
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from ..evaluation.claims import Claim
from ..evaluation.results import PrintedValues
from ..evaluation.series import Condition
from ..messages import UsageError
from .datasets import DATASETS, DatasetFile
from .planning import read_toml

__all__ = ["Item", "Panel", "Picture", "Size", "item_paths", "read_item", "select_items"]

Size: TypeAlias = Literal["full", "quick"]


class Panel(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One chart of a picture."""

    title: str
    y: str
    x: str = ""
    """The column of x, if it is not the picture's."""
    where: dict[str, Condition] = {}
    """Conditions on columns, which select the rows that are drawn."""
    baseline: str = msgspec.field(name="floor", default="")
    """A column whose mean is drawn as a level, such as the error of exact single attributes."""


class Picture(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How results are drawn and put into tables."""

    x: str
    x_title: str = ""
    log_x: bool = False
    log_y: bool = False
    panel: list[Panel]


class Item(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table or figure of a paper."""

    name: str
    title: str
    paper: str
    where: str
    shows: str
    needs: list[str] = []
    """Datasets without which the item cannot be made."""
    wants: list[str] = []
    """Datasets without which some lines are left out."""
    notes: list[str] = []
    picture: Picture
    full: dict[str, Condition]
    """Seeds, and values by name, of the full size."""
    quick: dict[str, Condition]
    """The same of the quick size."""
    every: dict[str, Any] = {}
    """Options of all runs. The sweep's plan checks them."""
    run: list[dict[str, Any]]
    """Entries of the sweep. The sweep's plan checks them."""
    printed: list[PrintedValues] = []
    claim: list[Claim]

    def __post_init__(self) -> None:
        if unknown := {*self.needs, *self.wants} - DATASETS.keys():
            raise ValueError(
                f"expected datasets of {', '.join(DATASETS)}, found {', '.join(sorted(unknown))}"
            )

    @property
    def data_names(self) -> str:
        """The datasets that the item takes; those in brackets can be left out."""
        return ", ".join([*self.needs, *(f"({name})" for name in self.wants)]) or "its own"

    def values(self, size: Size) -> dict[str, Condition]:
        """Give seeds, and values by name, of a size."""
        return self.quick if size == "quick" else self.full

    def of_size(self, size: Size) -> Item:
        """Put a size's values in the place of their names in what claims hang on."""
        values = self.values(size)
        claims = [
            msgspec.structs.replace(claim, choice=claim.choice.format_map(values))
            for claim in self.claim
        ]
        return msgspec.structs.replace(self, claim=claims)

    def entries(self, size: Size) -> list[dict[str, Any]]:
        """List the sweep's entries of a size, each with the options of all runs."""
        entries = []
        for run in self.run:
            parameters = {**self.every.get("set", {}), **run.get("set", {})}
            entry = {**self.every, **run, "set": parameters}
            if entry.pop("only", size) == size:
                entries.append(entry)
        return entries


def item_paths() -> dict[str, Path]:
    """List the items' files, by name."""
    folder = Path(str(package_files(__package__) / "reproductions"))
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def read_item(path: Path) -> Item:
    """Read an item; an error names its file."""
    values = read_toml(path, what="a reproduction")
    try:
        return msgspec.convert({"name": path.stem, **values}, Item)
    except (msgspec.ValidationError, ValueError) as error:
        raise UsageError(f"{path}: {error}") from None


def select_items(
    names: Sequence[str], files: Mapping[str, DatasetFile]
) -> tuple[list[Item], list[str]]:
    """Read the named items, or with `all` those whose datasets are given.

    Returns:
        The items, and for each item that `all` leaves out the reason.
    """
    paths = item_paths()
    for name in names:
        if name != "all" and name not in paths:
            close = difflib.get_close_matches(name, paths, n=3, cutoff=0.5)
            hint = f"did you mean {' or '.join(close)}?" if close else ""
            raise UsageError(
                f"expected the name of a reproduction, found {name!r}: "
                + (hint or "`sottovoce reproduce` lists them")
            )
    items: list[Item] = []
    reasons: list[str] = []
    for name in paths if "all" in names else dict.fromkeys(names):
        item = read_item(paths[name])
        if (reason := _missing_data(item, files)) is None:
            items.append(item)
        elif "all" in names:
            reasons.append(reason)
        else:
            raise UsageError(reason)
    return items, reasons


def _missing_data(item: Item, files: Mapping[str, DatasetFile]) -> str | None:
    """Say which dataset an item lacks, and where to get it."""
    for name in item.needs:
        if name not in files:
            dataset = DATASETS[name]
            return (
                f"{item.name} needs {name} ({dataset.title}; {dataset.where}): "
                f"give it with --data {name}=FILE"
            )
    return None
