"""What can be chosen for a secure sum, what is said in one, and what the choices give up."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec
import numpy as np  # noqa: TC002 - read at run time, as annotations of messages
from numpy.typing import NDArray  # noqa: TC002 - the same

from ...crypto.paillier import Exponent
from ...messages import CIPHERTEXT, BigInts, UsageError, message
from ..introductions import Introductions
from ..protocol import Mode, Options

__all__ = [
    "Aggregator",
    "NoiseKind",
    "SecureSums",
    "SumOptions",
    "choose_noise",
    "colluding",
    "sum_warnings",
]

Aggregator: TypeAlias = Literal["paillier", "masks", "clear"]
NoiseKind: TypeAlias = Literal["shares", "selected"]


class SumOptions(Options):
    """Parameters of a protocol that adds up secretly; derive its `Parameters` from these."""

    aggregator: Annotated[
        Aggregator, msgspec.Meta(description="who hides a party's table: a ring, a star, or nobody")
    ] = "paillier"
    noise: Annotated[
        NoiseKind | None,
        msgspec.Meta(
            description="shares (rigorous), or selected (Pathak et al., mode paper); by the mode"
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


def choose_noise(options: SumOptions, *, mode: Mode) -> NoiseKind:
    """Say which noise: as asked, or what the mode stands for; a choice that cannot be is a
    `UsageError`.
    """
    noise = options.noise or (
        "selected" if mode == "paper" and options.aggregator == "paillier" else "shares"
    )
    if noise == "selected" and mode != "paper":
        raise UsageError(
            "expected noise=shares in mode rigorous, found selected, which is not private against the parties: --mode paper"
        )
    if noise == "selected" and options.aggregator != "paillier":
        raise UsageError(
            f"expected aggregator=paillier for noise=selected, which is chosen under encryption, found {options.aggregator}"
        )
    return noise


def colluding(options: SumOptions, *, parties: int) -> int:
    """Say how many parties may collude: of K parties at most K - 1 can, and alone nobody can."""
    if options.colluding >= parties > 1:
        raise UsageError(
            f"expected fewer colluding parties than the {parties} there are, found {options.colluding}"
        )
    return min(options.colluding, parties - 1)


class SecureSums(Introductions):
    """What is said; a protocol that adds up secretly names this in `uses`."""

    @message
    class Rows:
        """How many records a party has: public under replace-one, and what slots must have room
        for.
        """

        rows: int

    @message
    class EncryptionKey:
        """The curator's Paillier modulus, once a run."""

        modulus: BigInts

    @message
    class Product:
        """The running product of the ring, a page of it."""

        batch: int
        page: int
        width: int
        cells: Annotated[BigInts, CIPHERTEXT]

    @message
    class Continue:
        """To a sender whose pages were taken in: more of them may come."""

        page: int

    @message
    class Masked:
        """A party's masked cells, `width` bytes each, a page of them."""

        batch: int
        page: int
        cells: Annotated[NDArray[np.uint8], CIPHERTEXT]

    @message
    class Unprotected:
        """A party's cells as they are, a page of them. Only the party's share of the noise is in
        them.
        """

        batch: int
        page: int
        cells: NDArray[np.int64]

    @message
    class Indicator:
        """Encryptions of 0, ..., 0, 1, 0, ..., 0: whose noise enters a batch (Pathak et al.)."""

        batch: int
        encrypted: Annotated[BigInts, CIPHERTEXT]

    @message
    class Permutation:
        """From party 1 to the others: the seed of the permutation that hides the owner from the
        curator. Sealed.
        """

        seed: bytes


def sum_warnings(options: SumOptions, *, noise: NoiseKind, parties: int) -> list[str]:
    """Say what the choices give up."""
    said = []
    if options.aggregator == "clear":
        said.append(
            "aggregator=clear protects nothing: the curator saw every party's own table with a mere share of the noise "
            "(its real epsilon is the one shown for the curator)"
        )
    if noise == "selected" and parties > 1:
        said.append(
            f"noise=selected is not private against the parties: with probability 1/{parties} the noise is a party's own, "
            "and it then knows the exact sum of the others' tables"
        )
    return said
