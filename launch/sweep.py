"""A sweep: many runs from one file, protocols by parameters by seeds, that can be stopped and gone on with.

    seeds = [1, 2, 3]                   or a number of them

    [every]                             what all runs have: the names of `--config`
    data = "people.csv"
    parties = 3

    [[run]]
    protocol = ["calm", "one-way-ldp"]
    epsilon = [1, 2, 4]                 a list is one run for each of its values
    set = {ways = 2}

Every result is written as soon as it is there (`cells/`), under a name that follows from all that was asked: what was done is
not done again, unless a file of data or sottovoce itself has changed. A run that fails is written down with its reason, and
the others go on.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import json
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec

from ..messages import SottovoceError, UsageError
from .job import Job, instantiate
from .judgement import judged
from .publish import check_folder, paged, put
from .run import run_job
from .settings import Settings
from .supervise import Hosts, RunFailed

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Cell", "Plan", "read_plan", "results", "sweep"]

MOST_CELLS: Final = 100_000


class Plan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file."""

    run: list[dict[str, Any]]
    every: dict[str, Any] = {}
    seeds: Annotated[int, msgspec.Meta(ge=1)] | list[Annotated[int, msgspec.Meta(ge=0)]] = 1
    classify: list[str] = []
    keep: bool = False
    """Whether the folder of each run is kept, too."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One run."""

    settings: Settings
    job: Job
    key: str

    @property
    def shown(self) -> str:
        """Say which it is, in a few words."""
        own = {"seed": self.job.seed, **self.job.parameters}
        return " ".join([self.job.protocol, *(f"{name}={value}" for name, value in own.items() if value is not None)])


def read_plan(path: Path) -> tuple[Plan, list[Cell]]:
    """Read a file, and check every run in it before any is started; what is wrong is a `UsageError` that names it."""
    try:
        found = tomllib.loads(path.read_text())
    except OSError as error:
        raise UsageError(f"expected a sweep at {path}, found {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"expected TOML in {path}, found {error}") from None
    try:
        plan = msgspec.convert(found, Plan)
    except msgspec.ValidationError as error:
        raise UsageError(f"{path}: {error}") from None
    cells: dict[str, Cell] = {}
    for number, run in enumerate(plan.run, start=1):
        for settings in _settings(plan, run, where=f"{path}: run {number}"):
            try:
                job = settings.job()
                instantiate(job)
            except SottovoceError as error:
                raise UsageError(f"{path}: run {number}: {error}") from None
            cell = Cell(settings, job, _key(settings, job, plan.classify))
            cells.setdefault(cell.key, cell)
            if len(cells) > MOST_CELLS:
                raise UsageError(f"{path}: expected at most {MOST_CELLS:,} runs, found more")
    if not cells:
        raise UsageError(f"{path}: expected at least one [[run]], found none")
    return plan, [*cells.values()]


def _settings(plan: Plan, run: Mapping[str, Any], *, where: str) -> Iterator[Settings]:
    """Make the settings of all runs that an entry stands for."""
    if not all(isinstance(own.get("set", {}), dict) for own in (plan.every, run)):
        raise UsageError(f"{where}: expected set = {{NAME = VALUE}}, found something else")
    merged = {**plan.every, **run, "set": {**plan.every.get("set", {}), **run.get("set", {})}}
    if wrong := {"seed", "out", "seeds"} & merged.keys():
        raise UsageError(
            f"{where}: expected no {', '.join(sorted(wrong))}: seeds stand at the top of the file, --out says where"
        )
    seeds = list(range(plan.seeds)) if isinstance(plan.seeds, int) else plan.seeds
    names = [name for name in merged if name != "set"]
    inner = list(merged["set"])
    alternatives = [_listed(merged[name]) for name in names] + [_listed(merged["set"][name]) for name in inner]
    for values in product(*alternatives, seeds):
        chosen = dict(zip(names, values[: len(names)], strict=True))
        chosen["set"] = dict(zip(inner, values[len(names) : -1], strict=True))
        try:
            yield msgspec.convert({**chosen, "seed": values[-1]}, Settings)
        except msgspec.ValidationError as error:
            raise UsageError(f"{where}: {error}") from None


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _key(settings: Settings, job: Job, classify: Sequence[str]) -> str:
    """Name a run by all that its result follows from: the job, the transport, and what the files of data are."""
    stats = {own: Path(own).stat() for own in job.data if Path(own).is_file()}
    files = [(name, own.st_size, own.st_mtime_ns) for name, own in stats.items()]
    told = [msgspec.to_builtins(job), settings.transport or "threads", list(classify), files, version("sottovoce")]
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]


