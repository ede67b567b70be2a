"""A sweep: many runs from one file, protocols by parameters by seeds, that can be stopped and gone
on with.

    seeds = [1, 2, 3]                   or a number of them

    [every]                             what all runs have: the names of `--config`
    data = "people.csv"
    parties = 3

    [[run]]
    protocol = ["calm", "one-way-ldp"]
    epsilon = [1, 2, 4]                 a list is one run for each of its values
    set = {ways = 2}

    [[run]]
    experiment = "label-belief"         a measurement of ours instead of a protocol, with its parameters
    set = {labels = "N(25,1)"}

Every result is written as soon as it is there (`cells/`), under a name that follows from all that
was asked: what was done is not done again, unless a file of data or sottovoce itself has changed. A
run that fails is written down with its reason, and the others go on.
"""

from __future__ import annotations

import contextlib
import importlib.util
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from ..messages import SottovoceError, UsageError
from ..protocols import find
from ..report.judgement import Judging
from ..runs.job import Job, Placement, instantiate
from ..runs.settings import settings
from .cells import Cell, Start, key_of
from .experiments import Asked
from .sweep import ExperimentCell, RunCell

__all__ = ["Plan", "plan_of", "read_plan", "read_toml"]

MOST_CELLS: Final = 100_000
TELLING: Final = (
    "mode",
    "data",
    "parties",
    "rows_asked",
    "split",
    "key_bits",
    "schema",
    "transport",
    "hosts",
)
"""Columns by which runs are called where they differ."""
JUDGING: Final = tuple(Judging.__struct_fields__)


