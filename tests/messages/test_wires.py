"""All transports keep the same laws, at 2, 4 and 7 roles."""

import importlib.util
import re
import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from mpi_starts import with_daemon

from sottovoce.launch.mpiexec import find_launcher
from sottovoce.messages import PeerFailedError, ThreadWire, Wire, thread_wires
from sottovoce.network import VirtualWire, read_network, virtual_wires

LAWS_FILE = Path(__file__).with_name("wire_laws.py")
_spec = importlib.util.spec_from_file_location("wire_laws", LAWS_FILE)
assert _spec is not None
assert _spec.loader is not None
wire_laws = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(wire_laws)

SIZES = [2, 4, 7]


def keep(name: str, wires: Sequence[ThreadWire | VirtualWire]) -> None:
    """Let every wire keep a law, each on a thread of its own."""
    errors: list[BaseException] = []

    def obey(law: Callable[[Wire], None], wire: ThreadWire | VirtualWire) -> None:
        try:
            with wire.playing():
                law(wire)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=obey, args=(wire_laws.LAWS[name], wire)) for wire in wires]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=600)
        assert not thread.is_alive()
    assert not errors


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", wire_laws.LAWS)
def test_threads_keep(name: str, size: int) -> None:
    keep(name, thread_wires(size))


@pytest.mark.parametrize(
    ("network", "size"), [("none", 2), ("none", 7), ("wan", 2), ("wan", 4), ("mobile", 4)]
)
@pytest.mark.parametrize("name", wire_laws.LAWS)
def test_virtual_keeps(name: str, size: int, network: str) -> None:
    keep(name, virtual_wires(read_network(network), size))


@pytest.mark.parametrize("size", SIZES)
def test_mpi_keeps_all(size: int, mpi_python: str) -> None:
    """One launch keeps every law: with whole frames, with chunks, and as between hosts."""
    output = kept_on_mpi(mpi_python, size)
    kept = set(re.findall(r"^kept (.+)$", output, re.MULTILINE))
    labels = ("whole", "chunked", "distant")
    expected = {f"{name} {label}" for name in wire_laws.LAWS for label in labels}
    assert kept == expected, output[-3000:]


def kept_on_mpi(python: str, size: int) -> str:
    launcher = find_launcher(str(Path(python).parent / "mpiexec"))
    command = launcher.command(
        [python, str(LAWS_FILE)], ranks=size, variables=[], hosts=None, hostfile=None, extra=[]
    )
    output = with_daemon(
        lambda: subprocess.run(
            command,
            env=launcher.environment(),
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    )
    return output.stdout + output.stderr


def wan_wires(size: int) -> list[VirtualWire]:
    return virtual_wires(read_network("wan"), size)


@pytest.mark.parametrize("make", [thread_wires, wan_wires])
def test_an_abort_wakes_everybody(
    make: Callable[[int], Sequence[ThreadWire | VirtualWire]],
) -> None:
    wires = make(3)
    caught: list[str] = []

    def wait(wire: ThreadWire | VirtualWire) -> None:
        with pytest.raises(PeerFailedError), wire.playing():
            wire.arrive(timeout=60)
        caught.append("ended")

    threads = [threading.Thread(target=wait, args=(wire,)) for wire in wires[1:]]
    for thread in threads:
        thread.start()
    with pytest.raises(PeerFailedError):
        wires[0].abort(3)
    for thread in threads:
        thread.join(timeout=10)
    assert caught == ["ended", "ended"]
