"""What a secure sum costs, as formulas of public figures; the report shows them beside what was
measured.
"""

from __future__ import annotations

from ...crypto.sealed import SEAL
from ...privacy.shares import Batch
from ..introductions import predict_introductions
from ..protocol import Cost, Public
from .masks import MASKED_PAGE, check_cells, masked_width
from .options import NoiseKind, SumOptions, colluding
from .pages import page_sizes, windows
from .ring import PAGE, packing_of

__all__ = ["predict_keys", "predict_sum"]

BIGINTS = 12
"""Bytes before the numbers of a BigInts field: width and count."""
ARRAY = 16
"""Bytes before the elements of a one-axis array that stands 16 bytes from the start: type, axes,
length, padding.
"""


def predict_keys(
    options: SumOptions, public: Public, *, phase: str, told_rows: bool = True
) -> list[Cost]:
    """Predict the messages of making `PartySums` and `CuratorSums`."""
    parties, lines = public.parties, []
    if told_rows:
        lines.append(
            Cost(phase=phase, kind="Rows", messages=parties**2, payload_bytes=8 * parties**2)
        )
    if options.aggregator != "clear" and parties > 1:
        lines.append(predict_introductions(parties=parties, phase=phase))
    if options.aggregator == "paillier":
        size = BIGINTS + -(-public.key_bits // 8)
        lines.append(
            Cost(phase=phase, kind="EncryptionKey", messages=parties, payload_bytes=parties * size)
        )
    return lines


def predict_sum(
    options: SumOptions,
    public: Public,
    *,
    noise: NoiseKind,
    phase: str,
    cells: int,
    sensitivity: int,
    epsilon: float,
    rows: int | None = None,
    weight: int = 1,
) -> list[Cost]:
    """Predict the messages of one batch."""
    parties, bits = public.parties, public.key_bits
    batch = Batch(
        cells=cells,
        sensitivity=sensitivity,
        epsilon=epsilon,
        rows=weight * (public.rows if rows is None else rows),
        parties=parties,
        colluding=colluding(options, parties=parties),
    )
    if options.aggregator != "paillier":
        masked = options.aggregator == "masks"
        kind, width = ("Masked", masked_width(batch)) if masked else ("Unprotected", 8)
        pages = len(page_sizes(cells, size=MASKED_PAGE))
        # batch, page, then the array
        checked = check_cells(width) * pages if masked else 0
        payload = parties * (pages * (16 + ARRAY) + width * (cells + checked))
        lines = [Cost(phase=phase, kind=kind, messages=parties * pages, payload_bytes=payload)]
        waits = parties * windows(pages)
        return (
            [*lines, Cost(phase=phase, kind="Continue", messages=waits, payload_bytes=8 * waits)]
            if waits
            else lines
        )
    packing = packing_of(batch, shares=noise == "shares", key_bits=bits)
    ciphertext = 2 * -(-bits // 8)
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
                    payload_bytes=(parties - 1) * (8 + 32 + SEAL),
                )
            )
    sizes = [packing.plaintexts(page) for page in page_sizes(cells, size=PAGE * packing.slots)]
    one_way = sum(24 + BIGINTS + count * ciphertext for count in sizes)
    # The hops between parties are sealed, the last, to the curator, is not.
    payload = parties * one_way + (parties - 1) * SEAL * len(sizes)
    if (waits := windows(len(sizes))) > 0:
        sealed = SEAL * (parties - 1) * waits
        lines.append(
            Cost(
                phase=phase,
                kind="Continue",
                messages=parties * waits,
                payload_bytes=8 * parties * waits + sealed,
            )
        )
    return [
        *lines,
        Cost(phase=phase, kind="Product", messages=parties * len(sizes), payload_bytes=payload),
    ]
