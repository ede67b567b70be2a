"""Secure noise replacement (Su et al. 2016, section VI-C), for mode paper: a growing sum with a single noise.

State at the curator T: for each family of attributes its noisy table S_f, whose noise is in it (the owner), whose records are.
In round k, for the frontier F of that round:

    T        -> P_k     the families of F, and each one's owner
    T        -> P_o     which families to hand over the noise of; nothing about the others
    P_o      -> P_k     Enc(-noise_o)                              sealed; P_k cannot decrypt it
    P_k      -> T       Enc(-noise_o) * Enc(counts_k + noise_k)
    T                   S_f += Dec(...);  owner of f := k;  contributors of f += k

T learns counts_k + noise_k - noise_o, so from S_(k-1) to S_k and nothing else; P_k sees no noise but its own, P_o nothing at
all. Both ciphertexts are fresh. Tables of families with one owner are packed together.

A family that was never counted starts with P_k's own records: the printed S_0 = 0 would need all earlier parties to count it
again, at their cost. One that is contained in a counted family takes over that table, summed out, and its owner hands over the
noise summed out in the same way.

THE PRINTED PRIVACY CLAIM IS WRONG. It charges eps3 to every party, as if S_k released P_k's records alone. But S_k, ..., S_K
contain P_k's records each time with new noise, and T sees them all: P_k pays (K - k + 1) * eps3, reached when the frontier
is stable. Against another party no epsilon holds: P_K knows noise_K, and what is published depends on S_K. The accountant is
told so at the line that releases. The rigorous alternative is to count the frontier jointly (`secure_sum`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Annotated, TypeAlias

import numpy as np
import numpy.typing as npt

from ..crypto import Ciphertexts, Packing
from ..crypto.paillier import Exponent
from ..curator import Curator
from ..messages import CIPHERTEXT, CURATOR, BigInts, MessageError, MisuseError, UsageError, message
from ..parties import Party
from ..privacy import Batch, Domain
from ..privacy.shares import SelectedNoise
from .secure_sum import SecureSums
from .secure_sum.ring import KeyHolder, RingParty

__all__ = ["CuratorReplacement", "Kept", "NoiseReplacement", "PartyReplacement"]

Counts = npt.NDArray[np.int64]
Family: TypeAlias = tuple[str, ...]


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
        """To an earlier party: which noise of its own to hand over, and from which table to sum it out."""

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
    """Choose slots for counts_k + noise_k - noise_o, which the curator bounds: it knows which table each noise is from."""
    try:
        return Packing.fitting(bound, key_bits=key_bits)
    except ValueError as error:
        raise UsageError(str(error)) from None


class PartyReplacement:
    """A party's side; made within the phase in which keys are exchanged."""

    def __init__(self, me: Party, *, domain: Domain, exponent: Exponent = "half") -> None:
        self._me = me
        self._domain = domain
        self._ring = RingParty(me, exponent=exponent)
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
        batch = _batch(sum(map(_size, shapes)), len(shapes), epsilon=epsilon, rows=said.bound, parties=len(me.parties))
        packing = _packing(said.bound, key_bits=ring.key.bits)
        after = len(me.parties) - me.number
        # The printed claim is epsilon. In truth this noise is replaced in every later round, with these records in the sum;
        # and the last party knows the noise of what is published.
        seen = {
            "curator": (after + 1) * epsilon,
            "public": (after + 1) * epsilon,
            "other_party": float("inf") if after else epsilon,
        }
        tables = (np.asarray(count(family)).reshape(-1) for family in said.families)
        released = me.release(SelectedNoise(pages=tables, batch=batch, seen=seen, name="replaced-laplace"), to=CURATOR)
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
                fresh = fresh + _received(me, ring, negated.cells, count=packing.plaintexts(len(cells)))
            me.send(NoiseReplacement.Replaced(fresh.travel()), to=CURATOR)

    def _hand_over(self, turn: int) -> None:
        me, ring = self._me, self._ring
        said = me.receive(NoiseReplacement.Handover, source=CURATOR)
        if not said.families:
            return
        for source in said.sources:
            if source not in self._noise:
                raise MessageError(f"expected a family that this party counted, found {'*'.join(source)}", where=me.where)
        packing = _packing(said.bound, key_bits=ring.key.bits)
        negated = [
            -sum_out(self._noise[source], family=family, source=source).reshape(-1)
            for family, source in zip(said.families, said.sources, strict=True)
        ]
        plain = packing.pack(np.concatenate(negated))
        encrypted = ring.encryptor(uses=len(plain)).encrypt(plain)
        me.send(NoiseReplacement.Negated(encrypted.travel()), to=turn)  # sealed: the curator could decrypt it


