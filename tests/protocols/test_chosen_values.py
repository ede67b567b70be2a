"""Who names the values that a protocol chose has the same run: `chosen` says them truly."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sottovoce.messages import UsageError
from sottovoce.privacy import Domain
from sottovoce.protocols.cost import Public
from sottovoce.protocols.registry import OWN_PROTOCOLS, find

SIZES = (2, 3, 2, 5, 8)
DOMAIN = Domain({f"a{place}": tuple(map(str, range(size))) for place, size in enumerate(SIZES)})
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "dp-ccbn": [{}, {"attributes": "original"}, {"attributes": "binary"}, {"search": "oneshot"}],
    "dp-subn": [{}, {"init": "forest"}, {"attributes": "binary"}, {"delta": 0.0}],
    "privincr": [{"learning": "tests"}],  # learning=adaptive shows what it does, without a choice
    "jtree": [{}, {"structure": "svt"}, {"delta": 0.0}],
    "adaptive-pairs": [{}, {"delta": 0.0}, {"noise": "laplace"}],
    "clldp-decision-tree": [{}, {"learning": "levels"}],
}


def protocol_of(name: str, *, mode: Any, options: dict[str, Any]) -> Any:
    kind = find(name)
    parameters = msgspec.convert(options, kind.Parameters)
    return kind.variant(parameters, mode=mode)(parameters, mode=mode)


@pytest.mark.parametrize("mode", ["rigorous", "paper"])
@pytest.mark.parametrize(
    ("name", "options"),
    [(name, options) for name in sorted(OWN_PROTOCOLS) for options in VARIANTS.get(name, [{}])],
)
def test_naming_what_was_chosen_changes_nothing(
    name: str, options: dict[str, Any], mode: str
) -> None:
    """Neither the values that are chosen then, nor the forecast of the messages."""
    if mode not in find(name).modes:
        pytest.skip("the protocol does not have this mode")
    public = Public(parties=3, rows=30_000, key_bits=2048, domain=DOMAIN)
    try:
        left_open = protocol_of(name, mode=mode, options=options)
    except UsageError:
        pytest.skip("the protocol refuses these options in this mode")
    chosen = dict(left_open.chosen(public))
    assert set(chosen) <= {*find(name).Parameters.__struct_fields__}
    named = protocol_of(name, mode=mode, options={**options, **chosen})
    assert {**chosen, **named.chosen(public)} == chosen
    assert named.predict(public) == left_open.predict(public)
    for key, value in chosen.items():
        assert getattr(named.parameters, key) == value
