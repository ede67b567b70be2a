"""Forked processes share no secret randomness, and buffers of secrets are overwritten."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from sottovoce.crypto import Channel, RandomStream, RandomTree, UserWords
from sottovoce.crypto.randomness import BUFFER_BYTES
from sottovoce.messages import MisuseError

FORK = """
import json, os
import numpy as np
from sottovoce.crypto import Channel, RandomStream, RandomTree, UserWords
from sottovoce.crypto.paillier import Encryptor
from sottovoce.crypto.public_key import PublicKey
from sottovoce.messages import MisuseError

tree = RandomTree({seed}, role=1)
channel = Channel(b"s" * 96, b"t" * 32, first=True)
streams = [tree.stream(phase="p", purpose=name) for name in "ab"]
words = UserWords(tree.key_of_users(phase="p", purpose="w"))
encryptor = Encryptor(
    PublicKey((2**127 - 1) * (2**521 - 1)),
    randomness=tree.stream(phase="p", purpose="encryption"),
    uses=4,
)
for stream in streams:
    stream.draw(5)


def attempt(act):
    try:
        return act()
    except MisuseError as error:
        return str(error)


def collect():
    return {{
        "draws": [attempt(lambda: stream.draw(16).hex()) for stream in streams for _ in range(2)],
        "long": attempt(lambda: streams[0].draw(10_000).hex()),
        "new stream": attempt(lambda: tree.stream(phase="p", purpose="new").draw(16).hex()),
        "words": words.of(np.arange(3)).take(words=2).tobytes().hex(),
        "ciphertexts": attempt(lambda: [str(c) for c in encryptor.encrypt([0, 0]).numbers]),
        "sealed": attempt(lambda: channel.seal(b"x", header=b"h", number=0).hex()),
        "key": attempt(lambda: channel.next_key("masks").hex()),
        "secret": channel._secret.hex(),
        "buffers": [stream._buffer.hex() for stream in streams],
        "fresh": RandomStream(b"k" * 32).draw(4).hex(),
    }}


reader, writer = os.pipe()
if os.fork() == 0:
    try:
        with os.fdopen(writer, "w") as pipe:
            json.dump(collect(), pipe)
    finally:
        os._exit(0)
os.close(writer)
with os.fdopen(reader) as pipe:
    child = json.load(pipe)
os.wait()
print(json.dumps([collect(), child]))
"""
"""Prints what a process draws, seals and keeps after a fork, and what its child does."""


def after_fork(seed: int | None) -> tuple[dict[str, Any], dict[str, Any]]:
    result = subprocess.run(
        [sys.executable, "-c", FORK.format(seed=seed)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    parent, child = json.loads(result.stdout)
    return parent, child


def test_without_a_seed_a_forked_process_draws_other_bytes() -> None:
    parent, child = after_fork(None)
    assert not set(parent["draws"]) & set(child["draws"])
    assert not set(parent["ciphertexts"]) & set(child["ciphertexts"])
    for name in ("long", "new stream", "words"):
        assert parent[name] != child[name]
        assert len(parent[name]) == len(child[name])
    assert len({*parent["draws"], *child["draws"], *child["ciphertexts"]}) == 10


def test_with_a_seed_a_forked_process_does_not_repeat_its_parent() -> None:
    """The parent draws what it would have drawn; the child is told to draw before it forks."""
    parent, child = after_fork(7)
    refusals = [*child["draws"], child["long"], child["new stream"], child["ciphertexts"]]
    for refusal in refusals:
        assert refusal.startswith("expected to draw from a keystream in the process that began it")
    again, _ = after_fork(7)
    assert parent == again
    assert len(set(parent["draws"])) == 4
    # A user is in one process only, and her words do not depend on which it is.
    assert parent["words"] == child["words"]
    # A stream that the child begins with a key of its own works.
    assert parent["fresh"] == child["fresh"]


def test_a_forked_process_does_not_seal_with_its_parents_keys() -> None:
    parent, child = after_fork(None)
    for name in ("sealed", "key"):
        assert child[name].startswith("expected a channel in the process that agreed on it")
        bytes.fromhex(parent[name])
    assert bytes.fromhex(parent["secret"]) == b"s" * 96
    assert bytes.fromhex(child["secret"]) == bytes(96)


FORK_DURING_A_CHECK = """
import os, threading
from sottovoce.crypto import modulus_proof

begun = threading.Event()


