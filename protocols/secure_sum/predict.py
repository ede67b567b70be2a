"""The predicted cost of secure sums, as formulas of public figures."""

from __future__ import annotations

from ...privacy.shares import Batch
from ..introductions import predict_introductions
from ..protocol import Cost, Public
from .batch import SumBatch
from .masks import MASKED_PAGE, check_cells, masked_width
from .options import NoiseKind, SumOptions, colluding
from .pages import page_sizes, windows
from .ring import PAGE, packing_of

__all__ = ["predict_keys", "predict_sum"]

BIGINTS = 12
"""Bytes before the numbers of a BigInts field: width and count."""
ARRAY = 16
"""Bytes before the elements of an array with one axis: type, axes, length and padding.

This holds for an array that starts 16 bytes after the start of its message.
"""


def predict_keys(options: SumOptions, public: Public, *, phase: str) -> list[Cost]:
    """Predict the messages of making `PartySums` and `CuratorSums`, without seals."""
    parties = public.parties
    lines = [Cost(phase=phase, kind="Rows", messages=parties**2, payload_bytes=8 * parties**2)]
    if options.aggregator != "clear":
        lines.append(predict_introductions(edges=parties * (parties + 1) // 2, phase=phase))
    if options.aggregator == "paillier":
        size = BIGINTS + -(-public.key_bits // 8)
        lines.append(
            Cost(phase=phase, kind="EncryptionKey", messages=parties, payload_bytes=parties * size)
        )
    return lines


def predict_sum(
    options: SumOptions, public: Public, batch: SumBatch, *, noise: NoiseKind, phase: str
) -> list[Cost]:
    """Predict the messages of one batch, without seals."""
    colluders = colluding(options, parties=public.parties)
    noisy = batch.among(parties=public.parties, rows=public.rows, colluding=colluders)
    if options.aggregator == "paillier":
        return _predict_ring(noisy, noise=noise, key_bits=public.key_bits, phase=phase)
    masked = options.aggregator == "masks"
    kind, width = ("Masked", masked_width(noisy)) if masked else ("Unprotected", 8)
    pages = len(page_sizes(noisy.cells, size=MASKED_PAGE))
    checked = check_cells(width) * pages if masked else 0
    # The numbers of batch and page take 16 bytes; the array follows.
    payload = public.parties * (pages * (16 + ARRAY) + width * (noisy.cells + checked))
    messages, waits = public.parties * pages, public.parties * windows(pages)
    lines = [Cost(phase=phase, kind=kind, messages=messages, payload_bytes=payload)]
    if waits:
        lines.append(Cost(phase=phase, kind="Continue", messages=waits, payload_bytes=8 * waits))
    return lines


def _predict_ring(batch: Batch, *, noise: NoiseKind, key_bits: int, phase: str) -> list[Cost]:
    parties = batch.parties
    packing = packing_of(batch, shares=noise == "shares", key_bits=key_bits)
    ciphertext = 2 * -(-key_bits // 8)
    lines = []
    if noise == "selected":
        indicator = 8 + BIGINTS + parties * ciphertext
        lines.append(
            Cost(phase=phase, kind="Indicator", messages=parties, payload_bytes=parties * indicator)
        )
        if parties > 1:
            lines.append(
                Cost(
                    phase=phase,
                    kind="Permutation",
                    messages=parties - 1,
                    payload_bytes=(parties - 1) * (8 + 32),
                )
            )
    pages = page_sizes(batch.cells, size=PAGE * packing.slots)
    sizes = [packing.plaintexts(cells) for cells in pages]
    one_way = sum(24 + BIGINTS + count * ciphertext for count in sizes)
    payload = parties * one_way
    if (waits := windows(len(sizes))) > 0:
        lines.append(
            Cost(
                phase=phase,
                kind="Continue",
                messages=parties * waits,
                payload_bytes=8 * parties * waits,
            )
        )
    return [
        *lines,
        Cost(phase=phase, kind="Product", messages=parties * len(sizes), payload_bytes=payload),
    ]
