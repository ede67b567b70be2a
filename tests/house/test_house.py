"""The house: rooms, the links to them, and which may look into which."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAY_IMPORT = {
    "messages": set(),
    "network": {"messages"},
    "crypto": {"messages"},
    "privacy": {"messages", "crypto"},
    "parties": {"messages", "crypto", "privacy"},
    "curator": {"messages", "crypto", "privacy"},
    "protocols": {"messages", "crypto", "privacy", "parties", "curator"},
    "evaluation": {"messages", "crypto", "privacy", "parties", "curator"},
    "runs": {"messages", "network", "crypto", "privacy", "parties", "curator", "protocols"},
    "report": {
        "messages",
        "network",
        "crypto",
        "privacy",
        "parties",
        "curator",
        "protocols",
        "evaluation",
        "runs",
    },
    "studies": {
        "messages",
        "network",
        "crypto",
        "privacy",
        "parties",
        "curator",
        "protocols",
        "evaluation",
        "runs",
        "report",
    },
}
MAY_IMPORT["launch"] = set(MAY_IMPORT)
FILES = [path for room in MAY_IMPORT for path in sorted((ROOT / room).rglob("*.py"))]


def rooms_imported(path: Path) -> set[str]:
    """List the rooms that a module imports, wherever in it the import stands."""
    found = set()
    depth = len(path.relative_to(ROOT).parts)
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level == depth and node.module:
            found.add(node.module.split(".")[0])
        elif isinstance(node, ast.ImportFrom) and node.level == depth:
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.Import | ast.ImportFrom):
            modules = (
                [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else [name.name for name in node.names]
            )
            assert not any(module.split(".")[0] == "sottovoce" for module in modules), (
                f"{path}: rooms are imported relatively"
            )
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_downwards_only(path: Path) -> None:
    room = path.relative_to(ROOT).parts[0]
    assert rooms_imported(path) <= MAY_IMPORT[room] | {room}


def test_the_check_sees_a_wrong_import(tmp_path: Path) -> None:
    wrong = ROOT / "curator" / "desk.py"
    assert "parties" not in rooms_imported(wrong)
    tree = ast.parse("def f():\n    from ..parties import Records")
    assert any(
        isinstance(node, ast.ImportFrom) and node.module == "parties" for node in ast.walk(tree)
    )


def test_every_room_has_its_link() -> None:
    links = {
        path.name: path.readlink()
        for path in (ROOT / "src" / "sottovoce").iterdir()
        if path.is_symlink()
    }
    assert links == {room: Path("../..") / room for room in MAY_IMPORT}


def test_no_file_is_imported_under_two_names() -> None:
    code = f"""
import sys
from pathlib import Path

import sottovoce.launch.cli, sottovoce.protocols.head_count

rooms = {[str(ROOT / room) for room in MAY_IMPORT]}
names = {{}}
for name, module in list(sys.modules.items()):
    if getattr(module, "__file__", None):
        path = Path(module.__file__).resolve()
        if any(path.is_relative_to(room) for room in rooms):
            names.setdefault(path, []).append(name)
assert len(names) > 30, names
assert all(len(twice) == 1 for twice in names.values()), names
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=600)


def test_importing_starts_nothing() -> None:
    code = "import sys, sottovoce; assert not {'mpi4py.MPI', 'pandas'} & {*sys.modules}"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=600)


def test_a_rank_imports_only_what_a_small_protocol_needs() -> None:
    """Every rank pays for every import: with 31 parties 32 times, on cores that they share."""
    code = """
import sys
before = {*sys.modules}
from sottovoce.launch import rank
from sottovoce.protocols import find
find("head-count")
heavy = {"pandas", "scipy", "networkx", "matplotlib", "gmpy2", "phe", "rich", "typer"}
heavy |= {"importlib.metadata", "zipfile", "cryptography.hazmat.primitives.serialization"}
assert not heavy & (sys.modules.keys() - before), heavy & sys.modules.keys()
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_nobody_pickles() -> None:
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {getattr(node, "module", None), *(name.name for name in node.names)}
                assert not names & {"pickle", "dill", "cloudpickle", "marshal", "shelve"}, path
            # mpi4py's lower-case methods pickle; ours are the upper-case ones, on buffers.
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id in {"comm", "_comm"}
            ):
                assert node.attr[0].isupper(), f"{path}: comm.{node.attr}"
