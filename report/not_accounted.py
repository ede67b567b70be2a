"""Sentences about messages that left a party without a release that covers them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from .formats import numbers_text, quantity
from .report import Unaccounted

__all__ = ["MARK", "MEANING", "unaccounted_texts"]

MARK: Final = "NOT ACCOUNTED"
"""How every sentence about such messages begins."""
MEANING: Final = (
    "What they reveal of a record is not known, so no privacy loss is shown for whoever saw them."
)
MAX_TEXTS: Final = 6


def unaccounted_texts(messages: Sequence[Unaccounted]) -> list[str]:
    """Write a sentence for each kind of message, with all parties that sent it.

    >>> total = [
    ...     Unaccounted(party=party, kind="Total", messages=2, reason="") for party in (1, 2, 3)
    ... ]
    >>> unaccounted_texts(total)
    ['NOT ACCOUNTED: 6 messages of kind Total left parties 1 to 3 without a release']
    """
    groups: dict[tuple[str, str], list[Unaccounted]] = {}
    for message in messages:
        groups.setdefault((message.kind, message.reason), []).append(message)
    texts = [
        f"{MARK}: {_count(group)} of kind {kind} left {_parties(group)} without a release"
        + (f" ({reason})" if reason else "")
        for (kind, reason), group in groups.items()
    ]
    if len(texts) > MAX_TEXTS:
        rest = [message for group in [*groups.values()][MAX_TEXTS - 1 :] for message in group]
        kinds = len({message.kind for message in rest})
        more = f"{MARK}: {_count(rest)} of {quantity(kinds, 'more kind')} left {_parties(rest)}"
        texts[MAX_TEXTS - 1 :] = [f"{more} without a release"]
    return texts


def _count(messages: Sequence[Unaccounted]) -> str:
    return quantity(sum(message.messages for message in messages), "message")


def _parties(messages: Sequence[Unaccounted]) -> str:
    parties = {message.party for message in messages}
    return f"part{'y' if len(parties) == 1 else 'ies'} {numbers_text(parties)}"
