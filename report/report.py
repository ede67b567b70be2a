"""report.json: what was run, what it cost, what it spent. The keys are a contract with whoever
reads it.
"""

from __future__ import annotations

import contextlib
import math
import platform
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import msgspec

from ..messages import communication
from ..parties import Schema
from ..privacy import epsilon_by_view
from ..protocols import AnyProtocol, Cost, Outcome, Public
from ..runs.job import Job

if TYPE_CHECKING:
    from ..runs.take_part import Concluded

__all__ = ["epsilon_shown", "make_report", "summary_lines"]


def make_report(
    job: Job,
    protocol: AnyProtocol,
    concluded: Concluded,
    *,
    transport: str,
    library: str | None,
    ended: datetime,
) -> dict[str, Any]:
    """Put the report together from what the curator holds."""
    minutes = concluded.minutes
    told = [own.rows for own in minutes[1:] if own.rows is not None]
    rows = sum(told) if len(told) == job.parties else None
    schema = concluded.schema
    public = Public(
        parties=job.parties,
        rows=rows or 0,
        key_bits=job.key_bits,
        domain=None if schema is None else schema.domain,
        model=concluded.outcome.model,
    )
    predicted, formulas, unforeseen = None, [], []
    try:
        predicted = _predicted(protocol, concluded, public)
        formulas = _formulas(protocol, concluded, public)
    except Exception as error:  # noqa: BLE001 - epsilon is spent: whatever is wrong with a forecast, the result must not be lost
        unforeseen = [f"the cost could not be predicted: {type(error).__name__}: {error}"]
    chosen, warnings = dict[str, Any](), list[str]()
    try:
        warnings = [*protocol.warnings(public)]
        chosen = {
            name: own
            for name, own in protocol.chosen().items()
            if getattr(protocol.parameters, name, 0) is None
        }
    except Exception as error:  # noqa: BLE001 - as above
        unforeseen.append(
            f"the protocol could not say all of itself: {type(error).__name__}: {error}"
        )
    exchanged: dict[str, Any] = {
        **communication(concluded.entries),
        "predicted": predicted,
        "formulas": formulas,
    }
    if (traffic := concluded.outcome.user_traffic) is not None:
        measured = exchanged["user_bits"] if traffic.simulate == "reports" else None
        exchanged |= {
            "per_user_bits": traffic.bits / traffic.reports,
            "users": asdict(traffic) | {"measured_bits": measured},
        }
    phases = [
        {
            "name": name,
            "seconds": round(max(own.phases.get(name, 0.0) for own in minutes), 6),
            "bytes": exchanged["by_phase"].get(name, {}).get("frame_bytes", 0),
        }
        for name in dict.fromkeys(name for own in minutes for name in own.phases)
    ]
    return {
        "sottovoce": version("sottovoce"),
        "protocol": protocol.name,
        "about": {"summary": protocol.summary, "paper": protocol.paper, "trust": protocol.trust},
        "reference": job.protocol,
        "parameters": msgspec.to_builtins(protocol.parameters),
        "chosen": _writable(chosen),
        "parties": job.parties,
        "rows": rows,
        "data": list(job.data),
        "split": job.split,
        "mode": job.mode,
        "seed": job.seed,
        "transport": transport,
        "mpi": None
        if library is None
        else {"library": library, "hosts": [own.host for own in minutes]},
        "python": platform.python_version(),
        "ended": ended.isoformat(timespec="seconds"),
        "command": command(job, transport=transport),
        "seconds": round(concluded.seconds, 6),
        "outcome": _writable(dict(concluded.outcome.summary)),
        "published": _published(concluded.outcome),
        "phases": phases,
        "communication": exchanged,
        "privacy": _writable(
            {
                "claimed_epsilon": protocol.epsilon,
                "claimed_coalition": protocol.colluding,
                "neighbours": protocol.neighbours,
                **_views(protocol, concluded, parties=job.parties),
                "releases": [msgspec.to_builtins(release) for release in concluded.releases],
                "key_bits": job.key_bits,
                "identities": job.identities or "made for the run",
            }
        ),
        "utility": None,
        "transcript": {edge: digest for own in minutes for edge, digest in own.transcript.items()}
        or None,
        "warnings": [*_warnings(job, schema), *warnings, *unforeseen],
    }


def _views(protocol: AnyProtocol, concluded: Concluded, *, parties: int) -> dict[str, Any]:
    """Give epsilon by view; where it is of a label also that of the whole record: the same, if no
    release tells more.
    """
    found = epsilon_by_view(concluded.releases, parties=parties)
    of_label = protocol.neighbours.startswith("label-within")
    return {**({"whole_record": found["epsilon"]["curator"]} if of_label else {}), **found}


