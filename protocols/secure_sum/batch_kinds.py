"""Which verb of secure sums takes which batch: a wrong one is refused with the right one."""

from __future__ import annotations

from collections.abc import Sequence

from ...messages import MisuseError, Where
from .batch import SumBatch
from .reals import RealBatch

__all__ = ["require_list_of_batches", "require_real_batch", "require_sum_batch"]


def require_sum_batch(batch: object, *, verb: str, where: Where) -> None:
    """Refuse anything but a batch of whole numbers.

    Raises:
        MisuseError: the text names the verb that takes what there is.
    """
    if isinstance(batch, SumBatch):
        return
    kind, hint = "something else", "make it as SumBatch(cells=..., sensitivity=..., epsilon=...)"
    if isinstance(batch, RealBatch):
        kind, hint = (
            "a RealBatch",
            "real numbers have `sums.real`, at the curator and at the parties",
        )
    elif isinstance(batch, Sequence):
        kind, hint = "a list", "the curator takes several by sums.totals([first, second])"
    raise MisuseError(f"expected a SumBatch in `{verb}`, found {kind}: {hint}", where=where)


def require_real_batch(batch: object, *, where: Where) -> None:
    """Refuse anything but a batch of real numbers.

    Raises:
        MisuseError: the text names the verb that takes what there is.
    """
    if isinstance(batch, RealBatch):
        return
    kind = "something else"
    hint = "the party says sums.real(values, batch), and the curator sums.real(batch)"
    if isinstance(batch, SumBatch):
        kind, hint = (
            "a SumBatch",
            "whole numbers have `contribute` at the parties, and `total` at the curator",
        )
    raise MisuseError(f"expected a RealBatch in `real`, found {kind}: {hint}", where=where)


def require_list_of_batches(batches: object, others: Sequence[object], *, where: Where) -> None:
    """Refuse batches that are not in one list.

    Raises:
        MisuseError: the text shows the call.
    """
    batch_list = batches if isinstance(batches, Sequence) and not others else [None]
    if not all(isinstance(batch, SumBatch | RealBatch) for batch in batch_list):
        raise MisuseError(
            "expected one list of batches in `totals`, found something else: say "
            "sums.totals([first, second]), with the batches in the order of the parties",
            where=where,
        )
