"""The conformance suite for the protocols of the house, on a sample of what takes long.

Most of the house's classes are variants of a few protocols: other noise, another option, one
holder. They share the code of messages, of secure sums and of going on. So each class tries a few
moments of a loss, and another class of the same protocol tries others. MPI's ranks are started for
one class of each protocol. With `SOTTOVOCE_WHOLE_SUITE=1` the suite is what others run: every law
in every class, on all tables, at 40 moments, and over MPI.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final
from zlib import crc32

import pytest

from sottovoce.launch.conformance import ProtocolConformance
from sottovoce.launch.conformance_runs import SuiteRuns, forget_runs
from sottovoce.runs import guard

__all__ = ["WHOLE", "SampledSuite", "VariantSuite"]

WHOLE: Final = bool(os.environ.get("SOTTOVOCE_WHOLE_SUITE"))
"""Whether the suite is tried as others run it."""
GUARD_SECONDS: Final = 0.2
"""Time of the guard in a run of a protocol that is not built in; the rehearsal has more."""


class SampledSuite(ProtocolConformance):
    """All laws on all tables, with a loss at a few moments, and a second of replays."""

    __test__ = False
    moments = SuiteRuns.moments if WHOLE else 4
    rehearsal_seconds = SuiteRuns.rehearsal_seconds if WHOLE else 1.0

    @pytest.fixture(autouse=True)
    def _runs_are_short(
        self, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
    ) -> Iterator[None]:
        """Weight few rows, as no law looks at how near a published table is.

        Ranks weight as many as ever, so runs that are compared with theirs do, too.
        """
        is_compared = self.over_mpi and "every_transport" in request.node.name
        if is_compared:
            forget_runs(type(self))
        elif not WHOLE:
            request.getfixturevalue("few_weighted_rows")
            monkeypatch.setattr(guard, "MIN_SECONDS", GUARD_SECONDS)
            monkeypatch.setattr(guard, "SLOWER", 30)  # one replay may take as long as before
        yield
        if is_compared:
            forget_runs(type(self))

    def _moments(self, messages: int) -> list[int]:
        if WHOLE or messages <= self.moments:
            return super()._moments(messages)
        step = -(-messages // self.moments)
        return [*range(_number_of(type(self)) % step, messages, step)]


class VariantSuite(SampledSuite):
    """The suite for a protocol that another class tries with other options.

    It starts no ranks of MPI. Of the tables on which a whole run is played again it has one of each
    law, and other variants have the others. The rehearsal plays every part on more tables than
    that.
    """

    __test__ = False
    over_mpi = WHOLE

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if not WHOLE:
            number = _number_of(cls)
            cls.kinds = [SuiteRuns.kinds[number % len(SuiteRuns.kinds)]]
            cls.seeds = [SuiteRuns.seeds[number % len(SuiteRuns.seeds)]]


def _number_of(suite: type) -> int:
    """Give a class a number that is the same in every process."""
    return crc32(f"{suite.__module__}.{suite.__qualname__}".encode())
