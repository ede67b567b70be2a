"""The page of a reproduction: ours beside the paper's, each claim with its verdict and what decides
it; and the index.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import floor, log10
from typing import TYPE_CHECKING, Any, Final

from ..evaluation.claims import PrintedValues
from ..evaluation.series import SeedMean, constant, format_figure, format_place, series
from ..report.formats import quantity
from ..report.pages import charts
from ..report.pages.document import Html, document, figure, note, paragraph, section, table

if TYPE_CHECKING:
    from .datasets import Given
    from .items import Item, Panel
    from .reproduction import Reproduction

__all__ = ["index_page", "picture", "reproduction_page"]

ERRORS: Final = "In the picture means with two standard errors, in the tables with one."
KINDS: Final = {
    "reproduced": "good",
    "reproduced in part": "part",
    "not reproduced": "worse",
    "undecided": "quiet",
}

Rows = Sequence[Mapping[str, Any]]


def lines_of(rows: Rows) -> list[str]:
    """List the lines, in the order of the file."""
    return list(dict.fromkeys(str(row["line"]) for row in rows if row.get("line")))


def picture(item: Item, rows: Rows) -> str:
    """Draw the panels: means with two standard errors; hollow marks are the paper's numbers, dotted
    levels floors.
    """
    drawn = [_panel(item, own, rows) for own in item.picture.panel]
    there = [own for own in drawn if any(line.kind in ("measured", "level") for line in own.lines)]
    return charts.panels(there or drawn[:1], title=f"{item.paper}, {item.where}: {item.title}")


def _panel(item: Item, panel: Panel, rows: Rows) -> charts.Panel:
    asked: dict[str, Any] = {"x": panel.x or item.picture.x, "y": panel.y, "where": panel.where}
    lines = []
    for name in lines_of(rows):
        if own := series(rows, line=name, **asked):
            points = [(place, mean.mean) for place, mean in own.items()]
            lines.append(
                charts.Line(
                    name=name, points=points, spread=[2 * mean.error for mean in own.values()]
                )
            )
        elif flat := constant(rows, line=name, **asked):
            lines.append(charts.Line(name=name, points=[(0, flat.mean)], kind="level"))
    there = {x for line in lines for x, _ in line.points}
    for numbers in _printed(item, panel):
        points = [
            (x, y)
            for x, y in zip(numbers.x, numbers.values, strict=True)
            if not isinstance(x, str) or x in there
        ]
        lines.append(
            charts.Line(
                name=f"{numbers.line}: the paper's", points=points, kind="printed", of=numbers.line
            )
        )
    values = [
        float(row[panel.floor])
        for row in rows
        if panel.floor and row.get(panel.floor) == row.get(panel.floor, "")
    ]
    if values:
        lines.append(
            charts.Line(
                name="exact single attributes",
                points=[(0, sum(values) / len(values))],
                kind="baseline",
            )
        )
    return charts.Panel(
        lines=lines,
        title=panel.title,
        x=_x_title(item, panel),
        log_x=item.picture.log_x,
        log_y=item.picture.log_y,
    )


def _x_title(item: Item, panel: Panel) -> str:
    own = panel.x if panel.x != item.picture.x else ""
    return own or item.picture.x_title or item.picture.x


def _printed(item: Item, panel: Panel) -> list[PrintedValues]:
    return [
        own
        for own in item.printed
        if own.y == panel.y
        and all(panel.where.get(key) == value for key, value in own.where.items())
    ]


def reproduction_page(found: Reproduction, *, svg: str, used: Sequence[Given], quick: bool) -> str:
    """Write the page."""
    item, done = found.item, [row for row in found.rows if row["status"] == "done"]
    seeds = len({str(row["seed"]) for row in done})
    size = (
        "A quick run: fewer seeds, values or rows than the whole one."
        if quick
        else "The whole run."
    )
    left = sum(row["status"] == "not run" for row in found.rows)
    unmade = (
        [f"{quantity(left, 'run')} have not been made: the same command goes on with them."]
        if left
        else []
    )
    absent = [name for name in item.wants if name not in {given.dataset for given in used}]
    others = [(own.dataset, own.kind) for own in used if own.kind != "as given"]
    stand_ins = [
        f"{name} is not the dataset here ({kind}): no number is the real one's."
        for name, kind in others
    ]
    without = (
        [f"Without {', '.join(absent)}; claims are judged by what is there."] if absent else []
    )
    body = [
        f"<header><h1>{escape(item.title)}</h1>",
        paragraph(f"{item.paper}, {item.where}. {item.shows}", kind="lead"),
        f'<p class="lead">{_verdict(found.verdict)}</p>',
        paragraph(
            f"{size} {found.result.cells:,} runs, {quantity(seeds, 'seed')}. {ERRORS}",
            kind="quiet",
        ),
        *(note(text, warn=True) for text in (*unmade, *stand_ins)),
        *(note(text) for text in without),
        "</header>",
        figure(svg, caption="", label="The picture"),
        section("What the paper says, and what came out", _claims(found), name="claims"),
        section(
            "Ours beside the paper's",
            *(_numbers(item, own, done) for own in item.picture.panel),
            name="numbers",
        ),
        section("What is otherwise than in the paper", _list(item.notes), name="notes"),
        section(
            "Runs that failed",
            _list([f"{what}: {reason}" for what, reason in found.result.failures.items()]),
            name="failed",
        ),
        section(
            "How to make it again", _again(item, used, quick=quick), _files(used), name="again"
        ),
    ]
    return document(f"sottovoce: {item.paper}, {item.where}", "\n".join(own for own in body if own))


def _claims(found: Reproduction) -> str:
    rows: list[tuple[Any, ...]] = []
    for own in found.judgements:
        first, *beside = own.judged
        says = (
            f"{'We ask: ' * own.ours}{escape(own.says)} <span class='quiet'>{escape(own.at)}</span>"
        )
        why = (
            f"<br><span class='quiet'>{escape(own.why)}</span>"
            if own.why and own.verdict != "reproduced"
            else ""
        )
        rows.append(
            (
                Html(says),
                _verdict(own.verdict),
                Html(f"{escape(first.line)}: {escape(first.sentence)}{why}"),
            )
        )
        rows += [
            (f"the same of: {one.line}", _verdict(one.verdict), one.sentence) for one in beside
        ]
    return table(("claim", "verdict", "decided by"), rows)


def _numbers(item: Item, panel: Panel, rows: Rows) -> str:
    asked: dict[str, Any] = {"x": panel.x or item.picture.x, "y": panel.y, "where": panel.where}
    own = {line: series(rows, line=line, **asked) for line in lines_of(rows)}
    printed = _printed(item, panel)
    known = {x for means in own.values() for x in means} | {
        x for numbers in printed for x in numbers.x
    }
    places = sorted(known, key=lambda x: (isinstance(x, str), 0.0 if isinstance(x, str) else x))
    lines = []
    for line, means in own.items():
        flat = None if means else constant(rows, line=line, **asked)
        if means or flat:
            lines.append([line, *(_cell(means.get(place, flat)) for place in places)])
    for numbers in printed:
        said = dict(zip(numbers.x, numbers.values, strict=True))
        lines.append(
            [
                f"{numbers.line}: the paper",
                *(format_figure(said[x]) if x in said else "" for x in places),
            ]
        )
    return table(
        [_x_title(item, panel), *(format_place(place) for place in places)],
        lines,
        caption=panel.title,
    )


def _cell(mean: SeedMean | None) -> str:
    if mean is None:
        return ""
    shown = format_figure(mean.mean)
    if not mean.error:
        return shown
    digits = max(0, 1 - floor(log10(mean.error)))
    return f"{shown} \N{PLUS-MINUS SIGN} {f'{mean.error:,.{digits}f}'.removeprefix('0')}"


def _again(item: Item, used: Sequence[Given], *, quick: bool) -> str:
    given = "".join(f" --data {own.dataset}=FILE" for own in used)
    command = f"sottovoce reproduce {item.name}{' --quick' if quick else ''}{given}"
    return f"<pre><code>{escape(command)}</code></pre>"


def _files(used: Sequence[Given]) -> str:
    rows = [
        (
            own.dataset,
            own.path.name,
            "" if own.rows is None else f"{own.rows:,}",
            own.kind,
            own.digest,
        )
        for own in used
    ]
    return table(("data", "file", "rows", "", "SHA-256"), rows, caption="What was given")


def _list(texts: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(own)}</li>' for own in texts)}</ul>" if texts else ""


def index_page(verdicts: Sequence[Mapping[str, Any]]) -> str:
    """List all that was made."""
    rows = [
        (
            Html(
                f'<a href="{escape(own["name"])}/page.html">{escape(own["paper"])}, '
                f"{escape(own['where'])}</a>"
            ),
            own["title"],
            _verdict(own["verdict"]),
            "quick" if own["quick"] else "full",
            "; ".join(
                f"{name}: {kind}" for name, kind in own["data"].items() if kind != "as given"
            ),
            f"{sum(claim['verdict'] == 'reproduced' for claim in own['claims'])} of {len(own['claims'])}",
        )
        for own in verdicts
    ]
    counts = {kind: sum(own["verdict"] == kind for own in verdicts) for kind in KINDS}
    lead = ", ".join(f"{number} {kind}" for kind, number in counts.items() if number)
    body = [
        "<h1>Reproductions</h1>",
        paragraph(f"Tables and figures of the papers, made again: {lead}.", kind="lead"),
        table(
            ("figure or table", "what", "verdict", "size", "not the dataset", "claims reproduced"),
            rows,
        ),
    ]
    return document("sottovoce: reproductions", "\n".join(body))


def _verdict(verdict: str) -> Html:
    return Html(f'<strong class="{KINDS[verdict]}">{escape(verdict)}</strong>')
