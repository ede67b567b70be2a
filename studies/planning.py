"""The file of a sweep: many runs, protocols by parameters by seeds.

    seeds = [1, 2, 3]                   or their number

    [every]                             options of all runs, with the names of `--config`
    data = "people.csv"
    parties = 3

    [[run]]
    protocol = ["calm", "one-way-ldp"]
    epsilon = [1, 2, 4]                 a list is one run for each value
    set = {ways = 2}

    [[run]]
    experiment = "label-belief"         a measurement of `experiments`, with its parameters
    set = {labels = "N(25,1)"}

A sweep can be stopped and goes on later. Every result is written as soon as it is there (`cells/`),
under a key that follows from all settings. It is not computed again, unless a file of data or
sottovoce itself has changed. A run that fails is written down with its reason, and the others go
on.
"""

from __future__ import annotations

import contextlib
import importlib.util
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from ..messages import SottovoceError, UsageError
from ..network import check_hosts, read_network
from ..protocols import find
from ..report.judgement import Judging
from ..report.targets import require_targets
from ..runs.budget_file import read_budget
from ..runs.instance import instantiate
from ..runs.job import Job
from ..runs.placement import Placement
from ..runs.settings import settings
from .cell import Cell, key_of
from .cells import Start
from .experiments import ExperimentCall
from .sweep import ExperimentCell, RunCell

__all__ = ["Plan", "plan_of", "read_plan", "read_toml"]

MAX_CELLS: Final = 100_000
LABEL_COLUMNS: Final = (
    "mode",
    "data",
    "parties",
    "rows_asked",
    "split",
    "drop",
    "columns",
    "key_bits",
    "schema",
    "transport",
    "network",
    "hosts",
)
"""Columns that are part of a run's label where the runs of a sweep differ in them."""
JUDGING: Final = tuple(Judging.__struct_fields__)


class Plan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the file of a sweep holds."""

    run: list[dict[str, Any]]
    every: dict[str, Any] = {}
    seeds: Annotated[int, msgspec.Meta(ge=1)] | list[Annotated[int, msgspec.Meta(ge=0)]] = 1
    classify: list[str] = []
    keep: bool = False
    """Whether the folder of each run is kept, too."""


def read_toml(path: Path, *, what: str) -> dict[str, Any]:
    """Read a TOML file; an error names the file."""
    try:
        return tomllib.loads(path.read_text())
    except OSError as error:
        raise UsageError(f"expected {what} at {path}, found {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"expected TOML in {path}, found {error}") from None
    except RecursionError:
        raise UsageError(f"expected TOML of few levels in {path}, found too many") from None


def read_plan(path: Path, *, start: Start, budget: str | None = None) -> tuple[Plan, list[Cell]]:
    """Read a file and check every run in it before any is started.

    Runs spend from the `budget`, if one is given, and otherwise from the one that the file names.
    """
    values = read_toml(path, what="a sweep")
    every = values.get("every", {})
    if budget is not None and isinstance(every, dict):
        values = {**values, "every": {**every, "budget": budget}}
    return plan_of(values, where=str(path), start=start)


def plan_of(values: Mapping[str, Any], *, where: str, start: Start) -> tuple[Plan, list[Cell]]:
    """Make the plan and its cells of what a file holds."""
    try:
        plan = msgspec.convert(values, Plan)
    except msgspec.ValidationError as error:
        raise UsageError(f"{where}: {error}") from None
    cells: dict[str, Cell] = {}
    for number, run in enumerate(plan.run, start=1):
        for cell in _cells(plan, run, where=f"{where}: run {number}", start=start):
            cells.setdefault(cell.key, cell)
            if len(cells) > MAX_CELLS:
                raise UsageError(f"{where}: expected at most {MAX_CELLS:,} runs, found more")
    if not cells:
        raise UsageError(f"{where}: expected at least one [[run]], found none")
    return plan, _with_distinct_labels([*cells.values()])


def _with_distinct_labels(cells: Sequence[Cell]) -> list[Cell]:
    """Let labels name all columns in which the runs differ."""
    runs = [cell for cell in cells if isinstance(cell, RunCell)]
    values: dict[str, set[str]] = {}
    for cell in runs:
        for name in LABEL_COLUMNS:
            values.setdefault(name, set()).add(str(cell.columns.get(name)))
    differing = frozenset(name for name, seen in values.items() if len(seen) > 1)
    return [
        replace(cell, label_columns=differing) if isinstance(cell, RunCell) else cell
        for cell in cells
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """One [[run]] of the file: its options, and what belongs to all cells that it stands for."""

    options: Mapping[str, Any]
    judging: Judging
    line: str
    also: Mapping[str, Mapping[str, str]]
    factors: Mapping[str, float]
    extra_columns: Mapping[str, str | float]

    @classmethod
    def of(cls, plan: Plan, run: Mapping[str, Any]) -> _Entry:
        """Put an entry over the options of every run, and check its structure."""
        if not all(isinstance(values.get("set", {}), dict) for values in (plan.every, run)):
            raise UsageError("expected set = {NAME = VALUE}, found something else")
        parameters = {**plan.every.get("set", {}), **run.get("set", {})}
        options = {**plan.every, **run, "set": parameters}
        if wrong := {"seed", "out", "seeds"} & options.keys():
            raise UsageError(
                f"expected no {', '.join(sorted(wrong))}: seeds stand at the top of the file, "
                "and --out names the folder"
            )
        for name, value in {**options, **parameters}.items():
            if value == []:
                raise UsageError(f"expected a value of {name}, found an empty list")
        judging = {name: options.pop(name) for name in JUDGING if name in options}
        return cls(
            judging=msgspec.convert({"classify": plan.classify, **judging}, Judging),
            line=msgspec.convert(options.pop("line", ""), str),
            also=msgspec.convert(options.pop("also", {}), dict[str, dict[str, str]]),
            factors=msgspec.convert(options.pop("times", {}), dict[str, float]),
            extra_columns=msgspec.convert(options.pop("is", {}), dict[str, str | float]),
            options=options,
        )


def _cells(plan: Plan, run: Mapping[str, Any], *, where: str, start: Start) -> Iterator[Cell]:
    """Make all cells that an entry stands for; an error names the entry."""
    seeds = list(range(plan.seeds)) if isinstance(plan.seeds, int) else plan.seeds
    try:
        entry = _Entry.of(plan, run)
        for options in _alternatives(entry.options):
            if "experiment" in options:
                yield from _experiment_cells(entry, options, seeds)
            else:
                yield from _run_cells(entry, options, seeds, start=start, keep=plan.keep)
    except (SottovoceError, msgspec.ValidationError) as error:
        raise UsageError(f"{where}: {error}") from None


def _experiment_cells(
    entry: _Entry, options: Mapping[str, Any], seeds: Sequence[int]
) -> Iterator[Cell]:
    """Make an experiment's cells: one for each seed."""
    others = {key: value for key, value in options.items() if key not in ("experiment", "set")}
    call = ExperimentCall.of(options["experiment"], {**others, **options["set"]})
    files = [str(value) for value in call.parameters.values()]
    for seed in seeds:
        key = key_of([call.name, call.parameters, seed, entry.line], files=files)
        yield ExperimentCell(call=call, seed=seed, key=key, line=entry.line, also=entry.also)


