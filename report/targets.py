"""The labels by which a judge is to classify, checked before a run begins."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..evaluation.classification import read_target
from ..messages import UsageError
from ..parties import DEMO, DEMO_SCHEMA, Schema, blocks, infer, merge
from ..runs.instance import instantiate
from ..runs.job import Job

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["require_targets"]


def require_targets(
    job: Job, classify: Sequence[str], *, tables: tuple[pd.DataFrame, ...] = ()
) -> None:
    """Refuse labels that nothing could be classified by, before a run begins.

    Nothing is refused where the tables cannot be read here, or the schema is learnt privately.

    Raises:
        UsageError: A label names no column, or no category or bin of it.
    """
    schema = job.schema
    if schema is None and set(job.data) == {DEMO} and not tables:
        schema = DEMO_SCHEMA.select(job.choice)
    names = _columns(job, tables=tables) if schema is None else [*schema.attributes]
    for text in classify if names else ():
        name = text if text in names else re.split(">?=", text, maxsplit=1)[0]
        if name not in names:
            close = difflib.get_close_matches(name, names, n=1)
            hint = f": did you mean {close[0]}?" if close else ""
            raise UsageError(
                f"expected --classify by one of {', '.join(names)}, found {name!r}{hint}"
            )
        if text not in names and schema is None:
            schema = _inferred(job, tables=tables)
        if schema is not None:
            read_target(schema.domain, text)


def _columns(job: Job, *, tables: tuple[pd.DataFrame, ...]) -> list[str]:
    """Read the names of the first table's columns; none if it cannot be read here."""
    try:
        sources: Sequence[str | pd.DataFrame] = tables or job.data
        block = next(blocks(sources[0], choice=job.choice, form=job.form))
    except UsageError:  # the run says why, or the file is on the host of a party
        return []
    return [*block.columns]


def _inferred(job: Job, *, tables: tuple[pd.DataFrame, ...]) -> Schema | None:
    """Infer the schema as the parties will, where a label of it is asked for."""
    if job.schema_plan is not None or not instantiate(job).needs_schema:
        return None
    options: dict[str, Any] = {
        "rows": job.rows,
        "seed": job.public_seed,
        "choice": job.choice,
        "form": job.form,
    }
    try:
        sources: Sequence[str | pd.DataFrame] = tables or job.data
        return merge([infer(blocks(table, **options)) for table in sources])
    except UsageError:
        return None
