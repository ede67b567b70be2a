"""Settings of a run: what a person gave, on the command line, in a TOML file or in Python.

Most options are fields of `Job` or `Placement`, with the same names everywhere; `OPTIONS` adds
epsilon, out and set. The command line takes precedence over a file, and both over the defaults.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from ..messages import UsageError
from ..parties import ColumnChoice, Schema, SchemaPlan, read_plan
from ..protocols import RECOMMENDED, RECOMMENDED_PURE
from .choices import choices_of
from .job import DEFAULT_SCHEMA_SHARE, Job
from .placement import Placement

__all__ = [
    "OPTIONS",
    "Settings",
    "merge_options",
    "parse_assignments",
    "read_options",
    "settings",
    "split_names",
]

_JOB: Final = {
    field.name: field.type
    for field in msgspec.structs.fields(Job)
    if field.name not in ("protocol", "parameters", "schema", "schema_plan", "data")
}
_PLACEMENT: Final = {field.name: field.type for field in msgspec.structs.fields(Placement)}
OPTIONS: Final[Mapping[str, Any]] = {
    "protocol": str,
    "data": str | list[str],
    "epsilon": float,
    "delta": float,
    **_JOB,
    "drop": str | list[str],
    "columns": str | list[str],
    "fault": str | list[str],
    "schema": str | dict[str, Any],
    **_PLACEMENT,
    "mpi_arg": list[str],
    "out": str,
    "set": dict[str, Any],
}
"""Every option that can be given, with its type."""

Spelling = Callable[[str], str]
"""Writes an option's name as the person gave it: --key-bits, key 'key-bits', key_bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """A job, where it runs, and where its results go."""

    job: Job
    placement: Placement
    out: str | None = None
    recommended: str = ""
    """What the protocol is recommended for, if none was named."""


def settings(options: Mapping[str, Any], *, spelling: Spelling = str) -> Settings:
    """Make the settings of what was given; wrong values are a `UsageError` that names the option.

    Options that were not given are absent, or `None`. Without a protocol it is the recommended one,
    which depends on delta.
    """
    chosen = {name: _plain(value) for name, value in options.items() if value is not None}
    for name, value in chosen.items():
        check_option(name, value, spelling=spelling)
    sources = chosen.get("data", "demo")
    data = [sources] if isinstance(sources, str) else [*sources]
    if not data:
        raise UsageError("expected a table for data, found none: leave it out for the demo's")
    fields = {name: value for name, value in chosen.items() if name in _JOB}
    for name in {"drop", "columns"} & fields.keys():
        fields[name] = split_names(fields[name])
    if isinstance(fields.get("fault"), str):
        fields["fault"] = [fields["fault"]]
    fields.setdefault("parties", len(data) if len(data) > 1 else 3)
    schema = chosen.get("schema")
    if schema is not None:
        whole = schema if isinstance(schema, Schema) else read_plan(schema)
        names = {name: fields.get(name, []) for name in ("columns", "drop")}
        field = "schema_plan" if isinstance(whole, SchemaPlan) else "schema"
        fields[field] = whole.select(msgspec.convert(names, ColumnChoice))
    share = fields.get("schema_share", DEFAULT_SCHEMA_SHARE)
    if "schema_plan" not in fields and share != DEFAULT_SCHEMA_SHARE:
        raise UsageError(
            "expected schema_share with a private schema alone, found none: say --schema private"
        )
    parameters, recommended = _parameters(chosen), ""
    protocol = chosen.get("protocol")
    if protocol is None:
        pure = _is_pure(parameters)
        protocol = RECOMMENDED_PURE if pure else RECOMMENDED
        recommended = "recommended for delta 0" if pure else "recommended for delta above 0"
    job = Job(
        protocol=protocol,
        data=tuple(data),
        parameters=parameters,
        **{name: _converted(name, value) for name, value in fields.items()},
    )
    placement = msgspec.convert(
        {name: chosen[name] for name in _PLACEMENT if name in chosen}, Placement
    )
    return Settings(
        job=job,
        placement=placement.waiting() if job.on_loss == "wait" else placement,
        out=chosen.get("out"),
        recommended=recommended,
    )


