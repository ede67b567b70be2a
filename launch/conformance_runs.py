"""The runs that the conformance suite looks at: their settings, their tables, and their caches."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from ..messages import SottovoceError
from ..parties import DEMO_SCHEMA, blocks, infer, merge, write_schema
from ..privacy import Accountant
from ..protocols.protocol import AnyProtocol
from ..protocols.registry import find
from ..runs.instance import instantiate
from ..runs.job import Job
from ..runs.settings import OPTIONS, settings
from .conformance_tables import OtherRecords, party_tables, whole_table
from .mpiexec import find_launcher
from .release_tape import ReleaseTape
from .result import NotAccountedWarning, Run
from .run import run

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["RECORDED_RUNS", "SuiteRuns", "forget_runs"]

_USUAL_RUNS: dict[tuple[type, str], Run] = {}
RECORDED_RUNS: dict[tuple[type, str], tuple[Run, ReleaseTape]] = {}
"""The first run of each suite, and the answers of its releases, which other tables replay."""


class SuiteRuns:
    """The settings of a suite, and the runs with them that its tests share."""

    protocol: ClassVar[str] = ""
    parameters: ClassVar[Mapping[str, Any]] = {}
    """Parameters of the protocol, and options of `sottovoce.run`."""
    parties: ClassVar[int] = 3
    rows: ClassVar[int] = 120
    """Rows of the table that are used, from its beginning."""
    data: ClassVar[str] = "demo"
    """A CSV or Parquet file with the parties' records, which are split evenly."""
    schema: ClassVar[str | None] = None
    """Its schema; by default it is inferred where the protocol needs one."""
    mode: ClassVar[str] = "rigorous"
    kinds: ClassVar[Sequence[OtherRecords]] = ("others", "first", "last")
    """Other tables on which every message must be the same."""
    seeds: ClassVar[Sequence[int]] = (0, 1, 2)
    """For each of them another record is replaced, or removed."""
    moments: ClassVar[int] = 40
    """Moments at which a party is lost in a conversation of more messages than that."""
    rehearsal_seconds: ClassVar[float | None] = None
    """Longest time of a rehearsal's replays on other tables, and as long on neighbouring ones.

    By default it is five seconds.
    """
    over_mpi: ClassVar[bool] = True
    """Whether the bytes of a run over MPI are compared; its ranks take seconds to start."""

    def _run(self, reference: str, **options: Any) -> Run:
        defaults: dict[str, Any] = {
            "data": self.data,
            "parties": self.parties,
            "rows": self.rows,
            "seed": 20,
            "mode": self.mode,
            "timeout": 60.0,
            "transcript": True,
            "judge": False,
            "no_rehearsal": True,
            "schema": self.schema,
        }
        with warnings.catch_warnings():  # a law of its own looks for what is not accounted
            warnings.simplefilter("ignore", NotAccountedWarning)
            return run(reference, **{**defaults, **self.parameters, **options})

    def _usual_run(self, reference: str) -> Run:
        """Give the run that several tests look at. It is made once, and no test changes it."""
        if (type(self), reference) not in _USUAL_RUNS:
            _USUAL_RUNS[type(self), reference] = self._run(reference)
        return _USUAL_RUNS[type(self), reference]

    def _tables(self, reference: str) -> tuple[list[pd.DataFrame], dict[str, Any]]:
        """Make the parties' tables, and the options that belong to them."""
        table = whole_table(self.data, rows=self.rows, form=self._job(reference).form)
        options: dict[str, Any] = {"rows": None}
        if find(reference).needs_schema:
            schema = DEMO_SCHEMA if self.data == "demo" else merge([infer(blocks(table))])
            options["schema"] = self.schema or json.loads(write_schema(schema))
        return party_tables(table, parties=self.parties), options

    def _replayed_run(
        self,
        reference: str,
        tables: list[pd.DataFrame],
        others: list[pd.DataFrame],
        monkeypatch: pytest.MonkeyPatch,
        **options: Any,
    ) -> tuple[Run, Run, ReleaseTape]:
        """Run on the tables, then on the others with the same answers of all releases.

        The first run is made once for all tests.
        """
        if (type(self), reference) not in RECORDED_RUNS:
            tape = ReleaseTape()
            monkeypatch.setattr(Accountant, "release", tape.record)
            first = self._run(reference, data=tables, **options)
            RECORDED_RUNS[type(self), reference] = first, tape
        recorded, tape = RECORDED_RUNS[type(self), reference]
        monkeypatch.setattr(Accountant, "release", tape.replay)
        return recorded, self._run(reference, data=others, **options), tape

    def _moments(self, messages: int) -> list[int]:
        """List after how many of its messages a party is lost, each in a run of its own."""
        step = max(1, -(-messages // self.moments))
        return sorted({*range(0, messages, step), messages})

    def _variant(self, reference: str) -> type[AnyProtocol]:
        """Find the class that runs: the variant that mode and parameters stand for."""
        return type(instantiate(self._job(reference)))

    def _job(self, reference: str) -> Job:
        options = {name: value for name, value in self.parameters.items() if name in OPTIONS}
        parameters = {name: value for name, value in self.parameters.items() if name not in options}
        fields = {"mode": self.mode, "parties": self.parties, "data": self.data, **options}
        schema = {} if self.schema is None else {"schema": self.schema}
        return settings({"protocol": reference, "set": parameters, **fields, **schema}).job

    def _with_mpi(self, reference: str) -> Run:
        try:
            find_launcher(None)
        except SottovoceError as error:
            pytest.skip(f"no MPI: {error}")
        return self._run(reference, transport="mpi")


def forget_runs(suite: type[SuiteRuns]) -> None:
    """Let the tests of a suite that share a run make it anew."""
    for key in [key for key in _USUAL_RUNS if key[0] is suite]:
        del _USUAL_RUNS[key]
