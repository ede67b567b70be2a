"""Pictures of classifiers: decision trees, evidence of naive Bayes, and sets of merged values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from math import log2
from typing import Any, Final, NamedTuple

from .shapes import LETTER, line, shortened, svg

__all__ = ["decision_tree", "evidence", "value_sets"]

INDENT: Final = 26
STEP: Final = 22
"""Distance of lines of text."""
MAX_LETTERS: Final = 110
"""Letters of a test that are shown."""
MAX_LISTED: Final = 6
"""Number of labels, and of values for each of them."""
BAR: Final = 120
"""Length of the longest bar."""


class TreeLine(NamedTuple):
    """A node of a decision tree as a line of text."""

    depth: int
    answer: str
    """The answer to the test above that leads here."""
    text: str
    leaf: bool


@dataclass(slots=True)
class TreeLines:
    """The nodes of a decision tree, each test before what follows from it."""

    lines: list[TreeLine] = field(default_factory=list)
    joints: list[tuple[int, int, int]] = field(default_factory=list)
    """The depth of a test, its line, and the line of its last answer."""

    def add(self, node: Mapping[str, Any], depth: int = 0, answer: str = "") -> int:
        """Add a node and all below it; return its line."""
        index, leaf = len(self.lines), "label" in node
        text = str(node["is"]) if leaf else f"{node['attribute']}: {node['is']}?"
        self.lines.append(TreeLine(depth, answer, text, leaf))
        if not leaf:
            self.add(node["yes"], depth + 1, "yes")
            self.joints.append((depth, index, self.add(node["no"], depth + 1, "no")))
        return index


def decision_tree(tree: Mapping[str, Any], label: str) -> str:
    """Draw a decision tree as an indented list: below each test the branch of yes, then of no."""
    listed = TreeLines()
    listed.add(tree)
    parts: list[str] = []
    width = 0.0
    for depth, first, last in listed.joints:
        left = INDENT * depth + 14
        parts.append(line((left, STEP * first + 26), (left, STEP * last + 18), 0.5))
    for index, node in enumerate(listed.lines):
        x, y = INDENT * node.depth + 8.0, STEP * index + 22
        if node.answer:
            parts.append(line((x - INDENT + 6, y - 4), (x - 2, y - 4), 0.5))
            parts.append(f'<text x="{x + 2:.1f}" y="{y}" font-style="italic">{node.answer}</text>')
            x += 26
        short = shortened(node.text, MAX_LETTERS)
        weight = ' font-weight="bold"' if node.leaf else ""
        parts.append(f'<text x="{x:.1f}" y="{y}"{weight}>{escape(short)}</text>')
        width = max(width, x + len(short) * LETTER * 1.2 + 8)
    return svg(
        width,
        STEP * len(listed.lines) + 16,
        title=f"The decision tree for {label}",
        text=f"Tests that predict {label}: {_described(tree)}",
        body="\n".join(parts),
        size=12,
    )


def _described(node: Mapping[str, Any]) -> str:
    """Describe a tree in words."""
    if "label" in node:
        return str(node["is"])
    yes, no = _described(node["yes"]), _described(node["no"])
    return f"if {node['attribute']} is {node['is']} then ({yes}) else ({no})"


class Evidence(NamedTuple):
    """A value that is more frequent with a label than it is overall."""

    weight: float
    """Pr[value, label] * log2(ratio), by which values are ordered."""
    ratio: float
    """Pr[value | label] / Pr[value]."""
    text: str


def evidence(model: Mapping[str, Any]) -> str:
    """Draw the evidence for each label in a naive Bayes classifier.

    It is Pr[value | label] / Pr[value], for values where that is above 1. They are ordered by
    Pr[value, label] times its logarithm: the ratio of a rare value is mostly noise.
    """
    labels = model["labels"]
    by_label = _evidence_by_label(model)
    longest = max((log2(item.ratio) for items in by_label.values() for item in items), default=1.0)
    parts, texts, y = [], [], 0
    for label, items in by_label.items():
        y += STEP
        name = escape(shortened(labels[label], MAX_LETTERS))
        parts.append(f'<text x="8" y="{y}" font-weight="bold">{name}</text>')
        for item in items:
            y += STEP
            parts.append(_evidence_row(item, y, BAR * log2(item.ratio) / longest))
        if not items:
            y += STEP
            parts.append(f'<text x="8" y="{y}">nothing</text>')
        listed = ", ".join(f"{item.text} {item.ratio:.1f} times" for item in items)
        texts.append(f"{labels[label]}: {listed or 'nothing'}")
        y += 6
    if left := len(labels) - len(by_label):
        y += STEP
        noun = "label" if left == 1 else "labels"
        parts.append(f'<text x="8" y="{y}">and {left} {noun} more, which are rarer</text>')
    return svg(
        BAR + 84 + MAX_LETTERS // 2 * LETTER * 1.2,
        y + 14,
        title=f"Evidence for each value of {model['label']}",
        text="; ".join(texts),
        body="\n".join(parts),
        size=12,
    )


def _evidence_by_label(model: Mapping[str, Any]) -> dict[int, list[Evidence]]:
    """Choose the strongest evidence for each of the most frequent labels."""
    prior = model["prior"]
    labels = sorted(range(len(prior)), key=lambda label: (-prior[label], label))[:MAX_LISTED]
    items: dict[int, list[Evidence]] = {label: [] for label in labels}
    for name, likely in model["likely"].items():
        for value, word in enumerate(model["attributes"][name]):
            overall = sum(share * row[value] for share, row in zip(prior, likely, strict=True))
            for label in labels:
                if likely[label][value] > overall > 0:
                    ratio = likely[label][value] / overall
                    weight = prior[label] * likely[label][value] * log2(ratio)
                    items[label].append(Evidence(weight, ratio, f"{name} is {word}"))
    return {
        label: sorted(evidence_of_label, key=lambda item: (-item.weight, item.text))[:MAX_LISTED]
        for label, evidence_of_label in items.items()
    }


def _evidence_row(item: Evidence, y: int, width: float) -> str:
    return (
        f'<rect x="8" y="{y - 11}" width="{width:.1f}" height="12" fill-opacity="0.35"/>\n'
        f'<text x="{BAR + 16}" y="{y}">{item.ratio:.1f} times</text>\n'
        f'<text x="{BAR + 84}" y="{y}">{escape(shortened(item.text, MAX_LETTERS // 2))}</text>'
    )


def value_sets(sets: Mapping[str, Sequence[Sequence[str]]]) -> str:
    """Draw the sets into which the values of attributes were merged, an attribute a line."""
    left = max((len(name) for name in sets), default=0) * LETTER * 1.2 + 16
    parts, texts, y, width = [], [], 0, 420.0
    for name, groups in sets.items():
        y += STEP + 6
        parts.append(f'<text x="8" y="{y}" font-weight="bold">{escape(name)}</text>')
        x = left
        for group in groups:
            text = shortened(_ends(group), MAX_LETTERS // 2)
            length = len(text) * LETTER * 1.15 + 16
            parts.append(
                f'<rect x="{x:.1f}" y="{y - 14}" width="{length:.1f}" height="20" rx="10" '
                'fill="none" stroke="currentColor"/>\n'
                f'<text x="{x + 8:.1f}" y="{y}">{escape(text)}</text>'
            )
            x += length + 6
        texts.append(f"{name}: {', '.join(map(_ends, groups))}")
        width = max(width, x + 8)
    return svg(
        width,
        y + 16,
        title="Values that were merged",
        text="; ".join(texts),
        body="\n".join(parts),
        size=11,
    )


def _ends(group: Sequence[str]) -> str:
    """Name a set by its ends, or by its values if they are few."""
    if len(group) <= 2:
        return " or ".join(group)
    return f"{group[0]} to {group[-1]} ({len(group)})"
