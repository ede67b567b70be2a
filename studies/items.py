"""The papers' tables and figures, each one file of package data.

title, paper, where, shows      what it is
needs, wants                    datasets without which it is not made; without which some of its lines are not
notes                           what is otherwise than in the paper, and why
[picture]                       x and its name; scales; [[picture.panel]]: title, y, where, floor
[full], [quick]                 seeds, and values by name
[[run]]                         as in a sweep, with a `line` each; "{adult}" is a table, "{epsilon}" a value of that name
[[printed]]                     numbers that the paper prints
[[claim]]                       what it says of them: `evaluation/claims.py`
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from importlib.resources import files as package_files
from pathlib import Path
from typing import Any

import msgspec

from ..evaluation.claims import Claim, PrintedValues
from ..messages import UsageError
from .datasets import DATASETS, Given
from .planning import read_toml

__all__ = ["Item", "Panel", "Picture", "chosen", "data_shown", "items", "read_item"]


class Panel(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One of a figure's pictures."""

    title: str
    y: str
    x: str = ""
    """If not the picture's."""
    where: dict[str, Any] = {}
    floor: str = ""
    """A figure whose mean is drawn as a level, such as what is reached without any noise by single
    attributes.
    """


class Picture(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How results are drawn, and put into tables."""

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
    wants: list[str] = []
    notes: list[str] = []
    picture: Picture
    full: dict[str, Any]
    quick: dict[str, Any]
    every: dict[str, Any] = {}
    run: list[dict[str, Any]]
    printed: list[PrintedValues] = []
    claim: list[Claim]

    def __post_init__(self) -> None:
        if unknown := {*self.needs, *self.wants} - DATASETS.keys():
            raise ValueError(
                f"expected datasets of {', '.join(DATASETS)}, found {', '.join(sorted(unknown))}"
            )


def items() -> dict[str, Path]:
    """List the files that there are, by name."""
    folder = Path(str(package_files(__package__) / "reproductions"))
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def read_item(path: Path) -> Item:
    """Read a file; what is wrong in it is a `UsageError` that names it."""
    found = read_toml(path, what="a reproduction")
    try:
        return msgspec.convert({"name": path.stem, **found}, Item)
    except (msgspec.ValidationError, ValueError) as error:
        raise UsageError(f"{path}: {error}") from None


def chosen(names: Sequence[str], given: Mapping[str, Given]) -> tuple[list[Item], list[str]]:
    """Find what is asked for; with `all`, what can be made from the data given, and what was left
    out and why.
    """
    known = items()
    for name in names:
        if name != "all" and name not in known:
            near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
            hint = (
                f"did you mean {' or '.join(near)}?" if near else "`sottovoce reproduce` lists them"
            )
            raise UsageError(f"expected the name of a reproduction, found {name!r}: {hint}")
    wanted = known if "all" in names else dict.fromkeys(names)
    found, left = [], []
    for name in wanted:
        item = read_item(known[name])
        absent = [own for own in item.needs if own not in given]
        if not absent:
            found.append(item)
            continue
        dataset = DATASETS[absent[0]]
        reason = f"{name} needs {absent[0]} ({dataset.title}; {dataset.where}): give it with --data {absent[0]}=FILE"
        if "all" not in names:
            raise UsageError(reason)
        left.append(reason)
    return found, left


def data_shown(item: Item) -> str:
    """Say what data an item takes."""
    return ", ".join([*item.needs, *(f"({name})" for name in item.wants)]) or "its own"
