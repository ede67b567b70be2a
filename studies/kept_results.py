"""Results of reproductions that are kept: a small CSV for each item, and how it was made.

`NAME.csv` has a line for each finished run, with the columns that the item's pictures and claims
take. `NAME.json` has the size, the data, the versions and the machine. Verdicts are not kept: they
are computed again from the lines, so a claim that was changed is judged anew.
"""

from __future__ import annotations

import contextlib
import os
import platform
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from io import BytesIO
from pathlib import Path
from typing import Final

import msgspec

from ..evaluation.claims import as_list
from ..evaluation.points import Verdict, overall
from ..messages import UsageError
from ..report.folder import put
from ..runs.version import VERSION
from .cell import Row, digest_of_rooms
from .datasets import DatasetFile
from .items import Item, Size, item_paths, read_item
from .reproduction import JudgedClaim, Reproduction, claim_verdicts, judge_item

__all__ = ["KeptItem", "Provenance", "keep", "read_kept"]

DIGITS: Final = 6
"""Significant digits of a figure."""
PACKAGES: Final = ("numpy", "scikit-learn")


class Provenance(msgspec.Struct, frozen=True, kw_only=True):
    """How the results of an item were made."""

    size: Size
    seconds: float
    """Time of the last sitting, in which finished runs were not repeated."""
    runs: int
    failed: int
    left: int
    """Number of rows whose runs have not been made."""
    code: str
    """Digest of the code that results follow from."""
    versions: dict[str, str]
    machine: str
    data: dict[str, str]
    """By dataset, how its file differs from the published one."""
    sha256: dict[str, str]


class KeptItem(msgspec.Struct, frozen=True, kw_only=True):
    """An item with its kept results."""

    item: Item
    provenance: Provenance
    rows: list[Row]

    def judge(self) -> list[JudgedClaim]:
        """Judge the item's claims by the kept rows."""
        return judge_item(self.item, self.rows)

    @property
    def verdict(self) -> Verdict:
        """The verdict on all claims of the paper."""
        return overall(claim_verdicts(self.judge()))


def keep(result: Reproduction, *, files: Sequence[DatasetFile], quick: bool, folder: Path) -> None:
    """Write the results of an item in short."""
    import pandas as pd

    item = result.item
    columns = columns_of(item)
    finished = [row for row in result.rows if row["status"] == "done"]
    table = pd.DataFrame(
        [{name: row.get(name) for name in columns if name in row} for row in finished]
    )
    provenance = Provenance(
        size="quick" if quick else "full",
        seconds=round(result.seconds, 1),
        runs=result.study.cells,
        failed=len(result.study.failures),
        left=result.rows_left,
        code=digest_of_rooms()[:12],
        versions=dict(_versions()),
        machine=_machine(),
        data={file.dataset: file.kind for file in files},
        sha256={file.dataset: file.digest for file in files},
    )
    put(
        {
            f"{item.name}.csv": table.dropna(axis="columns", how="all")
            .to_csv(index=False, float_format=f"%.{DIGITS}g")
            .encode(),
            f"{item.name}.json": msgspec.json.format(msgspec.json.encode(provenance)) + b"\n",
        },
        folder=folder,
    )


def columns_of(item: Item) -> list[str]:
    """List the columns that pictures and claims take, each once."""
    names = ["line", "seed", item.picture.x]
    for panel in item.picture.panel:
        names += [panel.x, *panel.where, panel.y, panel.baseline]
    for claim in item.claim:
        names += [claim.along, *claim.where, claim.each, *as_list(claim.y)]
    return [name for name in dict.fromkeys(names) if name]


def read_kept(folder: Path) -> list[KeptItem]:
    """Read all results that a folder keeps, in the order of the items."""
    return [
        _read_item(name, folder) for name in item_paths() if (folder / f"{name}.json").is_file()
    ]


def _read_item(name: str, folder: Path) -> KeptItem:
    import pandas as pd

    path = folder / f"{name}.json"
    try:
        provenance = msgspec.json.decode(path.read_bytes(), type=Provenance)
        table = pd.read_csv(BytesIO((folder / f"{name}.csv").read_bytes()))
    except (OSError, ValueError) as error:
        raise UsageError(f"expected kept results in {path}, found {error}") from None
    item = read_item(item_paths()[name]).of_size(provenance.size)
    lines = {run["line"] for run in item.run}
    lines |= {line for run in item.run for line in run.get("also", {})}
    if foreign := sorted({*table["line"]} - lines):
        raise UsageError(
            f"expected lines of {name} in {path.with_suffix('.csv')}, found {foreign[0]!r}: "
            "make it again with `sottovoce reproduce --keep`"
        )
    rows = [
        {str(key): value for key, value in row.items() if not pd.isna(value)}
        for row in table.to_dict("records")
    ]
    return KeptItem(item=item, provenance=provenance, rows=rows)


def _versions() -> Iterator[tuple[str, str]]:
    # What an installation says of itself may be older than the code that runs.
    yield "python", platform.python_version()
    yield "sottovoce", VERSION
    for name in PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            yield name, version(name)


def _machine() -> str:
    """Describe the processor and the number of its cores."""
    model = platform.machine()
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                model = value.strip()
                break
    return f"{model}, {os.cpu_count()} cores"
