"""Everything that pages name exists: protocols, options, files, tests, names."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import re
import subprocess
import sys
from math import prod
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

import sottovoce
from sottovoce.launch.commands import app
from sottovoce.protocols import find
from sottovoce.protocols.registry import OWN_PROTOCOLS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
REFERENCE = sorted((DOCS / "api").glob("*.md"))
ROOMS = (
    "messages",
    "crypto",
    "privacy",
    "privacy.local",
    "parties",
    "curator",
    "protocols",
    "protocols.local",
    "protocols.secure_sum",
    "protocols.survey",
    "evaluation",
)
"""Modules for users of the package; the reference has every name of their `__all__`."""


@pytest.fixture(scope="module")
def hooks() -> ModuleType:
    """The hooks that mkdocs calls while it builds the site."""
    spec = importlib.util.spec_from_file_location("hooks", DOCS / "hooks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def nav() -> str:
    return (ROOT / "mkdocs.yml").read_text().partition("\nnav:")[2]


def test_the_changelog_has_its_entries_below_their_headings() -> None:
    """Merged lines often land on the page before the entries, or twice among them."""
    page, heading, changes = (ROOT / "CHANGELOG.md").read_text().partition("\n### Every change\n")
    assert heading
    assert [line for line in page.splitlines() if line.startswith("- ")] == []
    entries = [line for line in changes.splitlines() if line.startswith("- ")]
    assert len(entries) == len(set(entries))


def test_every_protocol_has_a_page(hooks: ModuleType) -> None:
    assert sorted(hooks.PAGE_OF) == sorted(OWN_PROTOCOLS)
    for name, target in hooks.PAGE_OF.items():
        page = target.partition("#")[0]  # `mkdocs build --strict` checks the anchor
        text = (DOCS / page).read_text()
        assert f"<!-- parameters: {name} -->" in text, f"{page} has not the parameters of {name}"
        assert f"`{name}`" in text or f"# {name}" in text or f"sottovoce run {name}" in text, (
            f"{page} does not name {name}"
        )
        assert f": {page}\n" in nav()
        assert "aveat" in text, f"{page} has no caveats"


def test_a_command_runs_every_protocol(hooks: ModuleType) -> None:
    for name, target in hooks.PAGE_OF.items():
        assert re.search(
            rf"^\$ sottovoce run {name}\b(?!-)",
            (DOCS / target.partition("#")[0]).read_text(),
            re.MULTILINE,
        ), name


def test_the_table_of_protocols_has_them_all(hooks: ModuleType) -> None:
    made = hooks.on_page_markdown((DOCS / "protocols.md").read_text())
    for name in OWN_PROTOCOLS:
        assert f"[`{name}`]({hooks.PAGE_OF[name]})" in made
        assert f"`{name}`" in (DOCS / "protocols.md").read_text(), (
            f"{name} has no place in the table of what is published"
        )


def test_reproductions_are_judged_when_the_page_is_built(hooks: ModuleType) -> None:
    made = hooks.on_page_markdown((DOCS / "reproductions.md").read_text())
    assert "<!--" not in made
    for path in sorted((DOCS / "reproductions").glob("*.csv")):
        assert f"| [{path.stem}](reproductions/{path.name}) | " in made
        assert f"| `{path.stem}` | " in made, "with what it was made"


def test_parameters_are_those_of_the_protocol(hooks: ModuleType) -> None:
    made = hooks.on_page_markdown("before\n\n<!-- parameters: dp-subn -->\n\nafter\n")
    rows = re.findall(r"^\| `(\w+)` \|", made, re.MULTILINE)
    assert rows == [*find("dp-subn").Parameters.__struct_fields__]
    assert made.startswith("before\n\n| parameter |")
    assert made.endswith("\n\nafter\n")


def test_every_page_is_in_the_nav() -> None:
    for page in [*DOCS.glob("*.md"), *REFERENCE]:
        assert f": {page.relative_to(DOCS)}\n" in nav(), page.name


def test_the_reference_has_every_public_name() -> None:
    known = {name for page in REFERENCE for name in listed_on(page)}
    public = {name: getattr(sottovoce, name) for name in sottovoce.__all__}
    assert not {f"sottovoce.{name}" for name in public} - known
    for room in ROOMS:
        module = importlib.import_module(f"sottovoce.{room}")
        further = {
            f"sottovoce.{room}.{name}"
            for name in module.__all__
            if public.get(name) is not getattr(module, name)
        }
        assert not further - known, room


def test_what_the_reference_names_is_there() -> None:
    for page in REFERENCE:
        assert f"({page.name})" in (DOCS / "api" / "index.md").read_text() or page.stem == "index"
        for name in listed_on(page):
            assert named(name) is not None, name


@pytest.mark.parametrize("page", REFERENCE, ids=lambda page: page.stem)
def test_every_function_of_the_reference_has_an_example(page: Path) -> None:
    """It is in the function's docstring, or in a session of the page that calls it. All are run."""
    sessions = "".join(re.findall(r"^```pycon\n([\s\S]*?)^```$", page.read_text(), re.MULTILINE))
    for name in listed_on(page):
        function = named(name)
        if inspect.isfunction(function) and ">>>" not in (function.__doc__ or ""):
            short = name.rpartition(".")[2]
            assert re.search(rf"\b{short}(\(|$)", sessions, re.MULTILINE), name


