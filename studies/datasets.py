"""The papers' datasets: where each is published, and the files that the user gives for them.

Nothing is downloaded. A file is a CSV (also .gz) with a header, or Parquet.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from ..messages import UsageError
from ..parties import blocks
from .descriptions import read_description

__all__ = ["DATASETS", "Dataset", "DatasetFile", "read_dataset_files"]


class Dataset(NamedTuple):
    """A published dataset."""

    title: str
    where: str
    """Where it is published."""
    rows: int
    """Number of its rows."""


DATASETS: Final[Mapping[str, Dataset]] = {
    "adult": Dataset(
        "Adult, 48,842 people of the US census of 1994, 15 attributes",
        "UCI Machine Learning Repository, dataset 2: "
        "adult.data and adult.test one after the other, with a header",
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
        "withdrawn by its publisher in 2006; PriView's authors may have it",
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
        "the generator EGen of tpc.org; every copy differs from the authors' copy",
        40_000,
    ),
}

STAND_IN_WORDS: Final = ("standin", "stand-in", "stand_in", "synthetic")
"""Words in a file's name, folder or description that mark it as a stand-in."""
GENERATED: Final = ("tpc-e",)
"""Datasets that everyone generates anew, so that every file is a stand-in."""


class DatasetFile(NamedTuple):
    """A file that the user gives for a dataset."""

    dataset: str
    path: Path
    stand_in: bool
    """Whether the file is known not to hold the published dataset."""
    rows: int | None
    """Number of its rows; `None` for an unreadable file, which fails when a run reads it."""
    digest: str
    """SHA-256 of the file."""

    @property
    def kind(self) -> str:
        """Describe how the file differs from the published dataset."""
        published = DATASETS[self.dataset].rows
        differences = ["stand-in"] if self.stand_in else []
        if self.rows not in (None, published):
            differences.append(f"{self.rows:,} rows of {published:,}")
        return ", ".join(differences) or "as given"


def read_dataset_files(arguments: Sequence[str]) -> dict[str, DatasetFile]:
    """Read the arguments `DATASET=FILE` of `--data`, each dataset once.

    Raises:
        UsageError: An argument names no dataset or no file, or a dataset occurs twice.
    """
    files: dict[str, DatasetFile] = {}
    for argument in arguments:
        name, sign, text = argument.partition("=")
        if not sign or name not in DATASETS:
            raise UsageError(
                f"expected --data DATASET=FILE, of {', '.join(DATASETS)}, found {argument!r}"
            )
        if name in files:
            raise UsageError(f"expected each dataset once, found --data {name}= twice")
        path = Path(text)
        if not path.is_file():
            raise UsageError(
                f"expected a table at {text} for --data {name}, found none: "
                f"get it from {DATASETS[name].where}"
            )
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        files[name] = DatasetFile(name, path, _is_stand_in(name, path), _count_rows(path), digest)
    return files


def _is_stand_in(dataset: str, path: Path) -> bool:
    names = f"{path.parent.name} {path.name} {read_description(path).name}".lower()
    return dataset in GENERATED or any(word in names for word in STAND_IN_WORDS)


def _count_rows(path: Path) -> int | None:
    try:
        return sum(len(block) for block in blocks(str(path)))
    except (UsageError, OSError):
        return None
