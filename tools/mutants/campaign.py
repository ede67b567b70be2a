"""A sample of mutants, tried one after the other by several workers, and resumed where it ended."""

from __future__ import annotations

import ast
import json
import queue
import random
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from .mutation import Mutation, mutations, statement_of
from .reach import Reach
from .tree import copy_tree, digest
from .trial import Trial, failing_tests, try_mutant

__all__ = ["Campaign", "Candidate", "Equivalents", "Tuned", "sample", "summary"]


SUITES: Final = "conformance.py"
"""Modules that are tests themselves, for others to subclass; they are not mutated."""


class Candidate(NamedTuple):
    """A mutation of a module."""

    module: str
    mutation: Mutation


class Equivalents:
    """The mutants that are known to change nothing."""

    def __init__(self, path: Path) -> None:
        entries = tomllib.loads(path.read_text()).get("equivalent", []) if path.exists() else []
        self._known: set[tuple[str, str, str]] = set()
        for entry in entries:
            if not entry.get("reason"):
                raise ValueError(f"expected a reason for each equivalent mutant, found {entry}")
            self._known.add((entry["module"], entry["before"], entry["after"]))

    def __contains__(self, mutant: tuple[str, str, str]) -> bool:
        return mutant in self._known


class Tuned:
    """The numbers that were chosen by measurements, by module and name."""

    def __init__(self, path: Path) -> None:
        entries = tomllib.loads(path.read_text()).get("tuned", []) if path.exists() else []
        self._names: dict[str, set[str]] = {}
        for entry in entries:
            if not entry.get("reason"):
                raise ValueError(f"expected a reason for each tuned number, found {entry}")
            self._names.setdefault(entry["module"], set()).update(entry["names"])

    def lines(self, module: str, source: str) -> set[int]:
        """Find the lines on which the tuned numbers of a module are assigned.

        Raises:
            ValueError: one of them is not assigned there, so that the list is out of date.
        """
        missing, lines = set(self._names.get(module, ())), set[int]()
        for node in ast.walk(ast.parse(source)) if missing else ():
            match node:
                case ast.AnnAssign(target=ast.Name(id=name)) if name in self._names[module]:
                    missing.discard(name)
                    lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        if missing:
            raise ValueError(f"expected {', '.join(sorted(missing))} in {module}, found none")
        return lines


def modules_of(root: Path, names: Iterable[str]) -> list[str]:
    """List modules: a name is a folder or a module, with or without its suffix."""
    modules: list[str] = []
    for name in names:
        path = root / name
        if path.is_dir():
            files = sorted(set(path.rglob("*.py")) - set(path.rglob(SUITES)))
        else:
            files = [path if path.suffix == ".py" else path.with_suffix(".py")]
        if not files or not all(module.is_file() for module in files):
            raise ValueError(f"expected a folder or a module of the tree, found {name}")
        modules += [module.relative_to(root).as_posix() for module in files]
    return [*dict.fromkeys(modules)]