def sweep(
    plan: Plan, cells: Sequence[Cell], *, out: Path, told: Callable[[int, int, str], None]
) -> tuple[pd.DataFrame, int, int]:
    """Run what has not been run, and write all results: the table, how many were there before, and how many failed.

    `told` hears how many are done, of how many, and what is next. One sweep at a time writes into a folder.
    """
    check_folder(out)
    folder = out / "cells"
    folder.mkdir(parents=True, exist_ok=True)
    with (out / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(f"expected one sweep at a time in {out}, found another at work") from None
        before = [cell for cell in cells if (folder / f"{cell.key}.json").is_file()]
        failed: dict[str, str] = {}
        found = {cell.key for cell in before}
        left = [cell for cell in cells if cell.key not in found]
        done = len(before)
        try:
            for cell in left:
                told(done, len(cells), cell.shown)
                try:
                    report = _run(plan, cell, out=out)
                    put({f"{cell.key}.json": (json.dumps(report) + "\n").encode()}, folder=folder)
                except SottovoceError as error:
                    failed[cell.key] = " ".join(str(error).split())
                except Exception as error:  # noqa: BLE001 - of somebody's own protocol: the others go on
                    failed[cell.key] = f"{type(error).__name__}: {' '.join(str(error).split())}"
                done += 1
        except KeyboardInterrupt:
            raise RunFailed(
                f"interrupted: {done - len(failed)} of {len(cells)} results are in {out}; the same command goes on", status=130
            ) from None
        finally:
            table = results(cells, folder=folder, failed=failed)
            put(_tables(table), folder=out)
    return table, len(before), len(failed)


def _run(plan: Plan, cell: Cell, *, out: Path) -> dict[str, Any]:
    settings = cell.settings
    files = run_job(
        cell.job,
        transport=settings.transport or "threads",
        mpiexec=settings.mpiexec,
        hosts=Hosts(hosts=settings.hosts, hostfile=settings.hostfile, extra=tuple(settings.mpi_arg or ())),
    )
    files = judged(cell.job, files, classify=plan.classify)
    if plan.keep:
        put(paged(files), folder=out / "runs" / cell.key)
    return dict(json.loads(files["report.json"]))


def results(cells: Sequence[Cell], *, folder: Path, failed: Mapping[str, str]) -> pd.DataFrame:
    """Put what there is into a table: a line a run, what was asked before what came out."""
    import pandas as pd

    lines = []
    for cell in cells:
        job = cell.job
        line: dict[str, Any] = {
            "run": cell.key, "protocol": job.protocol, "mode": job.mode, "data": " ".join(job.data), "parties": job.parties,
            "seed": job.seed, **job.parameters,
        }  # fmt: skip
        path = folder / f"{cell.key}.json"
        if path.is_file():
            lines.append({**line, "status": "done", **_figures(json.loads(path.read_text()))})
        elif cell.key in failed:
            lines.append({**line, "status": "failed", "error": failed[cell.key]})
        else:
            lines.append({**line, "status": "not run"})
    return pd.DataFrame(lines)


def _figures(report: Mapping[str, Any]) -> dict[str, Any]:
    """Take from a report what sweeps are drawn by."""
    exchanged, privacy, utility = report["communication"], report["privacy"], report["utility"] or {}
    found = {
        "rows": report["rows"], "seconds": report["seconds"], "messages": exchanged["messages"], "rounds": exchanged["rounds"],
        "payload_bytes": exchanged["payload_bytes"], "ciphertext_bytes": exchanged["ciphertext_bytes"],
        "per_user_bits": exchanged.get("per_user_bits"), "claimed_epsilon": privacy["claimed_epsilon"],
        **{f"epsilon_{view}": own for view, own in privacy["epsilon"].items()}, "whole_record": privacy.get("whole_record"),
        **{f"tvd_{ways}": own for ways, own in utility.get("tvd", {}).items()},
        **{f"floor_{own['ways']}": own["one_way"] for own in utility.get("distances", ())},
        **{f"wrong_{own['target']}": own["synthetic"] for own in utility.get("classification", ())},
    }  # fmt: skip
    if (right := utility.get("accuracy")) is not None:
        found |= {"accuracy": right["model"], "majority": right["majority"]}
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
