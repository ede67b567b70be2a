"""Each line of the tables in docs/failures.md has tests, which `failure_lines.toml` names."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
HEAD = "| what happens | when |"


def lines_of_page() -> list[tuple[str, str]]:
    """List what happens, and when, in each line of the tables."""
    lines, is_table = [], False
    for line in (ROOT / "docs" / "failures.md").read_text().splitlines():
        is_table = line.startswith(HEAD) or (is_table and line.startswith("|"))
        if is_table and not line.startswith((HEAD, "| ---")):
            happens, when, *_ = (cell.strip() for cell in line.strip("|").split("|"))
            lines.append((happens, when))
    return lines


def test_each_line_has_tests() -> None:
    listed = tomllib.loads((Path(__file__).parent / "failure_lines.toml").read_text())["line"]
    assert [(line["happens"], line["when"]) for line in listed] == lines_of_page()
    for line in listed:
        assert line["tests"], line
        for name in line["tests"]:
            path, _, function = name.partition("::")
            text = (ROOT / path).read_text()
            assert re.search(rf"^def {function}\(", text, re.MULTILINE), name
