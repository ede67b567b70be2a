"""Runs of noisy-marginals by parties, aggregator and noise: seconds, rounds, bytes a party.

    python benchmarks/marginals.py [parties ...]

The table is the demo. One machine runs all roles, so K + 1 processes share its cores. More hosts
would take fewer seconds, but not fewer bytes.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

WAYS = [
    ("clear", "laplace"),
    ("masks", "laplace"),
    ("paillier", "laplace"),
    ("paillier", "selected"),
]


def run(parties: int, aggregator: str, noise: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        words = [
            "run",
            "noisy-marginals",
            "--parties",
            str(parties),
            "--epsilon",
            "1",
            "--out",
            str(out),
            "--quiet",
        ]
        words += [
            "--set",
            f"aggregator={aggregator}",
            "--set",
            f"noise={noise}",
            "--mode",
            "paper" if noise == "selected" else "rigorous",
        ]
        subprocess.run([sys.executable, "-m", "sottovoce", *words], check=True, timeout=1200)
        report: dict[str, Any] = json.loads((out / "report.json").read_text())
        return report


def main() -> None:
    counts = [int(word) for word in sys.argv[1:]] or [2, 4, 8, 16]
    head = ("seconds", "count s", "rounds", "bytes a party", "a cell", "to clear")
    print(f"{'K':>3} {'aggregator':<11}{'noise':<9}" + "".join(f"{name:>14}" for name in head))
    for parties in counts:
        clear_bytes = 0.0
        for aggregator, noise in WAYS:
            report = run(parties, aggregator, noise)
            sent = report["communication"]
            party_bytes = sent["payload_bytes"] / parties
            clear_bytes = clear_bytes or party_bytes
            count = next(phase["seconds"] for phase in report["phases"] if phase["name"] == "count")
            cells = report["outcome"]["cells"]
            print(
                f"{parties:>3} {aggregator:<11}{noise:<9}"
                f"{report['seconds']:>14.2f}{count:>14.2f}{sent['rounds']:>14}"
                f"{party_bytes:>14,.0f}{party_bytes / cells:>14.2f}"
                f"{party_bytes / clear_bytes:>14.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
