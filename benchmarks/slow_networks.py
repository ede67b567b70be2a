"""Runs between network namespaces with real delays: what they take, and what a replay predicts.

    python benchmarks/slow_networks.py                 # every case, about ten minutes
    python benchmarks/slow_networks.py upload 50 0     # one case: 50 ms, bandwidth unlimited

Every role has a network namespace with a TUN device, and a relay in this file delays each packet by
D and limits each host's uplink. The ledger of a run, with the computation that it measured, is
replayed on a network of the same D and bandwidth. The network part is the seconds less those of a
replay on a network without delays.

It needs root, ip(8) and /dev/net/tun, and skips itself without them.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections import deque
from pathlib import Path
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray  # noqa: TC002 - messages read their annotations

from sottovoce import CURATOR, Curator, Options, Outcome, Party, Protocol, message
from sottovoce.network import NETWORKS, Host, Link, Network
from sottovoce.report.replaying import replay_run

CLONE_NEWNET: Final = 0x40000000
TUNSETIFF: Final = 0x400454CA
TUN_WITHOUT_INFORMATION: Final = 0x0001 | 0x1000
QUEUE_BYTES: Final = 1 << 20
"""Bytes that wait for an uplink at most."""
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


class SlowNetwork:
    """Network namespaces, one for each host, and a relay between them."""

    def __init__(self, hosts: int, *, delay: float, rate: float, first_window: int | None) -> None:
        mark = f"slow{os.getpid()}"
        self.names = [f"{mark}h{host}" for host in range(hosts)]
        self.addresses = [f"10.88.0.{host + 1}" for host in range(hosts)]
        self._delay, self._rate, self._first_window = delay, rate, first_window
        self._made: list[str] = []
        self._tunnels: list[int] = []
        self._relay: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            for name, address in zip(self.names, self.addresses, strict=True):
                ip("netns", "add", name)
                self._made.append(name)
                self._tunnels.append(open_tunnel(name))
                ip("-n", name, "link", "set", "lo", "up")
                ip("-n", name, "link", "set", "tun0", "txqueuelen", "10000", "up")
                ip("-n", name, "addr", "add", f"{address}/24", "dev", "tun0")
                if self._first_window is not None:
                    window = str(self._first_window)
                    route = ("10.88.0.0/24", "dev", "tun0", "initcwnd", window, "initrwnd", window)
                    ip("-n", name, "route", "change", *route)
            words = [str(self._delay), str(self._rate), *map(str, self._tunnels)]
            command = [sys.executable, __file__, "relay", *words]
            self._relay = subprocess.Popen(command, pass_fds=self._tunnels)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._relay is not None:
            self._relay.terminate()
            self._relay.wait(timeout=30)
        for tunnel in self._tunnels:
            os.close(tunnel)
        for name in self._made:
            ip("netns", "del", name)

    def environment(self, folder: Path) -> dict[str, str]:
        """Let Open MPI reach the hosts by an agent in place of ssh, over the tunnels alone."""
        cases = "\n".join(
            f"  {address}) name={name} ;;"
            for address, name in zip(self.addresses, self.names, strict=True)
        )
        agent = folder / "agent"
        agent.write_text(
            '#!/bin/sh\nwhile [ "${1#-}" != "$1" ]; do shift; done\nhost=$1; shift\n'
            f'case "$host" in\n{cases}\nesac\n'
            'exec ip netns exec "$name" unshare --uts sh -c "hostname $name; $*"\n'
        )
        agent.chmod(0o755)
        return {
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "OMPI_MCA_pml": "ob1",
            "OMPI_MCA_btl": "tcp,self",
            "OMPI_MCA_btl_tcp_if_include": "10.88.0.0/24",
            "PRTE_MCA_prte_if_include": "10.88.0.0/24",
            "PRTE_MCA_plm_ssh_agent": str(agent),
            "PRTE_MCA_plm_ssh_no_tree_spawn": "1",
            "PYTHONPATH": f"{Path(__file__).parent}:{os.environ.get('PYTHONPATH', '')}",
        }

    def run(self, out: Path, words: list[str], *, folder: Path) -> None:
        """Run a protocol with a role on each host, the curator on the first."""
        hosts = folder / "hosts"
        hosts.write_text("".join(f"{address} slots=1\n" for address in self.addresses))
        name, parties = self.names[0], len(self.names) - 1
        command = ["ip", "netns", "exec", name, "unshare", "--uts", "sh", "-c"]
        command += [f'hostname {name}; exec "$@"', name, sys.executable, "-m", "sottovoce", "run"]
        command += [*words, "--parties", str(parties), "--hostfile", str(hosts)]
        command += ["--out", str(out), "--no-judge", "--quiet"]
        subprocess.run(command, env=self.environment(folder), check=True, timeout=600, cwd=folder)


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, timeout=30)


def open_tunnel(namespace: str) -> int:
    """Make a TUN device inside a namespace, and keep its other end here."""
    libc = ctypes.CDLL(None, use_errno=True)
    here = os.open("/proc/self/ns/net", os.O_RDONLY)
    there = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
    try:
        if libc.setns(there, CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")
        try:
            tunnel = os.open("/dev/net/tun", os.O_RDWR)
            request = struct.pack("16sH22x", b"tun0", TUN_WITHOUT_INFORMATION)
            fcntl.ioctl(tunnel, TUNSETIFF, request)
        finally:
            libc.setns(here, CLONE_NEWNET)
    finally:
        os.close(here)
        os.close(there)
    return tunnel


def relay(delay: float, rate: float, tunnels: list[int]) -> None:
    """Pass packets on between tunnels: each waits for its sender's uplink, and then travels."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    waiting: list[deque[tuple[float, int, bytes]]] = [deque() for _ in tunnels]
    free_at = [0.0] * len(tunnels)
    for tunnel in tunnels:
        os.set_blocking(tunnel, False)
    while True:
        now = time.monotonic()
        for packets in waiting:
            while packets and packets[0][0] <= now:
                _, target, packet = packets.popleft()
                os.write(tunnels[target], packet)
        due = min((packets[0][0] for packets in waiting if packets), default=now + 1)
        ready, *_ = select.select(tunnels, [], [], max(0.0, due - time.monotonic()))
        for tunnel in ready:
            source = tunnels.index(tunnel)
            for _ in range(64):
                try:
                    packet = os.read(tunnel, 1 << 16)
                except BlockingIOError:
                    break
                # The last byte of an IPv4 destination is the host's number.
                target = packet[19] - 1 if len(packet) >= 20 and packet[0] >> 4 == 4 else -1
                if not 0 <= target < len(tunnels):
                    continue
                now = time.monotonic()
                begins = max(now, free_at[source])
                if rate and (begins - now) * rate / 8 > QUEUE_BYTES:
                    continue  # The queue of the uplink is full.
                free_at[source] = begins + 8 * len(packet) / rate if rate else now
                waiting[source].append((free_at[source] + delay, target, packet))


def network(delay: float, rate: float) -> Network:
    uplink = Link() if not rate else Link(bandwidth=rate)
    return Network(name="measured", between=Link(latency=delay), host=Host(uplink=uplink))


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
    if sys.argv[1:2] == ["relay"]:
        delay, rate, *tunnels = sys.argv[2:]
        relay(float(delay), float(rate), [*map(int, tunnels)])
    if os.geteuid() != 0 or shutil.which("ip") is None or not Path("/dev/net/tun").exists():
        print("skipped: expected root, ip(8) and /dev/net/tun")
        return
    chosen = sys.argv[1:2] or [*CASES]
    networks = [(float(sys.argv[2]), float(sys.argv[3]))] if sys.argv[3:] else NETWORKS_MEASURED
    first_window = int(sys.argv[4]) if sys.argv[4:] else None
    for case in chosen:
        for milliseconds, megabits in networks:
            measure(case, milliseconds, megabits, first_window)


if __name__ == "__main__":
    main()
