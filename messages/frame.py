"""Frames: one message on its way, with a header that says where it belongs.

    offset  bytes
         0      2   "sv"
         2      1   version, 1
         3      1   frame kind: 0 a message, 1 the end of a role's part, 2 a deadlock probe,
                    3 closing minutes, 4 dismissal, 5 the closing of the conversation,
                    6 releases of a party that may be lost
         4      4   header length H, a multiple of 16
         8      8   payload length
        16      8   sequence number of the message on this edge (sender to receiver), from 0 on; so
                    for releases, too, by themselves; in other control frames 0
        24      2   sender's rank
        26      2   receiver's rank
        28      3   lengths of the three names that follow
        31      1   0
        32          protocol, phase and kind of message in UTF-8, then zeros up to H
         H          payload (see `fields`)

Integers are little-endian. A frame has one encoding only. So a receiver that knows what to expect
compares the header as bytes. It takes the header apart only where they differ, to say what it
expected and what it found.
"""

from __future__ import annotations

import struct
from collections.abc import Container
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import Final, NamedTuple

from .errors import MessageError, MisuseError, Private, role_name

__all__ = [
    "MIN_HEADER_BYTES",
    "Frame",
    "FrameKind",
    "Header",
    "describe_mismatch",
    "frame_length",
    "pack_header",
    "unpack_header",
]

MAGIC: Final = b"sv"
VERSION: Final = 1
MAX_NAME_BYTES: Final = 255
MIN_HEADER_BYTES: Final = 32
"""Bytes of the header before the names."""
MAX_HEADER_BYTES: Final = MIN_HEADER_BYTES + 3 * MAX_NAME_BYTES + 15

_HEAD: Final = struct.Struct("<2sBBIQQHHBBBB")
_NUMBERS: Final = struct.Struct("<QQ")


class FrameKind(IntEnum):
    """Kind of a frame; all but messages are control frames of the layer itself."""

    MESSAGE = 0
    END = 1
    PROBE = 2
    MINUTES = 3
    DISMISSAL = 4
    CLOSING = 5
    RELEASES = 6


_FRAME_KINDS: Final = frozenset(int(kind) for kind in FrameKind)


class Header(NamedTuple):
    """The header of a frame, which says where it belongs."""

    frame_kind: int
    payload: int
    sequence: int
    sender: int
    receiver: int
    protocol: str
    phase: str
    kind: str
    """Name of the message's class."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame that has arrived."""

    header: Header
    payload: memoryview
    length: int
    """Bytes of header and payload."""


@lru_cache(maxsize=4096)
def _around_numbers(  # noqa: PLR0917 - lru_cache is quicker with positional arguments
    frame_kind: int, sender: int, receiver: int, protocol: str, phase: str, kind: str
) -> tuple[bytes, bytes]:
    """Make the bytes before and after the two numbers that differ from message to message."""
    encoded = [name.encode() for name in (protocol, phase, kind)]
    for name, data in zip((protocol, phase, kind), encoded, strict=True):
        if len(data) > MAX_NAME_BYTES:
            raise MisuseError(
                f"expected names of at most {MAX_NAME_BYTES} bytes, found {len(data)} in ",
                Private(f"{name[:40]}…"),
            )
    joined = b"".join(encoded)
    names = joined + bytes(-(MIN_HEADER_BYTES + len(joined)) % 16)
    length = MIN_HEADER_BYTES + len(names)
    head = _HEAD.pack(
        MAGIC, VERSION, frame_kind, length, 0, 0, sender, receiver, *map(len, encoded), 0
    )
    return head[:8], head[24:] + names


def pack_header(header: Header) -> bytes:
    """Write the one encoding of a header."""
    frame_kind, payload, sequence, sender, receiver, protocol, phase, kind = header
    before, after = _around_numbers(frame_kind, sender, receiver, protocol, phase, kind)
    return before + _NUMBERS.pack(payload, sequence) + after


def frame_length(start: memoryview, *, limit: int) -> int:
    """Read the length of a frame from its first bytes, before anything is allocated for it."""
    if len(start) < MIN_HEADER_BYTES:
        raise MessageError(
            f"expected a frame of at least {MIN_HEADER_BYTES} bytes, found {len(start)}: "
            "it is truncated"
        )
    magic, version, _, header, payload, *_ = _HEAD.unpack_from(start)
    if magic != MAGIC:
        raise MessageError(
            f"expected a frame that starts with {MAGIC!r}, found ", Private(repr(bytes(magic)))
        )
    if version != VERSION:
        raise MessageError(
            f"expected frame version {VERSION}, found {version} "
            "(let all roles run one version of sottovoce)"
        )
    if not MIN_HEADER_BYTES <= header <= MAX_HEADER_BYTES:
        raise MessageError(
            f"expected a header of {MIN_HEADER_BYTES} to {MAX_HEADER_BYTES} bytes, found {header}"
        )
    length: int = header + payload
    if length > limit:
        raise MessageError(f"expected frames of at most {limit} bytes, found one of {length}")
    return length


def unpack_header(frame: memoryview, *, limit: int) -> Frame:
    """Take a frame apart, and check every byte of its header."""
    length = frame_length(frame, limit=limit)
    if len(frame) != length:
        difference = "it is truncated" if len(frame) < length else "bytes are left over"
        raise MessageError(f"expected a frame of {length} bytes, found {len(frame)}: {difference}")
    _, _, frame_kind, header_end, payload, sequence, sender, receiver, *sizes, zero = (
        _HEAD.unpack_from(frame)
    )
    if frame_kind not in _FRAME_KINDS:
        raise MessageError(f"expected a frame of a known kind, found {frame_kind}")
    end, names = MIN_HEADER_BYTES, []
    for size in sizes:
        try:
            names.append(str(frame[end : end + size], "utf-8"))
        except UnicodeDecodeError:
            raise MessageError("expected names in UTF-8, found other bytes") from None
        end += size
    padding = header_end - end
    if not 0 <= padding <= 15 or header_end % 16 or zero or any(frame[end:header_end]):
        raise MessageError(
            "expected a header that ends with zeros after its names, found other bytes"
        )
    header = Header(
        FrameKind(frame_kind), payload, sequence, sender, receiver, names[0], names[1], names[2]
    )
    return Frame(header, frame[header_end:], length)


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
