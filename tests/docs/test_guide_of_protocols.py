"""The guide of protocols names what an author has to choose among."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from sottovoce.privacy import Neighbours

GUIDE = Path(__file__).parents[2] / "docs" / "writing-a-protocol.md"


@pytest.mark.parametrize("relation", get_args(Neighbours))
def test_the_guide_has_a_row_for_each_neighbouring_relation(relation: str) -> None:
    assert f'\n| `"{relation}"` | ' in GUIDE.read_text()
