"""How a party that may be lost sends the curator its releases, before a message carries them.

A lost party takes its accounts with it, but what it has released is spent. Releases in secure sums
need not be sent: those of any other member are the same (`runs.losses`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from ..crypto import IdentifiedRole
from ..messages import CURATOR
from ..messages.frame import FrameKind
from ..privacy import Release

__all__ = ["PURPOSE", "SEALED", "send_releases_ahead"]

PURPOSE: Final = "releases of a party that may be lost"
SEALED: Final = b"s"
OPEN: Final = b"o"


def send_releases_ahead(role: IdentifiedRole, releases: Sequence[Release]) -> None:
    """Send the curator releases, sealed where the two have been introduced."""
    flag, payload = OPEN, msgspec.msgpack.encode(releases)
    channel = role.channels.get(CURATOR)
    if channel is not None:
        flag, payload = SEALED, channel.seal_beside(payload, purpose=PURPOSE)
    role.send_control(FrameKind.RELEASES, flag + payload, to=CURATOR)
