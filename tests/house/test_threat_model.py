"""The threat model's tables: every cell names a test that exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "threat-model.md").read_text()
TABLES = ("## Privacy loss in each view", "## Active adversaries")
REFERENCE = re.compile(r"\[([VLAN]\d+(?:, [VLAN]\d+)*)\]")


def rows_of(section: str) -> list[list[str]]:
    """List the cells of the first table of a section, without its head."""
    lines = PAGE.split(section + "\n", 1)[1].splitlines()
    start = next(index for index, line in enumerate(lines) if line.startswith("|"))
    table = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        table.append([cell.strip() for cell in line.strip("|").split("|")])
    return table


def references(text: str) -> list[str]:
    return [name for names in REFERENCE.findall(text) for name in names.split(", ")]


def listed() -> dict[str, tuple[str, list[str]]]:
    """Read the list of tests: file and functions by reference."""
    return {
        reference: (file.strip("`"), re.findall(r"test_\w+", functions))
        for reference, file, functions in rows_of("### The tests")
    }


def test_every_cell_names_a_test() -> None:
    for section in TABLES:
        rows = rows_of(section)
        assert len(rows) >= 6
        for name, *cells in rows:
            assert all(references(cell) for cell in cells), (section, name)


def test_every_named_test_exists_and_is_used() -> None:
    tests = listed()
    assert {*references(PAGE)} == {*tests}
    for reference, (file, functions) in tests.items():
        tree = ast.parse((ROOT / file).read_text())
        defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert functions, reference
        assert {*functions} <= defined, reference
