"""What is proposed for a column, and the words for it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from .bins import Bins
from .categories import Categories
from .profile import ColumnProfile
from .rules import MISSING_TEXTS

__all__ = ["EXAMPLES", "FEW", "Proposal", "listed", "missing_of", "name_identifies"]

FEW: Final = 16
"""So many different texts are categories in any table."""
EXAMPLES: Final = 3
"""Examples in a remark."""
IDENTIFIER_WORDS: Final = frozenset(
    (
        "id",
        "ids",
        "uuid",
        "guid",
        "mrn",
        "ssn",
        "email",
        "mail",
        "phone",
        "tel",
        "telephone",
        "iban",
    )
)
"""Parts of names of columns that identify people or things."""


WHOSE: Final = (
    *("patient", "person", "people", "case", "customer", "client", "user", "member", "visit"),
    *("encounter", "record", "subject", "employee", "account", "insurance", "admission"),
)
"""Words before `id` or `number` where nothing stands between them: patientid, casenr."""
NAMES: Final = re.compile(
    r"((first|last|given|family|full|maiden|middle|sur|fore|user)[ _-]?)?names?"
    r"|vorname|nachname|familienname|geburtsname|pr[eé]nom|nom|nombre|apellidos?"
)
"""Names of columns with names of people. A column such as `drug name` has names of something."""


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """What is proposed for a column."""

    name: str
    rule: Categories | Bins | None
    """`None` leaves the column out."""
    reason: str = ""
    """Why it is left out, or what kind of attribute it is, in a few words."""
    remarks: tuple[str, ...] = ()
    """What was decided that a person may decide otherwise."""
    counts: tuple[int, ...] = ()
    """Rows of each label of the rule: exact, for the holder of the table alone."""


def missing_of(profile: ColumnProfile, codes: Iterable[str]) -> dict[str, Any]:
    """Say what stands for missing values: nulls, the usual texts, and codes of this column."""
    extra = tuple(dict.fromkeys(code for code in codes if code not in MISSING_TEXTS))
    is_missing = profile.nulls or extra or not set(MISSING_TEXTS).isdisjoint(profile.counts)
    if not is_missing:
        return {}
    return {"missing": "category", "missing_as": (*MISSING_TEXTS, *extra)}


def name_identifies(name: str) -> bool:
    """Tell whether a column's name says that it identifies: patient_id, caseID, Phone."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).casefold()
    is_joined = re.search(rf"({'|'.join(WHOSE)})[ _]?(id|nr|no|num|nbr|number|name)$", words)
    return bool(is_joined or NAMES.fullmatch(words.strip())) or not IDENTIFIER_WORDS.isdisjoint(
        re.split(r"[^a-z]+", words)
    )


def listed(texts: Iterable[str], counts: Mapping[str, int]) -> str:
    """Name texts with their rows, the most frequent first."""
    ordered = sorted(texts, key=lambda text: -counts[text])
    named = [f"{text!r} in {counts[text]:,} row{'s' * (counts[text] > 1)}" for text in ordered]
    more = f" and {len(named) - EXAMPLES:,} more" if len(named) > EXAMPLES else ""
    return ", ".join(named[:EXAMPLES]) + more
