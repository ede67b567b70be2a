"""Runs between network namespaces with real delays: what they take, and what a replay predicts.

    python benchmarks/slow_networks.py                 # every case, about ten minutes
    python benchmarks/slow_networks.py upload 50 0     # one case: 50 ms, bandwidth unlimited

Every role has a network namespace, and a relay delays each packet by D and limits each host's
uplink (`namespaces`). The ledger of a run, with the computation that it measured, is
replayed on a network of the same D and bandwidth. The network part is the seconds less those of a
replay on a network without delays.

It needs root, ip(8) and /dev/net/tun, and skips itself without them.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Final

import numpy as np
from namespaces import MISSING, SlowNetwork, is_possible, network
from numpy.typing import NDArray  # noqa: TC002 - messages read their annotations

from sottovoce import CURATOR, Curator, Options, Outcome, Party, Protocol, message
from sottovoce.network import NETWORKS
from sottovoce.report.replaying import replay_run

CASES: Final = {
    "upload": ("slow_networks:Upload", 3),
    "stream": ("slow_networks:Upload", 3, "--set", "blocks=20", "--set", "size=50000"),
    "broadcast": ("slow_networks:Broadcast", 3),
    "long": ("slow_networks:Upload", 3, "--set", "blocks=2", "--set", "size=6000000"),
    "head-count": ("head-count", 3),
    "dp-subn": ("dp-subn", 3, "--set", "aggregator=masks"),
}
"""Protocol, parties and options of each case."""
NETWORKS_MEASURED: Final = ((10, 0), (50, 0), (50, 20), (100, 0), (100, 20))
"""Milliseconds one way, and Mbit/s of each uplink, 0 for no limit."""


class BlockProtocol(Protocol):
    """Frames of one size, and nothing else."""

    neighbours = "add-or-remove-one"

    @message
    class Block:
        data: NDArray[np.uint8]

    @message
    class Done:
        blocks: int

    class Parameters(Options):
        epsilon: float = 1.0
        blocks: int = 5
        size: int = 200_000


class Upload(BlockProtocol):
    name = "upload"

    def party(self, me: Party) -> None:
        with me.phase("blocks"):
            for _ in range(self.parameters.blocks):
                me.send(self.Block(np.zeros(self.parameters.size, np.uint8)), to=CURATOR)

    def curator(self, desk: Curator) -> Outcome:
        with desk.phase("blocks"):
            for _ in range(self.parameters.blocks):
                desk.gather(self.Block)
        return Outcome(summary={"blocks": self.parameters.blocks})


class Broadcast(BlockProtocol):
    name = "broadcast"

    def party(self, me: Party) -> None:
        with me.phase("blocks"):
            for _ in range(self.parameters.blocks):
                me.receive(self.Block, source=CURATOR)
            me.send(self.Done(self.parameters.blocks), to=CURATOR)

    def curator(self, desk: Curator) -> Outcome:
        with desk.phase("blocks"):
            for _ in range(self.parameters.blocks):
                desk.broadcast(self.Block(np.zeros(self.parameters.size, np.uint8)))
            desk.gather(self.Done)
        return Outcome(summary={"blocks": self.parameters.blocks})


def measure(case: str, milliseconds: float, megabits: float, first_window: int | None) -> None:
    """Run one case, and print a line."""
    protocol, parties, *options = CASES[case]
    delay, rate = milliseconds / 1e3, megabits * 1e6
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        out = folder / "run"
        hosts = int(parties) + 1
        with SlowNetwork(hosts, delay=delay, rate=rate, first_window=first_window) as slow:
            slow.run(out, [str(protocol), *map(str, options)], folder=folder)
        replayed, _ = replay_run(out, network(delay, rate))
        computed, _ = replay_run(out, NETWORKS["none"])
    measured, predicted = replayed.measured_seconds, replayed.seconds
    share = (predicted - computed.seconds) / (measured - computed.seconds) - 1
    print(
        f"{case:>11} {milliseconds:>6g} ms {megabits or float('inf'):>5g} Mbit/s "
        f"{measured:>8.3f} s {measured / delay:>6.1f} D  predicted {predicted:>7.3f} s "
        f"{predicted / measured - 1:>+7.1%}, network part {share:>+7.1%}",
        flush=True,
    )


def main() -> None:
    if not is_possible():
        print(MISSING)
        return
    chosen = sys.argv[1:2] or [*CASES]
    networks = [(float(sys.argv[2]), float(sys.argv[3]))] if sys.argv[3:] else NETWORKS_MEASURED
    first_window = int(sys.argv[4]) if sys.argv[4:] else None
    for case in chosen:
        for milliseconds, megabits in networks:
            measure(case, milliseconds, megabits, first_window)


if __name__ == "__main__":
    main()
