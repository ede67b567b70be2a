"""Runs that go on without a lost party: their jobs, and the referee of their sums."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sottovoce.privacy.shares import SharedNoise
from sottovoce.protocols.secure_sum.lasting_curator import LastingCurator
from sottovoce.protocols.secure_sum.lasting_party import LastingParty
from sottovoce.report.making import make_report
from sottovoce.runs.job import Job
from sottovoce.runs.record import RunRecord
from sottovoce.runs.settings import settings

if TYPE_CHECKING:
    import pytest

__all__ = ["MASKS", "PARTIES", "SumReferee", "job", "spent"]

Counts = npt.NDArray[np.int64]
PARTIES = 4
MASKS: dict[str, Any] = {"aggregator": "masks", "epsilon": 50.0}


def job(
    protocol: str,
    fault: Sequence[str] = (),
    *,
    parties: int = PARTIES,
    min_parties: int | None = 2,
    mode: str = "rigorous",
    rows: int = 240,
    columns: Sequence[str] = ("sex", "race", "income"),
    **parameters: Any,
) -> Job:
    return settings(
        {
            "protocol": protocol,
            "parties": parties,
            "rows": rows,
            "columns": (*columns,),
            "seed": 1,
            "mode": mode,
            "fault": [*fault],
            "on_loss": "continue",
            "min_parties": min_parties,
            "set": parameters,
        }
    ).job


class SumReferee:
    """Notes the exact tables of each party, batch by batch, and what the curator reads."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.exact: dict[int, dict[int, Counts]] = defaultdict(dict)
        self.read: dict[int, tuple[list[int], Counts]] = {}
        contribute, collect, referee = LastingParty.contribute, LastingCurator.collect, self

        def noting(party: LastingParty, tables: Any, *args: Any, number: int, **more: Any) -> None:
            kept = [np.ravel(np.asarray(table)).astype(np.int64) for table in tables]
            referee.exact[number][party._me.rank] = np.concatenate(kept)
            contribute(party, kept, *args, number=number, **more)

        def reading(curator: LastingCurator, *args: Any, number: int) -> list[Counts]:
            pages = collect(curator, *args, number=number)
            referee.read[number] = [*curator.members], np.concatenate(pages)
            return pages

        def without_noise(noise: SharedNoise, _: Any) -> Iterator[Counts]:
            return (np.asarray(page) for page in noise.pages)

        monkeypatch.setattr(LastingParty, "contribute", noting)
        monkeypatch.setattr(LastingCurator, "collect", reading)
        monkeypatch.setattr(SharedNoise, "draw", without_noise)

    def require_exact(self) -> None:
        """Compare every sum with the tables of the parties that were members when it was read."""
        for number, (members, cells) in self.read.items():
            tables = self.exact[number]
            assert np.array_equal(cells, sum(tables[party] for party in members)), number


def spent(record: RunRecord) -> dict[str, float]:
    """List the epsilon of each party to the curator."""
    privacy = make_report(record).privacy
    return {party: float(views["curator"]) for party, views in privacy.by_party.items()}
