"""Proposing a schema from Python, with a picture of each attribute, and checking other tables.

proposal = sottovoce.propose_schema(table)
proposal                                    # a picture of each attribute
proposal.schema["age"] = {"edges": [0, 18, 65, 110]}
proposal.check(other_table)                 # what does not fit
sottovoce.run(data=table, schema=proposal.schema)
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..messages import UsageError
from ..parties import ColumnChoice, CsvForm, blocks, read_schema, write_schema
from ..parties.checking import check_profiles
from ..parties.profile import ColumnProfile, profile_table
from ..parties.proposal import Proposal
from ..parties.proposing import propose, schema_of, with_equal_columns
from ..parties.table_argument import TableSource, table_argument
from ..report.folder import put
from ..report.pages.schema_page import schema_page
from ..report.schema_picture import check_text, proposal_text

if TYPE_CHECKING:
    import pandas as pd

    from ..parties.checking import Misfit

__all__ = ["SchemaProposal", "check_schema", "propose_schema"]


class SchemaProposal:
    """A proposed schema. Printing it shows the table itself, to whoever has the table."""

    def __init__(self, proposals: Sequence[Proposal], *, source: str) -> None:
        self.proposals = tuple(proposals)
        """The rule of each column, or the reason to leave it out, with remarks."""
        self._source = source

    @functools.cached_property
    def schema(self) -> dict[str, Any]:
        """The schema as a dictionary, to be edited and given to `sottovoce.run`. It has no counts.

        It was taken from the data, and that is not private.
        """
        parsed: dict[str, Any] = json.loads(self.text)
        return parsed

    @property
    def text(self) -> str:
        """The schema as proposed, as a file has it."""
        return write_schema(schema_of(self.proposals))

    @property
    def left_out(self) -> dict[str, str]:
        """The columns that are left out, and why."""
        return {item.name: item.reason for item in self.proposals if item.rule is None}

    def page(self) -> str:
        """Make a page with a histogram of each attribute. It is not private."""
        return schema_page(self.proposals, source=self._source)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the schema, with what was edited in `schema`, into a new file."""
        save_new(Path(path), write_schema(read_schema(self.schema)))

    def check(
        self, table: TableSource, *, separator: str = ",", encoding: str = "utf-8"
    ) -> pd.DataFrame:
        """List what of a table does not fit: column, rows, what was found, and what to do."""
        import pandas as pd

        misfits = check_schema(self.schema, table, separator=separator, encoding=encoding)
        names = ["column", "rows", "text", "way_out", "is_refused"]
        return pd.DataFrame(
            [[getattr(misfit, name) for name in names] for misfit in misfits], columns=names
        )

    def __repr__(self) -> str:
        return proposal_text(self.proposals).rstrip()


def propose_schema(
    table: TableSource,
    *,
    rows: int | None = None,
    drop: Sequence[str] = (),
    columns: Sequence[str] = (),
    separator: str = ",",
    encoding: str = "utf-8",
) -> SchemaProposal:
    """Propose a schema for a table: bins, categories, dates, and what to leave out.

    A schema that is taken from the data is not private: replace its ranges and lists by public
    knowledge before a table that was made with it is published.

    Args:
        table: A path, a DataFrame or an Arrow table.
        rows: Number of rows to read, from the first on. The default is all.
        drop: Columns to leave out.
        columns: Columns to take, and no others.
        separator: What separates columns of a CSV file: "," or ";", or "tab".
        encoding: The encoding of a CSV file, such as "latin-1".

    Raises:
        UsageError: The table cannot be read, or has no column that can be an attribute.
    """
    source = table_argument(table, name="table")
    profiles = _profiles(
        source,
        rows=rows,
        choice=ColumnChoice(columns=tuple(columns), drop=tuple(drop)),
        form=CsvForm.of(separator=separator, encoding=encoding),
    )
    proposals = with_equal_columns([propose(profile) for profile in profiles], profiles)
    if all(item.rule is None for item in proposals):
        first = proposals[0]
        raise UsageError(
            f"expected a column that can be an attribute, found none: {first.name!r} is left out, "
            f"as {first.reason}: write a schema by hand"
        )
    return SchemaProposal(proposals, source=source if isinstance(source, str) else "a table")


def check_schema(
    schema: str | os.PathLike[str] | Mapping[str, Any],
    table: TableSource,
    *,
    rows: int | None = None,
    separator: str = ",",
    encoding: str = "utf-8",
) -> list[Misfit]:
    """List what of a table does not fit a schema."""
    profiles = _profiles(
        table_argument(table, name="table"),
        rows=rows,
        choice=ColumnChoice(),
        form=CsvForm.of(separator=separator, encoding=encoding),
    )
    return check_profiles(read_schema(schema), profiles)


def _profiles(
    source: str | pd.DataFrame, *, rows: int | None, choice: ColumnChoice, form: CsvForm
) -> list[ColumnProfile]:
    return profile_table(blocks(source, rows=rows, choice=choice, form=form))


def misfit_text(misfits: Sequence[Misfit], *, schema: str | os.PathLike[str]) -> str:
    """Say what does not fit."""
    return check_text(misfits, attributes=len(read_schema(schema).attributes))


def save_new(path: Path, text: str) -> None:
    """Write a new file, whole or not at all. One that is there may have been edited."""
    if path.exists():
        raise UsageError(f"expected a new file, found {path}: it may have been edited")
    if not path.parent.is_dir():
        raise UsageError(
            f"expected a file that can be written, found {path}: there is no such folder"
        )
    put({path.name: text.encode()}, folder=path.parent)
