"""Every protocol that documentation or an example shows passes the conformance suite.

Protocols are found on pages, in docs/examples, in cells of notebooks (also in strings that a
notebook writes to files) and in examples/. MPI carries the first of them, threads the others.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
from house_suites import SampledSuite

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
NOT_CONFORMING: Mapping[str, str] = {
    "plug_in_a_protocol_0_MeanHours": "a draft that leaks on purpose: the notebook shows how the "
    "suite finds the leak, and the corrected version is tested here, too",
}
"""Protocols that must fail the suite, and why they are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownProtocol:
    """A protocol in a text."""

    module: str
    """The name under which the text is imported."""
    name: str
    text: str

    @property
    def label(self) -> str:
        return f"{self.module}_{self.name}"


def protocol_classes(text: str) -> list[str]:
    """List the classes of a module that derive from a protocol, by name, directly or not."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.ClassDef):
            continue
        bases = [base.value if isinstance(base, ast.Subscript) else base for base in node.bases]
        if any(base_name(base).endswith("Protocol") or base_name(base) in names for base in bases):
            names.add(node.name)
    return sorted(names)


def base_name(base: ast.expr) -> str:
    return base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")


def texts_of_page(path: Path) -> Iterator[str]:
    """Give the blocks of Python on a page, with the files that they include."""
    for block in re.findall(r"^```python.*\n([\s\S]*?)^```$", path.read_text(), re.MULTILINE):
        if not re.search(
            r'^--8<-- ".+:.+"$', block, re.MULTILINE
        ):  # of a file that is found itself
            yield re.sub(
                r'^--8<-- "(.+)"$',
                lambda match: (ROOT / match[1]).read_text(),
                block,
                flags=re.MULTILINE,
            )


def texts_of_notebook(path: Path) -> Iterator[str]:
    """Give the cells of code, and the modules that they hold as strings, also after `replace`."""
    strings: dict[str, str] = {}
    for cell in json.loads(path.read_text())["cells"]:
        if cell["cell_type"] != "code":
            continue
        source = "".join(cell["source"])
        yield source
        for node in ast.parse(source).body:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str(text))):
                    strings[name] = text
                    yield text
                case ast.Assign(
                    targets=[ast.Name(id=name)],
                    value=ast.Call(
                        func=ast.Attribute(value=ast.Name(id=before), attr="replace"),
                        args=[ast.Constant(value=str(first)), ast.Constant(value=str(second))],
                    ),
                ) if before in strings:
                    strings[name] = strings[before].replace(first, second)
                    yield strings[name]


def shown_protocols(root: Path) -> Iterator[ShownProtocol]:
    """Find the protocols below a folder; one that several places show is found once."""
    texts: list[tuple[str, str]] = []
    for page in [root / "README.md", *sorted((root / "docs").glob("**/*.md"))]:
        texts += [(page.stem, text) for text in texts_of_page(page)]
    for path in sorted((root / "docs" / "examples").glob("*.py")):
        texts.append((path.stem, path.read_text()))
    for path in sorted((root / "docs" / "examples").glob("*.ipynb")):
        texts += [(path.stem, text) for text in texts_of_notebook(path)]
    for path in sorted((root / "examples").glob("*/src/**/*.py")):
        texts.append((path.parent.name if path.stem == "__init__" else path.stem, path.read_text()))
    shown: set[str] = set()
    numbers: dict[str, int] = {}
    for stem, text in texts:
        try:
            tree = ast.parse(text)
        except SyntaxError:  # a string of a notebook that is no module
            continue
        for name in protocol_classes(text):
            (definition,) = (
                ast.dump(node)
                for node in tree.body
                if isinstance(node, ast.ClassDef) and node.name == name
            )
            if definition not in shown:
                shown.add(definition)
                place = re.sub(r"\W", "_", stem)
                number = numbers[place] = numbers.get(place, -1) + 1
                yield ShownProtocol(module=f"{place}_{number}", name=name, text=text)


class ShownConformance(SampledSuite):
    """The suite on a protocol that is shown, with keys for tests."""

    shown: ClassVar[ShownProtocol]
    parameters: ClassVar[Mapping[str, Any]] = {"key_bits": 512, "insecure_test_keys": True}

    @pytest.fixture(autouse=True)
    def module_on_the_path(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Write the module to the working folder, where ranks look for it, too."""
        (tmp_path / f"{self.shown.module}.py").write_text(self.shown.text)
        monkeypatch.chdir(tmp_path)
        monkeypatch.syspath_prepend(tmp_path)


ShownConformance.__test__ = False  # It is the base of the classes below.

SHOWN = {shown.label: shown for shown in shown_protocols(ROOT)}
CONFORMING = [shown for label, shown in SHOWN.items() if label not in NOT_CONFORMING]
for _shown in CONFORMING:
    globals()[f"Test_{_shown.label}"] = type(
        f"Test_{_shown.label}",
        (ShownConformance,),
        {
            "shown": _shown,
            "protocol": f"{_shown.module}:{_shown.name}",
            "over_mpi": _shown is CONFORMING[0],
            "__module__": __name__,
        },
    )


def test_the_protocols_are_found() -> None:
    """Each kind of place shows one, and what is excepted exists."""
    names = {shown.name for shown in CONFORMING}
    assert {"Census", "Ages", "NoisyMean", "MeanHours"} <= names
    assert NOT_CONFORMING.keys() <= SHOWN.keys()
    corrected = [shown for shown in CONFORMING if shown.name == "MeanHours"]
    assert len(corrected) == 1


def test_a_new_protocol_on_a_page_is_found(tmp_path: Path) -> None:
    (tmp_path / "docs" / "examples").mkdir(parents=True)
    (tmp_path / "README.md").write_text("no protocol\n")
    (tmp_path / "docs" / "a-page.md").write_text(
        "```python\nclass A(sottovoce.Protocol[X]):\n    pass\n\n\nclass B(A):\n    pass\n```\n\n"
        "```python\nclass C(Options):\n    pass\n```\n"
    )
    cell = "TEXT = '''\nclass D(SummingProtocol[X]): pass\n'''\nMORE = TEXT.replace('D', 'E')\n"
    (tmp_path / "docs" / "examples" / "b.ipynb").write_text(
        json.dumps({"cells": [{"cell_type": "code", "source": [cell]}]})
    )
    names = [(shown.module, shown.name) for shown in shown_protocols(tmp_path)]
    assert names == [("a_page_0", "A"), ("a_page_1", "B"), ("b_0", "D"), ("b_1", "E")]


@pytest.mark.parametrize("label", NOT_CONFORMING)
def test_what_is_excepted_fails(
    label: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = SHOWN[label]

    suite = ShownConformance()
    (tmp_path / f"{shown.module}.py").write_text(shown.text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(AssertionError, match="depend on records"):
        suite.test_nothing_of_a_record_is_sent_without_a_release(
            f"{shown.module}:{shown.name}", "others", monkeypatch
        )
