"""What an audit runs where the person leaves it open: tables, parameters and the audited party.

Choices are made for the worst case: few attributes and few rows, so that one record is a large part
of every statistic. Secure sums run with masks, whose sums are those of the ring. Mode paper runs as
printed, on short test keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from ..protocols.options import Mode
from ..protocols.protocol import AnyProtocol
from ..protocols.secure_sum import SumOptions
from ..protocols.survey import SurveyOptions
from .audit_tables import AUDIT_TABLES

__all__ = ["LEFT_OUT", "AuditPreset", "preset"]

LEFT_OUT: Final = (
    (
        "The curator's computations after the last message of a party, such as synthesis. They "
        "follow from what the curator holds, so they add nothing to any view."
    ),
    (
        "Masks and ciphertexts. Without the keys they are taken to be uniform, so a view holds no "
        "more than the sums that the keys give it."
    ),
    (
        "Time. Sizes, receivers and the number of messages are compared on both datasets in every "
        "run."
    ),
    "An adversary that sends wrong messages: all roles follow the protocol.",
)
"""What the runs leave out, and why that changes no view."""

USERS: Final = 40
"""Records of each cohort, where every record is a user who reports."""
TEST_KEY_BITS: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditPreset:
    """The choices for one protocol in one mode."""

    sizes: Sequence[int] = (2, 2, 3, 2)
    """Number of labels of each made-up attribute."""
    rows: int = 12
    """Records of each party."""
    parties: int = 2
    party: int = 1
    """The audited party."""
    tables: Sequence[str] = AUDIT_TABLES
    parameters: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    key_bits: int = TEST_KEY_BITS


_ONE_FAMILY: Final = AuditPreset(
    sizes=(2, 2),
    tables=("lone",),
    parameters=MappingProxyType({"budget": "0.02,0.02,0.94,0.02"}),
)
"""Nearly all of the budget is spent where the printed claim is false: on noise replacement."""
_BELIEF: Final = AuditPreset(
    sizes=(6, 6, 2),
    rows=40,
    tables=("lone",),
    parameters=MappingProxyType({"belief": "prior", "prior": "*:0.25"}),
)
"""omega is far below 1, so an adversary that knows the attributes learns much more of the label."""
_KNOWN: Final[Mapping[tuple[str, Mode], AuditPreset]] = {
    ("jtree", "paper"): AuditPreset(
        sizes=(2,) * 9,
        parties=1,
        tables=("lone", "opposite"),
        parameters=MappingProxyType({"sample": False, "graph": 0.9}),
    ),
    ("dp-subn", "paper"): _ONE_FAMILY,
    ("noisy-marginals", "paper"): AuditPreset(sizes=(2, 2), tables=("lone",)),
    ("dist-diff-gen", "paper"): AuditPreset(party=2, tables=("lone", "opposite")),
    ("no-priv-jtree", "rigorous"): AuditPreset(tables=("lone",)),
    ("clldp-joint", "paper"): _BELIEF,
    ("clldp-naive-bayes", "paper"): _BELIEF,
}


def preset(kind: type[AnyProtocol], *, mode: Mode, parties: int | None) -> AuditPreset:
    """Choose what to run where the person leaves it open."""
    chosen = _KNOWN.get((kind.name, mode), AuditPreset())
    parameters = dict(chosen.parameters)
    fields = kind.Parameters.__struct_fields__
    if issubclass(kind.Parameters, SumOptions) and mode == "rigorous":
        parameters.setdefault("aggregator", "masks")
    if issubclass(kind.Parameters, SurveyOptions) and "simulate" in fields:
        parameters.setdefault("simulate", "reports")
    asks_users = issubclass(kind.Parameters, SurveyOptions)
    tables = [name for name in chosen.tables if name != "pair" or not asks_users]
    number = parties or max(kind.least_parties, min(chosen.parties, kind.most_parties or 2))
    return AuditPreset(
        sizes=chosen.sizes,
        rows=max(chosen.rows, USERS) if asks_users else chosen.rows,
        parties=number,
        party=min(chosen.party, number),
        tables=tables,
        parameters=parameters,
        key_bits=chosen.key_bits,
    )