def _run_cells(
    entry: _Entry, values: Mapping[str, Any], seeds: Sequence[int], *, start: Start, keep: bool
) -> Iterator[Cell]:
    """Make a run's cells: one for each seed. What is wrong with a run depends on no seed."""
    options = {key.replace("-", "_"): value for key, value in values.items()}
    chosen = settings(options, spelling=lambda name: f"key {name!r}")
    placement, judging = chosen.placement, entry.judging
    transport = placement.transport or "threads"
    placement.refuse_idle_options(transport)
    instantiate(chosen.job)
    if placement.network is not None:
        check_hosts(read_network(placement.network), parties=chosen.job.parties)
    _check_files(chosen.job, placement, judging)
    if judging.classify and not (placement.hosts or placement.hostfile):
        require_targets(chosen.job, judging.classify)
    if placement.budget is not None:
        read_budget(placement.budget)  # Its mistakes are found before any run.
    sources = _sources(chosen.job)
    networks = [name for name in (placement.network,) if name and Path(name).is_file()]
    for seed in seeds:
        job = msgspec.structs.replace(chosen.job, seed=seed)
        result_settings = [
            msgspec.to_builtins(job),
            transport,
            placement.network,
            msgspec.to_builtins(judging),
            entry.line,
            keep,
        ]
        yield RunCell(
            start=start,
            options=options,
            job=job,
            placement=placement,
            judging=judging,
            key=key_of(
                result_settings, files=[*job.data, judging.test, *networks], sources=sources
            ),
            line=entry.line,
            also=entry.also,
            factors=entry.factors,
            extra_columns=entry.extra_columns,
            keep=keep,
        )


def _check_files(job: Job, placement: Placement, judging: Judging) -> None:
    """Refuse a host file that does not exist, and tables, unless they are on other hosts."""
    placement.require_hostfile()
    elsewhere = placement.hosts or placement.hostfile
    tables = [] if elsewhere else [*job.data]
    for table in [*tables, *([judging.test] if judging.test else ())]:
        if table != "demo" and not Path(table).is_file():
            raise UsageError(f"expected a table, found none at {table}")


def _sources(job: Job) -> list[str]:
    """Find the source files of plug-ins: the protocol's, and those named module:Class."""
    modules = [find(job.protocol).__module__]
    modules += [
        value.partition(":")[0]
        for value in job.parameters.values()
        if isinstance(value, str) and ":" in value
    ]
    sources = []
    for name in modules:
        if all(part.isidentifier() for part in name.split(".")):
            with contextlib.suppress(ImportError, ValueError):
                spec = importlib.util.find_spec(name)
                if spec is not None and spec.origin and Path(spec.origin).is_file():
                    sources.append(spec.origin)
    return sources


def _alternatives(options: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Make one set of options for each combination of values."""
    names = [name for name in options if name != "set"]
    parameters = list(options["set"])
    choices = [
        [options[name]] if _is_list_of_columns(name, options[name]) else _listed(options[name])
        for name in names
    ]
    choices += [_listed(options["set"][name]) for name in parameters]
    for values in product(*choices):
        chosen = dict(zip(names, values[: len(names)], strict=True))
        yield {**chosen, "set": dict(zip(parameters, values[len(names) :], strict=True))}


def _is_list_of_columns(name: str, value: Any) -> bool:
    """Tell whether a list is one value: columns to take or to drop. Lists of these are several."""
    return name in ("drop", "columns") and not any(
        isinstance(item, list) for item in _listed(value)
    )


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
