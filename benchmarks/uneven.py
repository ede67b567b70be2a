"""Error over the skew of parties: uneven sizes, and records that differ between parties.

    python benchmarks/uneven.py [FILE:ATTRIBUTE ...] [seeds=3] [epsilon=1] [parties=3]
                                [skew=0,0.25,0.5,0.75,1] [sizes=70,20,10/98,1,1] [bins=16]
                                [protocols=adaptive-pairs,dp-subn] [figure=FILE.svg]

Without a file it takes the built-in demo table and its attribute `relationship`: demo:relationship.
Records go to parties by the attribute, in two ways. `by` sorts them and cuts evenly; `labels` keeps
each label at one party, so sizes follow. Both mix with a random partition: a skew of 0 is random, 1
is not. `sizes` are random partitions of these proportions. For each partition the script prints the
average total variation distance of two-way and three-way marginals of the published rows from all
parties' records, as means over seeds, with the standard error of the first; the ratio to the even
partition; and the ratio to the first protocol. Numbers with more values than bins are cut at
quantiles. Sums are masked, because noise does not depend on keys. `figure` writes a drawing.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from best_table import binned, distances

from sottovoce.parties.demo import demo_table

COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
DASHES: Final = {"by": "", "labels": ' stroke-dasharray="6 4"'}
LEFT, TOP, WIDTH, HEIGHT, GAP = 56, 40, 250, 220, 52

Point = tuple[float, float]


def splits(attribute: str, *, skews: list[str], sizes: list[str]) -> list[str]:
    """List the partitions, the even one first."""
    kinds = [f"{kind}:{attribute}@{skew}" for kind in DASHES for skew in skews if float(skew)]
    return ["even", *(f"sizes:{proportions}" for proportions in sizes), *kinds]


def measure(
    protocol: str, frame: pd.DataFrame, *, split: str, seeds: int, **options: Any
) -> tuple[float, float, float]:
    """Compute the mean two-way and three-way distances, and the standard error of the first."""
    rows = [
        distances(protocol, frame, seed=seed, split=split, **options)[0][:2]
        for seed in range(seeds)
    ]
    two, three = np.mean(rows, axis=0)
    error = np.std(rows, axis=0, ddof=1)[0] / seeds**0.5 if seeds > 1 else np.nan
    return float(two), float(three), float(error)


def lines_of(means: dict[tuple[str, str], float]) -> dict[tuple[str, str], list[Point]]:
    """Collect the points of each protocol and kind of skew; both kinds start at the even one."""
    lines: dict[tuple[str, str], list[Point]] = {}
    for (protocol, split), mean in means.items():
        kind, _, rest = split.partition(":")
        for name in DASHES if split == "even" else {kind} & DASHES.keys():
            skew = 0.0 if split == "even" else float(rest.rpartition("@")[2])
            lines.setdefault((protocol, name), []).append((skew, mean))
    return lines


def panel(title: str, means: dict[tuple[str, str], float], *, x: int) -> list[str]:
    """Draw one table: the distance over the skew, a line for each protocol and kind of skew."""
    lines = lines_of(means)
    top = 1.15 * max(mean for points in lines.values() for _, mean in points)
    protocols = list(dict.fromkeys(protocol for protocol, _ in lines))

    def place(skew: float, mean: float) -> Point:
        return x + skew * WIDTH, TOP + (1 - mean / top) * HEIGHT

    bottom = TOP + HEIGHT
    drawn = [
        f'<rect x="{x}" y="{TOP}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#888"/>',
        f'<text x="{x + WIDTH / 2}" y="{TOP - 14}" text-anchor="middle">{title}</text>',
        f'<text x="{x + WIDTH / 2}" y="{bottom + 40}" text-anchor="middle">skew</text>',
    ]
    for skew in (0, 0.25, 0.5, 0.75, 1):
        across, _ = place(skew, 0)
        drawn.append(
            f'<text x="{across:.1f}" y="{bottom + 20}" text-anchor="middle">{skew:g}</text>'
        )
    step = next(step for step in (0.005, 0.01, 0.02, 0.05, 0.1, 0.5) if top / step < 8)
    for number in range(int(top / step) + 1):
        _, up = place(0, number * step)
        drawn += [
            f'<line x1="{x}" y1="{up:.1f}" x2="{x + WIDTH}" y2="{up:.1f}" stroke="#8883"/>',
            f'<text x="{x - 6}" y="{up + 4:.1f}" text-anchor="end">{number * step:g}</text>',
        ]
    for (protocol, kind), points in lines.items():
        colour = COLOURS[protocols.index(protocol) % len(COLOURS)]
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in (place(*point) for point in sorted(points)))
        stroke = f'stroke="{colour}" stroke-width="2"{DASHES[kind]}'
        drawn.append(f'<polyline points="{path}" fill="none" {stroke}/>')
        drawn += [
            f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{colour}"/>'
            for a, b in (place(*point) for point in points)
        ]
    return drawn


def figure(results: dict[str, dict[tuple[str, str], float]], *, subject: str) -> str:
    """Draw all tables beside each other, with one legend."""
    parts = [
        part
        for column, (title, means) in enumerate(results.items())
        for part in panel(title, means, x=LEFT + column * (WIDTH + GAP))
    ]
    keys = list(dict.fromkeys(key for means in results.values() for key in lines_of(means)))
    protocols = list(dict.fromkeys(protocol for protocol, _ in keys))
    kinds = {"by": "sorted, parties of equal size", "labels": "each label at one party"}
    for number, (protocol, kind) in enumerate(keys):
        x, y = LEFT + number % 2 * 330, TOP + HEIGHT + 66 + number // 2 * 22
        colour = COLOURS[protocols.index(protocol) % len(COLOURS)]
        stroke = f'stroke="{colour}" stroke-width="2"{DASHES[kind]}'
        parts += [
            f'<line x1="{x}" y1="{y - 4}" x2="{x + 34}" y2="{y - 4}" {stroke}/>',
            f'<text x="{x + 42}" y="{y}">{protocol}, {kinds[kind]}</text>',
        ]
    width = max(LEFT + len(results) * (WIDTH + GAP), LEFT + 680)
    height = TOP + HEIGHT + 66 + (len(keys) + 1) // 2 * 22
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        'font-family="system-ui, sans-serif" font-size="13" fill="#888">\n'
        f"<title>Two-way distance of the published rows over skew, {subject}</title>\n"
        f"{body}\n</svg>\n"
    )


def main() -> None:
    settings: dict[str, str] = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    tables = [word for word in sys.argv[1:] if "=" not in word] or ["demo:relationship"]
    seeds, parties = int(settings.get("seeds", 3)), int(settings.get("parties", 3))
    epsilon = float(settings.get("epsilon", 1))
    skews = settings.get("skew", "0,0.25,0.5,0.75,1").split(",")
    default = "70,20,10/98,1,1" if parties == 3 else ""
    sizes = [text for text in settings.get("sizes", default).split("/") if text]
    protocols = settings.get("protocols", "adaptive-pairs,dp-subn").split(",")
    results: dict[str, dict[tuple[str, str], float]] = {}
    for table in tables:
        name, _, attribute = table.rpartition(":")
        raw = demo_table() if name == "demo" else pd.read_csv(name)
        frame = binned(raw, bins=int(settings.get("bins", 16)))
        title = f"{Path(name).name.partition('.')[0]}, by {attribute}"
        means = results.setdefault(title, {})
        print(
            f"{title}: {len(frame):,} rows, {len(frame.columns)} attributes, epsilon {epsilon:g}, "
            f"{parties} parties, {seeds} seeds"
        )
        for split in splits(attribute, skews=skews, sizes=sizes):
            for protocol in protocols:
                two, three, error = measure(
                    protocol, frame, split=split, seeds=seeds, parties=parties, epsilon=epsilon
                )
                means[protocol, split] = two
                print(
                    f"  {split:<28} {protocol:<16} {two:.4f} / {three:.4f}  +- {error:.4f}  "
                    f"{two / means[protocol, 'even']:.2f} of even, "
                    f"{two / means[protocols[0], split]:.2f} of {protocols[0]}",
                    flush=True,
                )
    if "figure" in settings:
        Path(settings["figure"]).write_text(
            figure(results, subject=f"epsilon {epsilon:g}, {parties} parties")
        )


if __name__ == "__main__":
    main()