class Plan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file."""

    run: list[dict[str, Any]]
    every: dict[str, Any] = {}
    seeds: Annotated[int, msgspec.Meta(ge=1)] | list[Annotated[int, msgspec.Meta(ge=0)]] = 1
    classify: list[str] = []
    keep: bool = False
    """Whether the folder of each run is kept, too."""


def read_toml(path: Path, *, what: str) -> dict[str, Any]:
    """Read a file; what is wrong is a `UsageError` that names it."""
    try:
        return tomllib.loads(path.read_text())
    except OSError as error:
        raise UsageError(f"expected {what} at {path}, found {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"expected TOML in {path}, found {error}") from None


def read_plan(path: Path, *, start: Start) -> tuple[Plan, list[Cell]]:
    """Read a file, and check every run in it before any is started; what is wrong is a `UsageError`
    that names it.
    """
    return plan_of(read_toml(path, what="a sweep"), where=str(path), start=start)


def plan_of(found: Mapping[str, Any], *, where: str, start: Start) -> tuple[Plan, list[Cell]]:
    """Make the plan from what a file says."""
    try:
        plan = msgspec.convert(found, Plan)
    except msgspec.ValidationError as error:
        raise UsageError(f"{where}: {error}") from None
    cells: dict[str, Cell] = {}
    for number, run in enumerate(plan.run, start=1):
        for cell in _cells(plan, run, where=f"{where}: run {number}", start=start):
            cells.setdefault(cell.key, cell)
            if len(cells) > MOST_CELLS:
                raise UsageError(f"{where}: expected at most {MOST_CELLS:,} runs, found more")
    if not cells:
        raise UsageError(f"{where}: expected at least one [[run]], found none")
    return plan, _told_apart([*cells.values()])


def _told_apart(cells: Sequence[Cell]) -> list[Cell]:
    """Let runs be called by all that they differ by."""
    runs = [cell for cell in cells if isinstance(cell, RunCell)]
    values: dict[str, set[str]] = {}
    for cell in runs:
        for name in TELLING:
            values.setdefault(name, set()).add(str(cell.asked.get(name)))
    telling = frozenset(name for name, own in values.items() if len(own) > 1)
    return [replace(cell, telling=telling) if isinstance(cell, RunCell) else cell for cell in cells]


def _cells(plan: Plan, run: Mapping[str, Any], *, where: str, start: Start) -> Iterator[Cell]:
    """Make all cells that an entry stands for."""
    if not all(isinstance(own.get("set", {}), dict) for own in (plan.every, run)):
        raise UsageError(f"{where}: expected set = {{NAME = VALUE}}, found something else")
    merged = {**plan.every, **run, "set": {**plan.every.get("set", {}), **run.get("set", {})}}
    if wrong := {"seed", "out", "seeds"} & merged.keys():
        raise UsageError(
            f"{where}: expected no {', '.join(sorted(wrong))}: seeds stand at the top of the file, --out says where"
        )
    if empty := [name for name, own in {**merged, **merged["set"]}.items() if own == []]:
        raise UsageError(f"{where}: expected a value of {empty[0]}, found an empty list")
    judging = {
        "classify": plan.classify,
        **{name: merged.pop(name) for name in JUDGING if name in merged},
    }
    try:
        line = msgspec.convert(merged.pop("line", ""), str)
        also = msgspec.convert(merged.pop("also", {}), dict[str, dict[str, str]])
        times = msgspec.convert(merged.pop("times", {}), dict[str, float])
        named = msgspec.convert(merged.pop("is", {}), dict[str, str])
        judges = msgspec.convert(judging, Judging)
    except msgspec.ValidationError as error:
        raise UsageError(f"{where}: {error}") from None
    seeds = list(range(plan.seeds)) if isinstance(plan.seeds, int) else plan.seeds
    for chosen in _alternatives(merged):
        try:
            if "experiment" in chosen:
                name, inner = chosen.pop("experiment"), chosen.pop("set")
                asks = Asked.of(name, {**chosen, **inner})
                for seed in seeds:
                    key = key_of(
                        [asks.name, asks.parameters, seed, line],
                        files=map(str, asks.parameters.values()),
                    )
                    yield ExperimentCell(asks=asks, seed=seed, key=key, line=line, also=also)
                continue
            options = {name.replace("-", "_"): value for name, value in chosen.items()}
            asked = settings(options, spelling=lambda name: f"key {name!r}")
            job, placement = asked.job, asked.placement
            instantiate(job)  # of all seeds together: what is wrong does not depend on them
            _check_files(job, placement, judges)
            sources = _sources(job)
        except (SottovoceError, msgspec.ValidationError) as error:
            raise UsageError(f"{where}: {error}") from None
        for seed in seeds:
            own = msgspec.structs.replace(job, seed=seed)
            told = [
                msgspec.to_builtins(own),
                placement.transport or "threads",
                msgspec.to_builtins(judges),
                line,
                plan.keep,
            ]
            yield RunCell(
                start=start,
                options=options,
                job=own,
                placement=placement,
                judging=judges,
                key=key_of(told, files=[*job.data, judges.test], sources=sources),
                line=line,
                also=also,
                times=times,
                named=named,
                keep=plan.keep,
            )


def _check_files(job: Job, placement: Placement, judges: Judging) -> None:
    """Refuse tables that are not there, unless they are on other hosts."""
    elsewhere = placement.hosts or placement.hostfile
    for table in [*(() if elsewhere else job.data), *([judges.test] if judges.test else ())]:
        if table != "demo" and not Path(table).is_file():
            raise UsageError(f"expected a table, found none at {table}")


def _sources(job: Job) -> list[str]:
    """Find the files of what is somebody's own: a protocol, and what parameters name as
    module:Class.
    """
    modules = [find(job.protocol).__module__]
    modules += [
        own.partition(":")[0]
        for own in job.parameters.values()
        if isinstance(own, str) and ":" in own
    ]
    found = []
    for name in modules:
        if all(part.isidentifier() for part in name.split(".")):
            with contextlib.suppress(ImportError, ValueError):
                spec = importlib.util.find_spec(name)
                if spec is not None and spec.origin and Path(spec.origin).is_file():
                    found.append(spec.origin)
    return found


def _alternatives(merged: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Make one of each combination of values."""
    names = [name for name in merged if name != "set"]
    inner = list(merged["set"])
    alternatives = [_listed(merged[name]) for name in names] + [
        _listed(merged["set"][name]) for name in inner
    ]
    for values in product(*alternatives):
        chosen = dict(zip(names, values[: len(names)], strict=True))
        yield {**chosen, "set": dict(zip(inner, values[len(names) :], strict=True))}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
