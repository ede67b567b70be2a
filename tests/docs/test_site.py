"""What the site is made of while it is built: notebooks, the gallery, and its navigation."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("mkdocs")

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def module_of(name: str) -> ModuleType:
    """Import a module of docs/, as mkdocs does."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def notebooks() -> ModuleType:
    return module_of("notebook_pages")


@pytest.fixture(scope="module")
def gallery() -> ModuleType:
    return module_of("gallery_pages")


def cell(*outputs: dict[str, Any]) -> dict[str, Any]:
    return {"cell_type": "code", "source": ["1 + 1\n", "2"], "outputs": [*outputs]}


TABLE = """<style scoped>td { color: red }</style><table border="1" class="dataframe">

    <tr style="x"><td>7</td></tr></table>"""
PICTURE = {"image/png": "iVB\nOR", "text/plain": "<Fig>"}
BOOK = {
    "cells": [
        {"cell_type": "markdown", "source": "# Title\n\nWords."},
        cell({"output_type": "stream", "text": "a < b\n"}),
        cell(
            {
                "output_type": "execute_result",
                "data": {
                    "text/html": TABLE,
                    "text/plain": "7",
                },
            }
        ),
        cell(
            {"output_type": "display_data", "data": {"image/png": "iVB\nOR", "text/plain": "<Fig>"}}
        ),
        cell({"output_type": "execute_result", "data": {"text/plain": "{'a': '<b>'}"}}),
    ]
}


def test_a_notebook_becomes_a_page(notebooks: ModuleType) -> None:
    page = notebooks.markdown(BOOK, name="book.ipynb")
    assert page.startswith("# Title\n\nWords.\n\n*This page is the notebook [`book.ipynb`]")
    assert page.count("```python\n1 + 1\n2\n```") == 4
    assert "<code>a &lt; b</code>" in page
    assert "<table>\n<tr><td>7</td></tr></table>" in page  # no empty line, which would end it
    assert "<style" not in page
    assert '<img src="data:image/png;base64,iVBOR" alt="Picture 3: &lt;Fig&gt;">' in page
    assert "&lt;b&gt;" in page


def test_every_notebook_has_its_place_in_the_navigation(notebooks: ModuleType) -> None:
    nav = (ROOT / "mkdocs.yml").read_text().partition("\nnav:")[2]
    places = re.findall(r": examples/([\w-]+)\.md$", nav, re.MULTILINE)
    assert sorted(places) == [path.stem for path in notebooks.NOTEBOOKS]


def test_a_page_is_made_anew_when_the_code_changes(notebooks: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "changed.py"
    path.write_text("1")
    before = notebooks.code_digest(path)
    notebooks.code_digest.cache_clear()
    assert notebooks.code_digest(path) == before
    notebooks.code_digest.cache_clear()
    path.write_text("2")
    assert notebooks.code_digest(path) != before


def test_the_gallery_shows_all_its_pictures(gallery: ModuleType) -> None:
    places = gallery.PLACE.findall((DOCS / "gallery.md").read_text())
    assert sorted(places) == sorted(gallery.PICTURES)
    for name, picture in gallery.PICTURES.items():
        entry = gallery.entry(name)
        assert f"$ {picture.command}\n" in entry
        assert f"gallery/{name}{Path(picture.file).suffix}" in entry
        folder = picture.command.partition(" --out ")[2]
        assert picture.file.startswith(folder)


def test_a_command_of_the_gallery_leaves_its_file(gallery: ModuleType, tmp_path: Path) -> None:
    """The quickest of them; the build of the site runs all, and fails with any."""
    costs = gallery.PICTURES["costs"]
    gallery.make(costs, folder=tmp_path)
    assert (tmp_path / costs.file).read_bytes()


def test_the_theme_has_the_widths_that_are_changed(tmp_path: Path) -> None:
    """The navigation stands beside a page of 1,200 pixels: 68.75 em are 1,100."""
    hooks, material = module_of("hooks"), pytest.importorskip("material")
    assets = Path(material.__file__).parent / "templates" / "assets"
    for theirs, ours in hooks.BREAKPOINTS.items():
        assert float(ours.removesuffix("em")) * 16 <= 1100
        used = [path for path in assets.rglob("*.css") if theirs in path.read_text()]
        assert used, theirs
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "main.css").write_text("@media (min-width:76.25em){}")
    hooks.on_post_build(config={"site_dir": str(tmp_path)})
    assert (tmp_path / "assets" / "main.css").read_text() == "@media (min-width:68.75em){}"
    with pytest.raises(ValueError, match=r"expected the theme's breakpoints"):
        hooks.on_post_build(config={"site_dir": str(tmp_path)})