def check():
    with modulus_proof._CHECKING:
        begun.set()
        threading.Event().wait(0.3)


thread = threading.Thread(target=check)
thread.start()
begun.wait()
child = os.fork()
if child == 0:
    os._exit(0 if modulus_proof._CHECKING.acquire(timeout=10) else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
thread.join()
print(modulus_proof._CHECKING.acquire(timeout=10))
"""


def test_a_process_that_is_forked_during_a_check_can_check_a_key() -> None:
    """The thread that checks is not in the child, and would never open its lock there."""
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORK_DURING_A_CHECK],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert result.stdout == "0\nTrue\n"


def test_a_forked_process_keeps_nothing_of_a_keystream() -> None:
    parent, child = after_fork(7)
    assert all(len(bytes.fromhex(buffer)) == BUFFER_BYTES for buffer in parent["buffers"])
    assert child["buffers"] == ["", ""]


def test_a_stream_without_a_key_keeps_nothing() -> None:
    stream = RandomStream(None)
    assert len(stream.draw(32)) == 32
    assert stream.below(1 << 100) < 1 << 100
    assert not stream._buffer


@pytest.mark.parametrize("draws", [1, 300])
def test_a_keystreams_buffer_is_overwritten_when_the_stream_is_dropped(draws: int) -> None:
    stream = RandomStream(b"k" * 32)
    for _ in range(draws):
        stream.draw(24)
    buffer = stream._buffer
    assert any(buffer)
    del stream
    gc.collect()
    assert len(buffer) >= BUFFER_BYTES
    assert not any(buffer)


def test_a_keystreams_buffer_is_overwritten_when_it_is_replaced() -> None:
    stream = RandomStream(b"k" * 32)
    stream.draw(3000)
    buffer = stream._buffer
    rest = bytes(buffer[3000:])
    following = stream.draw(2000)
    assert following[: len(rest)] == rest
    assert stream._buffer is not buffer
    assert not any(buffer)


def test_a_channels_secret_is_overwritten_when_it_is_dropped() -> None:
    channel = Channel(b"s" * 96, b"t" * 32, first=True)
    channel.seal(b"x", header=b"h", number=0)
    secret = channel._secret
    assert secret == b"s" * 96
    del channel
    gc.collect()
    assert secret == bytes(96)


def in_a_fork(act: Callable[[], object]) -> str:
    """Call a function in a forked process; give its result, or what it was refused with."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads, which this child ignores
        child = os.fork()
    if child == 0:
        try:
            answer = str(act())
        except MisuseError as error:
            answer = str(error)
        finally:
            os.write(writer, answer.encode())
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return answer


def channel() -> Channel:
    return Channel(b"s" * 96, b"t" * 32, first=True)


@pytest.mark.parametrize(
    "begin",
    [
        lambda: partial(RandomStream(b"k" * 32).draw, 8),
        lambda: partial(RandomStream(b"k" * 32).draw, 2 * BUFFER_BYTES),
        lambda: partial(RandomStream(b"k" * 32).below, 99),
        lambda: partial(RandomTree(3, role=1).stream, phase="p", purpose="new"),
        lambda: partial(channel().next_key, "masks"),
        lambda: partial(channel().seal, b"x", header=b"h", number=0),
    ],
)
def test_whatever_holds_secrets_is_refused_after_a_fork(
    begin: Callable[[], Callable[[], object]],
) -> None:
    """It goes on in the process that began it."""
    act = begin()
    assert in_a_fork(act).startswith("expected ")
    act()


@pytest.mark.parametrize("seed", [None, 0, 3])
def test_a_tree_without_a_seed_draws_after_a_fork(seed: int | None) -> None:
    tree = RandomTree(seed, role=1)
    assert tree.seeded == (seed is not None)
    drawn = in_a_fork(lambda: tree.stream(phase="p", purpose="new").draw(8).hex())
    assert drawn.startswith("expected ") == tree.seeded


@pytest.mark.parametrize("key", [None, b"k" * 16])
def test_users_draw_other_words_after_a_fork_unless_they_follow_from_a_seed(
    key: bytes | None,
) -> None:
    """With a seed each user is in one process alone, so her words may not depend on it."""
    words = UserWords(key)

    def drawn() -> str:
        return words.of(np.arange(3)).take(words=2).tobytes().hex()

    other = in_a_fork(drawn)
    assert (other == drawn()) == (key is not None)
