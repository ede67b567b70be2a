"""The page of a reproduction, and the index of all pages.

The page shows our numbers beside the paper's, and each claim with its verdict and what decided it.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import floor, log10
from typing import Any, Final

from ..evaluation.series import Place, SeedMean, format_figure, format_place
from ..report.formats import quantity
from ..report.not_accounted import MARK, MEANING
from ..report.pages.document import Html, document, figure, note, paragraph, section, table
from .cell import Row
from .datasets import DatasetFile
from .items import Item, Panel
from .reproduction import JudgedClaim, Reproduction
from .reproduction_picture import line_level, line_means, line_names, printed_values, x_title
from .verdict_file import VerdictFile

__all__ = ["index_page", "reproduction_page"]

ERRORS: Final = "The picture shows means with two standard errors, the tables with one."
CLASSES: Final = {
    "reproduced": "good",
    "reproduced in part": "part",
    "not reproduced": "worse",
    "undecided": "quiet",
}
"""The class of each verdict in the style sheet."""


def reproduction_page(
    result: Reproduction, *, svg: str, files: Sequence[DatasetFile], quick: bool
) -> str:
    """Write the page of a reproduction."""
    item = result.item
    finished = [row for row in result.rows if row["status"] == "done"]
    body = [
        _header(result, finished, files=files, quick=quick),
        figure(svg, caption="", label="The picture"),
        section(
            "What the paper says, and what was found",
            table(
                ("claim", "verdict", "decided by"),
                [line for judgement in result.judgements for line in _claim_lines(judgement)],
            ),
            name="claims",
        ),
        section(
            "Our numbers beside the paper's",
            *(_numbers(item, panel, finished) for panel in item.picture.panel),
            name="numbers",
        ),
        section("Differences from the paper", _list(item.notes), name="notes"),
        section(
            "Runs that failed",
            _list([f"{label}: {reason.public}" for label, reason in result.study.failures.items()]),
            name="failed",
        ),
        section(
            "How to make it again",
            _command(item, files, quick=quick),
            _file_table(files),
            name="again",
        ),
    ]
    title = f"sottovoce: {item.paper}, {item.where}"
    return document(title, "\n".join(part for part in body if part))


def _header(
    result: Reproduction,
    finished: Sequence[Row],
    *,
    files: Sequence[DatasetFile],
    quick: bool,
) -> str:
    """Write the page's beginning: the verdict, the size, and what limits both."""
    item = result.item
    size = (
        "A quick run, with fewer seeds, values or rows than the full one."
        if quick
        else "The full run."
    )
    runs = quantity(result.study.cells, "run")
    seeds = quantity(len({str(row["seed"]) for row in finished}), "seed")
    warnings = [
        f"{file.dataset} is not the dataset here ({file.kind}): no number is the real one's."
        for file in files
        if file.kind != "as given"
    ]
    if left := result.rows_left:
        warnings.insert(
            0, f"{quantity(left, 'run')} have not been made: the same command goes on with them."
        )
    if leaky := sum(bool(row.get("not_accounted")) for row in finished):
        text = f"in {quantity(leaky, 'run')} messages left parties without a release"
        warnings.insert(0, f"{MARK}: {text}. {MEANING}")
    datasets = {file.dataset for file in files}
    absent = [name for name in item.wants if name not in datasets]
    notes = (
        [f"Without {', '.join(absent)}; claims are judged by the other results."] if absent else []
    )
    parts = [
        f"<header><h1>{escape(item.title)}</h1>",
        paragraph(f"{item.paper}, {item.where}. {item.shows}", kind="lead"),
        f'<p class="lead">{_verdict(result.verdict, *result.choices)}</p>',
        paragraph(f"{size} {runs}, {seeds}. {ERRORS}", kind="quiet"),
        *(note(text, warn=True) for text in warnings),
        *(note(text) for text in notes),
        "</header>",
    ]
    return "\n".join(parts)


def _claim_lines(judgement: JudgedClaim) -> list[tuple[Any, ...]]:
    """Write the lines of a claim: its own verdict, then those on our lines beside it."""
    claim = judgement.claim
    first, *beside = judgement.verdicts
    question = "We ask: " if claim.ours else ""
    says = f"{question}{escape(claim.says)} <span class='quiet'>{escape(claim.at)}</span>"
    reason = f"{escape(first.line)}: {escape(first.sentence)}"
    if claim.why and judgement.verdict != "reproduced":
        reason += f"<br><span class='quiet'>{escape(claim.why)}</span>"
    choices = [claim.choice] if claim.choice else []
    lines: list[tuple[Any, ...]] = [
        (Html(says), _verdict(judgement.verdict, *choices), Html(reason))
    ]
    return lines + [
        (f"the same of: {other.line}", _verdict(other.verdict), other.sentence) for other in beside
    ]


