"""Which attribute is the label, where neighbours differ in a label alone."""

from __future__ import annotations

from ..parties import Records
from ..protocols import AnyProtocol

__all__ = ["label_of_part"]


def label_of_part(protocol: AnyProtocol, records: Records) -> str | None:
    """Find the attribute in which neighbours differ, if they differ in a label alone.

    It is the one that the parameter `label` names, and the last one if that is empty or missing. A
    parameter that names no attribute tells nothing: then all attributes count as the label.
    """
    if protocol.neighbours != "label-alone" or not records.attributes:
        return None
    label = getattr(protocol.parameters, "label", None)
    if not label:
        return records.attributes[-1]
    return label if label in records.attributes else None
