"""Columns of a table: which of them are taken, and whether a header can be that of a table."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Collection, Sequence
from typing import Final

import msgspec

from ..messages import Private, UsageError

__all__ = [
    "ALL_COLUMNS",
    "ColumnChoice",
    "check_header",
    "has_no_name",
    "require_names",
    "select_columns",
]

SEPARATORS: Final = {
    ";": ("semicolons", "semicolon"),
    "|": ("vertical bars", "bar"),
    "\t": ("tabs", "tab"),
    ",": ("commas", "comma"),
}
"""What may separate columns: in words, and as --separator takes it."""
MAX_SHOWN_COLUMNS: Final = 30
UNNAMED: Final = re.compile(r"Unnamed: \d+|__index_level_\d+__")
"""What pandas calls a column without a name, and an index in a Parquet file."""


class ColumnChoice(msgspec.Struct, frozen=True, kw_only=True):
    """Which columns of a table are taken: those that are named, or all but those that are dropped.

    Without any name all are.
    """

    columns: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()

    def of(self, names: Sequence[str], *, where: str) -> list[str]:
        """Choose among the columns of a table, in its order; an unknown one is a `UsageError`."""
        for option, chosen in (("--columns", self.columns), ("--drop", self.drop)):
            for name in chosen:
                if name not in names:
                    raise UsageError(
                        f"expected columns of {where} for {option}, found {name!r}",
                        *_hint_parts(name, names),
                    )
        if not names:
            raise UsageError(f"expected {where} to have columns, found none")
        kept = [name for name in names if not self.columns or name in self.columns]
        kept = [name for name in kept if name not in self.drop]
        if not kept:
            raise UsageError(f"expected --drop to leave a column of {where}, found that it has all")
        return kept


ALL_COLUMNS: Final = ColumnChoice()


def select_columns(
    names: Sequence[str], *, only: Collection[str] | None, choice: ColumnChoice, where: str
) -> list[str]:
    """Select the columns that are read: those of a schema, or else the chosen ones."""
    if only is None:
        return choice.of(names, where=where)
    if missing := [name for name in only if name not in names]:
        shown = ", ".join(map(str, names[:MAX_SHOWN_COLUMNS]))
        more = ", ..." if len(names) > MAX_SHOWN_COLUMNS else ""
        raise UsageError(
            f"expected a column {missing[0]!r} in {where}, as the schema says, found ",
            Private(shown + more),
            *_hint_parts(missing[0], names),
        )
    return [name for name in names if name in only]


def _hint_parts(name: str, names: Sequence[str]) -> tuple[str, ...]:
    """Ask whether a similar column was meant; the names of columns stay with the party."""
    folded = {other.casefold(): other for other in names}
    close = [folded[text] for text in difflib.get_close_matches(name.casefold(), folded, n=3)]
    return (": did you mean ", Private(" or ".join(close)), "?") if close else ()


def has_no_name(name: str) -> bool:
    """Tell whether pandas has given a column its name.

    >>> has_no_name("Unnamed: 0"), has_no_name("__index_level_0__"), has_no_name("age")
    (True, True, False)
    """
    return UNNAMED.fullmatch(name) is not None


def require_names(names: Collection[str], *, choice: ColumnChoice) -> None:
    """Refuse columns that nobody has named, unless they were asked for: most are an index."""
    for name in names:
        if name not in choice.columns and has_no_name(name):
            raise UsageError(
                f"expected a name for each column, found none for what pandas calls {name}, which "
                f"may be an index that it wrote: leave it out, --drop {shlex.quote(name)}, or give "
                "it a name"
            )


def check_header(names: Sequence[str], *, where: str, separator: str = ",") -> None:
    """Refuse names that occur twice, and a whole line that was taken for the name of one column."""
    if len(set(names)) < len(names):
        duplicates = sorted(name for name in set(names) if names.count(name) > 1)
        places = [place for place, name in enumerate(names, start=1) if name in duplicates]
        raise UsageError(
            f"expected different names of columns in {where}, found ",
            Private(", ".join(duplicates)),
            " twice, in columns ",
            Private(", ".join(map(str, places))),
            ": rename them in the header",
        )
    for mark, (plural, word) in SEPARATORS.items():
        if len(names) == 1 and mark in names[0] and mark != separator:
            expected, _ = SEPARATORS.get(separator, (repr(separator), ""))
            raise UsageError(
                f"expected columns separated by {expected} in {where}, found one column with "
                f"{plural} in its header: say --separator {word}, or read it in Python by "
                f"pandas.read_csv(..., sep={mark!r})"
            )
