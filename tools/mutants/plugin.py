"""A pytest plugin with two tasks: measure what each test reaches, and run chosen tests in order.

`MUTANTS_TIMES` names the file for the seconds of each test; coverage then records each test under
its own name. `MUTANTS_CHOICE` names a file with tests, to be run in its order, each with a limit of
seconds. The import of their files has one, too.
"""

from __future__ import annotations

import faulthandler
import json
import os
from collections.abc import Iterator
from pathlib import Path

import coverage
import pytest

TIMES = os.environ.get("MUTANTS_TIMES")
CHOICE = os.environ.get("MUTANTS_CHOICE")
STANDARD_ERROR = 2
IMPORT_SECONDS = float(os.environ.get("MUTANTS_IMPORT_SECONDS", "60"))
"""Limit on importing the files of tests, which may compute something, too."""

_times: dict[str, float] = {}
_failed: set[str] = set()
_limits: dict[str, float] = {}


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """End a process that does not come to its tests, as a mutant's loop may be in an import."""
    if CHOICE:
        faulthandler.dump_traceback_later(IMPORT_SECONDS, exit=True, file=STANDARD_ERROR)
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(
    config: pytest.Config,  # noqa: ARG001 - the hook's signature
    items: list[pytest.Item],
) -> None:
    """Keep the chosen tests, in the order in which they were chosen."""
    if CHOICE:
        _limits.update(json.loads(Path(CHOICE).read_text()))
        by_name = {item.nodeid: item for item in items}
        items[:] = [by_name[name] for name in _limits if name in by_name]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Count all that runs from a test's set-up to its end as this test's."""
    if TIMES and (counting := coverage.Coverage.current()):
        counting.switch_context(item.nodeid)
    if item.nodeid in _limits:
        # A test that does not end ends the process.
        faulthandler.dump_traceback_later(_limits[item.nodeid], exit=True, file=STANDARD_ERROR)
    try:
        return (yield)
    finally:
        if item.nodeid in _limits:
            faulthandler.cancel_dump_traceback_later()
        if TIMES and (counting := coverage.Coverage.current()):
            counting.switch_context("")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up the seconds of a test's three parts."""
    _times[report.nodeid] = _times.get(report.nodeid, 0.0) + report.duration
    if not report.passed:
        _failed.add(report.nodeid)


def pytest_sessionfinish() -> None:
    """Write the seconds of the tests that passed."""
    if TIMES:
        passed = {name: seconds for name, seconds in _times.items() if name not in _failed}
        Path(TIMES).write_text(json.dumps(passed))
