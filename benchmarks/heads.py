"""KHR: reports a second, bits by form, and whole runs of CLLDP's classifiers.

    python benchmarks/heads.py [USERS] [TABLE SCHEMA]

Reports of m = 250 cells with k = 1 and 68 are made, packed and counted on one core. They are
compared with the same sets as bits (subset selection) and with the basic solution. Then naive Bayes
and the decision tree run on USERS users (318,438, as many as Healthcare has), drawn from the demo
or from a table. The script prints seconds and bytes, with reports made and with their sums drawn.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import sottovoce
from sottovoce.crypto import UserWords
from sottovoce.privacy.local import (
    Randomizer,
    SubsetSelection,
    SymmetricUnary,
    pack,
    report,
    unpack,
)
from sottovoce.privacy.local.heads import HeadsResponse
from sottovoce.privacy.local.sets import bits_of_set, shortest

CELLS = 250
REPORTS = 100_000


def main() -> None:
    words = sys.argv[1:]
    users = int(float(words[0])) if words else 318_438
    print(f"bits of a report of {CELLS} cells")
    for heads in (1, 5, 12, 30, 68, 95, 124):
        sizes = {form: bits_of_set(CELLS, heads, form) for form in ("bitmap", "list", "rank")}
        print(
            f"  k={heads:<4} "
            + ", ".join(f"{form} {bits}" for form, bits in sizes.items())
            + f": {shortest(CELLS, heads)}"
        )
    values = np.random.default_rng(1).integers(0, CELLS, REPORTS)
    first_rate = 0.0
    for name, randomizer in (
        ("kHR, k=1", HeadsResponse(CELLS, epsilon=4.0, belief=0.5, chosen=1)),
        ("kHR, k=68, ranks", HeadsResponse(CELLS, epsilon=1.0, chosen=68)),
        ("kHR, k=68, as bits", SubsetSelection(CELLS, epsilon=1.0, chosen=68)),
        ("basic (SUE)", SymmetricUnary(CELLS, epsilon=1.0)),
    ):
        made_rate, counted_rate = _speed(randomizer, values)
        first_rate = first_rate or made_rate
        print(
            f"{name:20} {made_rate:12,.0f} reports/s made ({made_rate / first_rate:.2f}), "
            f"{counted_rate:12,.0f} counted; {randomizer.bits} bits each"
        )
    source = {"data": words[1], "schema": words[2]} if len(words) > 2 else {"data": "demo"}
    for protocol, parameters in (
        ("clldp-naive-bayes", {}),
        ("clldp-decision-tree", {}),
        ("clldp-decision-tree", {"learning": "levels", "depth": 3, "heads": 1}),
        ("label-dp", {}),
    ):
        for simulate in ("reports", "counts"):
            if simulate == "counts" and (protocol == "label-dp" or parameters):
                continue
            run = sottovoce.run(
                protocol,
                **source,
                rows=users if len(words) > 2 else None,
                users=0 if len(words) > 2 else users,
                parties=2,
                epsilon=2.0,
                seed=1,
                simulate=simulate,
                judge=False,
                **parameters,
            )
            exchanged = run.report["communication"]
            print(
                f"{protocol} {parameters or ''} {simulate}: "
                f"{users:,} users in {run.report['seconds']:.1f} s, "
                f"{exchanged['per_user_bits']:.1f} bits a report, "
                f"{exchanged['users']['reports']:,} reports, "
                f"{exchanged['payload_bytes']:,} bytes",
                flush=True,
            )


def _speed(randomizer: Randomizer, values: np.ndarray) -> tuple[float, float]:
    """Make and pack reports; unpack and count them."""
    words = UserWords(bytes(16))
    started = time.perf_counter()
    packed = pack(
        report(randomizer, values, users=np.arange(len(values)), words=words), bits=randomizer.bits
    )
    between = time.perf_counter()
    randomizer.support(unpack(packed, bits=randomizer.bits, reports=len(values)))
    return len(values) / (between - started), len(values) / (time.perf_counter() - between)


if __name__ == "__main__":
    main()
