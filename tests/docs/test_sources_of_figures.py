"""Tables of measured figures: beside each stands the command, or the file, that it comes from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT = Path(__file__).parents[2]
PAGES: Final = sorted((ROOT / "docs").glob("*.md"))
FEWEST: Final = 4
"""Cells that begin with a decimal figure; a table with fewer is one of settings."""
FIGURE: Final = re.compile(r"\*{0,2}[-+]?\d*\.\d+(?![.\d])")
COMMANDS: Final = r"audit|calibrate|evaluate|plan|replay|reproduce|run|sweep"
SOURCE: Final = re.compile(
    r"(?P<file>\b(?:benchmarks|tests|docs|pictures|reproductions)/[\w/-]+\.(?:py|csv|json|md))"
    rf"|\bsottovoce (?:{COMMANDS})\b|\]\(reproductions\.md|`test_\w+`"
)


def sections(page: str) -> Iterator[tuple[str, str]]:
    """Split a page at its headings: each with the text up to the next one."""
    for section in re.split(r"^(?=#+ )", page, flags=re.MULTILINE):
        heading, _, text = section.partition("\n")
        yield heading.lstrip("# "), text


def has_figures(text: str) -> bool:
    """Tell whether a table of this text is one of measured figures, beside labels of its rows."""
    tables = re.findall(r"(?:^\|.*\n?)+", text, re.MULTILINE)
    rows = [[line.split("|")[2:] for line in table.splitlines()] for table in tables]
    return any(
        sum(FIGURE.match(cell.strip()) is not None for row in table for cell in row) >= FEWEST
        for table in rows
    )


def without_source(page: str) -> list[str]:
    """List the headings below which figures stand, and nothing that they come from."""
    return [
        heading
        for heading, text in sections(page)
        if has_figures(text) and SOURCE.search(text) is None
    ]


TABLE: Final = (
    "| K | a | b |\n| --- | --- | --- |\n| 3 | .12 (.01) | **0.3** |\n| 4 | 1.5 / 2.5 | -.1 % |\n"
)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_figures_name_what_they_come_from(path: Path) -> None:
    page = path.read_text()
    assert without_source(page) == [], f"name a command or a file in these sections of {path.name}"
    named = {match["file"] for match in SOURCE.finditer(page) if match["file"]}
    folders = (ROOT, ROOT / "docs")
    assert {name for name in named if not any((at / name).exists() for at in folders)} == set()


@pytest.mark.parametrize(
    ("text", "headings"),
    [
        ("# Page\nmade by `benchmarks/a.py`\n## Errors\n" + TABLE, ["Errors"]),
        ("# Page\n## Errors\n`python benchmarks/a.py FILE`\n" + TABLE, []),
        ("# Page\n## Errors\n" + TABLE + "(`sottovoce sweep`)\n", []),
        ("# Page\n## Errors\nas `sottovoce runs`\n" + TABLE, ["Errors"]),
        ("# Page\n## Places\n" + TABLE.replace("1.5 / 2.5", "5.2.3"), []),
    ],
)
def test_a_table_without_a_source_is_seen(text: str, headings: list[str]) -> None:
    assert without_source(text) == headings
