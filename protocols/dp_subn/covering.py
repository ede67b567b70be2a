"""PriView's coverings (Qardaji, Yang, Li 2014), to compare NOCD with.

Blocks of one size cover every pair, and may overlap. They are found greedily: a block takes the
attribute with the most new pairs, again and again, until it is full. At d = 52 and blocks of 8 that
gives 69 blocks. No covering has fewer than 52 (Schoenheim), and the truncated plane of order 7 has
57, in which no pair stands twice. The estimates of a pair in several blocks are averaged by inverse
variance.
"""

from __future__ import annotations

import numpy as np

from .designs import Block

__all__ = ["covering", "fewest_blocks"]


def covering(attributes: int, *, size: int) -> list[Block]:
    """Cover all pairs by blocks of `size`; all roles compute the same covering.

    >>> covering(4, size=3)
    [(0, 1, 2), (0, 1, 3), (0, 2, 3)]
    >>> len(covering(52, size=8))
    69
    """
    if not size >= 2:
        raise ValueError(f"expected blocks of at least 2 attributes, found {size}")
    if attributes <= size:
        return [tuple(range(attributes))] if attributes > 1 else []
    new = ~np.eye(attributes, dtype=np.bool_)
    blocks = []
    while new.any():
        block = [int(new.sum(axis=1).argmax())]
        while len(block) < size:
            # Ties go to the attribute with the most pairs left.
            gains = new[block].sum(axis=0) * attributes + new.sum(axis=1)
            gains[block] = -1
            block.append(int(gains.argmax()))
        new[np.ix_(block, block)] = False
        blocks.append(tuple(sorted(block)))
    return blocks


def fewest_blocks(attributes: int, *, size: int) -> int:
    """Bound the number of blocks that cover all pairs from below (Schoenheim 1964).

    >>> fewest_blocks(52, size=8)
    52
    """
    return -(-attributes * -(-(attributes - 1) // (size - 1)) // size)
