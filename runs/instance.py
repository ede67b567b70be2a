"""The protocol that a job names, with its parameters, checked before anything starts."""

from __future__ import annotations

import difflib
import math
import sys
from typing import Any, Final

import msgspec

from ..messages import SottovoceError, UsageError
from ..protocols import AnyProtocol, find
from ..protocols.options import Options
from .choices import choices_of
from .job import Job

__all__ = ["instantiate", "is_built_in", "is_own_module"]

OF_RUNS: Final = {*Job.__struct_fields__} - {"protocol", "parameters", "schema_plan"}
"""Names of the options that every run has, whatever its protocol."""


def instantiate(job: Job) -> AnyProtocol:
    """Find the protocol and check mode, number of parties and parameters before anything starts."""
    kind = find(job.protocol)
    if job.mode not in kind.modes:
        modes = " or ".join(kind.modes)
        raise UsageError(f"expected --mode {modes} for {kind.name}, found {job.mode}")
    if job.parties < kind.least_parties:
        raise UsageError(
            f"expected at least {kind.least_parties} parties for {kind.name}, found {job.parties}"
        )
    if kind.most_parties is not None and job.parties > kind.most_parties:
        raise UsageError(
            f"expected at most {kind.most_parties} parties for {kind.name}, "
            f"found {job.parties}: --parties {kind.most_parties}"
        )
    parameters = _convert_parameters(kind, job.parameters)
    variant = kind.variant(parameters, mode=job.mode)
    if is_built_in(variant) and not is_built_in(kind):
        raise UsageError(
            f"expected variant() of {kind.__name__} to pick a class of its own, "
            f"found that it picks {variant.__name__}, which does not have what {kind.__name__} "
            "overrides: define variant() in it, too"
        )
    protocol = variant(parameters, mode=job.mode)
    check_plan(job, protocol)
    if job.fewest_parties is not None:
        if protocol.goes_on and not _says_so_itself(variant):
            raise UsageError(
                f"expected goes_on = True in {variant.__name__} itself for --on-loss continue, "
                "found that of a class of sottovoce: its author has to say that it goes on without "
                "a lost party, and the conformance suite then tries it"
            )
        _require_going_on(protocol, parties=job.parties, min_parties=job.fewest_parties)
    # A threshold or a budget that is not declared is an error before anything starts.
    _ = protocol.colluding, protocol.epsilon
    return protocol


def _require_going_on(protocol: AnyProtocol, *, parties: int, min_parties: int) -> None:
    """Refuse to go on where the protocol, or its secure sums, cannot."""
    from ..protocols.secure_sum import SumOptions  # most runs end with a lost party
    from ..protocols.secure_sum.summing import require_lasting_sums

    sums = isinstance(protocol.parameters, SumOptions)
    # Of sums the bounds on the number of parties are closer.
    bounded = max(1, min(min_parties, parties)) if sums else min_parties
    protocol.require_going_on(parties=parties, min_parties=bounded)
    if sums:
        require_lasting_sums(
            protocol.parameters, mode=protocol.mode, parties=parties, min_parties=min_parties
        )


def _says_so_itself(kind: type[AnyProtocol]) -> bool:
    """Tell whether `goes_on` is stated by a class that is built in, or by the author's own."""
    return is_built_in(kind) or any(
        "goes_on" in vars(base) for base in kind.__mro__ if not is_built_in(base)
    )


def check_plan(job: Job, protocol: AnyProtocol) -> None:
    """Refuse a private schema that the protocol has no use for, or cannot learn."""
    if protocol.learns_schema:
        if job.schema is not None:
            raise UsageError(
                f"expected a schema for {protocol.name} with something to learn, found rules for "
                'all attributes: write "private" for some, or leave out --schema'
            )
        return
    if job.schema_plan is None:
        return
    if not protocol.needs_schema:
        raise UsageError(
            f"expected no --schema private for {protocol.name}, which needs no schema: leave it out"
        )
    from ..protocols.secure_sum import SummingProtocol  # most runs learn no schema

    if not isinstance(protocol, SummingProtocol) or protocol.mode != "rigorous":
        raise UsageError(
            f"expected --schema private with secure sums in mode rigorous, found {protocol.name} "
            f"in mode {protocol.mode}: learn a schema by `sottovoce run private-schema`, and give "
            "it with --schema"
        )


def is_built_in(kind: type) -> bool:
    """Tell whether a class, of a protocol or a mechanism, is one of sottovoce's own.

    A class may say any module of itself, so it is looked up there.
    """
    if not is_own_module(kind.__module__):
        return False
    place: object = sys.modules.get(kind.__module__)
    for name in kind.__qualname__.split("."):
        place = getattr(place, name, None)
    return place is kind


def is_own_module(name: str) -> bool:
    """Tell whether a module of this name is one of sottovoce's own."""
    return name.partition(".")[0] == __name__.partition(".")[0]


def _type_of(parameters: type[Options], name: str) -> Any:
    """Give the type of a parameter."""
    return next(field.type for field in msgspec.structs.fields(parameters) if field.name == name)


def _convert_parameters(kind: type[AnyProtocol], values: dict[str, Any]) -> Any:
    """Convert the protocol's parameters; an error names the parameter."""
    names = kind.Parameters.__struct_fields__
    for name in values:
        if name not in names:
            # In Python, options of the run and parameters are given side by side.
            close = difflib.get_close_matches(name, names, n=1) or difflib.get_close_matches(
                name, Job.__struct_fields__, n=1, cutoff=0.8
            )
            hint = f": did you mean {close[0]}?" if close else ""
            if name in OF_RUNS:  # given as `--set mode=paper`
                hint = f": it is an option of the run, --{name.replace('_', '-')}"
            raise UsageError(
                f"expected a parameter of {kind.name} ({', '.join(names)}), found {name!r}{hint}"
            )
    for name, value in values.items():
        try:
            msgspec.convert({name: value}, kind.Parameters, strict=False)
        except msgspec.ValidationError as error:
            what = str(error).partition(" - at ")[0]
            words = choices_of(_type_of(kind.Parameters, name))
            if words and "enum value" in what:
                what = f"expected {' or '.join(words)}"
            if "missing required field" not in what:
                raise UsageError(
                    f"{what[0].lower()}{what[1:]} for parameter {name}, found {value!r}"
                ) from None
        except SottovoceError:
            pass  # a rule between parameters, which is checked below, on all of them
    try:
        parameters = msgspec.convert(values, kind.Parameters, strict=False)
    except msgspec.ValidationError as error:
        raise UsageError(f"parameters of {kind.name}: {error}") from None
    for name in parameters.__struct_fields__:
        # Bounds do not exclude NaN and infinity, and no report can say them.
        value = getattr(parameters, name)
        if isinstance(value, float) and not math.isfinite(value):
            raise UsageError(f"expected a finite number for parameter {name}, found {value}")
    return parameters
