"""A synthesizer as users of SDV and SmartNoise know it: `fit`, `sample`, `save`, `load`.

`fit` makes one run of a protocol in this process. All else works on what that run published, so it
costs no further privacy, however many rows are drawn.
"""

from __future__ import annotations

import numbers
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import msgspec
import numpy as np

from ..messages import UsageError
from ..parties.table_argument import TableSources
from ..report.folder import put
from ..report.making import make_report
from ..report.report import as_dictionary
from ..report.reported import ReportedRun
from ..runs.record import RunRecord
from ..runs.table import Column, Table
from ..runs.value_files import frame_of
from ..runs.values import values_as_asked
from .result import Run
from .run import run

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Synthesizer"]

FORMAT: Final = "sottovoce synthesizer 1"
"""The first entry of a saved file."""


class SavedSynthesizer(msgspec.Struct, frozen=True):
    """The file of a fitted synthesizer: what it was asked for, and what its run published."""

    format: str
    parameters: dict[str, Any]
    record: RunRecord


class Synthesizer:
    """Learn a private synthetic table, and sample rows of it.

        synthesizer = Synthesizer(epsilon=1.0, parties=3).fit(table)
        rows = synthesizer.sample(1000)

    Args:
        protocol: A protocol that publishes a synthetic table, such as "adaptive-pairs", "aim" or
            "mst". The default is the one that `sottovoce.run` recommends.
        epsilon: Privacy loss of a record.
        delta: Probability with which the loss may be larger. The default is the protocol's; 0 is
            pure epsilon.
        parties: Number of parties who hold the table. The default is 3, or one for each table.
        schema: Categories and bins of the columns: a JSON file, or a dictionary. Without it they
            are inferred from the table, which is not private. "private" learns them with noise.
        random_state: Seed, which makes the fit reproducible to the byte, and not private.
        parameters: More parameters of the protocol, such as {"aggregator": "masks"}.

    `fit` sets `run_` (the run, as `sottovoce.run` returns it) and `report_` (its cost and privacy
    loss). The estimator has `get_params` and `set_params`, so that scikit-learn's `clone` copies
    it. What is pickled or saved is what the run published; it holds no records.
    """

    run_: Run
    report_: dict[str, Any]

    def __init__(
        self,
        protocol: str | None = None,
        *,
        epsilon: float = 1.0,
        delta: float | None = None,
        parties: int | None = None,
        schema: str | os.PathLike[str] | Mapping[str, Any] | None = None,
        random_state: int | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        self.protocol = protocol
        self.epsilon = epsilon
        self.delta = delta
        self.parties = parties
        self.schema = schema
        self.random_state = random_state
        self.parameters = parameters

    def fit(self, data: TableSources, y: object = None) -> Self:
        """Run the protocol on one table, which parties share, or on one table for each party.

        Args:
            data: Paths or DataFrames.
            y: Ignored; it is there for scikit-learn. A label is a column of the table.

        Raises:
            UsageError: The table or a parameter cannot be used, or the protocol publishes no rows.
        """
        del y
        if not isinstance(self.parameters, Mapping | None):
            raise UsageError(
                f"expected a dictionary of parameters, found {self.parameters!r}: "
                'write {"aggregator": "masks"}'
            )
        self._keep(
            run(
                self.protocol,
                data,
                parties=self.parties,
                epsilon=self.epsilon,
                delta=self.delta,
                seed=self.random_state,
                schema=self.schema,
                judge=False,
                **(self.parameters or {}),
            )
        )
        self._table()
        return self

    def sample(self, n: int | None = None, *, random_state: int | None = None) -> pd.DataFrame:
        """Sample rows of the synthetic table.

        Up to as many as it has, no row is taken twice. More rows repeat its labels; numbers and
        dates are drawn within their bins anew. A protocol's parameter `synthetic_rows` makes the
        table itself longer.

        Args:
            n: Number of rows. The default is as many as the table has.
            random_state: Seed of the choice, which is of no account for privacy.
        """
        table = self._table()
        n = table.rows if n is None else n
        if not isinstance(n, numbers.Integral) or n < 0:
            raise UsageError(f"expected a whole number of rows from 0 on, found {n!r}")
        n = int(n)
        generator = np.random.default_rng(random_state)
        rounds = [generator.permutation(table.rows) for _ in range(-(-n // max(table.rows, 1)))]
        rows = np.concatenate([*rounds, np.zeros(0, np.int64)])[:n]
        columns = tuple(_taken(column, rows) for column in table.columns)
        record = self.run_.record
        return frame_of(values_as_asked(Table(columns, n), record))

    def fit_sample(self, data: TableSources, n: int | None = None) -> pd.DataFrame:
        """Fit, then sample: by default as many rows as the synthetic table has."""
        return self.fit(data).sample(n)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file for `load`. Unlike a pickle it runs no code when it is read."""
        self._table()
        parameters = {**self.get_params(), "schema": None}  # the record has the run's schema
        saved = SavedSynthesizer(FORMAT, parameters, self.run_.record)
        put({Path(path).name: msgspec.msgpack.encode(saved)}, folder=Path(path).parent)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what `save` wrote."""
        try:
            saved = msgspec.msgpack.decode(Path(path).read_bytes(), type=SavedSynthesizer)
        except OSError as error:
            raise UsageError(f"expected a synthesizer at {path}, found {error.strerror}") from None
        except (msgspec.DecodeError, UnicodeDecodeError, ValueError) as error:
            raise UsageError(
                f"expected a file of Synthesizer.save at {path}, found other bytes: {error}"
            ) from None
        if saved.format != FORMAT:
            raise UsageError(f"expected {FORMAT!r} in {path}, found {saved.format!r}")
        synthesizer = cls(**saved.parameters)
        report = make_report(saved.record)
        synthesizer._keep(Run(saved.record, ReportedRun(report=report, judgement=None)))
        return synthesizer

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002 - scikit-learn's
        """List the parameters by name, as scikit-learn asks for them."""
        del deep
        return {name: getattr(self, name) for name in PARAMETERS}

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters by name."""
        for name, value in parameters.items():
            if name not in PARAMETERS:
                raise UsageError(
                    f"expected a parameter of Synthesizer ({', '.join(PARAMETERS)}), found {name!r}"
                )
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        options = {name: value for name, value in self.get_params().items() if value is not None}
        return f"Synthesizer({', '.join(f'{name}={value!r}' for name, value in options.items())})"

    def _keep(self, result: Run) -> None:
        self.run_ = result
        self.report_ = as_dictionary(result.reported.report)

    def _table(self) -> Table:
        """Give the published table, with labels of bins."""
        if not hasattr(self, "run_"):
            raise UsageError("expected a synthesizer that was fitted, found none: call fit first")
        table = self.run_.record.outcome.synthetic
        if table is None:
            raise UsageError(
                f"expected a protocol that publishes rows, found {self.run_.record.job.protocol}: "
                "its run is in run_; for rows take adaptive-pairs, aim or mst"
            )
        return table


PARAMETERS: Final = (
    "protocol",
    "epsilon",
    "delta",
    "parties",
    "schema",
    "random_state",
    "parameters",
)
"""The parameters of `Synthesizer`, in the order of its arguments."""


def _taken(column: Column, rows: np.ndarray[Any, np.dtype[np.int64]]) -> Column:
    """Take rows of a column."""
    return msgspec.structs.replace(column, values=column.codes()[rows].tobytes())
