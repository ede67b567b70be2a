"""DP-SUBN: bytes, rounds, seconds and error by the number of parties and by who hides their tables.

    python benchmarks/dp_subn.py [ROWS]

On the demo table (45,222 rows unless said otherwise), epsilon 1, all roles on threads of this machine. The last lines compare
the bytes of the default with what one ciphertext of phe for each cell would be, timed on a sample of 20.
"""

from __future__ import annotations

import sys
import time
from itertools import pairwise

import phe

import sottovoce


def line(rows: int, parties: int, **settings: object) -> sottovoce.Run:
    start = time.perf_counter()
    run = sottovoce.run("dp-subn", rows=rows, parties=parties, seed=1, epsilon=1.0, **settings)  # type: ignore[arg-type]
    took = time.perf_counter() - start
    report = run.report
    exchanged, tvd = report["communication"], report["utility"]["tvd"]
    by_phase = " ".join(f"{phase['name']} {phase['bytes'] // parties:,}" for phase in report["phases"] if phase["bytes"])
    epsilon = report["privacy"]["epsilon"]["curator"]
    title = " ".join(f"{key}={value}" for key, value in settings.items())
    print(
        f"K={parties:<3} {title:<42} {took:6.1f} s {exchanged['rounds']:4} rounds {exchanged['payload_bytes']:9,} bytes  "
        f"2-way {tvd['2']:.4f}  epsilon of the curator {epsilon:.3g}\n      bytes a party: {by_phase}"
    )
    return run


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 45_222
    runs = {parties: line(rows, parties, aggregator="paillier") for parties in (2, 3, 5, 10)}
    for parties in (3, 10):
        for aggregator in ("masks", "clear"):
            line(rows, parties, aggregator=aggregator)
    line(rows, 3, aggregator="masks", attributes="binary")
    sent = {parties: run.report["communication"]["payload_bytes"] for parties, run in runs.items()}
    for one, other in pairwise(sent):
        print(f"from K={one} to K={other} the bytes grow {sent[other] / sent[one]:.2f} times")
    domain = runs[3].domain
    assert domain is not None
    cells = sum(domain.cells(table) for table in runs[3].model["tables"])
    public, _ = phe.generate_paillier_keypair(n_length=3072)
    start = time.perf_counter()
    for count in range(20):
        public.encrypt(count).ciphertext()
    each = (time.perf_counter() - start) / 20
    size = 768 * cells * 3
    print(
        f"{cells:,} cells at K=3: one phe ciphertext a cell would be {size:,} bytes, {size / sent[3]:.0f} times as many, and "
        f"{each * cells:.0f} s of encryption for each party (from {20} of them)"
    )


if __name__ == "__main__":
    main()
