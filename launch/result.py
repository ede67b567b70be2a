"""What `sottovoce.run` gives back: a run's tables, report, ledger and page."""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ..report.brief import brief_html, brief_text
from ..report.report import as_dictionary
from ..report.reported import ReportedRun
from ..runs.record import RunRecord
from ..runs.value_files import frame_of
from ..runs.values import values_of_run

if TYPE_CHECKING:
    import pandas as pd

    from ..privacy import Domain

__all__ = ["NotAccountedWarning", "Run"]


class NotAccountedWarning(UserWarning):
    """Something left a party without a release, so that no privacy loss of the run is known."""


@dataclass(frozen=True, repr=False)
class Run:
    """What a run published, with its cost, its privacy and its quality."""

    record: RunRecord
    """What happened, as one typed object."""
    reported: ReportedRun
    """The report and the judgement, as typed objects."""

    def __repr__(self) -> str:
        """Describe the run in five lines."""
        return brief_text(self.reported)

    def _repr_html_(self) -> str:
        """Describe the run in a notebook, with the first rows of the synthetic table."""
        table = self.synthetic
        head = "" if table is None else table.head().to_html(border=0)
        return brief_html(self.reported, head=head)

    @functools.cached_property
    def synthetic(self) -> pd.DataFrame | None:
        """The synthetic table, if the protocol publishes one.

        Numbers and dates are drawn within their bins, unless the run was asked for labels.
        """
        columns = values_of_run(self.record)
        return None if columns is None else frame_of(columns)

    @functools.cached_property
    def labels(self) -> pd.DataFrame | None:
        """The synthetic table with labels of bins, as the protocol published it."""
        table = self.record.outcome.synthetic
        return None if table is None else table.frame()

    @functools.cached_property
    def marginals(self) -> pd.DataFrame | None:
        """The noisy marginals, if the protocol publishes them."""
        table = self.record.outcome.marginals
        return None if table is None else table.frame()

    def marginal(self, *attributes: str) -> pd.DataFrame:
        """One of the published marginals: a column for each attribute, and the noisy count.

        `noisy-marginals` adds the interval from `low` to `high` that covers the exact count.

        Raises:
            UsageError: No such marginal was published.
        """
        from ..report.marginal import one_marginal

        return one_marginal(self.marginals, attributes)

    @property
    def model(self) -> Any:
        """The protocol's model, as model.json has it, if it publishes one."""
        return self.record.outcome.model

    @functools.cached_property
    def report(self) -> dict[str, Any]:
        """The report as a dictionary, as report.json has it; infinity is a float."""
        return as_dictionary(self.reported.report)

    @functools.cached_property
    def judgement(self) -> dict[str, Any]:
        """What was measured on the real table, as judgement.json has it. It is not private.

        It is empty where nothing was measured.
        """
        judgement = self.reported.judgement
        return {} if judgement is None else dict(msgspec.to_builtins(judgement))

    @functools.cached_property
    def ledger(self) -> pd.DataFrame:
        """The ledger: one row for each message."""
        import io

        import pandas as pd

        from ..report.folder import ledger_csv

        return pd.read_csv(io.BytesIO(ledger_csv(self.record.entries)))

    @functools.cached_property
    def files(self) -> dict[str, bytes]:
        """The files of the run's folder without the page, by name."""
        from ..report.folder import run_files

        return run_files(self.record, self.reported)

    @property
    def domain(self) -> Domain | None:
        """The public domain of what was published, if the protocol has one."""
        schema = self.record.schema
        return None if schema is None else schema.domain

    def page(self) -> str:
        """Make report.html."""
        from ..report.folder import page_of

        record = self.record
        page = page_of(self.reported, entries=record.entries, model=record.outcome.model)
        return page.decode()

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write everything into a folder, as `sottovoce run --out` does."""
        from ..report.folder import write_run

        write_run(self.record, self.reported, folder=Path(folder))
