"""How attributes enter a protocol: as they are, or as the bits of their codes."""

from __future__ import annotations

from dataclasses import dataclass

from ...parties import Party, Records
from ...privacy import BinaryEncoding, Domain

__all__ = ["BITS", "ORIGINAL", "AttributeForm"]


@dataclass(frozen=True, slots=True)
class AttributeForm:
    """Translates records and domains on the way in; `decoder` translates rows on the way out."""

    binary: bool

    def records(self, me: Party) -> Records:
        """Give a party's records over the attributes in this form."""
        return me.records.binary() if self.binary else me.records

    def domain(self, domain: Domain) -> Domain:
        """Give the domain of the attributes in this form."""
        return BinaryEncoding(domain).bits if self.binary else domain

    def decoder(self, domain: Domain) -> BinaryEncoding | None:
        """Give what translates bits back to attributes, if they are bits."""
        return BinaryEncoding(domain) if self.binary else None


ORIGINAL = AttributeForm(binary=False)
BITS = AttributeForm(binary=True)
