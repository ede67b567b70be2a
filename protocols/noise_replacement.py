"""Secure noise replacement (Su et al. 2016, section VI-A, phase 3), for mode paper: a growing sum
with a single noise.

State at the curator T: for each family of attributes its noisy table S_f, whose noise is in it (the
owner), whose records are. In round k, for the frontier F of that round:

    T        -> P_k     the families of F, and each one's owner
    T        -> P_o     which families to hand over the noise of; nothing about the others
    P_o      -> P_k     Enc(-noise_o)                              sealed; P_k cannot decrypt it
    P_k      -> T       Enc(-noise_o) * Enc(counts_k + noise_k)
    T                   S_f += Dec(...);  owner of f := k;  contributors of f += k

T learns counts_k + noise_k - noise_o, so from S_(k-1) to S_k and nothing else; P_k sees no noise
but its own, P_o nothing at all. Both ciphertexts are fresh. Tables of families with one owner are
packed together.

A family that was never counted starts with P_k's own records: the printed S_0 = 0 would need all
earlier parties to count it again, at their cost. One that is contained in a counted family takes
over that table, summed out, and its owner hands over the noise summed out in the same way.

THE PRINTED PRIVACY CLAIM IS WRONG. It charges eps3 to every party, as if S_k released P_k's records
alone. But S_k, ..., S_K contain P_k's records each time with new noise, and T sees them all: P_k
pays (K - k + 1) * eps3, reached when the frontier is stable. Against another party no epsilon
holds: P_K knows noise_K, and what is published depends on S_K. The accountant is told so at the
line that releases. The rigorous alternative is to count the frontier jointly (`secure_sum`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Annotated

import numpy as np
import numpy.typing as npt

from ..crypto.ciphertexts import Ciphertexts
from ..crypto.packing import Packing
from ..crypto.public_key import PublicKey
from ..crypto.sealed import TAG_BYTES
from ..messages import (
    CIPHERTEXT,
    CURATOR,
    BigInts,
    MessageError,
    MisuseError,
    Role,
    UsageError,
    encoded_size,
    message,
)
from ..privacy import Batch, Domain, coalition, with_curator
from ..privacy.shares import SelectedNoise
from .protocol import Cost, Public, add_up
from .secure_sum import Family, SecureSums
from .secure_sum.predict import BIGINTS
from .secure_sum.ring import KeyHolder, RingParty

__all__ = [
    "CuratorReplacement",
    "Kept",
    "NoiseReplacement",
    "PartyReplacement",
    "Round",
    "plan_round",
    "predict_replacement",
]

Counts = npt.NDArray[np.int64]


class NoiseReplacement(SecureSums):
    """What is said; a protocol that replaces noise names this in `uses`."""

    @message
    class Frontier:
        """To the party whose turn it is: what to count, and whose noise is in it (0: nobody's)."""

        families: tuple[tuple[str, ...], ...]
        owners: tuple[int, ...]
        bound: int

    @message
    class Handover:
        """To an earlier party: which noise of its own to hand over, and from which table to sum it
        out.
        """

        families: tuple[tuple[str, ...], ...]
        sources: tuple[tuple[str, ...], ...]
        bound: int

    @message
    class Negated:
        """From an owner to the party whose turn it is: its noise, negated."""

        cells: Annotated[BigInts, CIPHERTEXT]

    @message
    class Replaced:
        """To the curator: the change of the tables of one owner."""

        cells: Annotated[BigInts, CIPHERTEXT]


@dataclass(frozen=True, slots=True)
class Kept:
    """A family's table at the curator."""

    table: Counts
    owner: int
    """Whose noise is in it."""
    contributors: tuple[int, ...]
    """Whose records are."""
    noise: int
    """A bound on the owner's noise in any cell."""


def sum_out(table: Counts, *, family: Family, source: Family) -> Counts:
    """Sum a table of `source` down to `family`, its axes in the order of `family`."""
    axes = tuple(at for at, attribute in enumerate(source) if attribute not in family)
    rest = [attribute for attribute in source if attribute in family]
    summed: Counts = table.sum(axis=axes)
    return summed.transpose([rest.index(attribute) for attribute in family])


def _packing(bound: int, *, key_bits: int) -> Packing:
    """Choose slots for counts_k + noise_k - noise_o, which the curator bounds: it knows which table
    each noise is from.
    """
    try:
        return Packing.fitting(bound, key_bits=key_bits)
    except ValueError as error:
        raise UsageError(str(error)) from None


class PartyReplacement:
    """A party's side, under the key of the ring."""

    def __init__(self, ring: RingParty, *, domain: Domain) -> None:
        self._me = ring.me
        self._domain = domain
        self._ring = ring
        self._noise: dict[Family, Counts] = {}

    def round(self, turn: int, *, count: Callable[[Family], Counts], epsilon: float) -> None:
        """Take part in the round in which it is party `turn`'s turn to count."""
        if turn == self._me.number:
            self._add(count, epsilon)
        elif turn > self._me.number:
            self._hand_over(turn)

    def _add(self, count: Callable[[Family], Counts], epsilon: float) -> None:
        me, ring = self._me, self._ring
        said = me.receive(NoiseReplacement.Frontier, source=CURATOR)
        shapes = [self._domain.shape(family) for family in said.families]
        batch = _batch(
            sum(map(_size, shapes)),
            len(shapes),
            epsilon=epsilon,
            rows=said.bound,
            parties=len(me.parties),
        )
        packing = _packing(said.bound, key_bits=ring.key.bits)
        after = len(me.parties) - me.number
        # The printed claim is epsilon. In truth this noise is replaced in every later round, with
        # these records in the sum; and the last party knows the noise of what is published.
        others = range(1, len(me.parties))
        seen = dict.fromkeys(("curator", "public"), (after + 1) * epsilon)
        if after:
            # P_K's noise is in what is published; and every later owner's noise opens S to the
            # curator, with these records.
            seen |= {
                view(size): float("inf") for size in others for view in (coalition, with_curator)
            }
        tables = (np.asarray(count(family)).reshape(-1) for family in said.families)
        released = me.release(
            SelectedNoise(pages=tables, batch=batch, seen=seen, name="replaced-laplace"), to=CURATOR
        )
        noisy: list[Counts] = []
        for family, shape, (counts, noise) in zip(said.families, shapes, released, strict=True):
            self._noise[family] = noise.reshape(shape)
            noisy.append(counts + noise)
        encryptor = ring.encryptor(uses=2 * packing.plaintexts(batch.cells))
        for owner, at in _by_owner(said.owners):
            cells = np.concatenate([noisy[i] for i in at])
            fresh = encryptor.encrypt(packing.pack(cells))
            if owner:
                negated = me.receive(NoiseReplacement.Negated, source=owner)
                fresh = fresh + _received(
                    me, ring.key, negated.cells, count=packing.plaintexts(len(cells))
                )
            me.send(NoiseReplacement.Replaced(fresh.travel()), to=CURATOR)

    def _hand_over(self, turn: int) -> None:
        me, ring = self._me, self._ring
        said = me.receive(NoiseReplacement.Handover, source=CURATOR)
        if not said.families:
            return
        for source in said.sources:
            if source not in self._noise:
                raise MessageError(
                    f"expected a family that this party counted, found {'*'.join(source)}",
                    where=me.where,
                )
        packing = _packing(said.bound, key_bits=ring.key.bits)
        negated = [
            -sum_out(self._noise[source], family=family, source=source).reshape(-1)
            for family, source in zip(said.families, said.sources, strict=True)
        ]
        plain = packing.pack(np.concatenate(negated))
        encrypted = ring.encryptor(uses=len(plain)).encrypt(plain)
        me.send(
            NoiseReplacement.Negated(encrypted.travel()), to=turn
        )  # sealed: the curator could decrypt it


@dataclass(frozen=True, slots=True)
class Round:
    """What a round is to do, as it follows from what is kept and from the frontier."""

    families: tuple[Family, ...]
    """Those of one owner stand together, in an order that does not depend on how they were
    given.
    """
    sources: dict[Family, Family | None]
    """The kept table from which each goes on."""
    owners: tuple[int, ...]
    batch: Batch
    noise: int
    """A bound on the new noise in any cell."""
    bound: int
    """A bound on counts_k + noise_k - noise_o in any cell."""

    def handovers(self, turn: int) -> list[tuple[int, NoiseReplacement.Handover]]:
        """List what every earlier party is told: which noise of its own to hand over."""
        told = []
        for owner in range(1, turn):
            own = tuple(
                family for family, of in zip(self.families, self.owners, strict=True) if of == owner
            )
            taken = tuple(self.sources[family] or family for family in own)
            told.append((owner, NoiseReplacement.Handover(own, taken, self.bound)))
        return told


def plan_round(
    kept: Mapping[Family, Kept],
    families: Sequence[Family],
    *,
    domain: Domain,
    rows: int,
    parties: int,
    epsilon: float,
) -> Round:
    """Plan a round. Of what is kept it looks at owners, contributors and bounds alone."""

    def source_of(family: Family) -> Family | None:
        """Find the table to go on from: the family's own, or one that contains it, whichever has
        most contributors.
        """
        if family in kept:
            return family
        within = [other for other in kept if set(family) <= set(other)]
        return max(
            within, key=lambda other: (len(kept[other].contributors), -len(other)), default=None
        )

    def noise_before(family: Family, source: Family | None) -> int:
        """Bound the owner's noise in a cell of the family: of as many cells of the source as are
        summed in it.
        """
        return (
            0
            if source is None
            else kept[source].noise * (domain.cells(source) // domain.cells(family))
        )

    sources = {family: source_of(family) for family in families}
    owner_of = {
        family: 0 if source is None else kept[source].owner for family, source in sources.items()
    }
    order = tuple(sorted(sources, key=lambda family: (owner_of[family], family)))
    batch = _batch(
        sum(map(domain.cells, order)), len(order), epsilon=epsilon, rows=rows, parties=parties
    )
    noise = batch.bound(shares=False) - batch.rows
    # An owner's noise has the scale of its own frontier, and is a sum of cells where a table was
    # summed out.
    before = max(noise_before(family, source) for family, source in sources.items())
    return Round(
        order,
        sources,
        tuple(owner_of[family] for family in order),
        batch,
        noise,
        rows + noise + before,
    )


class CuratorReplacement:
    """The curator's side, under the key of the ring; `kept` is all that it knows."""

    def __init__(self, holder: KeyHolder, *, domain: Domain, rows: int) -> None:
        self._desk = holder.desk
        self._key = holder.private
        self._domain = domain
        self._rows = rows
        self.kept: dict[Family, Kept] = {}

    def round(self, turn: int, families: Sequence[Family], *, epsilon: float) -> None:
        """Let party `turn` add its records to these families' tables and replace their noise by its
        own.
        """
        desk, parties = self._desk, len(self._desk.parties)
        if not families:
            raise MisuseError("expected at least one family to count, found none", where=desk.where)
        plan = plan_round(
            self.kept,
            families,
            domain=self._domain,
            rows=self._rows,
            parties=parties,
            epsilon=epsilon,
        )
        packing = _packing(plan.bound, key_bits=self._key.public.bits)
        desk.send(NoiseReplacement.Frontier(plan.families, plan.owners, plan.bound), to=turn)
        for owner, handover in plan.handovers(turn):
            desk.send(handover, to=owner)
        replaced: dict[
            Family, Kept
        ] = {}  # put into `kept` at the end: sources are the tables before this round
        for _, at in _by_owner(plan.owners):
            own = [plan.families[i] for i in at]
            sizes = [self._domain.cells(family) for family in own]
            said = desk.receive(NoiseReplacement.Replaced, source=turn)
            received = _received(
                desk, self._key.public, said.cells, count=packing.plaintexts(sum(sizes))
            )
            try:
                changes = packing.unpack(
                    self._key.decrypt(received, workers=desk.workers), cells=sum(sizes)
                )
            except OverflowError as error:
                raise MessageError(
                    f"{error}: a party's counts exceed its rows, or noise its bound",
                    where=desk.where,
                ) from None
            for family, change in zip(own, np.split(changes, np.cumsum(sizes)[:-1]), strict=True):
                source, added = plan.sources[family], change.reshape(self._domain.shape(family))
                if source is None:
                    replaced[family] = Kept(added, turn, (turn,), plan.noise)
                else:
                    held = self.kept[source]
                    table = sum_out(held.table, family=family, source=source) + added
                    replaced[family] = Kept(table, turn, (*held.contributors, turn), plan.noise)
        self.kept |= replaced


def predict_replacement(
    frontiers: Sequence[Sequence[Family]],
    public: Public,
    *,
    domain: Domain,
    phase: str,
    epsilon: float,
) -> list[Cost]:
    """Predict what rounds with these frontiers send, one party's turn after another's."""
    lines: list[Cost] = []
    kept: dict[Family, Kept] = {}
    nothing = np.zeros(0, np.int64)

    def said(kind: str, payload: int) -> None:
        lines.append(Cost(phase=phase, kind=kind, messages=1, payload_bytes=payload))

    for turn, families in enumerate(frontiers, start=1):
        plan = plan_round(
            kept, families, domain=domain, rows=public.rows, parties=public.parties, epsilon=epsilon
        )
        packing = _packing(plan.bound, key_bits=public.key_bits)
        said(
            "Frontier",
            encoded_size(NoiseReplacement.Frontier(plan.families, plan.owners, plan.bound)),
        )
        for _, handover in plan.handovers(turn):
            said("Handover", encoded_size(handover))
        for owner, at in _by_owner(plan.owners):
            count = packing.plaintexts(sum(domain.cells(plan.families[i]) for i in at))
            ciphertexts = BIGINTS + count * 2 * -(-public.key_bits // 8)
            if owner:
                said("Negated", ciphertexts + TAG_BYTES)
            said("Replaced", ciphertexts)
        contributors = {
            f: () if (s := plan.sources[f]) is None else kept[s].contributors for f in plan.families
        }
        kept |= {
            f: Kept(nothing, turn, (*contributors[f], turn), plan.noise) for f in plan.families
        }
    return add_up(lines)


def _batch(cells: int, families: int, *, epsilon: float, rows: int, parties: int) -> Batch:
    """Describe a frontier: a replaced record changes each family's table by at most 2."""
    return Batch(
        cells=cells,
        sensitivity=2 * families,
        epsilon=epsilon,
        rows=rows,
        parties=parties,
        colluding=0,
    )


def _by_owner(owners: Sequence[int]) -> list[tuple[int, list[int]]]:
    """Group positions by owner; owners must stand together."""
    return [(owner, list(at)) for owner, at in groupby(range(len(owners)), key=lambda i: owners[i])]


def _received(role: Role, key: PublicKey, numbers: BigInts, *, count: int) -> Ciphertexts:
    try:
        return Ciphertexts.received(key, numbers, count=count)
    except ValueError as error:
        raise MessageError(str(error), where=role.where) from None


def _size(shape: tuple[int, ...]) -> int:
    return int(np.prod(shape, dtype=np.int64))
