"""The page of a reproduction: ours beside the paper's, each claim with its verdict and what decides it; and the index."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Final

from ..evaluation.claims import Measured, Printed, figure_shown, level, place_shown, series

if TYPE_CHECKING:
    from .datasets import Given
    from .reproducing import Item, Panel, Reproduced

__all__ = ["index_page", "picture", "reproduction_page", "results_csv"]

STYLE: Final = """
:root { color-scheme: light dark; --line: #8884; --good: #1b7f3b; --part: #9a6700; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --good: #6fdc8c; --part: #f1c21b; --bad: #ff8a80; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 66rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
.wide { overflow-x: auto; margin-bottom: 1rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
.reproduced { color: var(--good); } .reproduced-in-part { color: var(--part); } .not-reproduced { color: var(--bad); }
.verdict { font-weight: 600; } .beside td:first-child { padding-left: 2rem; } .small { font-size: .9em; }
svg { max-width: 100%; height: auto; background: white; }
"""
ERRORS: Final = "In the picture means with two standard errors, in the tables with one."
COLOURS: Final = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b", "#e377c2", "#17becf", "#7f7f7f", "#bcbd22")


def lines_of(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """List the lines, in the order of the file."""
    return list(dict.fromkeys(str(row["line"]) for row in rows if row.get("line")))


def results_csv(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """Write all results, a line a run; where a run stands for several lines, as many."""
    import pandas as pd

    return pd.DataFrame([dict(row) for row in rows]).to_csv(index=False).encode()


def picture(item: Item, rows: Sequence[Mapping[str, Any]]) -> str:
    """Draw the panels: means with two standard errors; hollow marks are the paper's numbers, dotted levels floors."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    asked: Any = [{"y": own.y, "where": own.where, "x": own.x or item.picture.x} for own in item.picture.panel]
    some = [any(series(rows, line=line, **own) for line in lines_of(rows)) for own in asked]
    panels = [own for own, has in zip(item.picture.panel, some, strict=True) if has] or item.picture.panel[:1]
    across = min(len(panels), 2 if len(panels) in {2, 4} else 3)
    down = -(-len(panels) // across)
    colours = {line: COLOURS[at % len(COLOURS)] for at, line in enumerate(lines_of(rows))}
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": item.name, "font.size": 9}):
        figure = Figure(figsize=(4.6 * across, 3.3 * down + 0.25 * len(colours) / across + 0.4), layout="constrained")
        for number, panel in enumerate(panels, start=1):
            axes = figure.add_subplot(down, across, number)
            _draw(axes, item, panel, rows, colours)
        handles: dict[str, Any] = {}
        for axes in figure.axes:
            for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
                handles.setdefault(label, handle)
        if handles:
            figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=min(3, across), fontsize=8)
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    named = f"<title>{escape(f'{item.paper}, {item.where}: {item.title}')}</title>"
    start = text.index("<svg")
    end = text.index(">", start) + 1
    return text[start:end] + named + text[end:]


def _draw(axes: Any, item: Item, panel: Panel, rows: Sequence[Mapping[str, Any]], colours: Mapping[str, str]) -> None:
    x_name = panel.x or item.picture.x
    own = {line: series(rows, line=line, x=x_name, y=panel.y, where=panel.where) for line in colours}
    names = list(dict.fromkeys(place for means in own.values() for place in means if isinstance(place, str)))
    at = {name: float(number) for number, name in enumerate(names)}

    def placed(x: Any) -> float:
        return at[x] if isinstance(x, str) else float(x)

    for line, means in own.items():
        if means:
            axes.errorbar(
                [placed(x) for x in means], [mean.mean for mean in means.values()], [2 * mean.error for mean in means.values()],
                marker="o", markersize=3, linewidth=0 if names else 1.2, elinewidth=0.8, color=colours[line], label=line,
            )  # fmt: skip
        elif flat := level(rows, line=line, x=x_name, y=panel.y, where=panel.where):
            axes.axhline(flat.mean, color=colours[line], linestyle="--", linewidth=1, label=line)
    for numbers in _printed(item, panel):
        shown = [
            (placed(x), value) for x, value in zip(numbers.x, numbers.values, strict=True) if not isinstance(x, str) or x in at
        ]
        axes.plot(
            *zip(*shown, strict=True), "s", markerfacecolor="none", color=colours.get(numbers.line, "#555"),
            label=f"{numbers.line}: the paper's numbers", markersize=6,
        )  # fmt: skip
    if panel.floor:
        values = [float(row[panel.floor]) for row in rows if panel.floor in row and row[panel.floor] == row[panel.floor]]
        if values:
            axes.axhline(sum(values) / len(values), color="#888", linestyle=":", label="exact single attributes")
    if names:
        axes.set_xticks(list(at.values()), names, rotation=20)
    elif item.picture.log_x:
        axes.set_xscale("log", base=2)
        axes.set_xticks(sorted({placed(x) for means in own.values() for x in means}))
        axes.xaxis.set_major_formatter("{x:g}")
    if item.picture.log_y:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    axes.set_xlabel(x_title(item, panel))
    axes.set_title(panel.title, fontsize=9)
    axes.grid(alpha=0.25)


def x_title(item: Item, panel: Panel) -> str:
    """Say what x is called."""
    return panel.x or item.picture.x_title or item.picture.x


def _printed(item: Item, panel: Panel) -> list[Printed]:
    return [
        own
        for own in item.printed
        if own.y == panel.y and all(panel.where.get(key) == value for key, value in own.where.items())
    ]


def reproduction_page(found: Reproduced, *, svg: str, used: Sequence[Given], quick: bool) -> str:
    """Write the page."""
    item, done = found.item, [row for row in found.rows if row["status"] == "done"]
    seeds = sorted({str(row["seed"]) for row in done})
    size = "A quick run: fewer seeds, values or rows than the whole one." if quick else "The whole run."
    parts = [
        f"<h1>{escape(item.title)}</h1>",
        f"<p>{escape(item.paper)}, {escape(item.where)}. {escape(item.shows)}</p>",
        f"<p>{_verdict(found.verdict)}</p>",
        f'<p class="small">{size} {found.made.cells:,} runs, {len(seeds)} seeds. {ERRORS}</p>',
    ]
    parts += [
        f"<p><strong>{escape(given.dataset)} is a stand-in here</strong>: no number is the real dataset's.</p>"
        for given in used
        if given.stand_in
    ]
    absent = [name for name in item.wants if name not in {given.dataset for given in used}]
    if absent:
        parts.append(f"<p>Without {escape(', '.join(absent))}, which was not given; claims are judged by what is there.</p>")
    parts.append(f'<div class="wide">{svg}</div>')
    parts.append("<h2>What the paper says, and what came out</h2>")
    rows = []
    for own in found.judgements:
        first, *beside = own.judged
        says = "We ask: " * own.ours + own.says
        why = f'<br><span class="small">{escape(own.why)}</span>' if own.why and own.verdict != "reproduced" else ""
        rows.append(
            f"<tr><td>{escape(says)} <span class='small'>{escape(own.at)}</span></td><td>{_verdict(own.verdict)}</td>"
            f"<td>{escape(first.line)}: {escape(first.sentence)}{why}</td></tr>"
        )
        rows += [
            f"<tr class='beside'><td>the same of: {escape(one.line)}</td><td>{_verdict(one.verdict)}</td>"
            f"<td>{escape(one.sentence)}</td></tr>"
            for one in beside
        ]
    head = "<tr><th>claim</th><th>verdict</th><th>decided by</th></tr>"
    parts.append(f'<div class="wide"><table><thead>{head}</thead><tbody>{"".join(rows)}</tbody></table></div>')
    parts.append("<h2>Ours beside the paper's</h2>")
    parts += [_numbers(item, panel, done) for panel in item.picture.panel]
    if item.notes:
        parts.append(
            "<h2>What is otherwise than in the paper</h2><ul>"
            + "".join(f"<li>{escape(own)}</li>" for own in item.notes)
            + "</ul>"
        )
    if found.made.failed:
        parts.append("<h2>Runs that failed</h2><ul>")
        parts += [f"<li>{escape(what)}: {escape(reason)}</li>" for what, reason in found.made.failed.items()]
        parts.append("</ul>")
    return _document(f"{item.paper}, {item.where}", "\n".join(parts))


def _numbers(item: Item, panel: Panel, rows: Sequence[Mapping[str, Any]]) -> str:
    asked: dict[str, Any] = {"x": panel.x or item.picture.x, "y": panel.y, "where": panel.where}
    own = {line: series(rows, line=line, **asked) for line in lines_of(rows)}
    printed = _printed(item, panel)
    known = {x for means in own.values() for x in means} | {x for numbers in printed for x in numbers.x}
    places = sorted(known, key=lambda x: (isinstance(x, str), 0.0 if isinstance(x, str) else x))
    lines = []
    for line, means in own.items():
        flat = None if means else level(rows, line=line, **asked)
        if means or flat:
            lines.append([line, *(_cell(means.get(place, flat)) for place in places)])
    for numbers in printed:
        said = dict(zip(numbers.x, numbers.values, strict=True))
        lines.append([f"{numbers.line}: the paper", *(figure_shown(said[x]) if x in said else "" for x in places)])
    if not lines:
        return ""
    head = [x_title(item, panel), *(place_shown(place) for place in places)]
    return f"<h3>{escape(panel.title)}</h3>{_table(head, lines)}"


def _cell(mean: Measured | None) -> str:
    if mean is None:
        return ""
    return figure_shown(mean.mean) + (f" ± {figure_shown(mean.error)}" if mean.seeds > 1 else "")


def index_page(verdicts: Sequence[Mapping[str, Any]]) -> str:
    """List all that was made."""
    rows = "".join(
        f'<tr><td><a href="{escape(own["name"])}/page.html">{escape(own["paper"])}, {escape(own["where"])}</a></td>'
        f"<td>{escape(own['title'])}</td><td>{_verdict(own['verdict'])}</td><td>{'quick' if own['quick'] else 'full'}</td></tr>"
        for own in verdicts
    )
    head = "<tr><th>figure or table</th><th></th><th>verdict</th><th>size</th></tr>"
    body = f'<h1>Reproductions</h1><div class="wide"><table><thead>{head}</thead><tbody>{rows}</tbody></table></div>'
    return _document("Reproductions", body)


def _verdict(verdict: str) -> str:
    return f'<span class="verdict {verdict.replace(" ", "-")}">{escape(verdict)}</span>'


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    titles = "".join(f"<th>{escape(own)}</th>" for own in head)
    body = "".join("<tr>" + "".join(f"<td>{escape(own)}</td>" for own in row) + "</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table></div>'


def _document(title: str, body: str) -> str:
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )
