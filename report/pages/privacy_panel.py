"""Who learns how much: claimed beside real, view by view and party by party, and every release as
an event.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..summary import epsilon_shown
from .document import folded, table, words
from .sentences import claimed_for, view_shown

__all__ = ["privacy_panel"]

NEIGHBOURS: Final = {
    "replace-one": "Two tables are neighbours if one record of one party is another one in the other table.",
    "add-or-remove-one": "Two tables are neighbours if one has a record more than the other.",
    "label-within-belief": "Two users are neighbours if they have the same attributes and another label, to somebody who does "
    "not know the attributes of the user.",
    "label-alone": "Two users are neighbours if they have the same attributes and another label.",
}
MOST_VIEWS: Final = 6
"""Who may look: columns, and lines that are not folded; of many parties coalitions of all sizes."""
MOST_PARTIES: Final = 12
MOST_EVENTS: Final = 25


def privacy_panel(privacy: Mapping[str, Any]) -> list[str]:
    """Write the panel."""
    claimed = epsilon_shown(privacy["claimed_epsilon"])
    chance = (
        f" Delta, the chance with which epsilon may not hold, is {privacy['delta']:g}."
        if privacy["delta"]
        else ""
    )
    whole = ""
    if "whole_record" in privacy:
        whole = f" Of the whole record, attributes and label, somebody may learn up to {epsilon_shown(privacy['whole_record'])}."
    told = NEIGHBOURS.get(privacy["neighbours"], f"Neighbours: {privacy['neighbours']}.")
    return [
        words(
            f"The run claims epsilon {claimed} (`{privacy['neighbours']}`). {told}{chance}{whole}"
        ),
        _views(privacy),
        _spent(privacy["releases"]),
        _by_party(privacy["by_party"]),
        _events(privacy["releases"]),
    ]


def _views(privacy: Mapping[str, Any]) -> str:
    rows: list[tuple[str, str, Any]] = []
    for view, real in {**privacy["epsilon"], **privacy["coalitions"]}.items():
        claims = claimed_for(view, privacy)
        wrong = claims and _more(real, privacy["claimed_epsilon"])
        shown = epsilon_shown(real)
        rows.append(
            (
                view_shown(view),
                epsilon_shown(privacy["claimed_epsilon"]) if claims else "nothing",
                (f'<strong class="worse">{shown}: more than claimed</strong>',) if wrong else shown,
            )
        )
    listed = [own for at, own in enumerate(rows) if not _between(rows, at)]
    head = ("who looks", "claimed epsilon", "real epsilon")
    if len(listed) > 2 * MOST_VIEWS:
        # What costs more than it claims is never folded away.
        worse = [own for own in listed[MOST_VIEWS:-1] if isinstance(own[2], tuple)]
        some = [*listed[:MOST_VIEWS], ("...", "", ""), *worse, listed[-1]]
        return table(head, some, caption="Against whom") + folded(
            f"All {len(rows)} who may look", table(head, rows)
        )
    html = table(head, listed, caption="Against whom")
    left = len(rows) - len(listed)
    return html + (
        words(f"{left:,} coalitions of sizes between are as those around them.", kind="quiet")
        if left
        else ""
    )


def _between(rows: Sequence[tuple[str, str, Any]], at: int) -> bool:
    """Say whether a line says what those before and after it say: of thirty sizes of a coalition
    few differ.
    """
    return 3 < at < len(rows) - 1 and all(
        rows[at][1:] == rows[near][1:] and rows[at][0].split()[-1] == rows[near][0].split()[-1]
        for near in (at - 1, at + 1)
    )


def _more(real: float | str, claimed: float | str) -> bool:
    return not isinstance(claimed, str) and (isinstance(real, str) or real > claimed * (1 + 1e-9))


def _spent(releases: Sequence[Mapping[str, Any]]) -> str:
    """Say where the budget went: of the party that paid most, towards the public. Users have
    budgets of their own.
    """
    if not releases or any(own["users"] is not None for own in releases):
        return ""
    by_party: dict[int, dict[tuple[str, str], list[float | str]]] = {}
    for own in releases:
        by_party.setdefault(own["party"], {}).setdefault(
            (own["phase"], own["mechanism"]), []
        ).append(own["seen"]["public"])
    sums = {
        party: {key: _sum(values) for key, values in own.items()} for party, own in by_party.items()
    }
    most = max(sums, key=lambda party: _sum([*sums[party].values()]))
    rows = [(*key, len(by_party[most][key]), value) for key, value in sums[most].items()]
    caption = f"Where the budget of party {most} went, as the public sees it"
    finite = all(value != float("inf") for *_, value in rows)
    shown = (
        rows
        if finite
        else [(*own[:3], "infinity" if own[3] == float("inf") else own[3]) for own in rows]
    )
    return table(
        ("phase", "mechanism", "releases", "epsilon"),
        shown,
        caption=caption,
        bar=3 if finite else None,
    )


def _sum(values: Sequence[float | str]) -> float:
    return sum(float("inf") if isinstance(own, str) else own for own in values)


def _by_party(by_party: Mapping[str, Mapping[str, Any]]) -> str:
    views = list(next(iter(by_party.values()), {}))
    views = (
        views if len(views) <= MOST_VIEWS else [*views[: MOST_VIEWS - 2], *views[-2:]]
    )  # report.json has them all
    short = {"public": "the public", "curator": "the curator", "other_party": "another party"}
    head = ("party", *(short.get(view) or view_shown(view) for view in views))
    rows = [
        (f"party {party}", *(epsilon_shown(own[view]) for view in views))
        for party, own in by_party.items()
    ]
    if len(rows) > 1 and len({own[1:] for own in rows}) == 1:
        rows = [(f"each of {len(rows):,} parties", *rows[0][1:])]
    html = table(head, rows, caption="Epsilon of each party's own records, by who looks")
    return html if len(rows) <= MOST_PARTIES else folded(f"Party by party ({len(rows):,})", html)


def _events(releases: Sequence[Mapping[str, Any]]) -> str:
    """List every release, alike ones of several parties as one line."""
    users = any(own["users"] is not None for own in releases)
    seen = [
        "public",
        *(
            view
            for view in ("curator", "other_party")
            if any(_differs(own["seen"], view) for own in releases)
        ),
    ]
    groups: dict[tuple[Any, ...], list[int]] = {}
    for own in releases:
        to = "the curator" if own["to"] == 0 else f"party {own['to']}"
        claims = (
            epsilon_shown(own["epsilon"]),
            *(epsilon_shown(own["seen"][view]) for view in seen),
        )
        key = (
            own["phase"],
            own["mechanism"],
            own["sensitivity"],
            own["scale"],
            *claims,
            to,
            _range(own["users"]),
        )
        groups.setdefault(key, []).append(own["party"])
    order = list(dict.fromkeys(own["phase"] for own in releases))
    listed = sorted(groups.items(), key=lambda own: order.index(own[0][0]))
    rows = [
        (number, *key[:2], _parties(parties), *key[2:-1], *(key[-1:] if users else ()))
        for number, (key, parties) in enumerate(listed, start=1)
    ]
    sees = [f"{view.replace('other_party', 'another party')} sees" for view in seen]
    head = ("", "phase", "mechanism", "of", "sensitivity", "scale", "claims", *sees, "sent to")
    html = table((*head, *(["users"] if users else ())), rows, caption="Releases, in order")
    return html if len(rows) <= MOST_EVENTS else folded(f"All {len(releases):,} releases", html)


def _differs(seen: Mapping[str, Any], view: str) -> bool:
    return bool(seen[view] != seen["public"])


def _range(users: Sequence[int] | None) -> str:
    return "" if users is None else f"{users[0] + 1:,} to {users[1]:,}, each"


def _parties(parties: Sequence[int]) -> str:
    """Say which parties, and how often where it is more than once.

    >>> _parties([1, 2, 3]), _parties([2]), _parties([1, 1, 2, 2])
    ('parties 1 to 3', 'party 2', 'parties 1 to 2, 2 times each')
    """
    different = sorted({*parties})
    times = len(parties) // len(different)
    again = f", {times} times{' each' if len(different) > 1 else ''}" if times > 1 else ""
    if len(parties) % len(different):
        again = f", {len(parties)} times in all"
    if len(different) == 1:
        return f"party {different[0]}{again}"
    if different == list(range(different[0], different[-1] + 1)):
        return f"parties {different[0]} to {different[-1]}{again}"
    return f"parties {', '.join(map(str, different))}{again}"
