"""Print the tests that touch what changed since origin/main: `make check` runs them.

A test touches a module if it is named after it or imports it; for want of such a name, if it is
the test of the module's folder. The tests of the house always run.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[1]
ALWAYS = "tests/house"
BASES = ("origin/main", "HEAD")


def main() -> None:
    """Print the paths of tests, in one line."""
    tests = {
        path.relative_to(ROOT).as_posix(): path.read_text()
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
    }
    chosen = [name for name in touched(changed(), tests) if not name.startswith(ALWAYS)]
    sys.stdout.write(" ".join([ALWAYS, *chosen]) + "\n")


def changed() -> list[str]:
    """List files that differ from the branch point, and files that are not committed yet."""
    for base in BASES:
        fork = _git("merge-base", "HEAD", base)
        if fork:
            names = [*_git("diff", "--name-only", fork[0])]
            return [*names, *_git("ls-files", "--others", "--exclude-standard")]
    return []


def touched(names: Iterable[str], tests: dict[str, str]) -> Iterator[str]:
    """Choose tests, each once, those that changed themselves first."""
    names = [*names]
    modules = [PurePosixPath(name) for name in names if name.endswith(".py")]
    direct = [name for name in names if name in tests]
    named = [test for path in modules for test in _named_after(path, tests)]
    importing = [test for path in modules for test in tests if _imports(tests[test], path)]
    yield from dict.fromkeys([*direct, *named, *importing])


def _named_after(module: PurePosixPath, tests: Iterable[str]) -> list[str]:
    """Find test_wires.py for messages/wire.py; for want of it the tests of the module's folder."""
    room, *folders = module.parent.parts or ("",)
    beside = [test for test in tests if test.startswith(f"tests/{room}/")]
    names = {test: PurePosixPath(test).stem.removeprefix("test_") for test in beside}
    exact = [test for test in beside if names[test].startswith(module.stem)]
    of_folder = [
        test
        for test in beside
        if {names[test], *PurePosixPath(test).parts[2:-1]}.intersection(folders)
    ]
    return exact or of_folder


def _imports(text: str, module: PurePosixPath) -> bool:
    return f"sottovoce.{'.'.join(module.with_suffix('').parts)} import" in text


def _git(*words: str) -> list[str]:
    done = subprocess.run(
        ["git", *words], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )
    return done.stdout.splitlines() if done.returncode == 0 else []


if __name__ == "__main__":
    main()
