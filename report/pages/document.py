"""The parts of pages as HTML text: frame and style, sections, paragraphs, tables and pictures.

Text that comes from a run is escaped here. Only parameters called `html`, `svg` or `body`, and
values of type `Html`, are put in as they are.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, Final

from .style import STYLE

__all__ = [
    "Html",
    "banner",
    "by_width",
    "cards",
    "cell",
    "document",
    "figure",
    "fold",
    "navigation",
    "note",
    "paragraph",
    "section",
    "table",
]

SMALL_NUMBER: Final = re.compile(r"\b[\d.]+e-\d+\b")
"""A number with a negative exponent."""
SVG_TITLE: Final = re.compile("<title>(.*?)</title>", re.DOTALL)
MAX_INTEGER: Final = 10**15
"""Larger numbers are written in scientific notation."""
MAX_UNBROKEN: Final = 18
"""Letters of a cell that is kept on one line."""
NUMERIC_WORDS: Final = ("infinity", "no claim", "not accounted")
"""Words that stand in columns of numbers."""


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def document(title: str, body: str, *, refresh: int | None = None) -> str:
    """Frame a page, which a browser fetches again every `refresh` seconds."""
    # Nothing is fetched and nothing is run, whatever a picture or a label says.
    policy = (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; "
        "base-uri 'none'"
    )
    again = f'<meta http-equiv="refresh" content="{refresh}">' if refresh else ""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f"{again}"
        f'<link rel="icon" href="data:,"><title>{escape(title)}</title>'
        f"<style>{STYLE}</style></head>\n"
        '<body><a class="skip" href="#top">To the content</a>\n'
        f'<main id="top">\n{body}\n</main></body></html>\n'
    )


def section(title: str, *parts: str, name: str) -> str:
    """Write a section of HTML parts, or nothing if all are empty; links point to its `name`."""
    body = "\n".join(part for part in parts if part)
    if not body:
        return ""
    heading = f'<h2 id="{name}">{escape(title)}</h2>'
    return f'<section aria-labelledby="{name}">{heading}\n{body}</section>\n'


def navigation(titles: Mapping[str, str], sections: Sequence[str]) -> str:
    """Link to the sections that are not empty; `titles` are by name."""
    links = " ".join(
        f'<a href="#{name}">{escape(title)}</a>'
        for name, title in titles.items()
        if any(f'id="{name}"' in html for html in sections)
    )
    return f'<nav aria-label="Sections">{links}</nav>'


def paragraph(text: str, *, kind: str = "") -> str:
    """Write a paragraph; text between backticks is code."""
    return f'<p class="{kind}">{_with_code(text)}</p>' if kind else f"<p>{_with_code(text)}</p>"


def _with_code(text: str) -> str:
    pieces = escape(text).split("`")
    return "".join(
        f"<code>{piece}</code>" if number % 2 else _unbroken(piece)
        for number, piece in enumerate(pieces)
    )


def _unbroken(text: str) -> str:
    """Keep numbers such as 1e-09 on one line, where a browser may break after the hyphen."""
    return SMALL_NUMBER.sub(r'<span class="unbroken">\g<0></span>', text)


def note(text: str, *, warn: bool = False) -> str:
    """Write a note, or a warning."""
    return f'<div class="note{" warn" if warn else ""}" role="note">{_with_code(text)}</div>'


def banner(title: str, texts: Iterable[str]) -> str:
    """Write what nobody may overlook, or nothing if there are no texts."""
    lines = "".join(f"<p>{_with_code(text)}</p>" for text in texts)
    return f'<div class="banner" role="alert"><strong>{escape(title)}</strong>{lines}</div>' * bool(
        lines
    )


def cards(figures: Iterable[tuple[str, str, str]]) -> str:
    """Show a few figures large: the name, the figure, and a remark."""
    items = []
    for name, value, remark in figures:
        small = f"<small>{escape(remark)}</small>" if remark else ""
        items.append(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}{small}</dd></div>")
    return f'<dl class="cards">{"".join(items)}</dl>'


def fold(summary: str, html: str) -> str:
    """Fold what is long; printing unfolds it."""
    return f"<details><summary>{escape(summary)}</summary>\n{html}</details>"


def figure(svg: str, *, caption: str, fits: bool = False, label: str = "") -> str:
    """Show a picture, which has its own title and description, in a frame that can be scrolled.

    If it `fits`, it is scaled to the page, but not to that of a phone: its text would be too small.
    """
    text = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    titled = SVG_TITLE.search(svg)
    name = escape(label or caption) or (titled.group(1) if titled else "Picture")
    kind = ' class="fits"' if fits else ""
    scrolled = f'<div class="wide" role="region" tabindex="0" aria-label="{name}">{svg}</div>'
    return f"<figure{kind}>{scrolled}{text}</figure>"


def by_width(broad: str, narrow: str, *, caption: str, label: str) -> str:
    """Show one of two pictures of the same: a `broad` one, and a `narrow` one on a phone."""
    shown = (
        figure(broad, caption=caption, label=label),
        figure(narrow, caption=caption, label=label),
    )
    return f'<div class="broad">{shown[0]}</div><div class="narrow">{shown[1]}</div>'


def table(
    head: Sequence[str], rows: Iterable[Sequence[Any]], *, caption: str = "", bar: int | None = None
) -> str:
    """Write a table, or nothing if it has no rows.

    Numbers are aligned to the right, and the first column heads its row.

    Args:
        head: The names of the columns. An empty one is a column without a name.
        rows: The values. Those of type `Html` are put in as they are.
        caption: The caption.
        bar: The number of a column that is drawn as bars, too.
    """
    values = [list(row) for row in rows]
    if not values:
        return ""
    numeric = [
        all(value is None or _looks_numeric(value) for value in column)
        for column in zip(*values, strict=True)
    ]
    names = escape(caption or ", ".join(name for name in head if name) or "Table")
    title = f"<caption><span>{escape(caption)}</span></caption>" if caption else ""
    longest = 0.0
    if bar is not None:
        longest = max((abs(row[bar]) for row in values if row[bar] is not None), default=0)
    body = "".join(_row(row, numeric, bar=bar, longest=longest) for row in values)
    return (
        f'<div class="wide" role="region" tabindex="0" aria-label="{names}"><table>{title}'
        f"{_head(head, numeric, bar=bar)}<tbody>{body}</tbody></table></div>"
    )


def _head(head: Sequence[str], numeric: Sequence[bool], *, bar: int | None) -> str:
    if not any(head):
        return ""
    cells = []
    for index, (name, number) in enumerate(zip(head, numeric, strict=True)):
        text = escape(name.replace("_", " "))
        cells.append(
            f'<th scope="col"{_class(numeric=number)}>{text}</th>' if name else "<td></td>"
        )
        if index == bar:
            cells.append("<td></td>")
    return f"<thead><tr>{''.join(cells)}</tr></thead>"


def _row(row: Sequence[Any], numeric: Sequence[bool], *, bar: int | None, longest: float) -> str:
    cells = [f'<th scope="row"{_class(numeric=numeric[0])}>{cell(row[0])}</th>']
    for index, value in enumerate(row[1:], start=1):
        cells.append(f"<td{_class(numeric=numeric[index])}>{cell(value)}</td>")
        if index == bar:
            width = 100 * abs(value or 0) / longest if longest else 0
            cells.append(
                f'<td class="bar" aria-hidden="true"><i style="width:{width:.1f}%"></i></td>'
            )
    return f"<tr>{''.join(cells)}</tr>"


def cell(value: Any) -> str:
    """Write a value of a table as HTML."""
    if isinstance(value, Html):
        return value
    if value is None:
        return ""
    if not _is_number(value):
        text = escape(str(value))
        return text.replace(" ", "&nbsp;") if len(str(value)) <= MAX_UNBROKEN else text
    if value == math.inf:
        return "infinity"
    if isinstance(value, int) and abs(value) < MAX_INTEGER:
        return f"{value:,}"
    return f"{value:,.0f}" if 1000 <= abs(value) < MAX_INTEGER else f"{value:.4g}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _looks_numeric(value: Any) -> bool:
    return _is_number(value) or (
        isinstance(value, str) and (not value.strip("0123456789.,") or value in NUMERIC_WORDS)
    )


def _class(*, numeric: bool) -> str:
    return ' class="number"' if numeric else ""
