"""Draw the variance of local randomizers against the number of values.

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
    """Draw the lines of all randomizers at one epsilon, with their axes."""
    lines = {
        name: [(cells, kind(cells, epsilon=epsilon).variance()) for cells in CELLS]
        for name, kind in RANDOMIZERS.items()
    }
    variances = [variance for points in lines.values() for _, variance in points]
    low, high = log10(min(variances)), log10(max(variances))

    def place(cells: float, variance: float) -> tuple[float, float]:
        across = log10(cells / CELLS[0]) / log10(CELLS[-1] / CELLS[0])
        up = (log10(variance) - low) / (high - low)
        return x + across * WIDTH, TOP + (1 - up) * HEIGHT

    middle, bottom = x + WIDTH / 2, TOP + HEIGHT
    drawn = [
        f'<rect x="{x}" y="{TOP}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#888"/>',
        f'<text x="{middle}" y="{TOP - 14}" text-anchor="middle">epsilon {epsilon:g}</text>',
    ]
    for cells in (2, 8, 32, 128, 512):
        across, _ = place(cells, 10**low)
        drawn.append(
            f'<text x="{across:.1f}" y="{bottom + 20}" text-anchor="middle">{cells}</text>'
        )
    drawn.append(f'<text x="{middle}" y="{bottom + 42}" text-anchor="middle">values K</text>')
    for power in range(int(low // 1) + 1, int(high // 1) + 1):
        _, up = place(2, 10.0**power)
        drawn += [
            f'<line x1="{x}" y1="{up:.1f}" x2="{x + WIDTH}" y2="{up:.1f}" stroke="#8883"/>',
            f'<text x="{x - 6}" y="{up + 4:.1f}" text-anchor="end">{10.0**power:g}</text>',
        ]
    for name, points in lines.items():
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in (place(*point) for point in points))
        drawn.append(f'<polyline points="{path}" fill="none" {stroke(name)}/>')
    return drawn


def stroke(name: str) -> str:
    """Give the line style of a randomizer."""
    dash = f' stroke-dasharray="{DASHES[name]}"' if name in DASHES else ""
    return f'stroke="{COLOURS[name]}" stroke-width="2"{dash}'


def main() -> str:
    width = LEFT + len(EPSILONS) * WIDTH + (len(EPSILONS) - 1) * GAP + 20
    parts = [
        part
        for column, epsilon in enumerate(EPSILONS)
        for part in panel(epsilon, LEFT + column * (WIDTH + GAP))
    ]
    for number, name in enumerate(COLOURS):
        x, y = LEFT + number % 4 * 180, TOP + HEIGHT + 72 + number // 4 * 22
        parts += [
            f'<line x1="{x}" y1="{y - 4}" x2="{x + 28}" y2="{y - 4}" {stroke(name)}/>',
            f'<text x="{x + 36}" y="{y}">{name}</text>',
        ]
    height = TOP + HEIGHT + 106
    title = (
        "Variance of one user's estimate of a rare value, by local randomizer and number of values"
    )
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        'font-family="system-ui, sans-serif" font-size="13" fill="#888">\n'
        f"<title>{title}</title>\n{body}\n</svg>\n"
    )


if __name__ == "__main__":
    sys.stdout.write(main())
