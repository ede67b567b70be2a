"""Pictures of what predicts a label."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any, Final

from .shapes import LETTER, line, shortened, svg

__all__ = ["decisions"]

INDENT: Final = 26
STEP: Final = 22
LONGEST: Final = 110
"""Letters of a test that are shown."""


def decisions(tree: Mapping[str, Any], label: str) -> str:
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
        parts.append(line((left, STEP * first + 26), (left, STEP * last + 18), 0.5))
    for at, (depth, answer, words, end) in enumerate(lines):
        x, y = INDENT * depth + 8.0, STEP * at + 22
        if answer:
            parts.append(line((x - INDENT + 6, y - 4), (x - 2, y - 4), 0.5))
            parts.append(f'<text x="{x + 2:.1f}" y="{y}" font-style="italic">{answer}</text>')
            x += 26
        short = shortened(words, LONGEST)
        weight = ' font-weight="bold"' if end else ""
        parts.append(f'<text x="{x:.1f}" y="{y}"{weight}>{escape(short)}</text>')
        width = max(width, x + len(short) * LETTER * 1.2 + 8)
    text = f"Tests that predict {label}: {_spoken(tree)}"
    title = f"The decision tree for {label}"
    return svg(width, STEP * len(lines) + 16, title=title, text=text, body="\n".join(parts), size=12)


def _spoken(node: Mapping[str, Any]) -> str:
    """Say a tree in words."""
    if "label" in node:
        return str(node["is"])
    return f"if {node['attribute']} is {node['is']} then ({_spoken(node['yes'])}) else ({_spoken(node['no'])})"
