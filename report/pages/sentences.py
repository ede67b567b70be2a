"""What is said of a run in whole sentences: what was done, what it cost, who learns how much."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from ..summary import epsilon_shown
from .conversation import bytes_shown
from .document import counted

__all__ = ["claimed_for", "figures", "lead", "view_shown"]

NUMBERS: Final = (
    "no",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)
VIEWS: Final[Mapping[str, str]] = {
    "public": "anybody who reads what is published",
    "curator": "the curator, from all that it was sent",
    "other_party": "another party, from all that it was sent and its own noise",
}
LABELS: Final = ("label-within-belief", "label-alone")
"""Neighbours that differ by a label."""
SHORT_KEY: Final = 2048


def lead(report: Mapping[str, Any]) -> tuple[str, str]:
    """Say in two sentences what was run and published, and what that costs the people in the
    data.
    """
    which = (
        f"`{report['protocol']}`{' as printed in its paper' if report['mode'] == 'paper' else ''}"
    )
    whose = _whose(report)
    first = f"{whose[0].upper()}{whose[1:]} ran {which} and published {_published(report)}."
    learnt = _learnt(report)
    second = f"{learnt[0].upper()}{learnt[1:]}; the run sent {_cost(report['communication'])}{_quality(report)}."
    return first, second


def _whose(report: Mapping[str, Any]) -> str:
    """Say who took part, with whose records."""
    privacy, users = report["privacy"], report["communication"].get("users")
    parties = f"{_number(report['parties'])} {'party' if report['parties'] == 1 else 'parties'}"
    records = (
        _source(report)
        if report["rows"] is None
        else f"the {report['rows']:,} records of {_source(report)}"
    )
    if users and report["parameters"].get("users"):
        return f"{users['users']:,} made-up users, drawn with replacement from {records} and simulated by {parties},"
    if users:
        return f"{users['users']:,} users, one for each record of {_source(report)}, simulated by {parties},"
    blind = _size(privacy["epsilon"]["curator"]) <= _size(privacy["claimed_epsilon"]) < math.inf
    saw = (
        f" that saw none of {'them' if report['rows'] is not None else 'their records'}"
        if blind
        else ""
    )
    return f"{parties} with {records} and a curator{saw}"


def _learnt(report: Mapping[str, Any]) -> str:
    """Say who learns how much; what would only hold under a condition that is not met is said
    so.
    """
    privacy = report["privacy"]
    missing = _unmet(report)
    condition = f"if {' and '.join(missing)}, " if missing else ""
    learns, bounds = ("would learn", "would bound") if missing else ("learns", "bounds")
    drawn = report["communication"].get("users") and report["parameters"].get("users")
    what = f"one {'made-up user' if drawn else 'person'}'s {'label' if privacy['neighbours'] in LABELS else 'record'}"
    views = {"the public": "public", "the curator": "curator"} | (
        {"another party": "other_party"} if report["parties"] > 1 else {}
    )
    real = {name: privacy["epsilon"][view] for name, view in views.items()}
    others = "the curator and the other parties" if report["parties"] > 1 else "the curator"
    if len({*map(_size, real.values())}) > 1:
        each = ", ".join(f"{name} {learns} {_at_most(value)}" for name, value in real.items())
        text = f"of {what}, {each}"
    elif math.isinf(_size(real["the public"])):
        text = f"nothing {bounds} what anybody learns of {what}"
    else:
        text = f"anybody, {others} included, {learns} of {what} {_at_most(real['the public'])}"
    if privacy["neighbours"] == "label-within-belief":
        text += ", unless she is one whose attributes they know"
    if privacy["delta"]:
        text += f", but for a chance of {privacy['delta']:g}"
    if "whole_record" in privacy:
        text += f"; of the whole record {_at_most(privacy['whole_record'])}"
    if worse := _worse_together(privacy):
        upto = privacy["claimed_coalition"] or 0
        who = f"more than {upto} parties, or one and the curator," if upto > 1 else "some of them"
        text += f", and {_at_most(worse)} where {who} pool what they know"
    return condition + text


def _at_most(epsilon: float | str) -> str:
    return (
        "without any bound"
        if math.isinf(_size(epsilon))
        else f"at most epsilon {epsilon_shown(epsilon)}"
    )


def _unmet(report: Mapping[str, Any]) -> list[str]:
    """List the conditions of every claim that this run does not meet."""
    found = ["nobody knew the seed"] if report["seed"] is not None else []
    short = (
        report["privacy"]["key_bits"] < SHORT_KEY
        and report["communication"]["ciphertext_bytes"] > 0
    )
    return found + (["keys could not be broken"] if short else [])


def _worse_together(privacy: Mapping[str, Any]) -> float:
    """Say what the worst of all coalitions learns, if that is more than each of its members; else
    0.
    """
    alone = max(map(_size, privacy["epsilon"].values()))
    worst = max(map(_size, privacy["coalitions"].values()), default=0.0)
    return worst if worst > alone else 0.0


def _size(epsilon: float | str) -> float:
    return math.inf if isinstance(epsilon, str) else epsilon


def _number(value: int) -> str:
    return NUMBERS[value] if value < len(NUMBERS) else f"{value:,}"


def _source(report: Mapping[str, Any]) -> str:
    data = [own.rsplit("/", 1)[-1].replace("`", "'") for own in report["data"]]
    if len({*data}) < len({*report["data"]}):  # of the same name, in folders of their own
        data = ["/".join(own.rsplit("/", 2)[-2:]).replace("`", "'") for own in report["data"]]
    if {*data} == {"demo"}:
        return "made-up people"
    if {*data} == {"<table>"}:
        return "a table in memory" if len(data) == 1 else f"{len(data)} tables in memory"
    return (
        data[0]
        if len(data) == 1
        else f"{', '.join(data[:3])}{' and others' if len(data) > 3 else ''}"
    )


def _published(report: Mapping[str, Any]) -> str:
    told = report.get("published") or {}
    parts = []
    if (table := told.get("synthetic")) is not None:
        parts.append(
            f"a synthetic table of {table['rows']:,} rows and {table['attributes']} attributes (`synthetic.csv`)"
        )
    if (table := told.get("marginals")) is not None:
        parts.append(
            f"{counted(table['marginals'], 'noisy table')} of {counted(table['cells'], 'count')} (`marginals.csv`)"
        )
    if told.get("model"):
        parts.append("a model (`model.json`)")
    return (
        " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
        or "a few figures"
    )


def _cost(exchanged: Mapping[str, Any]) -> str:
    return f"{bytes_shown(exchanged['payload_bytes'])} in {counted(exchanged['rounds'], 'round')}"


def _quality(report: Mapping[str, Any]) -> str:
    utility = report["utility"] or {}
    if (right := utility.get("accuracy")) is not None:
        label = str(right["label"]).replace("`", "'")
        return f", and {label} is predicted right in {right['model']:.1%} (most frequent: {right['majority']:.1%})"
    if not utility.get("tvd"):
        return ""
    ways, value = next(iter(utility["tvd"].items()))
    floor = _floors(utility).get(ways)
    beside = (
        ""
        if floor is None
        else f", {'better' if value < floor else 'no better'} than single attributes alone ({floor:.3g})"
    )
    return f", and its {ways}-way tables are on average {value:.3g} off the real ones{beside}"


def _floors(utility: Mapping[str, Any]) -> dict[str, float]:
    """Give what the real tables of single attributes alone would reach, without any noise."""
    return {
        str(own["ways"]): own["one_way"]
        for own in utility.get("distances", ())
        if own["attributes"] == "original"
    }


def figures(report: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Choose the figures that are shown large."""
    privacy, exchanged, utility = (
        report["privacy"],
        report["communication"],
        report["utility"] or {},
    )
    worst = max(privacy["epsilon"].values(), key=_size)
    told = [f"claimed {epsilon_shown(privacy['claimed_epsilon'])}"]
    if worse := _worse_together(privacy):
        told.append(
            f"up to {epsilon_shown('infinity' if math.isinf(worse) else worse)} if some pool"
        )
    if missing := _unmet(report):
        told.append(f"only if {' and '.join(missing)}")
    chosen = [("epsilon, to anybody alone", epsilon_shown(worst), "; ".join(told))]
    if "whole_record" in privacy:
        chosen.append(
            (
                "of the whole record",
                epsilon_shown(privacy["whole_record"]),
                "its attributes and its label",
            )
        )
    if not (report.get("published") or {}).get("synthetic"):
        for name, value in [*report["outcome"].items()][:3]:
            if isinstance(value, int | float) and not isinstance(value, bool):
                chosen.append(
                    (
                        name.replace("_", " "),
                        f"{value:,}" if isinstance(value, int) else f"{value:.5g}",
                        "published",
                    )
                )
    chosen.append(
        (
            "sent",
            bytes_shown(exchanged["payload_bytes"]),
            f"{exchanged['payload_bytes']:,} bytes of payload",
        )
    )
    chosen.append(("rounds", f"{exchanged['rounds']:,}", counted(exchanged["messages"], "message")))
    if exchanged.get("users"):
        chosen.append(
            (
                "a user sends",
                f"{exchanged['per_user_bits']:,.4g} bits",
                counted(exchanged["users"]["reports"], "report"),
            )
        )
    chosen.append(("time", f"{report['seconds']:,.3g} s", report["transport"]))
    floors = _floors(utility)
    for ways, value in utility.get("tvd", {}).items():
        beside = "of the published tables"
        if ways in floors:
            beside = f"{'' if value < floors[ways] else 'no '}better than single attributes: {floors[ways]:.4f}"
        chosen.append((f"{ways}-way distance", f"{value:.4f}", beside))
    if (right := utility.get("accuracy")) is not None:
        chosen.append(
            (
                f"{right['label']} predicted",
                f"{right['model']:.1%}",
                f"most frequent: {right['majority']:.1%}",
            )
        )
    return chosen


def view_shown(view: str) -> str:
    """Say who looks.

    >>> view_shown("2_parties"), view_shown("curator_and_1")
    ('2 other parties, pooling what they know', 'the curator together with 1 party')
    """
    if view in VIEWS:
        return VIEWS[view]
    if view.startswith("curator_and_"):
        number = int(view.rsplit("_", 1)[1])
        return f"the curator together with {number:,} part{'y' if number == 1 else 'ies'}"
    return f"{view.split('_', maxsplit=1)[0]} other parties, pooling what they know"


def claimed_for(view: str, privacy: Mapping[str, Any]) -> bool:
    """Say whether the run claims anything for a view: coalitions only up to the size that the
    protocol names.
    """
    upto = privacy["claimed_coalition"]
    size = int(view.split("_", maxsplit=1)[0]) if view[0].isdigit() else 1
    return not view.startswith("curator_and") and (
        upto is None or view in ("public", "curator") or size <= upto
    )
