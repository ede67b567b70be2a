"""Draw the variance of local randomizers against the size of the domain.

python docs/pictures/variance.py > docs/pictures/variance.svg
"""

from __future__ import annotations

import sys
from math import log10

from sottovoce.privacy.local import RANDOMIZERS

EPSILONS = (1.0, 4.0)
CELLS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
COLOURS = {
    "grr": "#d55e00",
    "oue": "#0072b2",
    "sue": "#56b4e9",
    "olh": "#009e73",
    "subset": "#cc79a7",
    "hr": "#e69f00",
    "hadamard-bit": "#777777",
}
DASHES = {"olh": "6 3", "sue": "2 3", "hadamard-bit": "4 4"}
LEFT, TOP, WIDTH, HEIGHT, GAP = 60, 40, 330, 300, 70


def panel(epsilon: float, x: int) -> list[str]:
    lines = {
        name: [(cells, kind(cells, epsilon=epsilon).variance()) for cells in CELLS]
        for name, kind in RANDOMIZERS.items()
    }
    low = min(log10(v) for own in lines.values() for _, v in own)
    high = max(log10(v) for own in lines.values() for _, v in own)

    def at(cells: float, variance: float) -> tuple[float, float]:
        across = log10(cells / CELLS[0]) / log10(CELLS[-1] / CELLS[0])
        up = (log10(variance) - low) / (high - low)
        return x + across * WIDTH, TOP + (1 - up) * HEIGHT

    drawn = [
        f'<rect x="{x}" y="{TOP}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#888"/>'
    ]
    drawn.append(
        f'<text x="{x + WIDTH / 2}" y="{TOP - 14}" text-anchor="middle">epsilon {epsilon:g}</text>'
    )
    for cells in (2, 8, 32, 128, 512):
        across, _ = at(cells, 10**low)
        drawn.append(
            f'<text x="{across:.1f}" y="{TOP + HEIGHT + 20}" text-anchor="middle">{cells}</text>'
        )
    drawn.append(
        f'<text x="{x + WIDTH / 2}" y="{TOP + HEIGHT + 42}" text-anchor="middle">values K</text>'
    )
    for power in range(int(low // 1) + 1, int(high // 1) + 1):
        _, up = at(2, 10.0**power)
        drawn.append(
            f'<line x1="{x}" y1="{up:.1f}" x2="{x + WIDTH}" y2="{up:.1f}" stroke="#8883"/>'
        )
        drawn.append(f'<text x="{x - 6}" y="{up + 4:.1f}" text-anchor="end">{10.0**power:g}</text>')
    for name, own in lines.items():
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in (at(*point) for point in own))
        dash = f' stroke-dasharray="{DASHES[name]}"' if name in DASHES else ""
        drawn.append(
            f'<polyline points="{points}" fill="none" stroke="{COLOURS[name]}" stroke-width="2"{dash}/>'
        )
    return drawn


def main() -> str:
    width = LEFT + len(EPSILONS) * WIDTH + (len(EPSILONS) - 1) * GAP + 20
    parts = [
        part
        for at, epsilon in enumerate(EPSILONS)
        for part in panel(epsilon, LEFT + at * (WIDTH + GAP))
    ]
    for at, (name, colour) in enumerate(COLOURS.items()):
        x, y = LEFT + at % 4 * 180, TOP + HEIGHT + 72 + at // 4 * 22
        dash = f' stroke-dasharray="{DASHES[name]}"' if name in DASHES else ""
        parts.append(
            f'<line x1="{x}" y1="{y - 4}" x2="{x + 28}" y2="{y - 4}" stroke="{colour}" stroke-width="2"{dash}/>'
        )
        parts.append(f'<text x="{x + 36}" y="{y}">{name}</text>')
    height = TOP + HEIGHT + 106
    title = (
        "Variance of one user's estimate of a rare value, by local randomizer and number of values"
    )
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'font-family="system-ui, sans-serif" font-size="13" fill="#888">\n<title>{title}</title>\n{body}\n</svg>\n'
    )


if __name__ == "__main__":
    sys.stdout.write(main())
