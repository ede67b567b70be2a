"""Secure sums: their parameters, their messages, and what the parameters give up."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Annotated, ClassVar, Literal, TypeAlias

import msgspec
import numpy as np  # noqa: TC002 - read at run time, as annotations of messages
from numpy.typing import NDArray  # noqa: TC002 - the same

from ...crypto.paillier import Exponent
from ...messages import CIPHERTEXT, BigInts, UsageError, message, personal
from ...privacy import Members
from ..introductions import Introductions
from ..options import Mode, Options

__all__ = [
    "Aggregator",
    "Noise",
    "NoiseKind",
    "SecureSums",
    "SumOptions",
    "choose_noise",
    "colluding",
    "sum_warnings",
]

Aggregator: TypeAlias = Literal["paillier", "masks", "clear"]
Noise: TypeAlias = Literal["auto", "laplace", "gaussian", "selected"]
NoiseKind: TypeAlias = Literal["shares", "selected"]
"""How parties make the noise of a sum together: all of them a share, or one of them all of it."""


class SumOptions(Options):
    """Parameters of a protocol with secure sums; its own parameters extend these."""

    aggregator: Annotated[
        Aggregator,
        msgspec.Meta(
            description="what hides a party's table: masks under encryption, masks, or nothing"
        ),
    ] = "paillier"
    noise: Annotated[
        Noise | None,
        msgspec.Meta(
            description="shares of laplace or gaussian noise, or auto: what makes less noise "
            "(rigorous, if delta > 0); selected (Pathak et al., mode paper); by the mode"
        ),
    ] = None
    colluding: Annotated[
        int,
        msgspec.Meta(
            ge=0, description="parties that may pool what they know of their own noise (shares)"
        ),
    ] = 1
    randomness: Annotated[
        Exponent,
        msgspec.Meta(
            description="of Paillier's randomisers: half-length exponents, or full, r^n (slow)"
        ),
    ] = "half"

    def covering(self, adversaries: Sequence[Members], *, parties: int) -> str:
        """Say which options make the claim cover these adversaries, and at which price.

        The noise of all shares together has K / (K - c) times the variance of the noise that is
        needed, where c is `colluding`.
        """
        threshold = min(self.colluding, parties - 1)
        larger = sorted({size for size, _ in adversaries if size > threshold})
        texts = []
        if larger:
            prices = {
                size: f"{sqrt((parties - threshold) / (parties - size)):.3g} times the noise"
                for size in (larger[0], larger[-1])
            }
            if len(prices) == 1:
                size, price = prices.popitem()
                who = "1 other party" if size == 1 else f"{size} parties together"
                texts.append(f"--set colluding={size} covers {who}, at {price}")
            else:
                each = ", ".join(f"{price} for {size}" for size, price in prices.items())
                texts.append(f"--set colluding=C covers C parties together, at {each}")
        if self.aggregator == "clear" and any(curator for _, curator in adversaries):
            texts.append("--set aggregator=masks covers the curator, also with as many parties")
        return "; ".join(texts)


def choose_noise(options: SumOptions, *, mode: Mode) -> Noise:
    """Choose the noise: the parameter, or where it was left open the mode's own.

    Raises:
        UsageError: this noise does not go with the mode, with the aggregator, or with delta.
    """
    if options.noise is not None:
        noise = options.noise
    elif mode == "paper":
        noise = "selected" if options.aggregator == "paillier" else "laplace"
    else:
        noise = "auto" if options.delta else "laplace"
    if noise == "selected" and mode != "paper":
        raise UsageError(
            "expected noise=laplace, gaussian or auto in mode rigorous, found selected, which is "
            "not private against the parties: --mode paper"
        )
    if noise in ("gaussian", "auto") and mode == "paper":
        raise UsageError(
            f"expected noise=laplace or selected in mode paper, found {noise}: the papers have "
            "pure epsilon; --mode rigorous"
        )
    if noise == "gaussian" and not options.delta:
        raise UsageError(
            "expected a delta above 0 for noise=gaussian, found 0: --delta 1e-9, or noise=laplace"
        )
    if noise == "selected" and options.aggregator != "paillier":
        raise UsageError(
            "expected aggregator=paillier for noise=selected, which is chosen under encryption, "
            f"found {options.aggregator}"
        )
    return noise


def colluding(options: SumOptions, *, parties: int) -> int:
    """Give the collusion threshold of a sum: of K parties at most K - 1 can collude."""
    if options.colluding >= parties > 1:
        raise UsageError(
            f"expected fewer colluding parties than the {parties} in a sum, "
            f"found {options.colluding}"
        )
    return min(options.colluding, parties - 1)


class SecureSums(Introductions):
    """The messages of secure sums; a protocol with secure sums names this class in `uses`."""

    shared_noise: ClassVar[bool] = True
    """Parties add noise together, so a claim covers only so many parties: `Protocol.colluding`."""

    @message
    class Rows:
        """The number of a party's records, to the curator.

        It is public where neighbours replace a record, and it bounds the counts in a slot.
        """

        rows: int

    @message
    class RowsByParty:
        """From the curator: the number of every party's records. Each party finds its own in it."""

        rows: NDArray[np.int64]

    @message
    class Agreement:
        """The digest of a batch and of all that the curator has sent before it."""

        batch: int
        digest: bytes

    @message
    class EncryptionKey:
        """The curator's Paillier modulus, sent once a run, and the proof that it is sound."""

        modulus: BigInts
        proof: BigInts

    @message
    class Product:
        """A page of the ring's running product."""

        batch: int
        page: int
        width: int
        cells: Annotated[BigInts, CIPHERTEXT]

    @message
    class Encrypted:
        """A page of a party's packed and masked cells, encrypted."""

        batch: int
        page: int
        width: int
        cells: Annotated[BigInts, CIPHERTEXT]

    @personal
    @message
    class Continue:
        """To a sender: its pages have been read, and more may come."""

        page: int

    @message
    class Masked:
        """A page of a party's masked cells, `width` bytes each."""

        batch: int
        page: int
        cells: Annotated[NDArray[np.uint8], CIPHERTEXT]

    @message
    class Roster:
        """From the curator: whose tables an attempt at a batch sums, or that all have arrived.

        A party that learns that they have arrived answers with its own key, and never again.
        """

        batch: int
        attempt: int
        arrived: int
        members: NDArray[np.int64]

    @message
    class SealedPieces:
        """The pieces of a party's own key, each sealed for the party that may need to open it."""

        batch: int
        attempt: int
        pieces: NDArray[np.uint8]

    @message
    class OwnKey:
        """The key of a party's own mask in an attempt whose tables have all arrived."""

        batch: int
        attempt: int
        key: bytes

    @personal
    @message
    class MissingKeys:
        """From the curator: whose own keys are missing, with the receiver's sealed pieces of them.

        An empty list ends the batch.
        """

        batch: int
        parties: NDArray[np.int64]
        pieces: NDArray[np.uint8]

    @message
    class OpenedPieces:
        """Pieces of the own keys of parties that were lost."""

        batch: int
        pieces: NDArray[np.uint8]

    @message
    class Unprotected:
        """A page of a party's cells, protected by the party's share of the noise alone."""

        batch: int
        page: int
        cells: NDArray[np.int64]

    @message
    class Indicator:
        """Encryptions of 0, ..., 0, 1, 0, ..., 0: the place of the noise that enters a batch."""

        batch: int
        encrypted: Annotated[BigInts, CIPHERTEXT]

    @message
    class Permutation:
        """From party 1 to the others, sealed: the seed of the permutation that hides the owner."""

        seed: bytes


def sum_warnings(options: SumOptions, *, noise: NoiseKind, parties: int) -> list[str]:
    """List what the parameters give up."""
    warnings = []
    if options.aggregator == "clear":
        warnings.append(
            "aggregator=clear protects nothing: the curator saw every party's own table with a "
            "mere share of the noise (its real epsilon is the one shown for the curator)"
        )
    if noise == "selected" and parties > 1:
        warnings.append(
            "noise=selected is not private against the parties: with probability "
            f"1/{parties} the noise is a party's own, and that party then knows the exact sum of "
            "the others' tables"
        )
    return warnings
