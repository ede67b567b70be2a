"""The predicted cost of secure sums, as formulas of public figures.

Bytes are those of messages before they are sealed; `predict_handshakes` adds the seals.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...crypto.key_pieces import PIECE_BYTES
from ...crypto.modulus_proof import roots_needed
from ...messages import BigInts
from ...privacy.batch import Batch
from ..cost import Cost, Public, add_up
from ..introductions import predict_introductions
from .attempts import pieces_needed
from .batch import SumBatch
from .graph import Circle
from .hidden_words import WORDS_PAGE, check_cells, masked_width
from .keys import PAGE, packing_of
from .options import NoiseKind, SecureSums, SumOptions, colluding
from .pages import page_sizes, windows

__all__ = ["predict_keys", "predict_sum", "predict_sums"]

BIGINTS = 12
"""Bytes before the numbers of a BigInts field: width and count."""
ARRAY = 16
"""Bytes before the elements of an array with one axis: type, axes, length and padding.

This holds for an array that starts 16 bytes after the start of its message.
"""


def predict_keys(
    options: SumOptions,
    public: Public,
    *,
    noise: NoiseKind,
    phase: str,
    all_pairs: bool = False,
) -> list[Cost]:
    """Predict the messages of making `PartySums` and `CuratorSums`."""
    parties = public.parties
    table = SecureSums.RowsByParty(np.zeros(parties, np.int64))
    lines = [
        Cost(phase=phase, kind="Rows", messages=parties, payload_bytes=8 * parties),
        Cost.of(table, phase=phase, messages=parties),
    ]
    if options.aggregator != "clear":
        pairs = parties * (parties - 1) // 2
        if noise == "shares" and not all_pairs:
            threshold = colluding(options, parties=parties)
            pairs = Circle.of(parties=parties, colluding=threshold, seed=b"").edges
        lines.insert(0, predict_introductions(edges=parties + pairs, phase=phase))
    if options.aggregator == "paillier":
        width, roots = -(-public.key_bits // 8), roots_needed(public.key_bits)
        key = SecureSums.EncryptionKey(
            BigInts(width, bytes(width)), BigInts(width, bytes(roots * width))
        )
        lines.append(Cost.of(key, phase=phase, messages=parties))
    return lines


def predict_sum(
    options: SumOptions,
    public: Public,
    batch: SumBatch,
    *,
    noise: NoiseKind,
    phase: str,
    parties: int | None = None,
) -> list[Cost]:
    """Predict the messages of one batch, by default of all parties."""
    return predict_sums(options, public, [batch], noise=noise, phase=phase, parties=parties)


def predict_sums(
    options: SumOptions,
    public: Public,
    batches: Sequence[SumBatch],
    *,
    noise: NoiseKind,
    phase: str,
    parties: int | None = None,
) -> list[Cost]:
    """Predict the messages of batches that are sent at once, by default by all parties."""
    parties = public.parties if parties is None else parties
    lines = []
    if public.lasting:
        lines = _predict_attempts(options, public, attempts=len(batches), phase=phase)
    elif noise == "shares" and options.aggregator != "clear" and batches:
        digests = parties * (2 if parties > 1 else 1)
        agreement = SecureSums.Agreement(0, bytes(32))
        lines.append(Cost.of(agreement, phase=phase, messages=digests))
    for batch in batches:
        lines += _predict_pages(options, public, batch, noise=noise, phase=phase, parties=parties)
    return add_up(lines)


def _predict_pages(
    options: SumOptions,
    public: Public,
    batch: SumBatch,
    *,
    noise: NoiseKind,
    phase: str,
    parties: int,
) -> list[Cost]:
    """Predict the pages of one batch of so many parties."""
    colluders = colluding(options, parties=parties)
    noisy = batch.among(parties=parties, rows=public.rows, colluding=colluders)
    if noise == "selected":
        return _predict_ring(noisy, key_bits=public.key_bits, phase=phase)
    if options.aggregator == "paillier":
        packing = packing_of(noisy, shares=True, key_bits=public.key_bits)
        pages = page_sizes(noisy.cells, size=PAGE * packing.slots)
        ciphertexts = sum(packing.plaintexts(cells) for cells in pages)
        ciphertext = 2 * -(-public.key_bits // 8)
        kind, size = "Encrypted", len(pages) * (24 + BIGINTS) + ciphertexts * ciphertext
    else:
        masked = options.aggregator == "masks"
        kind, width = ("Masked", masked_width(noisy)) if masked else ("Unprotected", 8)
        pages = page_sizes(noisy.cells, size=WORDS_PAGE)
        checked = check_cells(width) * len(pages) if masked else 0
        # The numbers of batch and page take 16 bytes; the array follows.
        size = len(pages) * (16 + ARRAY) + width * (noisy.cells + checked)
    sent = Cost(phase=phase, kind=kind, messages=parties * len(pages), payload_bytes=parties * size)
    return [sent, *_predict_windows(len(pages), parties=parties, phase=phase)]


def _predict_attempts(
    options: SumOptions, public: Public, *, attempts: int, phase: str
) -> list[Cost]:
    """Predict the messages of so many attempts that nobody disturbs, beside the pages."""
    parties, nobody = public.parties, np.zeros(0, np.int64)
    threshold = colluding(options, parties=parties)
    holders = len(Circle.of(parties=parties, colluding=threshold, seed=b"").neighbours(1))
    needed = pieces_needed(holders, colluding=threshold)
    pieces = np.zeros(PIECE_BYTES * holders if needed <= holders else 0, np.uint8)
    everybody = np.zeros(parties, np.int64)
    return [
        Cost.of(message, phase=phase, messages=times * parties * attempts)
        for message, times in (
            (SecureSums.Roster(0, 0, 0, everybody), 2),
            (SecureSums.SealedPieces(0, 0, pieces), 1),
            (SecureSums.Agreement(0, bytes(32)), 1),
            (SecureSums.OwnKey(0, 0, bytes(PIECE_BYTES)), 1),
            (SecureSums.MissingKeys(0, nobody, np.zeros(0, np.uint8)), 1),
        )
    ]


def _predict_windows(pages: int, *, parties: int, phase: str) -> list[Cost]:
    """Predict the messages by which receivers of so many pages ask for more."""
    waits = parties * windows(pages)
    return (
        [Cost(phase=phase, kind="Continue", messages=waits, payload_bytes=8 * waits)]
        if waits
        else []
    )


def _predict_ring(batch: Batch, *, key_bits: int, phase: str) -> list[Cost]:
    parties = batch.parties
    packing = packing_of(batch, shares=False, key_bits=key_bits)
    ciphertext = 2 * -(-key_bits // 8)
    indicator = 8 + BIGINTS + parties * ciphertext
    lines = [
        Cost(phase=phase, kind="Indicator", messages=parties, payload_bytes=parties * indicator)
    ]
    if parties > 1:
        seeds = parties - 1
        lines.append(
            Cost(phase=phase, kind="Permutation", messages=seeds, payload_bytes=seeds * (8 + 32))
        )
    pages = page_sizes(batch.cells, size=PAGE * packing.slots)
    sizes = [packing.plaintexts(cells) for cells in pages]
    payload = parties * sum(24 + BIGINTS + count * ciphertext for count in sizes)
    return [
        *lines,
        *_predict_windows(len(sizes), parties=parties, phase=phase),
        Cost(phase=phase, kind="Product", messages=parties * len(sizes), payload_bytes=payload),
    ]
