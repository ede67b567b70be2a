"""Seconds of every protocol on made-up tables of 100 and 300 columns, or why it refuses them.

    python benchmarks/wide.py [COLUMNS,...] [protocols=calm,...] [rows=10000] [parties=3] [bits=yes]

The columns have 2 to 8 labels, every sixtieth one has 50, and about half of them depend on hidden
variables. With `bits=yes` all have two. All roles are threads of one process, so the parties, which
would have hosts of their own, share its cores. Parties' keys have 3072 bits.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
import pandas as pd

import sottovoce
from sottovoce.messages import SottovoceError
from sottovoce.protocols.registry import OWN_PROTOCOLS

PARAMETERS: dict[str, dict[str, Any]] = {
    "dist-diff-gen": {"parties": 2},
    "dp-ccbn": {"search": "oneshot"},
    "fourier": {"ways": 1},
}
"""What a protocol needs to take a wide table at all."""


def make_table(columns: int, *, rows: int, bits: bool) -> tuple[pd.DataFrame, dict[str, list[str]]]:
    """Make a table up, and its schema."""
    generator = np.random.default_rng(columns)
    sizes = np.full(columns, 2) if bits else generator.integers(2, 9, columns)
    if not bits:
        sizes[7::60] = 50
    hidden = generator.normal(size=(rows, max(columns // 12, 1)))
    values: dict[str, list[str]] = {}
    schema: dict[str, list[str]] = {}
    for column, size in enumerate(sizes.tolist()):
        value = generator.normal(size=rows)
        if generator.random() < 0.5:
            value += hidden[:, column % hidden.shape[1]]
        codes = np.searchsorted(np.sort(generator.normal(size=size - 1)), value)
        schema[f"c{column}"] = [f"v{label}" for label in range(size)]
        values[f"c{column}"] = [f"v{code}" for code in codes.tolist()]
    return pd.DataFrame(values), schema


def measure(
    protocol: str, data: pd.DataFrame, schema: dict[str, list[str]], *, parties: int
) -> tuple[float, str]:
    """Run a protocol; return its seconds, and those of its phases or its refusal."""
    options: dict[str, Any] = {"parties": parties, "seed": 1, "schema": schema, "judge": False}
    start = time.perf_counter()
    try:
        run = sottovoce.run(protocol, data, **options | PARAMETERS.get(protocol, {}))
    except SottovoceError as error:
        return time.perf_counter() - start, str(error)
    phases = [f"{phase['name']} {phase['seconds']:.1f}" for phase in run.report["phases"]]
    return time.perf_counter() - start, ", ".join(phases)


def main() -> None:
    settings = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    words = [word for word in sys.argv[1:] if "=" not in word] or ["100,300"]
    rows, parties = int(settings.get("rows", "10000")), int(settings.get("parties", "3"))
    protocols = settings.get("protocols", ",".join(OWN_PROTOCOLS)).split(",")
    print(f"{'columns':>7} {'protocol':<22}{'seconds':>9}  phases, or the refusal")
    for columns in map(int, words[0].split(",")):
        data, schema = make_table(columns, rows=rows, bits=settings.get("bits") == "yes")
        for protocol in protocols:
            seconds, text = measure(protocol, data, schema, parties=parties)
            print(f"{columns:>7} {protocol:<22}{seconds:>9.1f}  {text}", flush=True)


if __name__ == "__main__":
    main()
