"""No file imports another in a circle: imports within functions and for types count, too."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROOMS = {link.name for link in (ROOT / "src" / "sottovoce").iterdir() if link.is_symlink()}


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))}


def imports_of(module: str, source: str, *, package: bool) -> set[str]:
    """List the modules that a module imports relatively, wherever the import stands."""
    parts = module.split(".")
    folder = parts if package else parts[:-1]
    found = set()
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        base = folder[: len(folder) - node.level + 1] + (node.module or "").split(".")
        target = ".".join(part for part in base if part)
        named = {f"{target}.{alias.name}".removeprefix(".") for alias in node.names}
        modules = named & MODULES.keys()
        found |= modules
        if named - modules and target in MODULES:
            found.add(target)
    return found - {module}


def circles(graph: dict[str, set[str]]) -> Iterator[list[str]]:
    """Walk depth first; a module that is met again on its own path closes a circle."""
    finished: set[str] = set()

    def walk(module: str, path: list[str]) -> Iterator[list[str]]:
        if module in path:
            yield [*path[path.index(module) :], module]
        elif module not in finished:
            for other in sorted(graph.get(module, ())):
                yield from walk(other, [*path, module])
            finished.add(module)

    for module in sorted(graph):
        yield from walk(module, [])


def test_no_file_imports_another_in_a_circle() -> None:
    graph = {
        module: imports_of(module, path.read_text(), package=path.name == "__init__.py")
        for module, path in MODULES.items()
    }
    assert len(graph) > 200
    assert [" -> ".join(circle) for circle in circles(graph)] == []


def test_a_circle_is_seen_within_functions_and_for_types() -> None:
    source = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .frame import Header\n"
    assert imports_of("messages.wire", source, package=False) == {"messages.frame"}
    within = "def f():\n    from ..messages import frame\n"
    assert imports_of("crypto.sealed", within, package=False) == {"messages.frame"}
    assert list(circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}})) == [["a", "b", "c", "a"]]
