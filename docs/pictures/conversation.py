"""Draw the messages of a secure sum from a run of it: sender, receiver, kind and round.

python docs/pictures/conversation.py > docs/pictures/conversation.svg
"""

from __future__ import annotations

import sys
from xml.sax.saxutils import escape

import sottovoce

ROLES = ("curator", "party 1", "party 2", "party 3")
LEFT, TOP, APART, LINE = 120, 50, 170, 26
RIGHT = f"{LEFT + 3.6 * APART:.0f}"
COLOURS = {"keys": "#0072b2", "count": "#d55e00"}


def main() -> str:
    run = sottovoce.run("noisy-marginals", marginals="sex", rows=3000, seed=1)
    across = {role: LEFT + column * APART for column, role in enumerate(ROLES)}
    drawn, down, before = [], TOP + 18, 0
    # Messages of one round and kind cross each other, so each has a line of its own, in this order.
    order = ["round", "phase", "kind", "sender", "receiver"]
    messages = run.ledger.sort_values(order, kind="stable")
    for (number, phase, kind), group in messages.groupby(["round", "phase", "kind"], sort=False):
        if number != before:
            drawn += [
                f'<line x1="10" y1="{down}" x2="{RIGHT}" y2="{down}" stroke="#8884"/>',
                f'<text x="14" y="{down + 16}" fill="#888">round {number}</text>',
            ]
            before = number
        for message in group.itertuples():
            down += LINE
            label = f"{escape(kind)}, {message.payload_bytes} bytes"
            drawn.append(
                arrow(across[message.sender], across[message.receiver], down, phase, label)
            )
        down += 12
    heads = [
        f'<text x="{x}" y="24" text-anchor="middle">{role}</text>'
        f'<line x1="{x}" y1="34" x2="{x}" y2="{down + 10}" stroke="#8888"/>'
        for role, x in across.items()
    ]
    markers = [
        f'<marker id="{phase}" markerWidth="7" markerHeight="8" refX="5" refY="4" orient="auto">'
        f'<path d="M0 0 L7 4 L0 8" fill="{colour}"/></marker>'
        for phase, colour in COLOURS.items()
    ]
    legend = "".join(
        f'<text x="{LEFT + column * 130}" y="{down + 34}" fill="{colour}">phase {phase}</text>'
        for column, (phase, colour) in enumerate(COLOURS.items())
    )
    size = f'viewBox="0 0 {RIGHT} {down + 44}"'
    text = 'role="img" font-family="system-ui, sans-serif" font-size="13" fill="#888"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {text}>',
        "<title>A secure sum of three parties, message by message: phases keys and count</title>",
        f"<defs>{''.join(markers)}</defs>",
        *heads,
        *drawn,
        legend,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def arrow(start: int, end: int, y: int, phase: str, label: str) -> str:
    """Draw a message from one role's column to another's, with its label above."""
    tip, colour = (end - 5 if end > start else end + 5), COLOURS[phase]
    return (
        f'<line x1="{start}" y1="{y}" x2="{tip}" y2="{y}" stroke="{colour}" '
        f'marker-end="url(#{phase})"/>'
        f'<text x="{(start + end) / 2:.0f}" y="{y - 4}" text-anchor="middle" fill="{colour}" '
        f'font-size="11">{label}</text>'
    )


if __name__ == "__main__":
    sys.stdout.write(main())
