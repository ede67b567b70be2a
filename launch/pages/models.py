"""Pictures of what was learned: a Bayesian network, a dependency graph, round by round, a junction tree, a decision tree.

Drawn from the published model alone, as SVG without scripts or fonts of its own, in the colour of the text around it; each has
a title and a description for those who cannot see it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from itertools import combinations
from math import cos, pi, sin
from typing import Any, Final

__all__ = ["FILES", "pictures"]

FILES: Final = ("decisions.svg", "graph.svg", "network.svg", "tree.svg")
"""What there may be."""

PANEL: Final = 320
RADIUS: Final = 84
LETTER: Final = 6.0
"""The width of a letter of 10 pixels, on average."""
TALL: Final = 250
"""The height of a panel."""
ROW: Final = 34
INDENT: Final = 26
STEP: Final = 22
LONGEST: Final = 110
"""Letters of a test that are shown."""
ACROSS: Final = 3
"""Panels beside one another."""

Edges = Sequence[Sequence[str]]


def pictures(model: Mapping[str, Any] | None) -> dict[str, str]:
    """Draw what a model has of these: parents; edges by rounds or at once, and a tree of cliques; a tree of decisions.

    A model of somebody's own that is called alike and made otherwise is not drawn: its run has been paid for.
    """
    try:
        return _drawn(model)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError, RecursionError):
        return {}


def _drawn(model: Mapping[str, Any] | None) -> dict[str, str]:
    found: dict[str, str] = {}
    tree = (model or {}).get("tree")
    if model is not None and isinstance(model.get("parents"), Mapping) and any(model["parents"].values()):
        return {"network.svg": _network(model["parents"], (model.get("frontiers") or [[]])[-1])}
    if model is None or not isinstance(tree, Mapping):
        return found
    if model.get("kind") == "decision-tree":
        return {"decisions.svg": _decisions(tree, str(model["label"]))}
    names = list(dict.fromkeys(name for clique in tree["cliques"] for name in clique))
    if "rounds" in model:
        panels = [(f"round {at}", own["edges"]) for at, own in enumerate(model["rounds"], start=1)]
    else:
        panels = [("", model.get("edges", ()))]
    found["graph.svg"] = _graphs(names, panels)
    found["tree.svg"] = _tree(tree["cliques"], tree["edges"])
    return found


def _network(parents: Mapping[str, Sequence[str]], frontier: Edges) -> str:
    """Draw a network from left to right, parents before children; in grey the pairs in which parents were last looked for."""
    names = list(parents)
    level: dict[str, int] = {}

    def depth(name: str) -> int:
        if name not in level:
            level[name] = 1 + max((depth(own) for own in parents[name]), default=-1)
        return level[name]

    chosen = [(one, name) for name in names for one in parents[name]]
    tied = {name for edge in chosen for name in edge}
    columns: list[list[str]] = [[] for _ in range(1 + max(map(depth, names)))]
    for name in names:
        if name in tied:
            columns[level[name]].append(name)
    row: dict[str, float] = {}
    for column in columns:
        # Below one another in the order of the parents' middle: what crosses least of what is simple.
        column.sort(key=lambda name: sum(row[own] for own in parents[name]) / max(len(parents[name]), 1))
        row |= {name: at - len(column) / 2 for at, name in enumerate(column)}
    widths = [max((len(name) for name in column), default=0) * LETTER * 1.15 + 16 for column in columns]
    starts = [12 + sum(widths[:at]) + 70 * at for at in range(len(columns))]
    # Lines that pass over columns bow upwards, by as much as they pass.
    bow = 22 * max((level[other] - level[one] - 1 for one, other in chosen), default=0)
    top = 18 + min(bow, 110) - 26 * min(row.values(), default=0)
    place = {name: (starts[level[name]], top + 26 * row[name]) for name in names if name in tied}
    faint = {pair for family in frontier for pair in combinations(sorted(tied & {*family}), 2)} - {
        tuple(sorted(edge)) for edge in chosen
    }
    parts = [_bow(place[one], place[other], widths[level[one]], grey=True) for one, other in sorted(faint)]
    parts += [_bow(place[one], place[other], widths[level[one]], over=level[other] - level[one] - 1) for one, other in chosen]
    for name, (x, y) in place.items():
        parts.append(
            f'<rect x="{x:.1f}" y="{y - 10:.1f}" width="{widths[level[name]]:.1f}" height="20" rx="10" '
            f'fill="Canvas" stroke="currentColor"/>'
        )
        parts.append(f'<text x="{x + 8:.1f}" y="{y + 3.5:.1f}" font-size="11">{escape(name)}</text>')
    height = top + 26 * max(row.values(), default=0) + 24
    alone = [name for name in names if name not in tied]
    if alone:
        parts.append(f'<text x="12" y="{height + 6:.0f}" font-size="11">by themselves: {escape(_brief(alone))}</text>')
        height += 20
    text = "; ".join(f"{name} from {', '.join(own)}" for name, own in parents.items() if own)
    text += f"; by themselves: {', '.join(alone)}" if alone else ""
    width = max(starts[-1] + widths[-1] + 12, 420.0)
    return _svg(width, height, title="The Bayesian network", text=text, body="\n".join(parts))


def _brief(names: Sequence[str], most: int = 8) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _bow(one: tuple[float, float], other: tuple[float, float], width: float, *, grey: bool = False, over: int = 0) -> str:
    """Draw a line from the right end of one box to the left end of another, above what it passes `over`, or beside a column."""
    x, y, to_x, to_y = one[0] + width, one[1], *other
    lift = min(30 * over, 150)
    if grey and to_x <= x:
        x, to_x = one[0], other[0]
        path = f"M{x:.1f} {y:.1f} C{min(x, to_x) - 34:.1f} {y:.1f} {min(x, to_x) - 34:.1f} {to_y:.1f} {to_x:.1f} {to_y:.1f}"
    else:
        path = f"M{x:.1f} {y:.1f} C{x + 34:.1f} {y - lift:.1f} {to_x - 34:.1f} {to_y - lift:.1f} {to_x:.1f} {to_y:.1f}"
    strength = 'stroke-opacity="0.18" stroke-dasharray="3 3"' if grey else 'stroke-opacity="0.75"'
    head = "" if grey else f'<path d="M{to_x:.1f} {to_y:.1f} l-7 -3.5 v7 z"/>'
    return f'<path d="{path}" fill="none" stroke="currentColor" {strength}/>{head}'


def _svg(width: float, height: float, *, title: str, text: str, body: str, size: int = 10) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'font-family="system-ui, sans-serif" font-size="{size}" fill="currentColor" stroke="none">'
        f"<title>{escape(title)}</title><desc>{escape(text)}</desc>\n{body}</svg>\n"
    )


def _graphs(names: Sequence[str], panels: Sequence[tuple[str, Edges]]) -> str:
    """Draw graphs on a circle, beside and below one another."""
    across = min(ACROSS, len(panels))
    down = -(-len(panels) // across)
    pairs = len(names) * (len(names) - 1) // 2
    drawn, told = [], []
    for at, (title, edges) in enumerate(panels):
        caption = f"{title}: {len(edges)} of {pairs} pairs".removeprefix(": ")
        told.append(f"{caption}: {', '.join(' - '.join(edge) for edge in edges) if len(edges) <= pairs // 2 else 'most'}")
        x, y = (at % across) * PANEL, (at // across) * TALL
        drawn.append(f'<g transform="translate({x} {y})">{_graph(names, edges, caption)}</g>\n')
    text = "; ".join(told)
    return _svg(across * PANEL, down * TALL, title="The dependency graph", text=text, body="".join(drawn))


def _graph(names: Sequence[str], edges: Edges, caption: str) -> str:
    middle = PANEL / 2
    angles = {name: 2 * pi * at / len(names) - pi / 2 for at, name in enumerate(names)}
    place = {name: (middle + RADIUS * cos(own), TALL / 2 + 10 + RADIUS * sin(own)) for name, own in angles.items()}
    parts = [f'<text x="{middle:.0f}" y="16" text-anchor="middle" font-size="12">{escape(caption)}</text>']
    strength = max(0.25, min(1.0, 14 / max(len(edges), 1)))
    parts += [_line(place[one], place[other], strength) for one, other in edges]
    for name, (x, y) in place.items():
        side = cos(angles[name])
        anchor = "middle" if abs(side) < 0.2 else "start" if side > 0 else "end"
        beside = (x + 8 * side, y + (11 if sin(angles[name]) > 0.9 else -7 if sin(angles[name]) < -0.9 else 4))
        most = (PANEL / 2 - RADIUS * abs(side) - 10) / LETTER
        short = name if anchor == "middle" or len(name) <= most else name[: max(3, int(most) - 1)] + "\N{HORIZONTAL ELLIPSIS}"
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3"/>')
        parts.append(f'<text x="{beside[0]:.1f}" y="{beside[1]:.1f}" text-anchor="{anchor}">{escape(short)}</text>')
    return "".join(parts)


def _tree(cliques: Sequence[Sequence[str]], edges: Sequence[Sequence[Any]]) -> str:
    """Draw a forest from left to right: cliques as boxes, what two of them share on the line between."""
    near: dict[int, list[int]] = {at: [] for at in range(len(cliques))}
    shared: dict[tuple[int, int], str] = {}
    for one, other, between in edges:
        near[one].append(other)
        near[other].append(one)
        shared[one, other] = shared[other, one] = ", ".join(between)
    level, row, lines = _layout(near)
    words = [", ".join(own) for own in cliques]
    deepest = max(level.values(), default=0)
    starts = [8.0]
    for own in range(deepest + 1):
        width = max(len(words[at]) for at in level if level[at] == own) * LETTER + 18
        gap = max((len(shared[one, other]) for one, other in lines if level[one] == own), default=0) * LETTER + 24
        starts.append(starts[-1] + width + gap)
    parts = []
    for one, other in lines:
        x1, y1 = starts[level[one]] + len(words[one]) * LETTER + 14, ROW * (row[one] + 0.5) + 8
        x2, y2 = starts[level[other]], ROW * (row[other] + 0.5) + 8
        parts.append(_line((x1, y1), (x2, y2), 0.5))
        label = escape(shared[one, other])
        parts.append(f'<text x="{x2 - 6:.1f}" y="{y2 - 5:.1f}" text-anchor="end" font-style="italic">{label}</text>')
    for at, own in level.items():
        x, y, width = starts[own], ROW * row[at] + 12, len(words[at]) * LETTER + 14
        parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="24" rx="12" fill="none" stroke="currentColor"/>'
            f'<text x="{x + width / 2:.1f}" y="{y + 16:.1f}" text-anchor="middle">{escape(words[at])}</text>'
        )
    text, height = f"{len(cliques)} cliques: " + "; ".join(words), ROW * (max(row.values(), default=0) + 1) + 16
    return _svg(starts[-1] + 8, height, title="The junction tree", text=text, body="\n".join(parts))


def _decisions(tree: Mapping[str, Any], label: str) -> str:
    """Draw tests one below another, each further to the right than the one before: below it yes, then no."""
    lines: list[tuple[int, str, str, bool]] = []
    joints: list[tuple[int, int, int]] = []

    def add(node: Mapping[str, Any], depth: int, answer: str) -> int:
        at, end = len(lines), "label" in node
        lines.append((depth, answer, str(node["is"]) if end else f"{node['attribute']}: {node['is']}?", end))
        below = [] if end else [add(node[own], depth + 1, own) for own in ("yes", "no")]
        if below:
            joints.append((depth, at, below[-1]))
        return at

    add(tree, 0, "")
    parts: list[str] = []
    width = 0.0
    for depth, first, last in joints:
        left = INDENT * depth + 14
        parts.append(_line((left, STEP * first + 26), (left, STEP * last + 18), 0.5))
    for at, (depth, answer, words, end) in enumerate(lines):
        x, y = INDENT * depth + 8.0, STEP * at + 22
        if answer:
            parts.append(_line((x - INDENT + 6, y - 4), (x - 2, y - 4), 0.5))
            parts.append(f'<text x="{x + 2:.1f}" y="{y}" font-style="italic">{answer}</text>')
            x += 26
        short = words if len(words) <= LONGEST else words[: LONGEST - 1] + "\N{HORIZONTAL ELLIPSIS}"
        weight = ' font-weight="bold"' if end else ""
        parts.append(f'<text x="{x:.1f}" y="{y}"{weight}>{escape(short)}</text>')
        width = max(width, x + len(short) * LETTER * 1.2 + 8)
    text = f"Tests that predict {label}: {_spoken(tree)}"
    title = f"The decision tree for {label}"
    return _svg(width, STEP * len(lines) + 16, title=title, text=text, body="\n".join(parts), size=12)


def _spoken(node: Mapping[str, Any]) -> str:
    """Say a tree in words."""
    if "label" in node:
        return str(node["is"])
    return f"if {node['attribute']} is {node['is']} then ({_spoken(node['yes'])}) else ({_spoken(node['no'])})"


def _layout(near: dict[int, list[int]]) -> tuple[dict[int, int], dict[int, float], list[tuple[int, int]]]:
    """Give every clique a level and a row, a tree after another, the one with most neighbours at its root; and the lines."""
    level: dict[int, int] = {}
    row: dict[int, float] = {}
    lines: list[tuple[int, int]] = []
    rows = 0

    def visit(at: int, own: int) -> None:
        nonlocal rows
        level[at] = own
        below = []
        for to in near[at]:
            if to not in level:
                lines.append((at, to))
                below.append(to)
                visit(to, own + 1)
        if below:
            row[at] = (row[below[0]] + row[below[-1]]) / 2
        else:
            row[at] = rows
            rows += 1

    for at in sorted(near, key=lambda own: -len(near[own])):
        if at not in level:
            visit(at, 0)
    return level, row, lines


def _line(one: tuple[float, float], other: tuple[float, float], strength: float) -> str:
    ends = f'x1="{one[0]:.1f}" y1="{one[1]:.1f}" x2="{other[0]:.1f}" y2="{other[1]:.1f}"'
    return f'<line {ends} stroke="currentColor" stroke-opacity="{strength:.2f}"/>'
