"""What all pages are made of: a frame with its style, sections, tables, notes and figures, as HTML
text.

Everything that comes from a run is escaped here, in `words` and in `table`; what is named `html` or
`body` is put in as it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, Final

__all__ = [
    "cards",
    "counted",
    "document",
    "figure",
    "folded",
    "listed",
    "note",
    "section",
    "shown",
    "table",
    "words",
]

HUGE: Final = 10**15
UNBROKEN: Final = 18
"""A word or two in a table stay on one line."""
STYLE: Final = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1a1c1e; --quiet: #5a6068; --line: #d5d9de; --panel: #f4f6f8;
  --accent: #0b57a4; --warn: #9a1b12; --warn-panel: #fdeceb; --good: #1b6b3a; --part: #7a5200;
  --series-1: #0b57a4; --series-2: #b34700; --series-3: #1b6b3a; --series-4: #8a2b78; --series-5: #6b5a00;
  --series-6: #0f6f7c; --series-7: #9a1b12; --series-8: #4a4f57; }
@media (prefers-color-scheme: dark) { :root { --paper: #15181b; --ink: #e6e8ea; --quiet: #a3abb4; --line: #3a4148;
  --panel: #1e2327; --accent: #7db8f5; --warn: #ff9d94; --warn-panel: #3a1d1b; --good: #7fd6a0; --part: #f0c560;
  --series-1: #7db8f5; --series-2: #ffae70; --series-3: #7fd6a0; --series-4: #e5a1d6; --series-5: #e2cf6b;
  --series-6: #6fd3df; --series-7: #ff9d94; --series-8: #c3c9d0; } }
* { box-sizing: border-box; }
body { font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 0; }
main { max-width: 64rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: .5rem 0 1rem; } h3 { font-size: 1rem; margin: 1.6rem 0 .4rem; }
h2 { font-size: 1.25rem; margin: 3rem 0 .8rem; padding-top: .8rem; border-top: 1px solid var(--line); }
p { margin: .6rem 0; max-width: 46rem; } .lead { font-size: 1.1rem; } .quiet { color: var(--quiet); font-size: .92rem; }
a { color: var(--accent); } nav { margin: 1rem 0; } nav a { display: inline-block; margin: .15rem 1rem .15rem 0; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.skip { position: absolute; left: -99rem; } .skip:focus { left: 1rem; }
.wide { overflow-x: auto; margin: .6rem 0 1rem; }
table { border-collapse: collapse; min-width: min(100%, 24rem); font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: .3rem 0; }
caption span { position: sticky; left: 0; display: inline-block; max-width: min(46rem, calc(100vw - 2.5rem)); }
th, td { text-align: left; padding: .3rem .9rem .3rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
thead th { color: var(--quiet); font-weight: 600; font-size: .88rem; vertical-align: bottom; }
tbody th { font-weight: 400; } .number { text-align: right; } .worse { color: var(--warn); font-weight: 600; }
.good { color: var(--good); } .part { color: var(--part); }
td.bar { min-width: 5rem; } td.bar i { display: block; height: .7rem; background: var(--series-1); border-radius: 2px; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .7rem; margin: 1.2rem 0; }
.cards > div { background: var(--panel); border-radius: .5rem; padding: .7rem .9rem; }
.cards dt { color: var(--quiet); font-size: .85rem; } .cards dd { margin: 0; font-size: 1.35rem; font-weight: 600;
  overflow-wrap: anywhere; } .cards small { display: block; font-weight: 400; font-size: .85rem; color: var(--quiet); }
.note { background: var(--panel); border-left: 4px solid var(--quiet); padding: .5rem .9rem; margin: .6rem 0;
  max-width: 48rem; }
.note.warn { background: var(--warn-panel); border-color: var(--warn); }
details { margin: .6rem 0; } summary { cursor: pointer; font-weight: 600; padding: .25rem 0; }
figure { margin: .8rem 0 1.2rem; } figcaption { color: var(--quiet); font-size: .92rem; max-width: 46rem;
  overflow-wrap: anywhere; }
figure svg { display: block; max-width: none; } figure.fits svg { max-width: 100%; height: auto; }
.several { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(19rem, 100%), 1fr)); gap: .5rem 1.5rem; }
.several.wider { grid-template-columns: repeat(auto-fill, minmax(min(26rem, 100%), 1fr)); }
pre { background: var(--panel); padding: .8rem; border-radius: .5rem; white-space: pre-wrap; overflow-wrap: anywhere; }
code { font-size: .9em; }
td code, p code, dd code { overflow-wrap: anywhere; }
@media (max-width: 30rem) { main { padding: 1rem .8rem 3rem; } h1 { font-size: 1.35rem; } .cards dd { font-size: 1.15rem; } }
@media print { :root { color-scheme: light; --paper: #fff; --ink: #000; --quiet: #333; } body { font-size: 10.5pt; }
  nav, .skip { display: none; } main { max-width: none; padding: 0; } .wide { overflow: visible; }
  details::details-content { content-visibility: visible; block-size: auto; } figure, tr, .note { break-inside: avoid; }
  h2, h3 { break-after: avoid; } figure svg { max-width: 100%; height: auto; } }
"""