def command(job: Job, *, transport: str) -> str:
    """Write the command that runs the same again, where it was started, with the schema that the
    run left.

    What files hold, and how many hosts there are, stays with whoever runs it; tables in memory, and
    lists, are Python's.
    """
    plain = all(isinstance(own, str | int | float | None) for own in job.parameters.values())
    if job.data[0] == "<table>" or not plain:
        tables = "table" if len(job.data) == 1 else "tables"
        named = (
            tables
            if job.data[0] == "<table>"
            else repr([*job.data] if len(job.data) > 1 else job.data[0])
        )
        schema = ["schema='schema.json'"] if job.schema is not None else []
        given = [f"{name}={value!r}" for name, value in job.parameters.items()]
        many = [f"parties={job.parties}"] if len(job.data) == 1 else []
        options = [f"{name}={value!r}" for name, value in _changed(job).items()]
        return f"sottovoce.run({', '.join([repr(job.protocol), named, *many, *given, *options, *schema])})"
    words = ["sottovoce", "run", job.protocol]
    words += [word for own in job.data if job.data != ("demo",) for word in ("--data", own)]
    words += ["--parties", str(job.parties)] if len(job.data) == 1 else []
    if "epsilon" in job.parameters:
        words += ["--epsilon", str(job.parameters["epsilon"])]
    for name, value in _changed(job).items():
        option = f"--{name.replace('_', '-')}"
        words += [option] if value is True else [option, str(value)]
    words += [] if job.schema is None else ["--schema", "schema.json"]
    words += ["--transport", "threads"] if transport == "threads" else []
    for name, value in job.parameters.items():
        words += [] if name == "epsilon" else ["--set", f"{name}={_set(value)}"]
    return shlex.join(words)


def _changed(job: Job) -> dict[str, Any]:
    """List what the job has that is not the default."""
    names = (
        "mode",
        "rows",
        "split",
        "seed",
        "key_bits",
        "insecure_test_keys",
        "identities",
        "timeout",
        "transcript",
    )
    defaults = {own.name: own.default for own in msgspec.structs.fields(Job)}
    return {name: getattr(job, name) for name in names if getattr(job, name) != defaults[name]}


