"""The trial of a mutant: its tests in a copy of the tree, until one of them fails."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

from .mutation import Mutation
from .tree import environment, python

__all__ = ["Trial", "Verdict", "failing_tests", "try_mutant"]

Verdict: TypeAlias = Literal["noticed", "time-out", "survived", "not reached", "void"]
"""`void`: the test that failed fails without the mutation, too."""

MEMORY_BYTES: Final = 6 << 30
NO_TESTS: Final = 5
"""Status of pytest when no test was run."""
START_SECONDS: Final = 60.0
"""Seconds for starting pytest and for importing what it tests."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of a mutant."""

    module: str
    line: int
    kind: str
    before: str
    after: str
    verdict: Verdict
    tests: int
    """Tests that were chosen for it."""
    seconds: float
    first_failure: str
    """Test that failed first."""

    def as_json(self) -> dict[str, object]:
        """Return all fields, for a file."""
        return asdict(self)


def try_mutant(
    tree: Path,
    module: str,
    mutation: Mutation,
    *,
    tests: Sequence[str],
    seconds: Mapping[str, float],
    options: Sequence[str],
    patience: float,
) -> Trial:
    """Write the mutant into the copy, run its tests, and restore the copy.

    Where no test fails the examples in the module's docstrings are run, as `make unit` does.

    Args:
        tree: the copy.
        module: the module's path in it.
        mutation: the change.
        tests: the tests that are run, in this order, until one fails.
        seconds: how long each test takes without the mutation.
        options: options for pytest.
        patience: by how much a test may take longer; it is at least 20 s more.
    """
    path = tree / module
    source = path.read_text()
    began = time.monotonic()
    verdict: Verdict = "not reached"
    failure = ""
    limits = {test: 20 + patience * seconds[test] for test in tests}
    try:
        path.write_text(mutation.applied(source))
        if tests:
            verdict, failure = _run(tree, limits, options=options)
        if verdict in {"survived", "not reached"} and ">>>" in source and _breaks(tree, module):
            verdict = "noticed"
    finally:
        path.write_text(source)
    return Trial(
        module=module,
        line=mutation.line,
        kind=mutation.kind,
        before=mutation.before(source),
        after=mutation.after(source),
        verdict=verdict,
        tests=len(tests),
        seconds=round(time.monotonic() - began, 1),
        first_failure=failure,
    )


def failing_tests(tree: Path, limits: Mapping[str, float], *, options: Sequence[str]) -> set[str]:
    """Run tests without a mutation, and name those that fail."""
    _, failures = _run_all(tree, limits, options=options)
    return failures


def _breaks(tree: Path, module: str) -> bool:
    """Run the examples in a module's docstrings, and tell whether one is wrong."""
    package = "sottovoce." if (tree / "src" / "sottovoce").is_dir() else ""
    name = package + module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    code = (
        "import doctest, importlib, sys; "
        f"sys.exit(bool(doctest.testmod(importlib.import_module({name!r})).failed))"
    )
    try:
        done = subprocess.run(
            [python(), "-c", code],
            cwd=tree,
            env=environment(tree),
            capture_output=True,
            check=False,
            timeout=START_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return True
    return done.returncode != 0


def _run(tree: Path, limits: Mapping[str, float], *, options: Sequence[str]) -> tuple[Verdict, str]:
    status, failures = _run_all(tree, limits, options=[*options, "-x"])
    if status is None or (status == 1 and not failures):  # the plugin ended the process
        return "time-out", ""
    if status in {0, NO_TESTS}:
        return "survived" if status == 0 else "not reached", ""
    return "noticed", min(failures, default="")


def _run_all(
    tree: Path, limits: Mapping[str, float], *, options: Sequence[str]
) -> tuple[int | None, set[str]]:
    """Run tests, each within its limit; return the status, and the tests that failed."""
    choice = tree.with_name(f"{tree.name}.choice")
    choice.write_text(json.dumps(limits))
    files = dict.fromkeys(test.partition("::")[0] for test in limits)
    command = [python(), "-m", "pytest", "-q", "--no-header", "--tb=no", "-rfE"]
    with tempfile.TemporaryFile() as shown:
        process = subprocess.Popen(
            [*command, "-p", "no:cacheprovider", "-p", "mutants.plugin", *options, *files],
            cwd=tree,
            env=environment(
                tree, MUTANTS_CHOICE=str(choice), MUTANTS_IMPORT_SECONDS=str(START_SECONDS)
            ),
            stdout=shown,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        resource.prlimit(process.pid, resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        try:
            process.wait(START_SECONDS + sum(limits.values()))
        except subprocess.TimeoutExpired:
            return None, set()
        finally:  # a child that a test made may hang, and has outlived its parent
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        shown.seek(0)
        output = shown.read().decode(errors="replace")
    lines = [line for line in output.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    return process.returncode, {line.split(" ", 1)[1].split(" - ")[0] for line in lines}
