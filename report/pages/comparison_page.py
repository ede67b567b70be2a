"""Runs side by side as a page: error against epsilon, bytes against parties, beside the floors; and
a table of all figures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from math import isfinite, sqrt
from statistics import mean, stdev
from typing import Any, Final

from ..comparison import DIFFERENT, FLOOR, REAL, comparison_table, legend
from ..summary import epsilon_shown
from . import charts
from .document import document, figure, folded, note, section, table, words

__all__ = ["comparison_page"]

COSTS: Final = {"payload bytes": "bytes", "rounds": "rounds", "seconds": "seconds"}
MEASURED: Final = "Errors and floors were measured on the real tables, without any noise: they are not to be published."
MOST_LISTED: Final = 40
MOST_LINES: Final = 12
MOST_TOLD: Final = 4

Row = Mapping[str, Any]


def comparison_page(rows: Sequence[Row], *, title: str = "Runs side by side") -> str:
    """Write the page of what `compare` gave."""
    runs = [row for row in rows if "protocol" in row]
    apart = any(row["run"] == DIFFERENT for row in rows)
    against = {} if apart else {row["run"]: row for row in rows if row["run"] in (FLOOR, REAL)}
    errors = list(
        dict.fromkeys(
            key for row in runs for key in row if "-way" in key or key.startswith("wrong")
        )
    )
    broken = [row for row in runs if _breaks(row)]
    # Of as many parties everywhere there is nothing to be seen over parties.
    by, other = (
        ("parties", "epsilon")
        if len({row["parties"] for row in runs}) > 1
        else ("epsilon", "parties")
    )
    heads, cells = comparison_table(rows)
    whole = table(heads, cells)
    body = [
        f"<header><h1>{escape(title)}</h1>",
        words(_lead(runs), kind="lead"),
        *(note(_broken(row), warn=True) for row in broken[:MOST_TOLD]),
        *([words(f"So do {len(broken) - MOST_TOLD:,} more.")] if len(broken) > MOST_TOLD else []),
        *([note(DIFFERENT.strip("()").capitalize() + ".", warn=True)] if apart else []),
        "</header>",
        section(
            "How good",
            note(MEASURED) if errors else "",
            _side_by_side([_error_chart(runs, key, against) for key in errors]),
            name="utility",
        ),
        section(
            "What it costs",
            _side_by_side(
                [
                    _chart(runs, name, by=by, of=of, others=(other, "data", "rows"))
                    for name, of in COSTS.items()
                ]
            ),
            name="cost",
        ),
        section(
            "All figures",
            whole if len(cells) <= MOST_LISTED else folded(f"{len(runs):,} runs", whole),
            table(("column", "meaning"), legend(rows)),
            name="figures",
        ),
    ]
    return document(f"sottovoce: {title}", "\n".join(body))


def _side_by_side(pictures: Sequence[str]) -> str:
    return f'<div class="several wider">{"".join(pictures)}</div>' if any(pictures) else ""


def _lead(runs: Sequence[Row]) -> str:
    protocols = list(dict.fromkeys(str(row["protocol"]) for row in runs))
    epsilons = _range([row["epsilon"] for row in runs])
    parties = _range([row["parties"] for row in runs])
    shown = ", ".join(protocols[:6]) + (" and others" if len(protocols) > 6 else "")
    many = f"{len(runs):,} run{'' if len(runs) == 1 else 's'}"
    return (
        f"{many} of {shown}: epsilon {epsilons}, {parties} part{'y' if parties == '1' else 'ies'}."
    )


def _range(values: Sequence[float | str]) -> str:
    numbers = sorted(own for own in values if not isinstance(own, str))
    texts = ["infinity"] if len(numbers) < len(values) else []
    if numbers:
        texts.insert(
            0,
            f"{numbers[0]:g}"
            if numbers[0] == numbers[-1]
            else f"{numbers[0]:g} to {numbers[-1]:g}",
        )
    return " and ".join(texts)


def _breaks(row: Row) -> bool:
    """Say whether a run spends more than it claims, towards a view that every claim is about."""
    return any(
        _number(row[view]) > _number(row["epsilon"]) * (1 + 1e-9)
        for view in ("public", "curator", "other_party")
    )


def _broken(row: Row) -> str:
    real = ", ".join(
        f"{view.replace('_', ' ')} {epsilon_shown(row[view])}"
        for view in ("public", "curator", "other_party")
    )
    return f"{row['run']} claims epsilon {epsilon_shown(row['epsilon'])} and really costs more: {real}."


def _number(value: float | str) -> float:
    return float("inf") if isinstance(value, str) else float(value)


def _error_chart(runs: Sequence[Row], key: str, against: Mapping[str, Row]) -> str:
    """Draw an error over epsilon, with what it must beat."""
    name = f"average {key} distance" if "-way" in key else f"share predicted {key}"
    floors = {label: float(row[key]) for label, row in against.items() if key in row}
    return _chart(
        runs,
        name,
        by="epsilon",
        of=key,
        others=("neighbours", "parties", "data", "rows"),
        floors=floors,
    )


def _chart(
    runs: Sequence[Row],
    name: str,
    *,
    by: str,
    of: str,
    others: Sequence[str],
    floors: Mapping[str, float] | None = None,
) -> str:
    """Draw a figure over another: a line for each protocol, and for each value of what else
    differs.
    """
    differ = [own for own in others if len({row.get(own) for row in runs}) > 1]

    def line(row: Row) -> str:
        more = [str(row["with"])] if row.get("with") else []
        return ", ".join(
            [
                str(row["protocol"]),
                *more,
                *(_named(own, row[own]) for own in differ if f"{own}=" not in str(row.get("with"))),
            ]
        )

    lines = _lines(runs, line, by=by, of=of)
    if not lines:
        return ""
    quiet = [
        charts.Line(name=label, points=[(0, value)], kind="floor")
        for label, value in (floors or {}).items()
    ]
    panel = charts.Panel(lines=[*lines[:MOST_LINES], *quiet], x=by, y=name, log_x=by == "epsilon")
    drawn = charts.panels([panel], title=f"{name} over {by}")
    more = f" The first {MOST_LINES} of {len(lines)} lines." if len(lines) > MOST_LINES else ""
    endless = [str(row["run"]) for row in runs if of in row and not isfinite(_number(row[by]))]
    more += f" Not drawn, as {by} is infinite: {', '.join(endless[:MOST_TOLD])}." if endless else ""
    return figure(drawn, caption=f"{name[0].upper()}{name[1:]} over {by}.{more}", fits=True)


def _named(key: str, value: Any) -> str:
    if key == "neighbours":
        return str(value)
    return f"{key} {value if value is None or isinstance(value, str) else epsilon_shown(value)}"


def _lines(
    runs: Sequence[Row], line: Callable[[Row], str], *, by: str, of: str
) -> list[charts.Line]:
    """Average what has the same name and the same place: runs that differ by their seed alone; bars
    are two standard errors.
    """
    found: dict[str, dict[float, list[float]]] = {}
    for row in runs:
        if of in row and isfinite(place := _number(row[by])):
            found.setdefault(line(row), {}).setdefault(place, []).append(float(row[of]))
    lines = []
    for name, places in found.items():
        points = sorted(places.items())
        spread = [
            2 * stdev(values) / sqrt(len(values)) if len(values) > 1 else 0.0
            for _, values in points
        ]
        means = [(place, mean(values)) for place, values in points]
        lines.append(charts.Line(name=name, points=means, spread=spread if any(spread) else ()))
    return lines
