"""What a run says of lost parties: whose records are in the result, and at which cost.

A lost party takes its notes with it. The curator knows at which attempts at secure sums it was a
member, and every member bears the same loss in every view. So its releases in sums are those of
another party. All its other releases it has sent before a message carried them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import msgspec

from ..curator import Curator
from ..messages import PeerLostError
from ..privacy import Release
from ..privacy.adversary import views
from ..protocols import AnyProtocol
from .lost_releases import all_that_it_may_spend, lost_releases
from .record import PartyLoss, RoleNotes

__all__ = ["losses_of", "losses_to_come", "notes_of_lost"]


def losses_of(curator: Curator, *, ended: Collection[int]) -> list[PartyLoss]:
    """List the parties that were lost, in order, and how many batches have their records.

    Those in `ended` had ended their parts.
    """
    return [
        _loss_of(curator, party, phase=phase, has_ended=party in ended)
        for party, phase in curator.lost.items()
    ]


def losses_to_come(curator: Curator, *, ended: Collection[int]) -> list[PartyLoss]:
    """Say of each party in `ended` that is not lost what will be so if it is lost now.

    The curator hears of no loss after its own end; who started the processes does.
    """
    phase = curator.current_phase
    return [
        _loss_of(curator, party, phase=phase, has_ended=True)
        for party in curator.parties
        if party in ended and party not in curator.lost
    ]


def _loss_of(curator: Curator, party: int, *, phase: str, has_ended: bool) -> PartyLoss:
    of_all = [batch for batch in curator.batches if batch.kind != "turn"]
    return PartyLoss(
        party=party,
        phase=phase,
        batches_with=sum(party in batch.members for batch in of_all),
        batches_without=sum(party not in batch.members for batch in of_all),
        has_ended=has_ended,
        turns=sum(party in batch.members for batch in curator.batches if batch.kind == "turn"),
    )


def notes_of_lost(
    curator: Curator, notes: Mapping[int, RoleNotes], *, protocol: AnyProtocol
) -> dict[int, RoleNotes]:
    """Make the notes of lost parties of what the curator and another party know.

    Args:
        curator: the curator, which knows the members of each batch.
        notes: the notes of the parties that are left.
        protocol: the protocol, which bounds what a party may spend.

    Raises:
        PeerLostError: no party is left, or its releases are not those of the batches.
    """
    batches = [batch for batch in curator.batches if batch.kind != "turn"]
    releases: Sequence[Release] = next(
        ([other.releases[number] for number in other.attempts] for other in notes.values()), []
    )
    members_by_attempt = [
        members for batch in batches if batch.kind == "sum" for members in batch.attempts
    ]
    if len(releases) != len(members_by_attempt):
        raise PeerLostError(
            "expected the releases of a party that is left, from which the loss of lost parties "
            "follows, found none",
            where=curator.where,
        )
    rows: dict[int, int] = {}
    for batch in batches:
        rows |= dict(zip(batch.members, batch.rows, strict=False))
    parties = len(curator.parties)
    seen_by = views(parties, threshold=protocol.colluding)

    def releases_of(party: int) -> list[Release]:
        ahead = lost_releases(curator, party, seen_by=seen_by)
        if ahead is None:
            phase = curator.lost[party]
            return [all_that_it_may_spend(protocol, party, parties=parties, phase=phase)]
        of_sums = (
            msgspec.structs.replace(release, party=party)
            for release, members in zip(releases, members_by_attempt, strict=True)
            if party in members
        )
        return [*ahead, *of_sums]

    return {
        party: RoleNotes(
            acts=[],
            phases={},
            releases=releases_of(party),
            rows=rows.get(party),
            host="",
            transcript={},
            guard=None,
        )
        for party in curator.parties
        if party not in notes
    }