def document(title: str, body: str) -> str:
    """Frame a page; `body` is HTML, and its sections are linked to at the top."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        # Whatever a picture or a label of somebody's own should say: nothing is fetched, nothing is
        # run.
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
        "img-src data:; form-action 'none'; base-uri 'none'\">"
        f'<link rel="icon" href="data:,"><title>{escape(title)}</title><style>{STYLE}</style></head>\n'
        f'<body><a class="skip" href="#top">To the content</a>\n<main id="top">\n{body}\n</main></body></html>\n'
    )


def section(title: str, *parts: str, name: str) -> str:
    """Head a part of the page; `name` is what links point to."""
    body = "\n".join(part for part in parts if part)
    return (
        f'<section aria-labelledby="{name}"><h2 id="{name}">{escape(title)}</h2>\n{body}</section>\n'
        if body
        else ""
    )


def listed(sections: Mapping[str, str], bodies: Sequence[str]) -> str:
    """Link to the sections that have something in them: names to titles."""
    there = [
        (name, title)
        for name, title in sections.items()
        if any(f'id="{name}"' in body for body in bodies)
    ]
    links = " ".join(f'<a href="#{name}">{escape(title)}</a>' for name, title in there)
    return f'<nav aria-label="Sections">{links}</nav>'


def words(text: str, *, kind: str = "") -> str:
    """Write a paragraph; what stands between backticks is code."""
    return f'<p class="{kind}">{_marked(text)}</p>' if kind else f"<p>{_marked(text)}</p>"


def _marked(text: str) -> str:
    pieces = escape(text).split("`")
    return "".join(f"<code>{piece}</code>" if at % 2 else piece for at, piece in enumerate(pieces))


def note(text: str, *, warn: bool = False) -> str:
    return f'<div class="note{" warn" if warn else ""}" role="note">{_marked(text)}</div>'


def cards(lines: Iterable[tuple[str, str, str]]) -> str:
    """Show a few figures large: what it is, the figure, and a word about it."""
    items = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}{f'<small>{escape(about)}</small>' if about else ''}</dd></div>"
        for name, value, about in lines
    )
    return f'<dl class="cards">{items}</dl>'


def folded(summary: str, html: str) -> str:
    """Fold what is long; printing unfolds it."""
    return f"<details><summary>{escape(summary)}</summary>\n{html}</details>"


def figure(svg: str, *, caption: str, fits: bool = False, label: str = "") -> str:
    """Show a picture, which brings its own title and description; what does not fit can be moved to
    the side.
    """
    frame = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    if fits:
        return f'<figure class="fits">{svg}{frame}</figure>'
    scrolled = f'<div class="wide" role="region" tabindex="0" aria-label="{escape(label or caption)}">{svg}</div>'
    return f"<figure>{scrolled}{frame}</figure>"


def table(
    head: Sequence[str], rows: Iterable[Sequence[Any]], *, caption: str = "", bar: int | None = None
) -> str:
    """Write a table; numbers stand to the right, the first column heads its row, and `bar` draws a
    column as bars, too.

    A value that is a tuple of one string is HTML already.
    """
    cells = [list(row) for row in rows]
    if not cells:
        return ""
    numeric = [
        all(value is None or _looks_numeric(value) for value in column)
        for column in zip(*cells, strict=True)
    ]
    heads = [
        f'<th scope="col"{_class(number)}>{escape(name.replace("_", " "))}</th>'
        if name
        else "<td></td>"
        for number, name in zip(numeric, head, strict=True)
    ]
    cells_above = "".join(own + ("<td></td>" if at == bar else "") for at, own in enumerate(heads))
    top = f"<thead><tr>{cells_above}</tr></thead>" if any(head) else ""
    most = (
        max((abs(row[bar]) for row in cells if row[bar] is not None), default=0)
        if bar is not None
        else 0
    )
    lines = []
    for row in cells:
        line = [f'<th scope="row"{_class(numeric[0])}>{shown(row[0])}</th>']
        for at, value in enumerate(row[1:], start=1):
            line.append(f"<td{_class(numeric[at])}>{shown(value)}</td>")
            if at == bar:
                width = 100 * abs(value or 0) / most if most else 0
                line.append(
                    f'<td class="bar" aria-hidden="true"><i style="width:{width:.1f}%"></i></td>'
                )
        lines.append(f"<tr>{''.join(line)}</tr>")
    titled = f"<caption><span>{escape(caption)}</span></caption>" if caption else ""
    names = escape(caption or ", ".join(name for name in head if name) or "Table")
    return (
        f'<div class="wide" role="region" tabindex="0" aria-label="{names}"><table>{titled}{top}'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def shown(value: Any) -> str:
    """Write a value of a table as HTML."""
    if isinstance(value, tuple) and len(value) == 1:
        return str(value[0])
    if value is None:
        return ""
    if isinstance(value, float) and math.isinf(value):
        return "infinity"
    if not _is_number(value):
        text = escape(str(value))
        return text.replace(" ", "&nbsp;") if len(str(value)) <= UNBROKEN else text
    if isinstance(value, int) and abs(value) < HUGE:
        return f"{value:,}"
    return f"{value:,.0f}" if 1000 <= abs(value) < HUGE else f"{value:.4g}"


def counted(number: int, noun: str) -> str:
    """Write so many of something.

    >>> counted(1, "round"), counted(1200, "message")
    ('1 round', '1,200 messages')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _looks_numeric(value: Any) -> bool:
    return _is_number(value) or (
        isinstance(value, str)
        and (not value.strip("0123456789.,") or value in ("infinity", "nothing"))
    )


def _class(numeric: object) -> str:
    return ' class="number"' if numeric else ""