class CuratorReplacement(KeyHolder):
    """The curator's side; `kept` is all that it knows."""

    def __init__(self, desk: Curator, *, domain: Domain, rows: int) -> None:
        super().__init__(desk)
        self._domain = domain
        self._rows = rows
        self.kept: dict[Family, Kept] = {}

    def round(self, turn: int, families: Sequence[Family], *, epsilon: float) -> None:
        """Let party `turn` add its records to these families' tables and replace their noise by its own."""
        desk, parties = self.desk, len(self.desk.parties)
        if not families:
            raise MisuseError("expected at least one family to count, found none", where=desk.where)
        sources = {family: self._source(family) for family in families}
        # Families of one owner stand together, in an order that does not depend on how they were given.
        order = sorted(sources, key=lambda family: (self._owner(sources[family]), family))
        owners = [self._owner(sources[family]) for family in order]
        shapes = {family: self._domain.shape(family) for family in order}
        cells = sum(map(_size, shapes.values()))
        batch = _batch(cells, len(order), epsilon=epsilon, rows=self._rows, parties=parties)
        noise = batch.bound(shares=False) - batch.rows
        # An owner's noise has the scale of its own frontier, and is a sum of cells where a table was summed out.
        before = {family: self._noise_before(family, source) for family, source in sources.items()}
        bound = self._rows + noise + max(before.values())
        packing = _packing(bound, key_bits=self.private.public.bits)
        desk.send(NoiseReplacement.Frontier(tuple(order), tuple(owners), bound), to=turn)
        for owner in range(1, turn):
            own = [family for family, of in zip(order, owners, strict=True) if of == owner]
            taken = tuple(sources[family] or family for family in own)
            desk.send(NoiseReplacement.Handover(tuple(own), taken, bound), to=owner)
        replaced: dict[Family, Kept] = {}  # put into `kept` at the end: sources are the tables before this round
        for _, at in _by_owner(owners):
            sizes = [_size(shapes[order[i]]) for i in at]
            said = desk.receive(NoiseReplacement.Replaced, source=turn)
            received = _received(desk, self, said.cells, count=packing.plaintexts(sum(sizes)))
            try:
                changes = packing.unpack(self.private.decrypt(received, workers=desk.workers), cells=sum(sizes))
            except OverflowError as error:
                raise MessageError(f"{error}: a party's counts exceed its rows, or noise its bound", where=desk.where) from None
            for i, change in zip(at, np.split(changes, np.cumsum(sizes)[:-1]), strict=True):
                family, added = order[i], change.reshape(shapes[order[i]])
                source = sources[family]
                if source is None:
                    replaced[family] = Kept(added, turn, (turn,), noise)
                else:
                    held = self.kept[source]
                    table = sum_out(held.table, family=family, source=source) + added
                    replaced[family] = Kept(table, turn, (*held.contributors, turn), noise)
        self.kept |= replaced

    def _source(self, family: Family) -> Family | None:
        """Find the table to go on from: the family's own, or one that contains it, whichever has most contributors."""
        if family in self.kept:
            return family
        within = [kept for kept in self.kept if set(family) <= set(kept)]
        return max(within, key=lambda kept: (len(self.kept[kept].contributors), -len(kept)), default=None)

    def _owner(self, source: Family | None) -> int:
        return 0 if source is None else self.kept[source].owner

    def _noise_before(self, family: Family, source: Family | None) -> int:
        """Bound the owner's noise in a cell of the family: of as many cells of the source as are summed in it."""
        if source is None:
            return 0
        return self.kept[source].noise * (self._domain.cells(source) // self._domain.cells(family))


def _batch(cells: int, families: int, *, epsilon: float, rows: int, parties: int) -> Batch:
    """Describe a frontier: a replaced record changes each family's table by at most 2."""
    return Batch(
        cells=cells, sensitivity=2 * families, epsilon=epsilon, rows=rows, parties=parties, colluding=0
    )  # fmt: skip


def _by_owner(owners: Sequence[int]) -> list[tuple[int, list[int]]]:
    """Group positions by owner; owners must stand together."""
    return [(owner, list(at)) for owner, at in groupby(range(len(owners)), key=lambda i: owners[i])]


def _received(role: Party | Curator, side: RingParty | KeyHolder, numbers: BigInts, *, count: int) -> Ciphertexts:
    key = side.key if isinstance(side, RingParty) else side.private.public
    try:
        return Ciphertexts.received(key, numbers, count=count)
    except ValueError as error:
        raise MessageError(str(error), where=role.where) from None


def _size(shape: tuple[int, ...]) -> int:
    return int(np.prod(shape, dtype=np.int64))