def test_what_the_guide_names_is_in_the_reference() -> None:
    """Modules of privacy/ that the guide to writing a protocol names, and their classes."""
    known = {name for page in REFERENCE for name in listed_on(page)}
    guide = (DOCS / "writing-a-protocol.md").read_text()
    for module in set(re.findall(r"`(privacy\.\w+)`", guide)):
        assert any(name.startswith(f"sottovoce.{module}.") for name in known), module


def listed_on(page: Path) -> list[str]:
    """List the names whose docstrings a page of the reference shows."""
    return re.findall(r"^::: ([\w.]+)$", page.read_text(), re.MULTILINE)


def named(reference: str) -> object:
    """Find the object of a dotted name."""
    words = reference.split(".")
    for cut in range(len(words), 0, -1):
        try:
            named_object: object = importlib.import_module(".".join(words[:cut]))
        except ModuleNotFoundError:
            continue
        for word in words[cut:]:
            named_object = getattr(named_object, word)
        return named_object
    return None


def entries() -> list[tuple[str, str]]:
    """List the glossary's words, each with a place where it lives."""
    rows = re.findall(r"^\| (.+) \|$", (DOCS / "glossary.md").read_text(), re.MULTILINE)
    cells = [re.split(r" (?<!\\)\| ", row) for row in rows]
    return [
        (cell[0], place)
        for cell in cells
        if cell[0] not in ("word", "symbol", "---")
        for place in places(cell)
    ]


def places(row: list[str]) -> list[str]:
    names = re.findall(r"`([^`]+)`", row[-1])
    assert len(row) == 3, row
    assert names, f"{row[0]} has no place"
    return names


@pytest.fixture(scope="module")
def options() -> str:
    return CliRunner().invoke(app, ["run", "--help"], env={"COLUMNS": "200"}).stdout


def test_the_glossary_points_to_what_is_there(options: str) -> None:
    assert len(entries()) > 100
    for word, place in entries():
        if place.startswith("--"):
            assert f"{place} " in options, f"{word}: {place}"
        elif place.endswith("="):
            protocol, parameter = place[:-1].split()
            assert parameter in find(protocol).Parameters.__struct_fields__, f"{word}: {place}"
        elif place.startswith("sottovoce."):
            assert named(place) is not None, f"{word}: {place}"
        else:
            assert (ROOT / place).is_file(), f"{word}: {place}"


def test_files_that_pages_name_exist() -> None:
    rooms = "|".join(
        path.name for path in (ROOT / "src" / "sottovoce").iterdir() if path.is_symlink()
    )
    rooms += "|benchmarks|tests|examples"
    for page in DOCS.glob("*.md"):
        for name in re.findall(rf"`((?:{rooms})/[\w/.-]+\.\w+)", page.read_text()):
            assert (ROOT / name).is_file(), f"{page.name}: {name}"


def test_tests_that_pages_name_exist() -> None:
    tests = "".join(
        path.read_text() for folder in ("tests", "launch") for path in (ROOT / folder).rglob("*.py")
    )
    for page in DOCS.glob("*.md"):
        for name in re.findall(r"`(test_\w+)`", page.read_text()):
            assert f"def {name}(" in tests, f"{page.name}: {name}"


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *sorted(DOCS.glob("*.md")), *REFERENCE], ids=lambda page: page.stem
)
def test_lines_of_prose_are_short(page: Path) -> None:
    prose = re.sub(r"^ *```[\s\S]*?^ *```$", "", page.read_text(), flags=re.MULTILINE)
    for line in prose.splitlines():
        assert len(line) <= 100 or line.startswith("|"), f"{page.name}: {line}"


def test_pictures_are_drawn_from_what_is_there() -> None:
    for script in (DOCS / "pictures").glob("*.py"):
        drawn = subprocess.run(
            [sys.executable, str(script)], capture_output=True, text=True, check=True, timeout=600
        ).stdout
        assert drawn == script.with_suffix(".svg").read_text(), script.name


