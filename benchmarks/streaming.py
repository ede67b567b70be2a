"""Memory of growing batches: the largest resident set of each role, over MPI.

    python benchmarks/streaming.py [aggregator] [millions of cells ...]

Two parties contribute tables that they make block by block. The curator reads them page by page.
The alternative would hold 8 bytes a cell.
"""

import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from sottovoce import Curator, Epsilon, Outcome, Party, Protocol, message
from sottovoce.protocols.secure_sum import (
    CuratorSums,
    PartySums,
    SecureSums,
    SumBatch,
    SumOptions,
)

BLOCK = 100_000


class StreamingParameters(SumOptions):
    epsilon: Epsilon = 1.0
    millions: int = 1


class Streaming(Protocol[StreamingParameters]):
    name = "streaming"
    summary = "a sum of ones, and the memory of each role"
    neighbours = "replace-one"
    uses = (SecureSums,)

    @message
    class Peak:
        kilobytes: int

    @property
    def batch(self) -> SumBatch:
        cells = self.parameters.millions * 1_000_000
        return SumBatch(cells=cells, sensitivity=2, epsilon=self.parameters.epsilon)

    def party(self, me: Party) -> None:
        cells = self.batch.cells

        def tables() -> Iterator[np.ndarray]:
            for start in range(0, cells, BLOCK):
                yield np.ones(min(BLOCK, cells - start), np.int64)

        with me.phase("keys"):
            sums = PartySums(me, self.parameters, noise="shares")
        with me.phase("count"):
            sums.contribute(tables(), self.batch)
            me.send(self.Peak(_peak()), to=0)

    def curator(self, desk: Curator) -> Outcome:
        with desk.phase("keys"):
            sums = CuratorSums(desk, self.parameters, noise="shares")
        with desk.phase("count"):
            total = sum(int(page.sum()) for page in sums.pages(self.batch))
            peaks = [_peak(), *(peak.kilobytes for peak in desk.gather(self.Peak))]
        return Outcome(summary={"total": total, "peaks": ",".join(map(str, peaks))})


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main() -> None:
    aggregator = sys.argv[1] if len(sys.argv) > 1 else "masks"
    sizes = [int(word) for word in sys.argv[2:]] or [1, 10, 50]
    head = ("million cells", "seconds", "curator MB", "party 1 MB", "party 2 MB", "all cells MB")
    print(aggregator + "\n" + "".join(f"{name:>15}" for name in head))
    for millions in sizes:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "out"
            words = [
                "run",
                "streaming:Streaming",
                "--parties",
                "2",
                "--rows",
                "100",
                "--out",
                str(out),
                "--quiet",
            ]
            words += [
                "--set",
                f"millions={millions}",
                "--set",
                f"aggregator={aggregator}",
                "--key-bits",
                "2048",
            ]
            here = str(Path(__file__).parent)
            subprocess.run(
                [sys.executable, "-m", "sottovoce", *words], check=True, cwd=here, timeout=3600
            )
            report = json.loads((out / "report.json").read_text())
        peaks = [int(word) / 1024 for word in report["outcome"]["peaks"].split(",")]
        figures = [millions, report["seconds"], *peaks, millions * 8]
        print("".join(f"{figure:>15,.1f}" for figure in figures), flush=True)


if __name__ == "__main__":
    main()