def sample(
    root: Path,
    modules: Iterable[str],
    *,
    number: int,
    seed: int,
    equivalents: Equivalents,
    tuned: Tuned,
) -> tuple[list[Candidate], int]:
    """Draw mutants at random; a larger number extends the same sample.

    A mutant that is found to be equivalent, or that changes a tuned number, leaves the sample, and
    the others stay.

    Returns:
        the sample, and the number of all mutants.
    """
    drawn, known = [], set[Candidate]()
    for module in modules:
        source = (root / module).read_text()
        measured = tuned.lines(module, source)
        for mutation in mutations(source):
            drawn.append(Candidate(module, mutation))
            names = (module, mutation.before(source), mutation.after(source))
            if mutation.line in measured or names in equivalents:
                known.add(drawn[-1])
    random.Random(seed).shuffle(drawn)  # noqa: S311 - a sample, not a secret
    candidates = [candidate for candidate in drawn if candidate not in known]
    return candidates[:number], len(candidates)


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign:
    """How mutants are tried."""

    root: Path
    store: Path
    reach: Reach
    options: Sequence[str]
    workers: int
    most: float
    """Seconds that the chosen tests of a mutant may take together."""
    patience: float
    tell: Callable[[str], None]

    def run(self, candidates: Sequence[Candidate]) -> list[Trial]:
        """Try all candidates; what was tried before is not tried again.

        A mutant that was noticed stays so as long as its module does not change. One that was not
        is tried again after a change of any test.
        """
        earlier = self._earlier()
        trials = [earlier[key] for c in candidates if (key := self._key(c)) in earlier]
        remaining = [c for c in candidates if self._key(c) not in earlier]
        if trials:
            self.tell(f"{len(trials)} mutants were tried before, {len(remaining)} remain")
        if not remaining:
            return trials
        copies: queue.SimpleQueue[Path] = queue.SimpleQueue()
        for worker in range(self.workers):
            copy_tree(self.root, self.store / f"copy-{worker}")
            copies.put(self.store / f"copy-{worker}")
        began = time.monotonic()
        with ThreadPoolExecutor(self.workers) as pool, self._results.open("a") as results:
            tasks = {pool.submit(self._try, c, copies): c for c in remaining}
            for number, task in enumerate(as_completed(tasks), start=1):
                trial = task.result()
                trials.append(trial)
                line = {
                    "key": self._key(tasks[task]),
                    "tests_digest": self._tests,
                    **trial.as_json(),
                }
                results.write(json.dumps(line) + "\n")
                results.flush()
                left = (time.monotonic() - began) / number * (len(remaining) - number)
                self.tell(
                    f"[{number}/{len(remaining)}, about {left / 60:.0f} min left] "
                    f"{trial.verdict} in {trial.seconds:.0f} s: {place(trial)}"
                )
        return self._confirmed(trials, [self._key(candidate) for candidate in candidates])

    def _confirmed(self, trials: Sequence[Trial], keys: Sequence[str]) -> list[Trial]:
        """Leave out mutants whose test fails without a mutation, too; they are tried again."""
        tests = {trial.first_failure for trial in trials} - {""}
        limits = {test: self._limit(test) for test in sorted(tests)}
        copy = self.store / "copy-0"
        broken = failing_tests(copy, limits, options=self.options) if tests else set()
        if not broken:
            return [*trials]
        earlier = self._earlier()
        with self._results.open("a") as results:
            for key in keys:
                if key in earlier and earlier[key].first_failure in broken:
                    void = replace(earlier[key], verdict="void")
                    line = {"key": key, "tests_digest": self._tests, **void.as_json()}
                    results.write(json.dumps(line) + "\n")
        kept = [trial for trial in trials if trial.first_failure not in broken]
        self.tell(
            f"{len(trials) - len(kept)} mutants are left out: {', '.join(sorted(broken))} fail "
            "without any mutation"
        )
        return kept

    def _limit(self, test: str) -> float:
        return 20 + self.patience * self.reach.seconds.get(test, 60.0)

    def _try(self, candidate: Candidate, copies: queue.SimpleQueue[Path]) -> Trial:
        module, mutation = candidate
        source = self.root / module
        statement = statement_of(source.read_text(), mutation.line)
        tests = self.reach.choose(module, statement, text=digest([source]), most=self.most)
        tree = copies.get()
        try:
            return try_mutant(
                tree,
                module,
                mutation,
                tests=tests,
                seconds=self.reach.seconds,
                options=self.options,
                patience=self.patience,
            )
        finally:
            copies.put(tree)

    @property
    def _results(self) -> Path:
        return self.store / "results.jsonl"

    @property
    def _tests(self) -> str:
        return digest((self.root / "tests").rglob("*.py"))

    def _key(self, candidate: Candidate) -> str:
        module, mutation = candidate
        text = digest([self.root / module])
        return f"{text} {module} {mutation.start} {mutation.end} {mutation.replacement}"

    def _earlier(self) -> dict[str, Trial]:
        if not self._results.exists():
            return {}
        trials: dict[str, Trial] = {}
        tests = self._tests
        for line in self._results.read_text().splitlines():
            fields: dict[str, Any] = json.loads(line)
            key, of_tests = fields.pop("key"), fields.pop("tests_digest")
            trial = Trial(**fields)
            trials.pop(key, None)
            is_current = of_tests == tests and trial.verdict != "void"
            if trial.verdict in {"noticed", "time-out"} or is_current:
                trials[key] = trial
        return trials


def place(trial: Trial) -> str:
    """Say where a mutant is and what it changes, in a line."""
    return f"{trial.module}:{trial.line} ({trial.kind}) {trial.before}  ->  {trial.after}"


def summary(trials: Iterable[Trial]) -> Iterator[str]:
    """Write the share of noticed mutants by module, by kind and in all, then the survivors."""
    listed = sorted(trials, key=lambda trial: (trial.module, trial.line, trial.after))
    for title, groups in (
        ("module", _grouped(listed, lambda trial: trial.module)),
        ("kind", _grouped(listed, lambda trial: trial.kind)),
        ("room", _grouped(listed, lambda trial: trial.module.split("/")[0])),
    ):
        yield f"{'mutants':>8} {'noticed':>8} {'share':>7}  {title}"
        for name, group in groups.items():
            noticed = sum(_is_noticed(trial) for trial in group)
            yield f"{len(group):8} {noticed:8} {noticed / len(group):7.0%}  {name}"
        yield ""
    survivors = [trial for trial in listed if not _is_noticed(trial)]
    yield f"{len(survivors)} of {len(listed)} were not noticed" + (":" if survivors else "")
    for trial in survivors:
        yield f"  {trial.module}:{trial.line} ({trial.kind}, {trial.verdict}, {trial.tests} tests)"
        yield f"    before  {trial.before}"
        yield f"    after   {trial.after}"


def _is_noticed(trial: Trial) -> bool:
    return trial.verdict in {"noticed", "time-out"}


def _grouped(trials: Iterable[Trial], by: Callable[[Trial], str]) -> Mapping[str, list[Trial]]:
    groups: dict[str, list[Trial]] = {}
    for trial in trials:
        groups.setdefault(by(trial), []).append(trial)
    return dict(sorted(groups.items()))
