"""Runs side by side: what each published, what it cost, what it spent, and how good it is, in one
table.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from ..messages import UsageError

__all__ = ["DIFFERENT", "FLOOR", "REAL", "compare", "comparison_table", "legend", "read_report"]

LEGEND: Final = (
    (
        "epsilon",
        "what the run claims: how much anybody may learn of one record, or label; less is more private",
    ),
    (
        "public, curator, party",
        "what it really costs towards whoever reads what is published, the curator, another party",
    ),
    (
        "neighbours",
        "what epsilon is about: tables that differ by a record, or users who differ by their label",
    ),
    ("delta", "the chance that epsilon does not hold"),
    (
        "whole record",
        "what is told of attributes and label together, where epsilon is about the label",
    ),
    (
        "2-way, 3-way",
        "average distance of the published tables of two and of three attributes from the real ones; 0 is perfect",
    ),
    ("wrong", "share of real people predicted wrong by what was learnt from the published table"),
    (
        "floor",
        "what must be beaten: the real tables of single attributes, and always saying the most frequent answer",
    ),
)

FLOOR: Final = "floor"
REAL: Final = "real data"
DIFFERENT: Final = "(not of the same records: distances cannot be compared)"

_VIEWS: Final = ("public", "curator", "other_party")


def read_report(folder: Path) -> dict[str, Any]:
    """Read the report.json of a run's folder."""
    try:
        report = json.loads((folder / "report.json").read_text())
    except OSError as error:
        raise UsageError(
            f"expected a run with report.json in {folder}, found {error.strerror}"
        ) from None
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"expected report.json of a run in {folder}, found {type(error).__name__}: {error}"
        ) from None
    if not isinstance(report, dict) or not report.keys() >= {
        "protocol",
        "communication",
        "privacy",
        "utility",
    }:
        raise UsageError(f"expected report.json of a run in {folder}, found something else")
    return report


