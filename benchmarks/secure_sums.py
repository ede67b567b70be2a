"""Secure sums by aggregator and noise: bytes, rounds, seconds, and phe with a ciphertext a cell.

    python benchmarks/secure_sums.py [cells] [parties=3,30,300]

All roles are threads of one process, so CPU seconds are those of all roles together. phe encrypts
every cell of every party, multiplies, and decrypts every sum. Its times are of a sample, times the
cells; its bytes are those of raw ciphertexts, sent straight to the curator.
"""

import secrets
import sys
import time
from itertools import pairwise

import numpy as np
import pandas as pd
from phe import paillier as phe

import sottovoce
from sottovoce import Curator, Epsilon, Outcome, Party
from sottovoce.protocols.secure_sum import (
    CuratorSums,
    PartySums,
    SumBatch,
    SummingProtocol,
    SumOptions,
)

SAMPLE = 12
KEY_BITS = 3072
SETTINGS = (
    ("paillier", "laplace", "rigorous"),
    ("masks", "laplace", "rigorous"),
    ("clear", "laplace", "rigorous"),
    ("paillier", "selected", "paper"),
)
MAX_PARTIES_OF_A_RING = 30
"""Every hop of the ring waits for the one before, and r^n takes 20 times as long as h^x."""


class OneSumParameters(SumOptions):
    epsilon: Epsilon = 1.0
    cells: int = 10_000


class OneSum(SummingProtocol[OneSumParameters]):
    """One batch of as many cells as are asked for."""

    name = "one-sum"
    needs_schema = False
    summary = "one batch of a secure sum"

    @property
    def batch(self) -> SumBatch:
        epsilon = self.parameters.epsilon
        return SumBatch(cells=self.parameters.cells, sensitivity=2, epsilon=epsilon)

    def party(self, me: Party) -> None:
        with me.phase("keys"):
            sums = PartySums(me, self.parameters, noise=self.noise)
        counts = np.zeros(self.parameters.cells, np.int64)
        counts[0] = len(me.records)
        with me.phase("count"):
            sums.contribute([counts], self.batch)

    def curator(self, desk: Curator) -> Outcome:
        wall, cpu = time.perf_counter(), time.process_time()
        with desk.phase("keys"):
            sums = CuratorSums(desk, self.parameters, noise=self.noise)
        with desk.phase("count"):
            total = int(sums.total(self.batch).sum())
        seconds = time.perf_counter() - wall
        return Outcome(summary={"total": total, "wall": seconds, "cpu": time.process_time() - cpu})


def phe_seconds() -> tuple[float, float, float]:
    """Time one encryption, one addition and one decryption of phe."""
    public, private = phe.generate_paillier_keypair(n_length=KEY_BITS)
    started = time.process_time()
    encrypted = [public.encrypt(secrets.randbelow(100)) for _ in range(SAMPLE)]
    encryption = (time.process_time() - started) / SAMPLE
    started = time.process_time()
    for first, second in pairwise(encrypted):
        _ = first + second
    addition = (time.process_time() - started) / (SAMPLE - 1)
    started = time.process_time()
    for ciphertext in encrypted:
        private.decrypt(ciphertext)
    return encryption, addition, (time.process_time() - started) / SAMPLE


def main() -> None:
    words = [word for word in sys.argv[1:] if not word.startswith("parties=")]
    cells = int(words[0]) if words else 10_000
    listed = [word for word in sys.argv[1:] if word.startswith("parties=")]
    numbers = [int(number) for number in (listed or ["parties=3,30,300"])[0][8:].split(",")]
    encryption, addition, decryption = phe_seconds()
    print(f"{cells} cells, keys of {KEY_BITS} bits; phe: a cell is a ciphertext\n")
    head = ("K", "messages", "rounds", "MB", "B/cell/party", "seconds", "CPU s", "phe CPU", "phe B")
    print(f"{'aggregator, noise':<20}" + "".join(f"{name:>14}" for name in head))
    for parties in numbers:
        for aggregator, noise, mode in SETTINGS:
            if noise == "selected" and parties > MAX_PARTIES_OF_A_RING:
                continue
            rows = pd.DataFrame({"value": range(20 * parties)})
            done = sottovoce.run(
                "secure_sums:OneSum",
                data=rows,
                parties=parties,
                mode=mode,
                transport="threads",
                key_bits=KEY_BITS,
                no_rehearsal=True,
                judge=False,
                aggregator=aggregator,
                noise=noise,
                cells=cells,
            )
            communication = done.report["communication"]
            outcome = done.report["outcome"]
            of_cells = communication["payload_bytes"] / cells / parties
            phe_cpu = cells * (parties * (encryption + addition) + decryption)
            figures = [
                f"{parties}",
                f"{communication['messages']:,}",
                f"{communication['rounds']}",
                f"{communication['payload_bytes'] / 1e6:.2f}",
                f"{of_cells:.2f}",
                f"{outcome['wall']:.2f}",
                f"{outcome['cpu']:.2f}",
                f"{phe_cpu / outcome['cpu']:,.0f} times",
                f"{2 * KEY_BITS / 8 / of_cells:,.0f} times",
            ]
            print(f"{aggregator + ', ' + noise:<20}" + "".join(f"{f:>14}" for f in figures))


if __name__ == "__main__":
    main()
