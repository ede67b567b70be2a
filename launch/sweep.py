"""A sweep: many runs from one file, protocols by parameters by seeds, that can be stopped and gone on with.

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

Every result is written as soon as it is there (`cells/`), under a name that follows from all that was asked: what was done is
not done again, unless a file of data or sottovoce itself has changed. A run that fails is written down with its reason, and
the others go on.
"""

from __future__ import annotations

import contextlib
import difflib
import importlib.util
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec

from ..messages import SottovoceError, UsageError
from ..protocols import find
from .cells import Cell, Made, Told, done_by, key_of, make
from .comparison import compare
from .experiments import Asked
from .job import Job, instantiate
from .judgement import Judging, judged
from .pages import comparison_page
from .publish import NOT_CLASSIFIED, leave, put
from .run import run_job
from .settings import Settings
from .supervise import Hosts

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Plan", "RunCell", "plan_of", "read_plan", "read_toml", "sweep"]

ASKED: Final = {name: f"{name}_asked" for name in ("rows", "rounds", "seconds", "messages")}
"""Columns of parameters that are called as a figure is: PrivIncr's rounds are not the conversation's."""
MOST_CELLS: Final = 100_000
TELLING: Final = ("mode", "data", "parties", "rows_asked", "split", "key_bits", "schema", "transport", "hosts")
"""Columns by which runs are called where they differ."""
KEYS: Final = tuple(own.encode_name for own in msgspec.structs.fields(Settings))
JUDGING: Final = tuple(Judging.__struct_fields__)


