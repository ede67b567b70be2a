"""Who is in a sum: all parties of a run, some of them, or those that are not lost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...crypto import IdentifiedRole
from ...messages import PeerLostError, UsageError, role_name
from .graph import Circle
from .options import NoiseKind, SumOptions, colluding

__all__ = ["cut_among", "mask_graph", "members_among", "require_all"]


def members_among(
    ranks: Iterable[int], *, parties: Sequence[int], options: SumOptions, noise: NoiseKind
) -> list[int]:
    """Check the ranks of the parties whose tables are added up.

    Raises:
        UsageError: they are no parties, too few for a sum, or no more than may collude.
    """
    if isinstance(ranks, str):
        raise UsageError("expected ranks of parties such as [1, 3] in `among`, found a text")
    members = sorted(set(ranks))
    if unknown := [rank for rank in members if rank not in parties]:
        raise UsageError(
            f"expected a sum among parties 1 to {len(parties)}, found rank {unknown[0]}"
        )
    if members == [*parties]:
        return members
    if len(members) < 2:
        raise UsageError(
            "expected at least two parties in a secure sum, found "
            f"{role_name(members[0]) if members else 'none'}: the sum of one party's table is that "
            "table, so release it with noise of its own (`me.release`)"
        )
    if noise == "selected":
        raise UsageError(
            "expected noise in shares for a sum among some of the parties, found noise=selected, "
            "whose ring passes all of them"
        )
    if options.colluding >= len(members):
        raise UsageError(
            f"expected more parties in a sum than the {options.colluding} that may collude, found "
            f"{len(members)}: add parties to the sum, or lower `colluding`"
        )
    return members


def mask_graph(options: SumOptions, *, members: Sequence[int], seed: bytes) -> Circle:
    """Draw the graph of parties that share masks. All roles draw the same."""
    threshold = colluding(options, parties=len(members))
    return Circle.among(members, colluding=threshold, seed=seed)


def cut_among(circle: Circle, members: Sequence[int], *, colluding: int) -> int:
    """Count the fewest members that part the others, which are more than `colluding`.

    Raises:
        PeerLostError: too many neighbours on the mask graph are lost.
    """
    cut = circle.cut(members)
    if cut <= colluding and cut < len(members) - 1:
        raise PeerLostError(
            f"expected parties of whom no {colluding} are all that share masks with others, found "
            f"that {cut} are among the {len(members)} that are left: no table is sent"
        )
    return cut


def require_all(role: IdentifiedRole) -> None:
    """Refuse sums among some parties in a run that may go on without a party that is lost."""
    if role.min_parties is not None:
        raise UsageError(
            "expected --on-loss stop for a protocol with sums among some of the parties, found "
            "continue: its sums have members of their own"
        )
