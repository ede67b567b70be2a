"""Draw the conversation of a secure sum from a run of it: who says what to whom, in which round.

python docs/pictures/conversation.py > docs/pictures/conversation.svg
"""

from __future__ import annotations

import sys
from xml.sax.saxutils import escape

import sottovoce

ROLES = ("curator", "party 1", "party 2", "party 3")
LEFT, TOP, APART, LINE = 120, 50, 170, 26
COLOURS = {"keys": "#0072b2", "count": "#d55e00"}


def main() -> str:
    run = sottovoce.run("noisy-marginals", marginals="sex", rows=3000, seed=1)
    across = {role: LEFT + at * APART for at, role in enumerate(ROLES)}
    drawn, down, before = [], TOP + 18, 0
    # In one round and of one kind messages cross: an arrow for each line says enough.
    said = run.ledger.sort_values(["round", "phase", "kind", "sender", "receiver"], kind="stable")
    for (turn, phase, kind), group in said.groupby(["round", "phase", "kind"], sort=False):
        if turn != before:
            label = f'<text x="14" y="{down + 16}" fill="#888">round {turn}</text>'
            drawn += [
                f'<line x1="10" y1="{down}" x2="{LEFT + 3.6 * APART:.0f}" y2="{down}" stroke="#8884"/>',
                label,
            ]
            before = turn
        for own in group.itertuples():
            down += LINE
            start, end = across[own.sender], across[own.receiver]
            tip = end - 5 if end > start else end + 5
            drawn.append(
                f'<line x1="{start}" y1="{down}" x2="{tip}" y2="{down}" stroke="{COLOURS[phase]}" marker-end="url(#{phase})"/>'
                f'<text x="{(start + end) / 2:.0f}" y="{down - 4}" text-anchor="middle" fill="{COLOURS[phase]}" '
                f'font-size="11">{escape(kind)}, {own.payload_bytes} bytes</text>'
            )
        down += 12
    heads = [
        f'<text x="{x}" y="24" text-anchor="middle">{role}</text>'
        f'<line x1="{x}" y1="34" x2="{x}" y2="{down + 10}" stroke="#8888"/>'
        for role, x in across.items()
    ]
    arrows = [
        f'<marker id="{phase}" markerWidth="7" markerHeight="8" refX="5" refY="4" orient="auto">'
        f'<path d="M0 0 L7 4 L0 8" fill="{colour}"/></marker>'
        for phase, colour in COLOURS.items()
    ]
    legend = "".join(
        f'<text x="{LEFT + at * 130}" y="{down + 34}" fill="{colour}">phase {phase}</text>'
        for at, (phase, colour) in enumerate(COLOURS.items())
    )
    size = f'viewBox="0 0 {LEFT + 3.6 * APART:.0f} {down + 44}"'
    text = 'role="img" font-family="system-ui, sans-serif" font-size="13" fill="#888"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {text}>',
        "<title>A secure sum of three parties, message by message: phases keys and count</title>",
        f"<defs>{''.join(arrows)}</defs>",
        *heads,
        *drawn,
        legend,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(main())
