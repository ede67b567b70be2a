"""Network namespaces, one for each role of a run, and a relay that delays all packets.

Every host has a TUN device inside its namespace. The relay is a process that reads the packets that
leave, lets each wait for its sender's uplink, and passes it on after the delay. It asks for
real-time priority, as it stands for a network, which no other program would slow down. It is
`relay.c` where there is a C compiler, and otherwise this file, which takes 2.5 times the processor
time (0.43 s instead of 0.17 for 5,400 packets, once each). Predictions were no closer for it.

It needs root, ip(8) and /dev/net/tun.
"""

from __future__ import annotations

import contextlib
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

from sottovoce.network import Host, Link, Network

CLONE_NEWNET: Final = 0x40000000
TUNSETIFF: Final = 0x400454CA
TUN_WITHOUT_INFORMATION: Final = 0x0001 | 0x1000
QUEUE_BYTES: Final = 1 << 20
"""Bytes that wait for an uplink at most."""
MISSING: Final = "skipped: expected root, ip(8) and /dev/net/tun"


def is_possible() -> bool:
    """Tell whether this process may make namespaces."""
    return os.geteuid() == 0 and shutil.which("ip") is not None and Path("/dev/net/tun").exists()


class SlowNetwork:
    """Network namespaces, one for each host, and a relay between them."""

    def __init__(
        self, hosts: int, *, delay: float, rate: float, first_window: int | None = None
    ) -> None:
        mark = f"slow{os.getpid()}"
        self.names = [f"{mark}h{host}" for host in range(hosts)]
        self.addresses = [f"10.88.0.{host + 1}" for host in range(hosts)]
        self._delay, self._rate, self._first_window = delay, rate, first_window
        self._made: list[str] = []
        self._tunnels: list[int] = []
        self._relay: subprocess.Popen[bytes] | None = None
        self._folder = tempfile.TemporaryDirectory(prefix="relay-")

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
            words = [self._delay, self._rate, QUEUE_BYTES, *self._tunnels]
            command = [*relay_program(Path(self._folder.name)), *map(str, words)]
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
        self._folder.cleanup()

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


def relay_program(folder: Path) -> list[str]:
    """Compile the relay, or take the one in Python."""
    compiler, program = shutil.which("cc") or shutil.which("gcc"), folder / "relay"
    if compiler is None:
        return [sys.executable, __file__]
    source = Path(__file__).with_name("relay.c")
    words = [compiler, "-O2", "-o", str(program), str(source)]
    compiled = subprocess.run(words, check=False, capture_output=True, timeout=120)
    return [sys.executable, __file__] if compiled.returncode else [str(program)]


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


def relay(delay: float, rate: float, queue: int, tunnels: list[int]) -> None:
    """Pass packets on between tunnels: each waits for its sender's uplink, and then travels."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
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
                if rate and (begins - now) * rate / 8 > queue:
                    continue  # The queue of the uplink is full.
                free_at[source] = begins + 8 * len(packet) / rate if rate else now
                waiting[source].append((free_at[source] + delay, target, packet))


def network(delay: float, rate: float) -> Network:
    uplink = Link() if not rate else Link(bandwidth=rate)
    return Network(name="measured", between=Link(latency=delay), host=Host(uplink=uplink))


if __name__ == "__main__":
    delay, rate, queue, *tunnels = sys.argv[1:]
    relay(float(delay), float(rate), int(queue), [*map(int, tunnels)])
