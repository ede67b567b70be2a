"""Releases that a party has sent before it was lost: it takes its own accounts with it.

In a run that may go on without a party, each party sends the curator what it has released before a
message may carry it (`parties.releases_ahead`). These frames are no messages of the protocol. They
are sealed where the two roles have been introduced.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ..crypto import IdentifiedRole
from ..messages import CURATOR, MessageError, Private, role_name
from ..messages.frame import FrameKind, unpack_header
from ..parties.releases_ahead import PURPOSE, SEALED
from ..privacy import Release

__all__ = ["lost_releases", "valid_releases"]


def lost_releases(curator: IdentifiedRole, party: int) -> list[Release]:
    """Read the releases that a party has sent ahead. Called by the curator, once.

    Raises:
        MessageError: they were not sent by this party.
    """
    releases: list[Release] = []
    for sealed in curator.ahead_of(party):
        try:
            payload = _opened(curator, party, sealed)
            releases += msgspec.msgpack.decode(payload, type=list[Release])
        except (KeyError, ValueError, msgspec.MsgspecError) as error:
            raise MessageError(
                f"malformed releases from {role_name(party)}: ",
                Private(error),
                where=curator.where,
            ) from None
    return [msgspec.structs.replace(release, party=party) for release in releases]


def valid_releases(frames: Sequence[bytes], *, party: int) -> list[bytes]:
    """Take frames of releases from a lost party's log, up to the first that is none of its own.

    Its own log protects an honest party from any other frame. A dishonest one hides what it has
    itself released, and must not stop the run each time that it goes on.
    """
    valid: list[bytes] = []
    for number, frame in enumerate(frames):
        try:
            header = unpack_header(memoryview(frame), limit=len(frame)).header
        except MessageError:
            break
        belonging = (header.frame_kind, header.sequence, header.sender, header.receiver)
        if belonging != (FrameKind.RELEASES, number, party, CURATOR):
            break
        valid.append(frame)
    return valid


def _opened(curator: IdentifiedRole, party: int, sealed: memoryview) -> bytes:
    """Open what a party has sent ahead. With identities an open text is refused."""
    flag, payload = bytes(sealed[:1]), bytes(sealed[1:])
    if flag == SEALED:
        return curator.channels[party].open_beside(payload, purpose=PURPOSE)
    if party in curator.pinned:
        raise ValueError("expected it sealed, as identities were given, found it open")
    return payload
