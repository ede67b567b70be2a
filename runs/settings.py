"""Settings of a run: from the command line, over those of a TOML file, over the defaults."""

from __future__ import annotations

import difflib
import tomllib
from pathlib import Path
from typing import Annotated, Any

import msgspec

from ..messages import UsageError
from ..parties import read_schema
from .job import Job, Transport

__all__ = ["Settings", "parse_assignments", "read_settings"]


class Settings(
    msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True, rename="kebab"
):
    """Every key of `--config FILE.toml`; the same names as the options."""

    protocol: str | None = None
    data: str | list[str] | None = None
    parties: Annotated[int, msgspec.Meta(ge=1, le=65_535)] | None = None
    epsilon: float | None = None
    out: str | None = None
    seed: Annotated[int, msgspec.Meta(ge=0)] | None = None
    mode: str | None = None
    transport: Transport | None = None
    schema: str | None = None
    identities: str | None = None
    key_bits: int | None = None
    insecure_test_keys: bool | None = None
    rows: Annotated[int, msgspec.Meta(ge=1)] | None = None
    split: str | None = None
    timeout: Annotated[float, msgspec.Meta(gt=0)] | None = None
    transcript: bool | None = None
    hosts: str | None = None
    hostfile: str | None = None
    mpiexec: str | None = None
    mpi_arg: list[str] | None = None
    set: dict[str, Any] = {}

    def over(self, below: Settings) -> Settings:
        """Take what is not said here from `below`; parameters are merged one by one."""
        said = {
            name: value
            for name in self.__struct_fields__
            if (value := getattr(self, name)) is not None
        }
        return msgspec.structs.replace(below, **said | {"set": {**below.set, **self.set}})

    def job(self) -> Job:
        """Make the job; wrong values are a `UsageError` that names the key."""
        if self.protocol is None:
            raise UsageError(
                'expected a protocol: sottovoce run PROTOCOL, or protocol = "..." in the configuration'
            )
        data = (
            ["demo"]
            if self.data is None
            else [self.data]
            if isinstance(self.data, str)
            else self.data
        )
        parties = self.parties if self.parties is not None else len(data) if len(data) > 1 else 3
        parameters = dict(self.set)
        if self.epsilon is not None:
            if "epsilon" in parameters and parameters["epsilon"] != self.epsilon:
                raise UsageError("expected epsilon once, found it both as an option and under set")
            parameters["epsilon"] = self.epsilon
        fields: dict[str, Any] = {
            "protocol": self.protocol,
            "data": data,
            "parties": parties,
            "parameters": parameters,
        }
        for name in (
            "seed",
            "mode",
            "key_bits",
            "insecure_test_keys",
            "rows",
            "split",
            "timeout",
            "transcript",
            "identities",
        ):
            if (value := getattr(self, name)) is not None:
                fields[name] = value
        if self.schema is not None:
            fields["schema"] = read_schema(Path(self.schema))
        try:
            return msgspec.convert(fields, Job)
        except msgspec.ValidationError as error:
            raise UsageError(f"settings: {error}") from None


def read_settings(path: Path) -> Settings:
    """Read a TOML file; errors name the file and the key."""
    try:
        found = tomllib.loads(path.read_text())
    except OSError as error:
        raise UsageError(f"expected a configuration at {path}, found {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"expected TOML in {path}, found {error}") from None
    known = {field.encode_name: field.type for field in msgspec.structs.fields(Settings)}
    for key, value in found.items():
        if key not in known:
            close = difflib.get_close_matches(key, known, n=1)
            hint = f"did you mean {close[0]}?" if close else f"known keys are {', '.join(known)}"
            raise UsageError(f"{path}: unknown key {key!r}: {hint}")
        try:
            msgspec.convert(value, known[key])
        except msgspec.ValidationError as error:
            what = str(error).partition(" - at ")[0].replace(" | null", "")
            raise UsageError(
                f"{path}: key {key!r}: {what[0].lower()}{what[1:]}, found {value!r}"
            ) from None
    return msgspec.convert(found, Settings)


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
