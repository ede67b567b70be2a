"""Which attribute is the label of a protocol that protects a label."""

from __future__ import annotations

from collections.abc import Sequence

from ..protocols import AnyProtocol

__all__ = ["protected_label"]


def protected_label(protocol: AnyProtocol, attributes: Sequence[str]) -> str | None:
    """Find the label that a protocol protects; `None` if it protects whole records.

    It is the attribute that the parameter `label` names, and the last one if that is empty or
    missing. If it names no attribute, nothing says which one is the label, so none is.
    """
    if protocol.neighbours not in ("label-alone", "label-within-belief") or not attributes:
        return None
    label = getattr(protocol.parameters, "label", None)
    if not label:
        return attributes[-1]
    return label if label in attributes else None
