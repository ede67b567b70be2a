"""The command that runs the same again."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from ..parties import LEARN_ALL
from ..parties.schema_file import PRIVATE
from ..runs.job import Job
from .report import Report

__all__ = ["command", "with_classify"]

SHOWN: Final = (
    "mode",
    "rows",
    "split",
    "schema_share",
    "seed",
    "key_bits",
    "insecure_test_keys",
    "identities",
    "on_loss",
    "min_parties",
    "max_wait",
    "separator",
    "encoding",
    "labels",
    "midpoints",
    "parquet",
    "fault",
    "timeout",
    "transcript",
)
"""Options that the command repeats where they are not the default."""


def command(job: Job, *, transport: str, network: str | None) -> str:
    """Write the command that repeats a run where it was started, with the schema that it left.

    The number of hosts and the contents of files are not in it. Tables in memory and parameters
    that are lists are written as a call in Python.
    """
    plain = all(isinstance(value, str | int | float | None) for value in job.parameters.values())
    if job.data[0] == "<table>" or not plain:
        return _python(job)
    words = ["sottovoce", "run", job.protocol]
    words += [word for name in job.data if job.data != ("demo",) for word in ("--data", name)]
    words += ["--parties", str(job.parties)] if len(job.data) == 1 else []
    if "epsilon" in job.parameters:
        words += ["--epsilon", str(job.parameters["epsilon"])]
    for name, value in _changed(job).items():
        option = f"--{name.replace('_', '-')}"
        if isinstance(value, tuple):
            words += [option, ",".join(value)] if name == "columns" else [option, *value]
        else:
            words += [option] if value is True else [option, str(value)]
    words += ["--schema", source] if (source := _schema(job)) else []
    words += ["--transport", transport] if transport != "mpi" else []
    words += [] if network is None else ["--network", network.partition(" (")[0]]
    for name, value in job.parameters.items():
        words += [] if name == "epsilon" else ["--set", f"{name}={_assigned(value)}"]
    return shlex.join(words)


def _python(job: Job) -> str:
    """Write the call in Python that repeats a run."""
    if job.data[0] == "<table>":
        data = "table" if len(job.data) == 1 else "tables"
    else:
        data = repr([*job.data] if len(job.data) > 1 else job.data[0])
    arguments = [repr(job.protocol), data]
    arguments += [f"parties={job.parties}"] if len(job.data) == 1 else []
    budget_first = sorted(job.parameters.items(), key=lambda item: item[0] != "epsilon")
    arguments += [f"{name}={value!r}" for name, value in budget_first]
    arguments += [f"{name}={value!r}" for name, value in _changed(job).items()]
    arguments += [f"schema={source!r}"] if (source := _schema(job)) else []
    return f"sottovoce.run({', '.join(arguments)})"


def _schema(job: Job) -> str:
    """Name the schema: that which the run leaves, or a private one that is learnt again."""
    if job.schema_plan == LEARN_ALL:
        return PRIVATE
    if job.schema_plan is not None:
        return "PLAN.json"
    return "" if job.schema is None else "schema.json"


def _changed(job: Job) -> dict[str, Any]:
    """List the job's options that are not the default."""
    defaults = {field.name: field.default for field in msgspec.structs.fields(Job)}
    # The schema that the run leaves has no other columns.
    names = SHOWN if job.schema is not None else (*SHOWN, "columns", "drop")
    values = {name: getattr(job, name) for name in names}
    return {name: value for name, value in values.items() if value != defaults[name]}


def _assigned(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def with_classify(report: Report, targets: Sequence[str]) -> Report:
    """Add the targets of classifiers, which are an option of the judge, to the command."""
    if not report.command.startswith("sottovoce run"):
        return report
    command = f"{report.command} {shlex.join(['--classify', *targets])}"
    return msgspec.structs.replace(report, command=command)
