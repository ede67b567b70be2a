"""Closing frames: what roles tell each other when the protocol has ended, sealed where they can.

They are not messages of the protocol. If the two roles were introduced, these frames are sealed,
too: a network that could forge a party's notes could change the report.
"""

from __future__ import annotations

from typing import Final

from ..crypto import IdentifiedRole
from ..messages import MessageError, Private, role_name
from ..messages.frame import FrameKind

__all__ = ["await_closing", "close_to"]

LAST_NUMBER: Final = (1 << 64) - 1
"""Number of the last sealed frame of an edge, which no message has."""


def close_to(role: IdentifiedRole, kind: FrameKind, payload: bytes, *, to: int) -> None:
    """Send a closing frame, the last of this role to the other."""
    channel = role.channels.get(to)
    if channel is not None:
        payload = channel.seal(payload, header=kind.name.encode(), number=LAST_NUMBER)
    role.send_control(kind, payload, to=to)


def await_closing(role: IdentifiedRole, kind: FrameKind, *, source: int) -> memoryview:
    """Wait for a closing frame, without a limit.

    Raises:
        MessageError: it was not sealed by this role.
    """
    payload = role.await_control(kind, source=source)
    channel = role.channels.get(source)
    if channel is None:
        return payload
    try:
        return channel.open(payload, header=kind.name.encode(), number=LAST_NUMBER)
    except ValueError as error:
        raise MessageError(
            f"malformed closing frame from {role_name(source)}: ", Private(error), where=role.where
        ) from None