class Plan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file."""

    run: list[dict[str, Any]]
    every: dict[str, Any] = {}
    seeds: Annotated[int, msgspec.Meta(ge=1)] | list[Annotated[int, msgspec.Meta(ge=0)]] = 1
    classify: list[str] = []
    keep: bool = False
    """Whether the folder of each run is kept, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCell:
    """One run of a protocol, and how it is judged."""

    settings: Settings
    job: Job
    judging: Judging
    key: str
    line: str = ""
    also: Mapping[str, Mapping[str, str]]
    """Other lines that its figures stand for: the figure of each column."""
    times: Mapping[str, float]
    """By what columns are multiplied, where a run is but a part of what is compared."""
    named: Mapping[str, str]
    """Columns of the person's own."""
    keep: bool = False
    telling: frozenset[str] = frozenset()
    """Columns beside parameters by which cells differ."""

    @property
    def shown(self) -> str:
        own = {"seed": self.job.seed, **self.job.parameters}
        own |= {name: value for name, value in self.asked.items() if name in self.telling}
        return " ".join([self.job.protocol, *(f"{name}={value}" for name, value in own.items() if value is not None)])

    @property
    def asked(self) -> dict[str, Any]:
        job = self.job
        asked = {
            "run": self.key, **({"line": self.line} if self.line else {}), "protocol": job.protocol, "mode": job.mode,
            "data": " ".join(job.data), "parties": job.parties, "seed": job.seed, **self._set_otherwise(),
            **{ASKED.get(name, name): value for name, value in job.parameters.items()}, **self.named,
        }  # fmt: skip
        return multiplied(asked, self.times)

    def _set_otherwise(self) -> dict[str, Any]:
        """List what else a run follows from, where it is not the default."""
        own = self.settings
        named = {
            "rows_asked": own.rows, "split": own.split, "key_bits": own.key_bits, "schema": own.schema,
            "transport": own.transport, "hosts": own.hosts or own.hostfile,
        }  # fmt: skip
        return {name: value for name, value in named.items() if value is not None}

    def make(self, *, out: Path) -> dict[str, Any]:
        settings = self.settings
        files = run_job(
            self.job,
            transport=settings.transport or "threads",
            mpiexec=settings.mpiexec,
            hosts=Hosts(hosts=settings.hosts, hostfile=settings.hostfile, extra=tuple(settings.mpi_arg or ())),
        )
        files = judged(self.job, files, judging=self.judging)
        if self.keep:
            leave(files, folder=out / "runs" / self.key)
        return dict(json.loads(files["report.json"]))

    def figures(self, result: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        return also_lines(multiplied(_figures(result), self.times), self.also)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentCell:
    """One measurement by a function of ours."""

    asks: Asked
    seed: int
    key: str
    line: str = ""
    also: Mapping[str, Mapping[str, str]]

    @property
    def shown(self) -> str:
        own = {
            "seed": self.seed,
            **{name: value for name, value in self.asks.parameters.items() if name not in {"data", "schema"}},
        }
        return " ".join([self.asks.name, *(f"{name}={value}" for name, value in own.items())])

    @property
    def asked(self) -> dict[str, Any]:
        named = {"line": self.line} if self.line else {}
        return {"run": self.key, **named, "protocol": self.asks.name, "seed": self.seed, **self.asks.parameters}

    def make(self, *, out: Path) -> dict[str, Any]:  # noqa: ARG002 - runs need it
        return dict(self.asks.measure(seed=self.seed))

    def figures(self, result: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        return also_lines(result, self.also)


def multiplied(columns: Mapping[str, Any], times: Mapping[str, float]) -> dict[str, Any]:
    """Multiply those columns that are there."""
    return {**columns, **{name: round(columns[name] * factor, 12) for name, factor in times.items() if name in columns}}


def also_lines(figures: Mapping[str, Any], also: Mapping[str, Mapping[str, str]]) -> Iterator[dict[str, Any]]:
    """Give the figures, and those of them that stand for other lines, such as what real rows teach."""
    yield dict(figures)
    for line, columns in also.items():
        found = {column: figures[figure] for column, figure in columns.items() if figure in figures}
        if found:
            yield {"line": line, **found}


def read_toml(path: Path, *, what: str) -> dict[str, Any]:
    """Read a file; what is wrong is a `UsageError` that names it."""
    try:
        return tomllib.loads(path.read_text())
    except OSError as error:
        raise UsageError(f"expected {what} at {path}, found {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"expected TOML in {path}, found {error}") from None


def read_plan(path: Path) -> tuple[Plan, list[Cell]]:
    """Read a file, and check every run in it before any is started; what is wrong is a `UsageError` that names it."""
    return plan_of(read_toml(path, what="a sweep"), where=str(path))


def plan_of(found: Mapping[str, Any], *, where: str) -> tuple[Plan, list[Cell]]:
    """Make the plan from what a file says."""
    try:
        plan = msgspec.convert(found, Plan)
    except msgspec.ValidationError as error:
        raise UsageError(f"{where}: {error}") from None
    cells: dict[str, Cell] = {}
    for number, run in enumerate(plan.run, start=1):
        for cell in _cells(plan, run, where=f"{where}: run {number}"):
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


def _cells(plan: Plan, run: Mapping[str, Any], *, where: str) -> Iterator[Cell]:
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
    judging = {"classify": plan.classify, **{name: merged.pop(name) for name in JUDGING if name in merged}}
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
                    key = key_of([asks.name, asks.parameters, seed, line], files=map(str, asks.parameters.values()))
                    yield ExperimentCell(asks=asks, seed=seed, key=key, line=line, also=also)
                continue
            if unknown := [name for name in chosen if name not in KEYS]:
                near = difflib.get_close_matches(unknown[0], KEYS, n=1)
                hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(KEYS)}"
                raise UsageError(f"unknown key {unknown[0]!r}: {hint}")
            settings = msgspec.convert(chosen, Settings)
            job = settings.job()
            instantiate(job)  # of all seeds together: what is wrong does not depend on them
            _check_files(settings, judges)
            sources = _sources(job)
        except (SottovoceError, msgspec.ValidationError) as error:
            raise UsageError(f"{where}: {error}") from None
        for seed in seeds:
            own = msgspec.structs.replace(job, seed=seed)
            told = [msgspec.to_builtins(own), settings.transport or "threads", msgspec.to_builtins(judges), line, plan.keep]
            yield RunCell(
                settings=settings, job=own, judging=judges, key=key_of(told, files=[*job.data, judges.test], sources=sources),
                line=line, also=also, times=times, named=named, keep=plan.keep,
            )  # fmt: skip


def _check_files(settings: Settings, judges: Judging) -> None:
    """Refuse tables that are not there, unless they are on other hosts."""
    tables = [settings.data] if isinstance(settings.data, str) else settings.data or []
    for table in [*(() if settings.hosts or settings.hostfile else tables), *([judges.test] if judges.test else ())]:
        if table != "demo" and not Path(table).is_file():
            raise UsageError(f"expected a table, found none at {table}")


def _sources(job: Job) -> list[str]:
    """Find the files of what is somebody's own: a protocol, and what parameters name as module:Class."""
    modules = [find(job.protocol).__module__]
    modules += [own.partition(":")[0] for own in job.parameters.values() if isinstance(own, str) and ":" in own]
    found = []
    for name in modules:
        if name.isidentifier() or all(part.isidentifier() for part in name.split(".")):
            with contextlib.suppress(ImportError, ValueError):
                spec = importlib.util.find_spec(name)
                if spec is not None and spec.origin and Path(spec.origin).is_file():
                    found.append(spec.origin)
    return found


def _alternatives(merged: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Make one of each combination of values."""
    names = [name for name in merged if name != "set"]
    inner = list(merged["set"])
    alternatives = [_listed(merged[name]) for name in names] + [_listed(merged["set"][name]) for name in inner]
    for values in product(*alternatives):
        chosen = dict(zip(names, values[: len(names)], strict=True))
        yield {**chosen, "set": dict(zip(inner, values[len(names) :], strict=True))}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def sweep(cells: Sequence[Cell], *, out: Path, told: Told) -> tuple[pd.DataFrame, Made]:
    """Run what has not been run, and write all results: the table, and how far it came."""
    import pandas as pd

    def finish(made: Made) -> None:
        put({**_tables(pd.DataFrame(made.rows)), **_page(cells, out=out)}, folder=out)

    made = make(cells, out=out, told=told, finish=finish)
    return pd.DataFrame(made.rows), made


def _page(cells: Sequence[Cell], *, out: Path) -> dict[str, bytes]:
    """Put the runs that are there side by side on a page."""
    reports: dict[str, dict[str, Any]] = {}
    for cell in cells:
        if isinstance(cell, RunCell) and (report := done_by(cell, folder=out / "cells")) is not None:
            name = cell.shown if cell.shown not in reports else f"{cell.shown} ({cell.key})"
            reports[name] = report
    return {"comparison.html": comparison_page(compare(reports), title=out.name).encode()} if reports else {}


def _figures(report: Mapping[str, Any]) -> dict[str, Any]:
    """Take from a report what sweeps are drawn by."""
    exchanged, privacy, utility = report["communication"], report["privacy"], report["utility"] or {}
    original = [own for own in utility.get("distances", ()) if own["attributes"] == "original"]
    bits = [own for own in utility.get("distances", ()) if own["attributes"] == "binary"]
    classified = utility.get("classification", ())
    found = {
        "rows": report["rows"], "seconds": report["seconds"], "messages": exchanged["messages"], "rounds": exchanged["rounds"],
        "payload_bytes": exchanged["payload_bytes"], "ciphertext_bytes": exchanged["ciphertext_bytes"],
        "per_user_bits": exchanged.get("per_user_bits"), "claimed_epsilon": privacy["claimed_epsilon"],
        **{f"epsilon_{view}": own for view, own in privacy["epsilon"].items()}, "whole_record": privacy.get("whole_record"),
        **{f"tvd_{ways}": own for ways, own in utility.get("tvd", {}).items()},
        **{f"tvd_synthetic_{ways}": own for ways, own in utility.get("tvd_synthetic", {}).items()},
        **{f"floor_{own['ways']}": own["one_way"] for own in original},
        **{f"tvd_binary_{own['ways']}": own["average"] for own in bits},
        **{f"floor_binary_{own['ways']}": own["one_way"] for own in bits},
        **{f"squared_{ways}": own for ways, own in utility.get("squared", {}).items()},
        **{f"l2_{ways}": own for ways, own in utility.get("l2", {}).items()},
        **{f"wrong_{own['target']}": own["synthetic"] for own in classified},
        **{f"real_{own['target']}": own["real"] for own in classified},
        **{f"majority_{own['target']}": own["majority"] for own in classified},
    }  # fmt: skip
    if (right := utility.get("accuracy")) is not None:
        found |= {"accuracy": right["model"], "majority": right["majority"]}
    found["note"] = next((own for own in report["warnings"] if own.startswith(NOT_CLASSIFIED)), None)
    return {name: value for name, value in found.items() if value is not None}


def _tables(table: pd.DataFrame) -> dict[str, bytes]:
    """Write the table as CSV, and as Parquet where that is installed."""
    import io

    files = {"results.csv": table.to_csv(index=False).encode()}
    if importlib.util.find_spec("pyarrow") is None:
        return files
    buffer = io.BytesIO()
    # Columns of mixed kinds, such as an epsilon of a number or "infinity", as text.
    mixed = {name: table[name].astype("string") for name in table.columns if table[name].dtype == object}
    table.assign(**mixed).to_parquet(buffer, index=False)
    return {**files, "results.parquet": buffer.getvalue()}
