"""The map from lines to tests: which tests reach a line, and how long each of them takes.

It is made once, a test file at a time, with coverage's contexts, and kept. A test file that changed
is measured again. If a module changed since a file was measured, its lines are not compared: the
file's tests that reach the module come after those of which the lines are known.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from coverage import CoverageData

from .mutation import Statement
from .tree import copy_tree, digest, environment, python

__all__ = ["QUICK_SECONDS", "Reach", "measure"]

QUICK_SECONDS: Final = 0.5
"""Tests up to this length run first."""
MAX_FILE_SECONDS: Final = 1800.0


@dataclass(slots=True)
class Reach:
    """What the tests of several files reach."""

    seconds: dict[str, float] = field(default_factory=dict)
    """Seconds of each test that passes."""
    lines: dict[str, dict[int, set[str]]] = field(default_factory=dict)
    """For each module the tests that reach each line."""
    texts: dict[tuple[str, str], dict[int, set[str]]] = field(default_factory=dict)
    """The same for each module and each digest of its text, as it was measured."""
    words: dict[str, frozenset[str]] = field(default_factory=dict)
    """The words of each test file."""

    def add(self, record: Mapping[str, Any]) -> None:
        """Add what a test file reaches."""
        names = [*record["tests"]]
        self.seconds.update(record["tests"])
        for module, reached in record["lines"].items():
            text = module, record["digests"][module]
            for by_line in (self.lines.setdefault(module, {}), self.texts.setdefault(text, {})):
                for line, tests in reached.items():
                    by_line.setdefault(int(line), set()).update(names[test] for test in tests)

    def choose(self, module: str, statement: Statement, *, text: str, most: float) -> list[str]:
        """Choose tests for a change of a statement, in the order in which they shall run.

        First come the tests that reach the statement, then others of their classes and files,
        because what is computed once for several tests counts as the first one's. Every test that
        reaches the module is chosen for a statement that runs on import, whichever of them imported
        it first, and for one that no test reaches, as it may run in a process that a test starts.
        Of a statement that runs on import, those that reach its folder come then: no test reaches a
        module of constants. First come those of files that name the module, for half the seconds: a
        test that compares a constant runs no line of the module.
        Where not all of them fit, the shortest are taken: tests of one function are among them.

        Args:
            module: the module's path in the tree.
            statement: the changed statement.
            text: the digest of the module's text now.
            most: the seconds that all chosen tests may take together.
        """
        of_module = set[str]().union(*self.lines.get(module, {}).values())
        by_line = self.texts.get((module, text), {})
        unsure = of_module.difference(*by_line.values())
        """Tests that reached another text of the module."""
        direct = set[str]().union(*(by_line.get(line, ()) for line in statement.lines)) or of_module
        classes = {test.rpartition("::")[0] for test in direct}
        beside = {test for test in of_module - direct if test.rpartition("::")[0] in classes}
        beside |= (unsure if statement.in_function else of_module) - direct
        siblings = {
            test
            for test in self.seconds.keys() - direct - beside
            if test.count("::") > 1 and test.rpartition("::")[0] in classes
        }
        named, folder = set[str](), set[str]()
        if not statement.in_function:
            named = self._of_files_with(module.rpartition("/")[2].removesuffix(".py"))
            folder = self._of_folder(module) - direct - siblings - beside
        chosen: list[str] = []
        left = most
        for tests, kept in (
            (named, most / 2),
            (direct, 0.0),
            (siblings - beside, 0.0),
            (beside, 0.0),
            (folder, 0.0),
        ):
            fitting = []
            for test in sorted(tests.difference(chosen), key=lambda t: (self.seconds[t], t)):
                if self.seconds[test] <= left - kept:
                    left -= self.seconds[test]
                    fitting.append(test)
            chosen += sorted(fitting, key=self._order)
        return chosen

    def _of_files_with(self, word: str) -> set[str]:
        """Find the tests of all files that have a word."""
        files = {name for name, words in self.words.items() if word in words}
        return {test for test in self.seconds if test.partition("::")[0] in files}

    def _of_folder(self, module: str) -> set[str]:
        """Find the tests that reach any module in a module's folder."""
        folder = module.rpartition("/")[0]
        return {
            test
            for name, lines in self.lines.items()
            if folder and name.rpartition("/")[0] == folder
            for tests in lines.values()
            for test in tests
        }

    def _order(self, test: str) -> tuple[bool, float, str]:
        """Put quick tests first, file by file, then the slower ones by their length."""
        quick = self.seconds[test] <= QUICK_SECONDS
        return not quick, 0.0 if quick else self.seconds[test], test