def test_broken_links_and_anchors_are_errors(tmp_path: Path) -> None:
    """Build a small site with the settings and options of `make docs`.

    With --quiet broken links would be no errors.
    """
    pytest.importorskip("mkdocs")
    text = re.sub(r"![\w/:.]+", "", (ROOT / "mkdocs.yml").read_text())
    settings = {
        key: value
        for key, value in yaml.safe_load(text).items()
        if key in ("site_name", "validation")
    }
    (tmp_path / "docs").mkdir()
    (tmp_path / "mkdocs.yml").write_text(json.dumps(settings))
    page = tmp_path / "docs" / "index.md"
    words = re.search(r"/mkdocs (.*)", (ROOT / "Makefile").read_text())
    assert words is not None
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        *words[1].split(),
        "--site-dir",
        str(tmp_path / "site"),
    ]
    for link, broken in {
        "#here": False,
        "other.md": True,
        "#elsewhere": True,
        "/docs/index.md": True,
    }.items():
        page.write_text(f"# Here\n\n[a link]({link})\n")
        done = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False
        )
        assert bool(done.returncode) == broken, f"{link}\n{done.stderr}"


SMALL = {
    "schema": {
        "age": {"bins": 4, "range": [17, 90]},
        "education-num": {"bins": 4, "range": [0, 16]},
        "sex": ["Female", "Male"],
        "income": ["<=50K", ">50K"],
    },
    "rows": 3000,
    "seed": 1,
    "key_bits": 512,
    "insecure_test_keys": True,
    "judge": False,
}


def rounds_in_the_readme() -> dict[str, str]:
    """Read the column "rounds" of every table of protocols."""
    rounds: dict[str, str] = {}
    for table in re.findall(r"(?:^\|.*\|\n)+", (ROOT / "README.md").read_text(), re.MULTILINE):
        header, _, *rows = [line.strip("| \n").split(" | ") for line in table.splitlines()]
        if "rounds" in header:
            for row in rows:
                names = re.findall(r"`([\w-]+)`", row[0])
                rounds |= dict.fromkeys(names, row[header.index("rounds")])
    return rounds


def test_the_readme_has_every_protocol() -> None:
    assert sorted(rounds_in_the_readme()) == sorted(OWN_PROTOCOLS)


@pytest.mark.parametrize("name", OWN_PROTOCOLS)
def test_rounds_in_the_readme_are_those_of_a_run(name: str) -> None:
    stated = rounds_in_the_readme()[name]
    formula, _, most = stated.partition(", at most ")
    formula = re.sub(r"(\d) K", r"\1 * K", formula)
    options: dict[str, Any] = {**SMALL} if name == "no-priv-jtree" else {**SMALL, "epsilon": 8.0}
    if most or name == "private-schema":
        del options["schema"]  # with few edges there are fewer turns
    if name == "adaptive-pairs":
        # One run has no seed, so its channels need ML-KEM, which must not take a round.
        measured = {
            noise: sottovoce.run(name, parties=4, **{**options, "seed": seed}, noise=noise).report[
                "communication"
            ]
            for noise, seed in (("gaussian", None), ("laplace", 1))
        }
        rounds = {noise: sent["rounds"] for noise, sent in measured.items()}
        assert stated == f"{rounds['gaussian']}; {rounds['laplace']} with Laplace noise"
        return
    for parties in (2,) if name == "dist-diff-gen" else (3, 8) if most else (4,):
        run = sottovoce.run(name, parties=parties, **options)
        rounds = run.report["communication"]["rounds"]
        if name == "dp-ccbn":
            # Introductions, rows and keys; three iterations, each a sum after the curator's choice;
            # parameters.
            assert stated == "a sum for each attribute"
            assert rounds == 3 + 3 * 2 + 1
            continue
        if name == "mst":
            # Introductions, rows and keys; single attributes; groups and shares; the tree; pairs.
            assert stated == "6, and 2 for each party that chooses"
            assert run.model is not None
            assert rounds == 6 + 2 * len(run.model["turns"])
            continue
        if name == "aim":
            # Introductions, rows and keys; single attributes; the tables; the end.
            assert stated == "4 for each measured table"
            assert run.model is not None
            assert rounds == 3 + 1 + 4 * len(run.model["rounds"]) + 1
            continue
        expected = sum(
            prod(int(factor) for factor in term.split("*"))
            for term in formula.replace("K", str(parties)).split("+")
        )
        assert rounds == (min(expected, int(most)) if most else expected), stated