def _set(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _published(outcome: Outcome) -> dict[str, Any]:
    """Say how large what was published is."""
    found: dict[str, Any] = {"model": outcome.model is not None}
    if outcome.synthetic is not None:
        found["synthetic"] = {
            "rows": len(outcome.synthetic),
            "attributes": outcome.synthetic.shape[1],
        }
    if (table := outcome.marginals) is not None:
        names = [own for own in table.columns if str(own).startswith("attribute_")]
        found["marginals"] = {
            "marginals": len(table[names].drop_duplicates()) if names else 1,
            "cells": len(table),
        }
    return found


def _writable(value: Any) -> Any:
    """Write infinity, which JSON cannot say, as the word."""
    if isinstance(value, dict):
        return {key: _writable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_writable(item) for item in value]
    return (
        str(value).replace("inf", "infinity")
        if isinstance(value, float) and not math.isfinite(value)
        else value
    )


def _predicted(
    protocol: AnyProtocol, concluded: Concluded, public: Public
) -> list[dict[str, Any]] | None:
    """Put each line of the predicted cost beside what was measured.

    What depends on what was learnt, such as how long a frontier is, follows from the model: it was
    not known before the run.
    """
    lines: Sequence[Cost] | None = protocol.predict(public)
    if lines is None:
        return None
    beforehand: Sequence[Cost] = ()
    with contextlib.suppress(Exception):  # of somebody's own, which may need the model
        beforehand = protocol.predict(replace(public, model=None)) or ()
    beside = []
    for line in lines:
        measured = [
            entry
            for entry in concluded.entries
            if (entry.phase, entry.kind) == (line.phase, line.kind)
        ]
        beside.append(
            {
                "phase": line.phase,
                "kind": line.kind,
                "messages": line.messages,
                "payload_bytes": line.payload_bytes,
                "measured_messages": len(measured),
                "measured_payload_bytes": sum(entry.payload_bytes for entry in measured),
                "known": "before" if line in beforehand else "from the model",
            }
        )
    return beside


def _formulas(protocol: AnyProtocol, concluded: Concluded, public: Public) -> list[dict[str, Any]]:
    """Put the paper's formulas, printed and corrected, beside what was measured."""
    beside = []
    for formula in protocol.formulas(public):
        own = [entry for entry in concluded.entries if entry.phase == formula.phase]
        measured = {
            "measured_rounds": len({entry.round for entry in own}),
            "measured_bytes": sum(e.payload_bytes for e in own),
        }
        beside.append(asdict(formula) | measured)
    return beside


def _warnings(job: Job, schema: Schema | None) -> list[str]:
    warnings = []
    if job.seed is not None:
        warnings.append(
            f"seed {job.seed} makes this run reproducible and NOT private: whoever knows the seed can subtract the noise"
        )
    if job.key_bits < 2048:
        warnings.append(f"keys of {job.key_bits} bits protect nothing: they are for tests")
    if schema is not None and schema.inferred:
        warnings.append(
            "the schema was inferred from the data: that categories and ranges were taken from it is NOT private; "
            "give a public one with --schema"
        )
    return warnings


def summary_lines(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Say what a person wants to know first, as pairs of a name and a sentence."""
    exchanged, privacy = report["communication"], report["privacy"]
    rows = "" if report["rows"] is None else f", {report['rows']:,} rows"
    sent = (
        f"{_count(exchanged['messages'], 'message')} in {_count(exchanged['rounds'], 'round')}: "
        f"{exchanged['payload_bytes']:,} bytes of payload, {exchanged['frame_bytes']:,} with frames"
    )
    lines = [
        (
            "protocol",
            f"{report['protocol']} ({report['mode']}), {_parties(report['parties'])}{rows}",
        ),
        *((name, _figure(value)) for name, value in report["outcome"].items()),
        ("sent", sent),
    ]
    if exchanged["predicted"] is not None:
        lines.append(("cost", _foreseen(exchanged)))
    if (users := exchanged.get("users")) is not None:
        lines.append(("one user", _one_user(users, per_user=exchanged["per_user_bits"])))
    if formulas := exchanged.get("formulas"):
        sums = {key: sum(line[key] for line in formulas) for key in formulas[0] if key != "phase"}
        printed, corrected = (
            f"{sums[which + '_bytes']:,.0f} bytes in {sums[which + '_rounds']:,.0f} rounds"
            for which in ("printed", "corrected")
        )
        lines.append(
            (
                "formulas",
                f"the paper's, a ciphertext for each cell: {printed}; corrected: {corrected}",
            )
        )
    if (utility := report["utility"]) is not None:
        if "accuracy" in utility:
            lines.append(("utility", _right(utility["accuracy"])))
        if utility["tvd"]:
            lines.append(("utility", _distances(utility)))
    epsilon = ", ".join(
        f"{view.replace('_', ' ')} {epsilon_shown(value)}"
        for view, value in privacy["epsilon"].items()
    )
    claimed = epsilon_shown(privacy["claimed_epsilon"])
    chance = f" but for a chance of {privacy['delta']:g}" if privacy["delta"] else ""
    if "whole_record" in privacy:
        chance += f"; of the whole record {epsilon_shown(privacy['whole_record'])}"
    lines.append(
        ("epsilon", f"claimed {claimed}; seen by {epsilon}{chance} ({privacy['neighbours']})")
    )
    lines.append(("seconds", f"{report['seconds']:.2f}"))
    return lines


def epsilon_shown(epsilon: float | str) -> str:
    """Write an epsilon as it stands in a report, where infinity is a word."""
    return epsilon if isinstance(epsilon, str) else f"{epsilon:g}"


def _one_user(users: Mapping[str, Any], *, per_user: float) -> str:
    """Say what a user sends in a deployment, and what all of them do."""
    spread = f" ({users['least']:,} to {users['most']:,})" if users["least"] < users["most"] else ""
    how = (
        "made and counted" if users["simulate"] == "reports" else "not made: their sums were drawn"
    )
    return (
        f"sends one report of {per_user:,.4g} bits{spread}; {_count(users['reports'], 'report')}, "
        f"{-(-users['bits'] // 8):,} bytes in all, {how}"
    )


def _foreseen(exchanged: Mapping[str, Any]) -> str:
    """Say whether what was sent is what was predicted, and how much could not be."""
    lines = exchanged["predicted"]
    wrong = [
        f"{line['phase']}/{line['kind']}: predicted {line['payload_bytes']:,} bytes, found {line['measured_payload_bytes']:,}"
        for line in lines
        if any(line[key] != line[f"measured_{key}"] for key in ("messages", "payload_bytes"))
    ]
    if wrong:
        return "; ".join(wrong)
    rest = exchanged["payload_bytes"] - sum(line["payload_bytes"] for line in lines)
    return (
        f"as predicted, but for {rest:,} bytes that depend on choices" if rest else "as predicted"
    )


def _right(own: Mapping[str, Any]) -> str:
    return (
        f"{own['label']} is predicted right in {own['model']:.4f} of the {own['rows']:,} rows that it was learnt from "
        f"(the most frequent one: {own['majority']:.4f})"
    )


def _distances(utility: Mapping[str, Any]) -> str:
    floors = {str(own["ways"]): own["one_way"] for own in utility.get("distances", ())}
    shown = [
        f"{ways}-way {value:.4f}"
        + (f" (one-way tables only: {floors[ways]:.4f})" if ways in floors else "")
        for ways, value in utility["tvd"].items()
    ]
    return f"average total variation distance {', '.join(shown)}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _parties(number: int) -> str:
    return "1 party" if number == 1 else f"{number:,} parties"


def _figure(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
