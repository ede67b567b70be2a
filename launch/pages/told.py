"""What is said of a run in whole sentences: what was done, what it cost, who learns how much."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from ..report import epsilon_shown
from .conversation import bytes_shown
from .document import counted

__all__ = ["VIEWS", "claimed_for", "figures", "lead", "view_shown"]

NUMBERS: Final = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
VIEWS: Final[Mapping[str, str]] = {
    "public": "anybody who reads what is published",
    "curator": "the curator, from all that it was sent",
    "other_party": "another party, from all that it was sent and its own noise",
}
FILES: Final = {"synthetic": "synthetic.csv", "marginals": "marginals.csv", "model": "model.json"}


def lead(report: Mapping[str, Any]) -> tuple[str, str]:
    """Say in two sentences what was run and published, and what that costs the people in the data."""
    privacy, exchanged = report["privacy"], report["communication"]
    parties = f"{_number(report['parties'])} {'party' if report['parties'] == 1 else 'parties'}"
    users = exchanged.get("users")
    if users:
        whose = f"{users['users']:,} users, simulated by {parties},"
    else:
        rows = "" if report["rows"] is None else f" with {report['rows']:,} records of {_source(report)}"
        whose = f"{parties}{rows} and a curator that saw none of {'its' if report['parties'] == 1 else 'theirs'}"
    which = f"`{report['protocol']}`{' as printed in its paper' if report['mode'] == 'paper' else ''}"
    source = f" (records of {_source(report)})" if users else ""
    first = f"{whose[0].upper()}{whose[1:]} ran {which}{source} and published {_published(report)}."
    views = privacy["epsilon"]
    worst = {view: epsilon_shown(value) for view, value in views.items()}
    chance = f", but for a chance of {privacy['delta']:g}" if privacy["delta"] else ""
    protected = {"label-within-belief": "one person's label", "label-alone": "one person's label"}
    what = protected.get(privacy["neighbours"], "one person's record")
    if len({*worst.values()}) == 1:
        who = "Anybody, the curator and the other parties included,"
        alone = ", as long as no two of them pool what they know" if _worse_together(privacy) else ""
        learnt = f"{who} learns of {what} at most epsilon {worst['public']}{chance}{alone}"
    else:
        learnt = (
            f"Of {what}, the public learns at most epsilon {worst['public']}, the curator {worst['curator']} and another party "
            f"{worst['other_party']}{chance}"
        )
    second = f"{learnt}; the run sent {_cost(exchanged)}{_quality(report)}."
    return first, second


def _worse_together(privacy: Mapping[str, Any]) -> bool:
    """Say whether some coalition learns more than each of its members."""
    alone = max(map(_size, privacy["epsilon"].values()))
    return any(_size(own) > alone for own in privacy["coalitions"].values())


def _size(epsilon: float | str) -> float:
    return math.inf if isinstance(epsilon, str) else epsilon


def _number(value: int) -> str:
    return NUMBERS[value] if value < len(NUMBERS) else f"{value:,}"


def _source(report: Mapping[str, Any]) -> str:
    data = [own.rsplit("/", 1)[-1] for own in report["data"]]
    if data == ["demo"]:
        return "made-up people"
    if {*data} == {"<table>"}:
        return "a table in memory" if len(data) == 1 else f"{len(data)} tables in memory"
    return data[0] if len(data) == 1 else f"{', '.join(data[:3])}{' and others' if len(data) > 3 else ''}"


def _published(report: Mapping[str, Any]) -> str:
    told = report.get("published") or {}
    parts = []
    if (table := told.get("synthetic")) is not None:
        parts.append(f"a synthetic table of {table['rows']:,} rows and {table['attributes']} attributes (`synthetic.csv`)")
    if (table := told.get("marginals")) is not None:
        parts.append(f"{counted(table['marginals'], 'noisy table')} of {counted(table['cells'], 'count')} (`marginals.csv`)")
    if told.get("model") and not parts:
        parts.append("a model (`model.json`)")
    return " and ".join(parts) or "a few figures"


def _cost(exchanged: Mapping[str, Any]) -> str:
    return f"{bytes_shown(exchanged['payload_bytes'])} in {counted(exchanged['rounds'], 'round')}"


def _quality(report: Mapping[str, Any]) -> str:
    utility = report["utility"] or {}
    if (right := utility.get("accuracy")) is not None:
        return f", and {right['label']} is predicted right in {right['model']:.1%} (most frequent: {right['majority']:.1%})"
    if not utility.get("tvd"):
        return ""
    ways, value = next(iter(utility["tvd"].items()))
    floor = next((own["one_way"] for own in utility["distances"] if str(own["ways"]) == ways), None)
    beside = "" if floor is None or "tvd_synthetic" in utility else f" (single attributes alone would give {floor:.3g})"
    return f", and its {ways}-way tables are on average {value:.3g} off the real ones{beside}"


def figures(report: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Choose the figures that are shown large."""
    privacy, exchanged, utility = report["privacy"], report["communication"], report["utility"] or {}
    worst = max(privacy["epsilon"].values(), key=_size)
    claim = f"claimed {epsilon_shown(privacy['claimed_epsilon'])}"
    chosen = [("epsilon, the worst of all views", epsilon_shown(worst), claim)]
    if "whole_record" in privacy:
        chosen.append(("of the whole record", epsilon_shown(privacy["whole_record"]), "to whoever knows the rest of it"))
    chosen.append(("sent", bytes_shown(exchanged["payload_bytes"]), f"{exchanged['payload_bytes']:,} bytes of payload"))
    chosen.append(("rounds", f"{exchanged['rounds']:,}", counted(exchanged["messages"], "message")))
    if exchanged.get("users"):
        chosen.append(("a user sends", f"{exchanged['per_user_bits']:,.4g} bits", f"{exchanged['users']['reports']:,} reports"))
    chosen.append(("time", f"{report['seconds']:,.3g} s", report["transport"]))
    floors = (
        {str(own["ways"]): own["one_way"] for own in utility.get("distances", ())} if "tvd_synthetic" not in utility else {}
    )
    for ways, value in utility.get("tvd", {}).items():
        beside = f"single attributes: {floors[ways]:.4f}" if ways in floors else "of the published tables"
        chosen.append((f"{ways}-way distance", f"{value:.4f}", beside))
    if (right := utility.get("accuracy")) is not None:
        chosen.append((f"{right['label']} predicted", f"{right['model']:.1%}", f"most frequent: {right['majority']:.1%}"))
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
    """Say whether the run claims anything for a view: coalitions only up to the size that the protocol names."""
    upto = privacy["claimed_coalition"]
    size = int(view.split("_", maxsplit=1)[0]) if view[0].isdigit() else 1
    return not view.startswith("curator_and") and (upto is None or view in ("public", "curator") or size <= upto)