def _plain(value: Any) -> Any:
    """Take numbers and arrays of numpy or pandas for numbers and lists, within lists, too.

    >>> import numpy as np
    >>> _plain({"epsilon": np.float64(0.5), "columns": np.array(["sex"])})
    {'epsilon': 0.5, 'columns': ['sex']}
    """
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    as_list = getattr(value, "tolist", None)
    return as_list() if callable(as_list) else value


def split_names(names: str | Sequence[str]) -> list[str]:
    """List names of columns: those of a list as they are, those of a text between its commas."""
    if isinstance(names, str):
        return [name.strip() for name in names.split(",") if name.strip()]
    return [*names]


def _converted(name: str, value: Any) -> Any:
    return msgspec.convert(value, _JOB[name]) if name in _JOB else value


def _parameters(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Put epsilon and delta among the protocol's parameters."""
    parameters = dict(chosen.get("set", {}))
    for name in ("epsilon", "delta"):
        if name not in chosen:
            continue
        value = float(chosen[name])
        if name in parameters and parameters[name] != value:
            raise UsageError(f"expected {name} once, found it both as an option and under set")
        parameters[name] = value
    return parameters


def _is_pure(parameters: Mapping[str, Any]) -> bool:
    """Tell whether delta is 0. It may be a text, which the protocol checks."""
    try:
        return float(parameters["delta"]) == 0
    except (KeyError, TypeError, ValueError):
        return False


def check_option(name: str, value: Any, *, spelling: Spelling) -> None:
    """Refuse an unknown option, and a value of a wrong type or out of bounds."""
    if name not in OPTIONS:
        names = [option.replace("_", "-") for option in OPTIONS]
        close = difflib.get_close_matches(name.replace("_", "-"), names, n=1)
        hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(names)}"
        raise UsageError(f"unknown {spelling(name)}: {hint}")
    if isinstance(value, Schema):
        return
    try:
        msgspec.convert(value, OPTIONS[name])
    except msgspec.ValidationError as error:
        what = str(error).partition(" - at ")[0].replace(" | null", "")
        what = what.replace("array", "list").replace("object", "dictionary")
        if choices := choices_of(OPTIONS[name]):
            what = f"expected {' or '.join(choices)}"
        raise UsageError(
            f"{spelling(name)}: {what[0].lower()}{what[1:]}, found {value!r}"
        ) from None


def read_options(path: Path) -> dict[str, Any]:
    """Read a TOML file of options; errors name the file and the key."""
    try:
        content = tomllib.loads(path.read_text())
    except OSError as error:
        raise UsageError(f"expected a configuration at {path}, found {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"expected TOML in {path}, found {error}") from None
    except RecursionError:
        raise UsageError(f"expected TOML of few levels in {path}, found too many") from None
    options = {key.replace("-", "_"): value for key, value in content.items()}
    for name, value in options.items():
        try:
            check_option(name, value, spelling=lambda name: f"key {name.replace('_', '-')!r}")
        except UsageError as error:
            raise UsageError(f"{path}: {error}") from None
    return options


def merge_options(over: Mapping[str, Any], under: Mapping[str, Any]) -> dict[str, Any]:
    """Put options over others; parameters are merged one by one."""
    chosen = {name: value for name, value in over.items() if value is not None}
    return {**under, **chosen, "set": {**under.get("set", {}), **chosen.get("set", {})}}


def parse_assignments(assignments: list[str]) -> dict[str, str]:
    """Read `--set NAME=VALUE`, each name once."""
    parsed: dict[str, str] = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals or not name:
            raise UsageError(f"expected --set NAME=VALUE, found {assignment!r}")
        name = name.strip().replace("-", "_")
        if name in parsed:
            raise UsageError(f"expected each parameter once, found --set {name} twice")
        parsed[name] = value
    return parsed
