"""Pictures of what predicts a label: a tree of decisions, what speaks for a label, sets of values
that are taken as one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import log2
from typing import Any, Final

from .shapes import LETTER, line, shortened, svg

__all__ = ["decisions", "evidence", "sets_of_values"]

INDENT: Final = 26
STEP: Final = 22
LONGEST: Final = 110
"""Letters of a test that are shown."""
MOST: Final = 6
"""Labels, and values that speak for each of them."""
BAR: Final = 120


def decisions(tree: Mapping[str, Any], label: str) -> str:
    """Draw tests one below another, each further to the right than the one before: below it yes,
    then no.
    """
    lines: list[tuple[int, str, str, bool]] = []
    joints: list[tuple[int, int, int]] = []

    def add(node: Mapping[str, Any], depth: int, answer: str) -> int:
        at, end = len(lines), "label" in node
        lines.append(
            (depth, answer, str(node["is"]) if end else f"{node['attribute']}: {node['is']}?", end)
        )
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
    return svg(
        width, STEP * len(lines) + 16, title=title, text=text, body="\n".join(parts), size=12
    )


def _spoken(node: Mapping[str, Any]) -> str:
    """Say a tree in words."""
    if "label" in node:
        return str(node["is"])
    return f"if {node['attribute']} is {node['is']} then ({_spoken(node['yes'])}) else ({_spoken(node['no'])})"


def evidence(model: Mapping[str, Any]) -> str:
    """Draw what speaks for each label in a naive Bayes classifier: how much likelier a value makes
    it than it is by itself.

    That is Pr[value | label] / Pr[value]. Values are in the order of Pr[value, label] * log of it,
    so that a rare value, whose ratio is mostly noise, does not come first.
    """
    labels, prior = model["labels"], model["prior"]
    known = sorted(range(len(labels)), key=lambda at: (-prior[at], at))[:MOST]
    found: dict[int, list[tuple[float, float, str]]] = {at: [] for at in known}
    for name, lines in model["likely"].items():
        for value, word in enumerate(model["attributes"][name]):
            alone = sum(own * line[value] for own, line in zip(prior, lines, strict=True))
            for at in known:
                if lines[at][value] > alone > 0:
                    times = lines[at][value] / alone
                    found[at].append(
                        (prior[at] * lines[at][value] * log2(times), times, f"{name} is {word}")
                    )
    chosen = {
        at: sorted(own, key=lambda each: (-each[0], each[2]))[:MOST] for at, own in found.items()
    }
    longest = max((log2(times) for own in chosen.values() for _, times, _ in own), default=1.0)
    parts, told, y = [], [], 0
    for at in known:
        y += STEP
        parts.append(
            f'<text x="8" y="{y}" font-weight="bold">{escape(shortened(labels[at], LONGEST))}</text>'
        )
        for _, times, words in chosen[at]:
            y += STEP
            width = BAR * log2(times) / longest
            parts.append(
                f'<rect x="8" y="{y - 11}" width="{width:.1f}" height="12" fill-opacity="0.35"/>'
            )
            parts.append(f'<text x="{BAR + 16}" y="{y}">{times:.1f} times</text>')
            parts.append(
                f'<text x="{BAR + 84}" y="{y}">{escape(shortened(words, LONGEST // 2))}</text>'
            )
        if not chosen[at]:
            y += STEP
            parts.append(f'<text x="8" y="{y}">nothing</text>')
        spoken = (
            ", ".join(f"{words} {times:.1f} times" for _, times, words in chosen[at]) or "nothing"
        )
        told.append(f"{labels[at]}: {spoken}")
        y += 6
    if left := len(labels) - len(known):
        y += STEP
        parts.append(
            f'<text x="8" y="{y}">and {left} {"label" if left == 1 else "labels"} more, which are rarer</text>'
        )
    title = f"What speaks for each value of {model['label']}"
    return svg(
        BAR + 84 + LONGEST // 2 * LETTER * 1.2,
        y + 14,
        title=title,
        text="; ".join(told),
        body="\n".join(parts),
        size=12,
    )


def sets_of_values(sets: Mapping[str, Sequence[Sequence[str]]]) -> str:
    """Draw the sets into which attributes' values were divided, an attribute a line: a set by its
    ends, or its only value.
    """
    names = max((len(name) for name in sets), default=0) * LETTER * 1.2 + 16
    parts, told, y, width = [], [], 0, 420.0
    for name, groups in sets.items():
        y += STEP + 6
        parts.append(f'<text x="8" y="{y}" font-weight="bold">{escape(name)}</text>')
        x = names
        for group in groups:
            words = shortened(_ends(group), LONGEST // 2)
            wide = len(words) * LETTER * 1.15 + 16
            parts.append(
                f'<rect x="{x:.1f}" y="{y - 14}" width="{wide:.1f}" height="20" rx="10" fill="none" stroke="currentColor"/>'
            )
            parts.append(f'<text x="{x + 8:.1f}" y="{y}">{escape(words)}</text>')
            x += wide + 6
        told.append(f"{name}: {', '.join(map(_ends, groups))}")
        width = max(width, x + 8)
    return svg(
        width,
        y + 16,
        title="Values that are taken as one",
        text="; ".join(told),
        body="\n".join(parts),
        size=11,
    )


def _ends(group: Sequence[str]) -> str:
    """Name a set in few words."""
    if len(group) <= 2:
        return " or ".join(group)
    return f"{group[0]} to {group[-1]} ({len(group)})"
