"""Which protocol publishes the best table: every protocol of parties, on any tables.

    python benchmarks/which_protocol.py FILE... [seeds=1] [epsilon=0.2,0.8] [parties=3] [bins=16]
                            [protocols=adaptive-pairs,dp-subn,jtree,mst,one-way] [delta=D]
                            [figure=FILE.svg]

For each table, epsilon and protocol the script prints the average total variation distance of
two-way and three-way marginals of the published rows, as means over seeds, the ratio of the first
one to that of the first protocol, and seconds. Numbers with more values than bins are cut at
quantiles, which are taken as public here. Sums are masked, because noise does not depend on keys.
A protocol that refuses a table is said to, and the others go on. `figure` draws the two-way
distances at the last epsilon as bars, as parts of the distance of single attributes without noise.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from best_table import binned, distances

import sottovoce

COLOURS: Final = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#999999")
BAR, GAP, LEFT, TOP, HEIGHT = 13, 20, 44, 44, 220
MOST: Final = 2.0
"""The ratio at which bars are cut; the number stands above."""

Bars = Mapping[str, Sequence[float]]
"""For each table one ratio for each protocol; nan where it refused the table."""


def drawn(bars: Bars, *, protocols: Sequence[str], subject: str) -> str:
    """Draw a group of bars for each table."""
    group = BAR * len(protocols) + GAP
    width, bottom = LEFT + group * len(bars) + GAP, TOP + HEIGHT

    def height(ratio: float) -> float:
        return bottom - HEIGHT * min(ratio, MOST) / MOST

    parts = [f'<text x="{LEFT}" y="16" font-weight="bold">{subject}</text>']
    x = LEFT
    for protocol, colour in zip(protocols, COLOURS, strict=False):
        parts.append(f'<rect x="{x}" y="24" width="10" height="10" fill="{colour}"/>')
        parts.append(f'<text x="{x + 14}" y="33">{protocol}</text>')
        x += 26 + 7 * len(protocol)
    for tick in (0.0, 0.5, 1.0, 1.5, MOST):
        y = height(tick)
        dash = "" if tick in (0.0, 1.0) else ' stroke-dasharray="2 4"'
        parts.append(
            f'<line x1="{LEFT}" x2="{width - GAP}" y1="{y}" y2="{y}" stroke="currentColor" '
            f'stroke-width="0.5"{dash}/><text x="{LEFT - 6}" y="{y + 4}" text-anchor="end">'
            f"{tick:g}</text>"
        )
    for place, (table, ratios) in enumerate(bars.items()):
        start = LEFT + GAP / 2 + group * place
        for index, (ratio, colour) in enumerate(zip(ratios, COLOURS, strict=False)):
            if np.isnan(ratio):
                continue
            x, y = start + BAR * index, height(ratio)
            parts.append(
                f'<rect x="{x}" y="{y:.1f}" width="{BAR - 2}" height="{bottom - y:.1f}" '
                f'fill="{colour}"/>'
            )
            if ratio > MOST:
                parts.append(
                    f'<text x="{x + 5}" y="{y - 3}" text-anchor="middle" font-size="9">'
                    f"{ratio:.1f}</text>"
                )
        middle = start + BAR * len(ratios) / 2
        parts.append(f'<text x="{middle}" y="{bottom + 16}" text-anchor="middle">{table}</text>')
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {bottom + 26}" role="img" '
        f'font-family="sans-serif" font-size="11" fill="currentColor">\n'
        f"<title>{subject}</title>\n{body}\n</svg>\n"
    )


def measured(protocol: str, frame: pd.DataFrame, *, seeds: int, **options: Any) -> list[float]:
    """Compute the means over seeds: two-way, three-way, two-way of exact single attributes, time.

    Where the protocol refuses the table its line is printed, and all are nan.
    """
    try:
        runs = [distances(protocol, frame, seed=seed, **options) for seed in range(seeds)]
    except sottovoce.SottovoceError as error:
        print(f"  {protocol}: {error}")
        return [np.nan] * 4
    figures = np.mean([row for row, _ in runs], axis=0)
    seconds = float(np.mean([time for _, time in runs]))
    return [float(figures[0]), float(figures[1]), float(figures[2]), seconds]


def main() -> None:
    settings: dict[str, Any] = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    files = [word for word in sys.argv[1:] if "=" not in word]
    if not files:
        sys.exit("expected the path of a table, found none: name one or more CSV files")
    seeds, bins = int(settings.pop("seeds", 1)), int(settings.pop("bins", 16))
    epsilons = [float(text) for text in settings.pop("epsilon", "0.2,0.8").split(",")]
    names = "adaptive-pairs,dp-subn,jtree,mst,one-way"
    protocols = settings.pop("protocols", names).split(",")
    options: dict[str, Any] = {"parties": int(settings.pop("parties", 3))}
    if "delta" in settings:
        options["delta"] = float(settings.pop("delta"))
    figure = settings.pop("figure", None)
    if settings:
        sys.exit(
            f"expected settings of this script, found {', '.join(settings)}: see its first lines"
        )
    bars: dict[str, list[float]] = {}
    for file in files:
        frame = binned(pd.read_csv(file), bins=bins)
        table = Path(file).name.split(".")[0].split("_")[0]
        print(f"{Path(file).name}: {len(frame):,} rows, {len(frame.columns)} attributes")
        for epsilon in epsilons:
            rows = [
                measured(protocol, frame, seeds=seeds, epsilon=epsilon, **options)
                for protocol in protocols
            ]
            for protocol, (two, three, _, seconds) in zip(protocols, rows, strict=True):
                print(
                    f"  epsilon {epsilon:<4} {protocol:<16} {two:.4f} / {three:.4f}"
                    f"  {two / rows[0][0]:.2f} of {protocols[0]}, {seconds:.0f} s",
                    flush=True,
                )
            bars[table] = [two / exact for two, _, exact, _ in rows]
        if figure is not None:
            delta = f", delta {options['delta']:g}" if "delta" in options else ""
            subject = f"Epsilon {epsilons[-1]:g}{delta}, {options['parties']} parties"
            Path(figure).write_text(drawn(bars, protocols=protocols, subject=subject))


if __name__ == "__main__":
    main()
