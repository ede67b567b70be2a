"""DP-SUBN on the 52 bits of a table, beside the same run with a phe ciphertext for each cell.

    python benchmarks/dp_subn.py [FILE] [schema=FILE] [transport=mpi|threads] [delta=0]

There are three parties and keys of 3072 bits. The demo table has 52 bits, too. The times of phe are
of a sample, times the number of cells that the run counted. Each party encrypts every cell and
multiplies it into the product of the party before it, one after another. The curator decrypts. In
the printed protocol each party also raises a ciphertext to its noise, and phases 2 and 3 differ.
"""

from __future__ import annotations

import sys
import time
from itertools import pairwise
from typing import Any

import phe

import sottovoce

SAMPLE = 20


def phe_seconds(bits: int) -> tuple[float, float, float, float]:
    """Time phe's encryption, power, addition and decryption of one cell each."""
    public, private = phe.generate_paillier_keypair(n_length=bits)
    started = time.perf_counter()
    ciphertexts = [public.encrypt(count) for count in range(SAMPLE)]
    for ciphertext in ciphertexts:
        ciphertext.ciphertext()
    encrypting = (time.perf_counter() - started) / SAMPLE
    started = time.perf_counter()
    for noise, ciphertext in enumerate(ciphertexts):
        ciphertext * (1000 + noise)
    raising = (time.perf_counter() - started) / SAMPLE
    started = time.perf_counter()
    for ciphertext, next_ciphertext in pairwise(ciphertexts):
        ciphertext + next_ciphertext
    adding = (time.perf_counter() - started) / (SAMPLE - 1)
    started = time.perf_counter()
    for ciphertext in ciphertexts:
        private.decrypt(ciphertext)
    return encrypting, raising, adding, (time.perf_counter() - started) / SAMPLE


def main() -> None:
    words = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    data = next((word for word in sys.argv[1:] if "=" not in word), "demo")
    options: dict[str, Any] = {
        "transport": words.get("transport", "mpi"),
        "seed": 1,
        "epsilon": 1.6,
        "delta": float(words.get("delta", 0)),
        "judge": False,
    }
    options |= {"schema": words["schema"]} if "schema" in words else {}
    encrypting, raising, adding, decrypting = phe_seconds(3072)
    print(
        f"phe, one cell at 3072 bits: encryption {1000 * encrypting:.0f} ms, "
        f"power {1000 * raising:.2f}, addition {1000 * adding:.3f}, "
        f"decryption {1000 * decrypting:.0f} (means of {SAMPLE})"
    )
    for title, settings in (
        ("rigorous, on bits", {"attributes": "binary"}),
        ("as printed", {"mode": "paper"}),
        ("default", {}),
    ):
        run = sottovoce.run("dp-subn", data, parties=3, **settings, **options)
        report = run.report
        exchanged, seconds = report["communication"], report["seconds"]
        formulas = exchanged["formulas"]
        if formulas:
            cells = sum(int(line["corrected_rounds"]) for line in formulas)
        else:
            assert run.domain is not None
            cells = sum(run.domain.cells(family) for family in run.model["counted"]) + sum(
                run.domain.shape(run.domain.attributes)
            )
        powers = raising if settings.get("mode") == "paper" else 0.0
        # All parties encrypt at once, each on its own core. They multiply one after another.
        one_by_one = cells * (encrypting + powers + 3 * adding + decrypting)
        size = 3 * cells * 768
        sent = exchanged["payload_bytes"]
        print(
            f"{title:<18} {seconds:6.1f} s, {sent:9,} bytes, {exchanged['rounds']:3} rounds, "
            f"{cells:6,} cells"
        )
        print(
            f"{'':<18} a phe ciphertext a cell: {seconds + one_by_one:6.0f} s and {size:,} bytes: "
            f"{1 + one_by_one / seconds:.0f} times as long, {size / sent:.0f} times as many",
            flush=True,
        )
        for phase in report["phases"]:
            print(
                f"{'':<18}   {phase['name']:<15} "
                f"{phase['seconds']:6.2f} s {phase['bytes']:9,} bytes"
            )


if __name__ == "__main__":
    main()