def _numbers(item: Item, panel: Panel, rows: Sequence[Row]) -> str:
    """Write a panel's table: a line of means for each of our lines and each of the paper's."""
    means = {line: line_means(item, panel, rows, line=line) for line in line_names(rows)}
    printed = printed_values(item, panel)
    places = _sorted_places(
        {place for along in means.values() for place in along}
        | {place for values in printed for place in values.x}
    )
    lines = []
    for line, along in means.items():
        level = None if along else line_level(item, panel, rows, line=line)
        if along or level:
            lines.append([line, *(_cell(along.get(place, level)) for place in places)])
    for values in printed:
        figures = dict(zip(values.x, values.values, strict=True))
        shown = [format_figure(figures[place]) if place in figures else "" for place in places]
        lines.append([f"{values.line}: the paper", *shown])
    head = [x_title(item, panel), *(format_place(place) for place in places)]
    return table(head, lines, caption=panel.title)


def _sorted_places(places: set[Place]) -> list[Place]:
    """Sort numbers first, by size; names keep the order of the set."""
    return sorted(
        places, key=lambda place: (isinstance(place, str), 0.0 if isinstance(place, str) else place)
    )


def _cell(mean: SeedMean | None) -> str:
    """Write a mean with its standard error."""
    if mean is None:
        return ""
    shown = format_figure(mean.mean)
    if not mean.error:
        return shown
    digits = max(0, 1 - floor(log10(mean.error)))
    error = f"{mean.error:,.{digits}f}".removeprefix("0")
    return f"{shown} \N{PLUS-MINUS SIGN} {error}"


def _command(item: Item, files: Sequence[DatasetFile], *, quick: bool) -> str:
    data = "".join(f" --data {file.dataset}=FILE" for file in files)
    command = f"sottovoce reproduce {item.name}{' --quick' if quick else ''}{data}"
    return f"<pre><code>{escape(command)}</code></pre>"


def _file_table(files: Sequence[DatasetFile]) -> str:
    rows = []
    for file in files:
        count = "" if file.rows is None else f"{file.rows:,}"
        rows.append((file.dataset, file.path.name, count, file.kind, file.digest))
    head = ("data", "file", "rows", "", "SHA-256")
    return table(head, rows, caption="Files of the datasets")


def _list(texts: Sequence[str]) -> str:
    items = "".join(f"<li>{escape(text)}</li>" for text in texts)
    return f"<ul>{items}</ul>" if texts else ""


def index_page(verdicts: Sequence[VerdictFile]) -> str:
    """Write the page that lists all reproductions."""
    counts = {kind: sum(entry.verdict == kind for entry in verdicts) for kind in CLASSES}
    lead = ", ".join(f"{number} {kind}" for kind, number in counts.items() if number)
    body = [
        "<h1>Reproductions</h1>",
        paragraph(f"Tables and figures of the papers, made again: {lead}.", kind="lead"),
        table(
            ("figure or table", "what", "verdict", "size", "not the dataset", "claims reproduced"),
            [_index_line(entry) for entry in verdicts],
        ),
    ]
    return document("sottovoce: reproductions", "\n".join(body))


def _index_line(entry: VerdictFile) -> tuple[Any, ...]:
    name = f"{escape(entry.paper)}, {escape(entry.where)}"
    reproduced = sum(claim.verdict == "reproduced" for claim in entry.claims)
    others = [f"{name}: {kind}" for name, kind in entry.data.items() if kind != "as given"]
    return (
        Html(f'<a href="{escape(entry.name)}/page.html">{name}</a>'),
        entry.title,
        _verdict(entry.verdict, *entry.choices),
        "quick" if entry.quick else "full",
        "; ".join(others),
        f"{reproduced} of {len(entry.claims)}",
    )


def _verdict(verdict: str, *choices: str) -> Html:
    """Write a verdict, with what it hangs on and the paper does not give."""
    suffix = f", with {escape('; '.join(choices))}" if choices else ""
    return Html(f'<strong class="{CLASSES[verdict]}">{escape(verdict)}</strong>{suffix}')
