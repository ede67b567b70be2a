"""How long plain sockets need for what `slow_networks.py upload` and `broadcast` send.

    python benchmarks/plain_sockets.py            # 3 x 5 blocks of 200 kB at 50 ms
    python benchmarks/plain_sockets.py 50 20      # the same with uplinks of 20 Mbit/s

Clients in network namespaces of their own connect to a server, and wait for a while. Then each
sends its blocks at once, without MPI and without any message in between (upload), or the server
sends the blocks to each client (broadcast). The time is that from the first byte that is sent to
the last one that has arrived, in delays D. All that it consists of is TCP, so no program that
sends over new connections of these hosts can be faster.

A warm connection has carried so many bytes in the same direction before. `initcwnd` is the number
of segments with which the route lets TCP begin.

It needs root, ip(8) and /dev/net/tun, and skips itself without them.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from namespaces import MISSING, SlowNetwork, is_possible

PORT: Final = 5001
CLIENTS: Final = 3
BYTES: Final = 5 * 200_000
WARM_BYTES: Final = (0, 30_000, 100_000, 300_000, 1_000_000)
FIRST_WINDOWS: Final = (None, 100)
IDLE_SECONDS: Final = 1.0
REPEATS: Final = 3


def read(connection: socket.socket, size: int) -> None:
    """Read so many bytes."""
    while size:
        size -= len(connection.recv(min(size, 1 << 20)))


def converse(connection: socket.socket, *, sends: bool, warm: int) -> tuple[float, float]:
    """Send or receive all; give when that began and when it ended."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if sends:
        connection.sendall(bytes(warm))
        time.sleep(IDLE_SECONDS)
        began = time.monotonic()
        connection.sendall(bytes(BYTES))
    else:
        read(connection, warm)
        began = time.monotonic()
        read(connection, BYTES)
    return began, time.monotonic()


def client(address: str, *, sends: bool, warm: int) -> None:
    """Connect to the server, and print two times: all namespaces have one monotonic clock."""
    with socket.create_connection((address, PORT), timeout=60) as connection:
        print(*converse(connection, sends=sends, warm=warm))
        connection.shutdown(socket.SHUT_WR)
        connection.recv(1)


def server(address: str, *, sends: bool, warm: int) -> None:
    """Converse with all clients at once, and print the times of each."""
    with socket.create_server((address, PORT)) as listener:
        print("ready", flush=True)
        connections = [listener.accept()[0] for _ in range(CLIENTS)]
        barrier = threading.Barrier(CLIENTS)

        def part(connection: socket.socket) -> tuple[float, float]:
            barrier.wait()
            times = converse(connection, sends=sends, warm=warm)
            connection.recv(1)
            connection.close()
            return times

        with ThreadPoolExecutor(CLIENTS) as pool:
            for began, ended in pool.map(part, connections):
                print(began, ended)


def measure(slow: SlowNetwork, *, delay: float, upload: bool, warm: int) -> float:
    """Let clients and server converse once; give the delays that it took."""

    def start(host: int, role: str, *, sends: bool) -> subprocess.Popen[str]:
        words = [role, slow.addresses[0], str(int(sends)), str(warm)]
        command = ["ip", "netns", "exec", slow.names[host], sys.executable, __file__, *words]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    processes = [start(0, "server", sends=not upload)]
    assert processes[0].stdout is not None
    processes[0].stdout.readline()
    processes += [start(host, "client", sends=upload) for host in range(1, CLIENTS + 1)]
    texts = [process.communicate(timeout=120)[0] for process in processes]
    of_server, of_clients = texts[0].split(), " ".join(texts[1:]).split()
    senders, receivers = (of_clients, of_server) if upload else (of_server, of_clients)
    began = min(map(float, senders[::2]))
    return (max(map(float, receivers[1::2])) - began) / delay


def main() -> None:
    if sys.argv[1:2] in (["server"], ["client"]):
        role, address, sends, warm = sys.argv[1:]
        play = server if role == "server" else client
        play(address, sends=bool(int(sends)), warm=int(warm))
        return
    if not is_possible():
        print(MISSING)
        return
    milliseconds, megabits = map(float, sys.argv[1:3] or ("50", "0"))
    delay = milliseconds / 1e3
    control = Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text().strip()
    print(f"{CLIENTS} x {BYTES:,} bytes at {milliseconds:g} ms, {control}")
    for window in FIRST_WINDOWS:
        with SlowNetwork(
            CLIENTS + 1, delay=delay, rate=megabits * 1e6, first_window=window
        ) as slow:
            for warm in WARM_BYTES if window is None else (0,):
                for upload in (True, False):
                    taken = sorted(
                        measure(slow, delay=delay, upload=upload, warm=warm) for _ in range(REPEATS)
                    )
                    name = "upload" if upload else "broadcast"
                    before = f"after {warm:,} bytes" if warm else "new connection"
                    first = "" if window is None else f", initcwnd {window}"
                    print(
                        f"{name:>10}, {before}{first}: {taken[REPEATS // 2]:.1f} D "
                        f"({taken[0]:.1f} to {taken[-1]:.1f})",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
