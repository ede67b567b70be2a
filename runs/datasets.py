"""The datasets of a run, by the digest of each table, and what the run costs each of them."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ..parties import DEMO, digest_of
from ..protocols.survey import SurveyOptions
from .instance import instantiate
from .job import Job

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Dataset", "cost_of", "datasets_of", "draws_users"]


class Dataset(NamedTuple):
    """One table that a run reads."""

    name: str
    """The path of the table, "demo", or "<table>" for a DataFrame."""
    digest: str
    holders: tuple[tuple[int, ...], ...]
    """Parties, in groups. Those of a group share the table; every group has all of its records."""


def datasets_of(
    job: Job,
    *,
    tables: Sequence[pd.DataFrame] = (),
    copies: Mapping[str, pd.DataFrame] = MappingProxyType({}),
) -> list[Dataset]:
    """Digest the tables of a job on this machine; equal tables of several parties are one dataset.

    Args:
        job: the job.
        tables: its DataFrames, if it has them instead of paths.
        copies: DataFrames that are in files for other processes, by path. Such a file counts as
            the DataFrame, whatever its format.

    Raises:
        UsageError: a table cannot be read here.
    """
    parties = tuple(range(1, job.parties + 1))
    sources: Sequence[str | pd.DataFrame] = tables or job.data
    groups = [parties] if len(sources) == 1 else [(party,) for party in parties]
    datasets: dict[str, Dataset] = {}
    for source, name, group in zip(sources, job.data, groups, strict=True):
        table = copies.get(source, source) if isinstance(source, str) else source
        if not isinstance(table, str):
            digest = digest_of(table)
        elif table == DEMO:
            digest = digest_of(DEMO, rows=job.rows, seed=job.public_seed)
        else:
            digest = _digest_of_file(table)
        shown = name if isinstance(table, str) else "<table>"
        dataset = datasets.get(digest, Dataset(shown, digest, ()))
        datasets[digest] = dataset._replace(holders=(*dataset.holders, group))
    return list(datasets.values())


def _digest_of_file(path: str) -> str:
    """Digest a file; a sweep reads it once, unless its size or its time changes."""
    if not os.path.isfile(path):  # noqa: PTH113 - false for names that are too long
        return digest_of(path)  # raises the error that names the file
    stat = Path(path).stat()
    return _digest_of_version(path, stat.st_size, stat.st_mtime_ns)


@functools.lru_cache(maxsize=256)
def _digest_of_version(path: str, _size: int, _changed: int) -> str:
    return digest_of(path)


def draws_users(job: Job) -> bool:
    """Tell whether users are drawn from the records, with replacement.

    Epsilon then holds for each user. A record may stand behind several, so its loss is not bounded.
    """
    protocol = instantiate(job)
    return isinstance(protocol.parameters, SurveyOptions) and bool(protocol.parameters.users)


def cost_of(dataset: Dataset, by_party: Mapping[int, float]) -> float:
    """Add up what a run costs the records of a table, given the loss of each party's records.

    Parties that share the table have different records, so the largest loss counts. Parties with
    the same table each use every record, so their losses add up.
    """
    return sum(max(by_party[party] for party in group) for group in dataset.holders)
