"""Releases that a party has sent before it was lost: it takes its own accounts with it.

In a run that may go on without a party, each party sends the curator what it has released before a
message may carry it (`parties.releases_ahead`). These frames are no messages of the protocol. They
are sealed where the two roles have been introduced.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Final

import msgspec

from ..crypto import IdentifiedRole
from ..messages import CURATOR, MessageError
from ..messages.frame import FrameKind, Header, pack_header, unpack_header
from ..parties.releases_ahead import PURPOSE, SEALED
from ..privacy import Loss, Release, members
from ..privacy.adversary import views
from ..privacy.loss import UNBOUNDED
from ..protocols import AnyProtocol

__all__ = ["UNREADABLE", "all_that_it_may_spend", "lost_releases", "valid_releases"]

UNREADABLE: Final = "all that it may spend, as its account cannot be read"
"""Stands for the mechanism of a release that bounds all those of a party."""


def lost_releases(
    curator: IdentifiedRole, party: int, *, seen_by: Collection[str]
) -> list[Release] | None:
    """Read the releases that a party has sent ahead. Called by the curator, once.

    Args:
        curator: the curator.
        party: the party.
        seen_by: the views in which each release has a loss.

    Returns:
        Its releases; `None` where one of them cannot be read, or means nothing.
    """
    releases: list[Release] = []
    for sealed in curator.ahead_of(party):
        try:
            payload = _opened(curator, party, sealed)
            releases += msgspec.msgpack.decode(payload, type=list[Release])
        except (KeyError, ValueError, msgspec.MsgspecError):
            return None
    if not all(_is_meaningful(release, seen_by) for release in releases):
        return None
    return [msgspec.structs.replace(release, party=party) for release in releases]


def all_that_it_may_spend(
    protocol: AnyProtocol, party: int, *, parties: int, phase: str
) -> Release:
    """Bound all that a party may have released, where its account cannot be read.

    Beyond its budget an honest party ends the run. So in the views that the claim covers it has
    spent the claimed epsilon at most. No bound is known in the others, nor of algorithms as
    printed, whose claims may fail. Whoever sends a false account hides what it has itself released.
    """
    bound = UNBOUNDED
    if protocol.mode == "rigorous":
        delta = protocol.delta
        rho = math.inf if delta else protocol.epsilon**2 / 2
        bound = Loss(protocol.epsilon, rho, delta)
    threshold = protocol.colluding

    def is_covered(view: str) -> bool:
        others, curator = members(view)
        if threshold is None:
            return True
        return others <= threshold and (protocol.curator_may_collude or not (curator and others))

    return Release(
        party=party,
        phase=phase,
        mechanism=UNREADABLE,
        sensitivity=math.inf,
        scale=math.inf,
        epsilon=bound.epsilon,
        rho=bound.rho,
        delta=bound.delta,
        laplace_epsilon=bound.of_laplace,
        to=CURATOR,
        seen={
            view: bound if is_covered(view) else UNBOUNDED
            for view in views(parties, threshold=threshold)
        },
        users=None,
        whole_record=math.inf if protocol.neighbours.startswith("label-within") else None,
    )


def _is_meaningful(release: Release, seen_by: Collection[str]) -> bool:
    """Tell whether a release has a loss in each view, and no figure that is none."""
    figures = [release.sensitivity, release.scale, release.whole_record or 0.0]
    for loss in (release.loss, *release.seen.values()):
        figures += [loss.epsilon, loss.rho, loss.delta, loss.of_laplace, loss.gaussian]
    return (
        {*release.seen} == {*seen_by}
        and all(figure >= 0 for figure in figures)  # NaN is not
        and all(loss.delta <= 1 for loss in release.seen.values())
    )


def valid_releases(frames: Sequence[bytes], *, party: int) -> list[bytes]:
    """Take frames of releases from a lost party's log, up to the first that is none of its own.

    Its own log protects an honest party from any other frame. A dishonest one must not stop the run
    each time that it goes on. In the place of the first such frame stands one that cannot be read,
    so that the party is charged all that it may spend.
    """
    valid: list[bytes] = []
    for number, frame in enumerate(frames):
        if not _belongs(frame, number, party=party):
            header = Header(FrameKind.RELEASES, 0, number, party, CURATOR, "", "", "")
            return [*valid, pack_header(header)]
        valid.append(frame)
    return valid


def _belongs(frame: bytes, number: int, *, party: int) -> bool:
    """Tell whether a frame is the release of this number of a party to the curator."""
    try:
        header = unpack_header(memoryview(frame), limit=len(frame)).header
    except MessageError:
        return False
    belonging = (header.frame_kind, header.sequence, header.sender, header.receiver)
    return belonging == (FrameKind.RELEASES, number, party, CURATOR)


def _opened(curator: IdentifiedRole, party: int, sealed: memoryview) -> bytes:
    """Open what a party has sent ahead. With identities an open text is refused."""
    flag, payload = bytes(sealed[:1]), bytes(sealed[1:])
    if flag == SEALED:
        return curator.channels[party].open_beside(payload, purpose=PURPOSE)
    if party in curator.pinned:
        raise ValueError("expected it sealed, as identities were given, found it open")
    return payload
