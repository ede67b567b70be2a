"""docs/dp-subn-errata.md and the tests that it names keep in step."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[4]


def test_the_page_names_tests_that_exist() -> None:
    page = (ROOT / "docs" / "dp-subn-errata.md").read_text()
    named = set(re.findall(r"`(test_[a-z0-9_]+)`", page))
    known = {
        name
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)\(", path.read_text(), re.MULTILINE)
    }
    assert named <= known, sorted(named - known)
    assert named >= {name for name in known if re.match(r"test_e\d", name)}
    assert [f"E{n}" for n in range(1, 24)] == re.findall(r"^## (E\d+)\b", page, re.MULTILINE)
