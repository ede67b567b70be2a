"""What an audit plays, and what its runs say: plain data that processes send to each other."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from ..evaluation.distinguishing import MIN_RUNS
from ..parties import COMMAS, CsvForm, Schema
from ..protocols.options import Mode
from ..report.formats import quantity
from ..runs.job import Job

__all__ = ["AuditPlan", "Chunk", "Figures", "RunFigures"]

CHUNK_RUNS: Final = 20


class AuditPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What is audited."""

    protocol: str
    mode: Mode
    parameters: dict[str, Any]
    parties: int
    party: int
    """The audited party's number."""
    data: str
    """made-up, demo, or the path of a table whose columns and labels are used."""
    form: CsvForm = COMMAS
    """How the table's file is read."""
    sizes: tuple[int, ...]
    rows: int
    tables: tuple[str, ...]
    runs: int
    seed: int
    key_bits: int
    schema: Schema | None = None

    def job(self) -> Job:
        """Make the job of a run."""
        return Job(
            protocol=self.protocol,
            parameters=self.parameters,
            parties=self.parties,
            mode=self.mode,
            key_bits=self.key_bits,
            insecure_test_keys=True,
            seed=self.seed,
        )

    @property
    def runs_on_each_side(self) -> int:
        """Number of runs on each table, and as many on its neighbour."""
        return max(MIN_RUNS, -(-self.runs // (2 * len(self.tables))))

    @property
    def remark(self) -> str:
        """Say why there are more runs than requested; empty where there are not."""
        least = 2 * len(self.tables) * MIN_RUNS
        if self.runs >= least:
            return ""
        tables = quantity(len(self.tables), "table")
        return (
            f"{least:,} runs, not {self.runs:,}: {tables} with a neighbour each, and with fewer "
            f"than {MIN_RUNS} runs on either nothing can be tested"
        )

    def chunks(self) -> list[Chunk]:
        """Divide the runs: an equal number on each table and on each neighbour."""
        sides = [(table, swapped) for table in self.tables for swapped in (False, True)]
        each = self.runs_on_each_side
        chunks = []
        for side, (table, swapped) in enumerate(sides):
            for start in range(0, each, CHUNK_RUNS):
                seed = self.seed + side * each + start
                chunks.append(Chunk(self, table, swapped, seed, min(CHUNK_RUNS, each - start)))
        return chunks


class Chunk(msgspec.Struct, frozen=True):
    """Some runs on one dataset, which one process makes."""

    plan: AuditPlan
    table: str
    swapped: bool
    """Whether the runs are on the neighbouring dataset."""
    seed: int
    """Seed of the first run; each run has the next one."""
    runs: int


class Figures(msgspec.Struct, frozen=True):
    """What one run says of one view."""

    loss: float | None
    numbers: tuple[float, ...]
    """What the view holds, where the loss is not known."""
    accounted: float
    rho: float
    """Accounted rho, which bounds the mean loss."""
    differs: bool = True
    """Whether the two datasets differ in this view, as far as is noticed."""


class RunFigures(msgspec.Struct, frozen=True):
    """What one run says."""

    table: str
    swapped: bool
    views: dict[str, Figures]
    delta: float
    difference: str
