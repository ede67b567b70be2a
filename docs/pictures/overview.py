"""Draw what a run does, from a run of it: three parties, a secure sum, the curator, the public.

python docs/pictures/overview.py > docs/pictures/overview.svg
"""

from __future__ import annotations

import sys
from xml.sax.saxutils import escape

import sottovoce
from sottovoce.parties import DEMO, DEMO_SCHEMA, load, read_split

PARTIES, ROWS, SEED = 3, 3000, 1
WIDTH, HEIGHT, BOX, GAP, TOP = 190, 84, 110, 18, 60
COLUMNS = (30, 340, 650)
STYLE = """
svg { color: #24292f } text { fill: currentColor } .quiet { opacity: .75 }
.box { fill: none; stroke: currentColor; stroke-opacity: .5 }
.private { fill: #d55e0022 } .hidden { fill: #0072b222 } .public { fill: #009e7322 }
.arrow { stroke: currentColor; stroke-opacity: .7; fill: none }
@media (prefers-color-scheme: dark) { svg { color: #e6edf3 } }
"""


def main() -> str:
    run = sottovoce.run("noisy-marginals", marginals="sex", rows=ROWS, parties=PARTIES, seed=SEED)
    published = dict(zip(run.marginals["value_1"], run.marginals["count"], strict=True))
    epsilon = run.report["privacy"]["claimed_epsilon"]
    middle = TOP + (PARTIES * HEIGHT + (PARTIES - 1) * GAP) / 2
    drawn = []
    for party in range(1, PARTIES + 1):
        top = TOP + (party - 1) * (HEIGHT + GAP)
        records = load(
            DEMO,
            schema=DEMO_SCHEMA,
            rows=ROWS,
            seed=SEED,
            party=party,
            split=read_split("even", parties=PARTIES),
        )
        counts = dict(
            zip(
                DEMO_SCHEMA.attributes["sex"].labels,
                records.marginal(("sex",)).tolist(),
                strict=True,
            )
        )
        drawn += box(0, top, "private", HEIGHT, f"party {party}", *table(counts))
        start, tip = COLUMNS[0] + WIDTH, COLUMNS[1] - 6
        drawn.append(arrow(start, top + HEIGHT / 2, tip, middle + (party - 2) * 26))
    label = (COLUMNS[0] + WIDTH + COLUMNS[1]) / 2
    drawn += words(
        label, TOP - 22, ["counts and a share of noise,", "encrypted or masked"], size=12
    )
    drawn += box(
        1, middle - BOX / 2, "hidden", BOX, "secure sum", "of ciphertexts", "or of masked counts"
    )
    drawn.append(arrow(COLUMNS[1] + WIDTH, middle, COLUMNS[2] - 6, middle))
    drawn += words(
        (COLUMNS[1] + WIDTH + COLUMNS[2]) / 2, middle - 24, ["the noisy", "sum only"], size=12
    )
    drawn += box(2, middle - BOX / 2, "public", BOX, "curator publishes", *table(published))
    bottom = TOP + PARTIES * HEIGHT + (PARTIES - 1) * GAP + 34
    for column, lines in enumerate(
        (
            ["A party sees its own records", "and ciphertexts it cannot open."],
            ["No role sees a party's counts.", "The noise protects each record."],
            ["The curator and the public see", f"this table only: epsilon = {epsilon:g}."],
        )
    ):
        drawn += words(COLUMNS[column] + WIDTH / 2, bottom, lines, size=13)
    size = f'viewBox="0 0 {COLUMNS[2] + WIDTH + 30} {bottom + 30}"'
    return "\n".join(
        [
            (
                f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" '
                'font-family="system-ui, sans-serif" font-size="14">'
            ),
            f"<style>{STYLE}</style>",
            (
                "<title>Three parties send encrypted noisy counts to a secure sum; the curator "
                "learns and publishes only the noisy total</title>"
            ),
            (
                '<defs><marker id="tip" markerWidth="8" markerHeight="8" refX="6" refY="4" '
                'orient="auto"><path class="arrow" d="M0 0 L7 4 L0 8"/></marker></defs>'
            ),
            *drawn,
            "</svg>",
            "",
        ]
    )


def table(counts: dict[str, int]) -> list[str]:
    return [f"{label}  {count:,}" for label, count in sorted(counts.items())]


def box(column: int, top: float, kind: str, height: float, head: str, *lines: str) -> list[str]:
    """Draw a box with a heading, and lines below it."""
    x, centre = COLUMNS[column], COLUMNS[column] + WIDTH / 2
    first = top + height / 2 - 9 * len(lines) + 4
    return [
        f'<rect class="box {kind}" x="{x}" y="{top:g}" width="{WIDTH}" height="{height}" rx="8"/>',
        f'<text x="{centre:g}" y="{first:g}" text-anchor="middle" font-weight="600">{head}</text>',
        *words(centre, first + 20, lines, size=13),
    ]


def words(x: float, y: float, lines: list[str] | tuple[str, ...], *, size: int) -> list[str]:
    """Write centred lines below one another."""
    return [
        f'<text class="quiet" x="{x:g}" y="{y + 18 * number:g}" text-anchor="middle" '
        f'font-size="{size}">{escape(line)}</text>'
        for number, line in enumerate(lines)
    ]


def arrow(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<path class="arrow" d="M{x1:g} {y1:g} L{x2:g} {y2:g}" marker-end="url(#tip)"/>'


if __name__ == "__main__":
    sys.stdout.write(main())