def measure(
    root: Path,
    files: Sequence[str],
    *,
    store: Path,
    rooms: Sequence[str],
    options: Sequence[str],
    workers: int,
    tell: Callable[[str], None],
) -> Reach:
    """Measure test files that were not measured as they are now; return what all of them reach.

    Args:
        root: the tree.
        files: the test files' paths in the tree.
        store: the folder for what is kept.
        rooms: the folders whose lines count.
        options: options for pytest.
        workers: processes at once.
        tell: receives a line for each file that was measured.
    """
    (store / "reach").mkdir(parents=True, exist_ok=True)
    stale = [name for name in files if not _is_current(root, name, store=store)]
    if stale:
        copy_tree(root, store / "measured")
    with ThreadPoolExecutor(workers) as pool:
        tasks = [
            pool.submit(_measure_file, store, name, rooms=rooms, options=options) for name in stale
        ]
        for number, (name, task) in enumerate(zip(stale, tasks, strict=True), start=1):
            tests = task.result()
            tell(f"[{number}/{len(stale)}] measured what {tests} tests of {name} reach")
    reach = Reach()
    for name in files:
        reach.add(json.loads(_record(store, name).read_text()))
        reach.words[name] = frozenset(re.findall(r"\w+", (root / name).read_text()))
    return reach


def _record(store: Path, name: str) -> Path:
    return store / "reach" / f"{name.replace('/', '.')}.json"


def _is_current(root: Path, name: str, *, store: Path) -> bool:
    record = _record(store, name)
    if not record.exists():
        return False
    return bool(json.loads(record.read_text())["digest"] == digest([root / name]))


def _measure_file(store: Path, name: str, *, rooms: Sequence[str], options: Sequence[str]) -> int:
    """Run a test file under coverage, and write down what it reaches."""
    tree, record = store / "measured", _record(store, name)
    data, times = record.with_suffix(".coverage"), record.with_suffix(".times")
    for leftover in (data, times):
        leftover.unlink(missing_ok=True)
    settings = record.with_suffix(".ini")
    settings.write_text(
        f"[run]\ndata_file = {data}\nsource =\n"
        + "".join(f"    {tree / room}\n" for room in rooms)
        + "disable_warnings = no-data-collected, module-not-imported\n"
    )
    command = [python(), "-m", "coverage", "run", f"--rcfile={settings}", "-m", "pytest"]
    subprocess.run(
        [*command, "-q", "-p", "no:cacheprovider", "-p", "mutants.plugin", *options, name],
        cwd=tree,
        env=environment(tree, MUTANTS_TIMES=str(times)),
        capture_output=True,
        check=False,
        timeout=MAX_FILE_SECONDS,
    )
    tests: dict[str, float] = json.loads(times.read_text()) if times.exists() else {}
    numbers = {test: number for number, test in enumerate(tests)}
    lines: dict[str, dict[int, list[int]]] = {}
    if data.exists():
        counted = CoverageData(basename=str(data))
        counted.read()
        for path in counted.measured_files():
            module = Path(path).resolve().relative_to(tree.resolve()).as_posix()
            reached = counted.contexts_by_lineno(path)
            lines[module] = {
                line: sorted(numbers[test] for test in contexts if test in numbers)
                for line, contexts in reached.items()
            }
    digests = {module: digest([tree / module]) for module in lines}
    whole = {
        "digest": digest([tree / name]),
        "tests": {test: round(seconds, 3) for test, seconds in tests.items()},
        "digests": digests,
        "lines": {
            module: {line: chosen for line, chosen in reached.items() if chosen}
            for module, reached in lines.items()
        },
    }
    record.write_text(json.dumps(whole))
    for leftover in (data, times, settings):
        leftover.unlink(missing_ok=True)
    return len(tests)