def compare(reports: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Take from each report what runs are compared by; one dictionary a run, and one for each floor
    that the judge knows.

    A floor is what no protocol should fall below: the real tables of single attributes, without any
    noise, and for a prediction the most frequent answer.
    """
    rows, floors, truth = [], list[dict[str, float]](), list[dict[str, float]]()
    differ = _differ([*reports.values()])
    guarded = [own["privacy"] for own in reports.values()]
    telling = [
        key
        for key in ("neighbours", "delta", "whole_record")
        if len({str(own.get(key)) for own in guarded}) > 1
    ]
    for name, report in reports.items():
        try:
            rows.append(_row(name, report, differ.get(report["protocol"], ()), telling))
            utility = report["utility"] or {}
            classified = utility.get("classification", ())
            original = [
                own for own in utility.get("distances", ()) if own["attributes"] == "original"
            ]
            floors.append({f"{own['ways']}-way": own["one_way"] for own in original})
            floors[-1] |= {f"wrong: {own['target']}": own["majority"] for own in classified}
            if (right := utility.get("accuracy")) is not None:
                floors[-1] |= {_taught(right): 1 - right["majority"]}
            truth.append({f"wrong: {own['target']}": own["real"] for own in classified})
        except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise UsageError(
                f"expected report.json of a run in {name}, found {type(error).__name__}: {error}"
            ) from None
    agreed = [_agreed(floors), _agreed(truth)]
    counted = {report["rows"] for report in reports.values() if report.get("rows") is not None}
    apart = len({_data(report) for report in reports.values()}) > 1 or len(counted) > 1
    if None in agreed or apart:
        for row, report in zip(rows if apart else (), reports.values(), strict=False):
            row.update(data=_data(report), rows=report.get("rows"))
        rows.append({"run": DIFFERENT})
    else:
        rows += [
            {"run": title, **own} for title, own in zip((FLOOR, REAL), agreed, strict=True) if own
        ]
    return rows


def _agreed(figures: Sequence[Mapping[str, float]]) -> dict[str, float] | None:
    """Put together what all runs were measured against; `None` if they were measured against
    different tables.
    """
    found: dict[str, float] = {}
    for own in figures:
        if any(abs(found.get(key, value) - value) > 1e-12 for key, value in own.items()):
            return None
        found |= own
    return found


def _differ(reports: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """List the parameters, but for epsilon, by which runs of one protocol differ."""
    values: dict[str, dict[str, set[str]]] = {}
    for report in reports:
        for parameter, value in _settings(report).items():
            if parameter != "epsilon":
                values.setdefault(report["protocol"], {}).setdefault(parameter, set()).add(
                    str(value)
                )
    return {
        protocol: [name for name, own in found.items() if len(own) > 1]
        for protocol, found in values.items()
    }


def _settings(report: Mapping[str, Any]) -> dict[str, Any]:
    more = {name: report.get(name) for name in ("rows", "split", "transport")}
    more |= {"data": _data(report), "key_bits": report["privacy"].get("key_bits")}
    # Numbers that were chosen follow from others, such as a cap from epsilon: runs do not differ by
    # them.
    chosen = {
        name: own for name, own in (report.get("chosen") or {}).items() if isinstance(own, str)
    }
    return {**(report.get("parameters") or {}), **chosen, **more}


def _data(report: Mapping[str, Any]) -> str:
    """Name the tables, wherever they lay."""
    return " ".join(str(own).rsplit("/", 1)[-1] for own in report.get("data") or ())


def _taught(right: Mapping[str, Any]) -> str:
    """Name the error of a published classifier: on the rows whose labels taught it, and so no
    test.
    """
    return f"wrong, where it learnt: {right['label']}"


def _row(
    name: str, report: Mapping[str, Any], differ: Sequence[str], telling: Sequence[str]
) -> dict[str, Any]:
    exchanged, privacy, utility = (
        report["communication"],
        report["privacy"],
        report["utility"] or {},
    )
    right = utility.get("accuracy")
    # Tables that were published by themselves are other ones than all of a synthetic table's, and
    # have no floor.
    own = utility.get("tvd", {})
    drawn = utility.get("tvd_synthetic", own if utility.get("distances") else {})
    counted = own if drawn is not own else {}
    return {
        "run": name,
        "protocol": report["protocol"] + (" (paper)" if report["mode"] == "paper" else ""),
        **(
            {"with": ", ".join(f"{own}={_settings(report).get(own)}" for own in differ)}
            if differ
            else {}
        ),
        "parties": report["parties"],
        "epsilon": privacy["claimed_epsilon"],
        **{view: privacy["epsilon"][view] for view in _VIEWS},
        **{key.replace("_", " "): privacy[key] for key in telling if key in privacy},
        "bytes": int(exchanged["payload_bytes"]),
        "rounds": int(exchanged["rounds"]),
        "seconds": round(float(report["seconds"]), 2),
        **{f"{ways}-way": float(value) for ways, value in drawn.items()},
        **{f"{ways}-way, as counted": float(value) for ways, value in counted.items()},
        **{
            f"wrong: {own['target']}": own["synthetic"] for own in utility.get("classification", ())
        },
        **({} if right is None else {_taught(right): 1 - right["model"]}),
    }


def legend(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Say what the columns mean that there are."""
    there = {*(key for row in rows for key in row), *(FLOOR for row in rows if row["run"] == FLOOR)}
    return [
        (names, meaning)
        for names, meaning in LEGEND
        if any(own in key for own in names.split(", ") for key in there)
    ]


def comparison_table(rows: Sequence[Mapping[str, Any]]) -> tuple[tuple[str, ...], list[list[str]]]:
    """Write the rows as text, with a column for every figure that some run has."""
    keys = list(dict.fromkeys(key for row in rows for key in row))
    heads = tuple(key.replace("other_party", "party") for key in keys)
    return heads, [[_text(key, row.get(key)) for key in keys] for row in rows]


def _text(key: str, value: float | str | None) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    if key in ("epsilon", "whole record", "delta", *_VIEWS):
        return f"{value:.6g}"
    if isinstance(value, int):
        return f"{value:,}"
    if "-way" in key or key.startswith("wrong"):
        return f"{value:.4f}"
    return str(value)
