"""A frame: one message on its way, with everything that says where it belongs.

    offset  bytes
         0      2   "sv"
         2      1   version, 1
         3      1   what it is: 0 a message, 1 the end of an edge, 2 a deadlock probe, 3 closing minutes, 4 dismissal
         4      4   header length H, a multiple of 16
         8      8   payload length
        16      8   sequence number of the message on this edge (sender to receiver), from 0; in the end of an edge, how
                    many messages there were; in other control frames 0
        24      2   sender's rank
        26      2   receiver's rank
        28      3   lengths of the three names that follow
        31      1   0
        32          protocol, phase and kind in UTF-8, then zeros up to H
         H          payload (see `fields`)

Integers are little-endian. There is one encoding of a frame, so a receiver who knows what to expect
compares the header as bytes; only when they differ is it taken apart, to say what was expected and
what was found.
"""

from __future__ import annotations

import struct
from collections.abc import Container
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import Final, NamedTuple

from .errors import MessageError, MisuseError, role_name

__all__ = [
    "FIXED",
    "Frame",
    "Header",
    "What",
    "describe_mismatch",
    "frame_length",
    "pack_header",
    "unpack_header",
]

MAGIC: Final = b"sv"
VERSION: Final = 1
FIXED: Final = 32
"""Bytes of the header before the names."""
MAX_NAME: Final = 255

_HEAD: Final = struct.Struct("<2sBBIQQHHBBBB")
_NUMBERS: Final = struct.Struct("<QQ")


class What(IntEnum):
    """What a frame is for the layer itself."""

    MESSAGE = 0
    END = 1
    PROBE = 2
    MINUTES = 3
    DISMISSAL = 4


_SORTS: Final = frozenset(int(what) for what in What)


class Header(NamedTuple):
    """Where a frame belongs."""

    what: int
    payload: int
    sequence: int
    sender: int
    receiver: int
    protocol: str
    phase: str
    kind: str


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame that has arrived: its header, its payload and its length as a whole."""

    header: Header
    payload: memoryview
    length: int


@lru_cache(maxsize=4096)
def _around(  # noqa: PLR0917 - positional, because lru_cache is quicker so
    what: int, sender: int, receiver: int, protocol: str, phase: str, kind: str
) -> tuple[bytes, bytes]:
    """Make what stands before and after the two numbers that differ from message to message of one
    kind on one edge.
    """
    encoded = [name.encode() for name in (protocol, phase, kind)]
    for name, data in zip((protocol, phase, kind), encoded, strict=True):
        if len(data) > MAX_NAME:
            raise MisuseError(
                f"expected names of at most {MAX_NAME} bytes, found {len(data)} in {name[:40]}…"
            )
    joined = b"".join(encoded)
    names = joined + bytes(-(FIXED + len(joined)) % 16)
    fixed = _HEAD.pack(
        MAGIC, VERSION, what, FIXED + len(names), 0, 0, sender, receiver, *map(len, encoded), 0
    )
    return fixed[:8], fixed[24:] + names


def pack_header(header: Header) -> bytes:
    """Write the one encoding of a header."""
    what, payload, sequence, sender, receiver, protocol, phase, kind = header
    before, after = _around(what, sender, receiver, protocol, phase, kind)
    return before + _NUMBERS.pack(payload, sequence) + after


def frame_length(start: memoryview, *, limit: int) -> int:
    """Read how long the whole frame is from its first bytes, before anything is allocated for
    it.
    """
    if len(start) < FIXED:
        raise MessageError(
            f"expected a frame of at least {FIXED} bytes, found {len(start)}: it is truncated"
        )
    magic, version, _, length, payload, *_ = _HEAD.unpack_from(start)
    if magic != MAGIC:
        raise MessageError(f"expected a frame that starts with {MAGIC!r}, found {bytes(magic)!r}")
    if version != VERSION:
        raise MessageError(
            f"expected frame version {VERSION}, found {version}: do all roles run the same sottovoce?"
        )
    if not FIXED <= length <= FIXED + 3 * MAX_NAME + 15:
        raise MessageError(
            f"expected a header of {FIXED} to {FIXED + 3 * MAX_NAME + 15} bytes, found {length}"
        )
    whole: int = length + payload
    if whole > limit:
        raise MessageError(f"expected frames of at most {limit} bytes, found one of {whole}")
    return whole


def describe_mismatch(  # noqa: PLR0911 - one for each respect
    header: Header, expected: Header, *, kinds: Container[str]
) -> str:
    """Say in which respect a message's header is not the one expected.

    Args:
        header: the header that arrived.
        expected: the header that the receiver expected.
        kinds: the names of the protocol's kinds of messages.
    """
    source = role_name(expected.sender)
    if header.sender != expected.sender:
        return f"expected {source} as the sender, found {role_name(header.sender)}"
    if header.receiver != expected.receiver:
        return (
            f"expected a frame for {role_name(expected.receiver)}, "
            f"found one for {role_name(header.receiver)}"
        )
    if header.protocol != expected.protocol:
        return f"expected {expected.protocol}, found {header.protocol} from {source}"
    if header.sequence != expected.sequence:
        replayed = header.sequence < expected.sequence
        reason = "a replayed message" if replayed else "a message was skipped"
        return (
            f"expected message {expected.sequence} from {source}, found {header.sequence}: {reason}"
        )
    if header.kind not in kinds:
        return f"expected {expected.kind} from {source}, found an unknown kind, {header.kind!r}"
    if (header.kind, header.phase) != (expected.kind, expected.phase):
        return (
            f"expected {expected.kind} of phase {expected.phase} from {source}, "
            f"found {header.kind} of phase {header.phase}"
        )
    return f"expected {expected.kind} from {source}, found a header that is not in its one form"


def unpack_header(frame: memoryview, *, limit: int) -> Frame:
    """Take a frame apart, checking every byte of its header."""
    whole = frame_length(frame, limit=limit)
    if len(frame) != whole:
        found = "it is truncated" if len(frame) < whole else "bytes are left over"
        raise MessageError(f"expected a frame of {whole} bytes, found {len(frame)}: {found}")
    _, _, what, length, payload, sequence, sender, receiver, *sizes, zero = _HEAD.unpack_from(frame)
    if what not in _SORTS:
        raise MessageError(f"expected a frame of a known sort, found {what}")
    end, names = FIXED, []
    for size in sizes:
        try:
            names.append(str(frame[end : end + size], "utf-8"))
        except UnicodeDecodeError:
            raise MessageError("expected names in UTF-8, found other bytes") from None
        end += size
    if end > length or length - end > 15 or length % 16 or zero or any(frame[end:length]):
        raise MessageError(
            "expected a header that ends with zeros after its names, found other bytes"
        )
    header = Header(What(what), payload, sequence, sender, receiver, names[0], names[1], names[2])
    return Frame(header, frame[length:], whole)
