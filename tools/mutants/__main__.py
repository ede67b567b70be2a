"""Try a random sample of mutants: `make mutants MODULE=crypto/packing N=40`.

The tests of a mutant are those that reach the changed line. They run in copies of the tree outside
it. What was tried is kept, so the same command goes on where it was interrupted.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from .campaign import Campaign, Equivalents, Tuned, modules_of, sample, summary
from .reach import measure

ROOT = Path(__file__).resolve().parents[2]
MODULES = ("crypto", "privacy", "protocols")
TESTS = ("tests/crypto", "tests/messages", "tests/privacy", "tests/protocols")
LEFT_OUT = ("-m", "not mpi and not timed and not hosts", "-k", "not same_bytes_on_every_transport")
"""Tests that start processes: they take long, and their lines are not counted test by test."""


def main(words: Sequence[str] | None = None) -> int:
    """Sample, try, and print what was noticed; the status is 0 whatever survives."""
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__)
    parser.add_argument(
        "modules",
        nargs="*",
        default=MODULES,
        help="folders or modules, by default crypto, privacy, protocols",
    )
    parser.add_argument("-n", "--number", type=int, default=100, help="size of the sample")
    parser.add_argument("--seed", type=int, default=1, help="of the sample")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--seconds", type=float, default=40.0, help="that the tests of a mutant may take together"
    )
    parser.add_argument(
        "--patience", type=float, default=10.0, help="by how much a test may take longer"
    )
    parser.add_argument("--root", type=Path, default=ROOT, help="the tree")
    parser.add_argument("--tests", nargs="+", default=TESTS, help="folders or files of tests")
    parser.add_argument("--store", type=Path, help="folder for what is kept from run to run")
    parser.add_argument("--list", action="store_true", help="list all mutants and end")
    settings = parser.parse_args(words)
    root = settings.root.resolve()
    store = settings.store or Path(tempfile.gettempdir()) / f"mutants-of-{_name(root)}"
    if store.resolve().is_relative_to(root):
        parser.error(f"expected --store outside the tree, found {store}")
    try:
        modules = modules_of(root, settings.modules)
        tests = _test_files(root, settings.tests)
    except ValueError as error:
        parser.error(str(error))
    candidates, number = sample(
        root,
        modules,
        number=sys.maxsize if settings.list else settings.number,
        seed=settings.seed,
        equivalents=Equivalents(root / "tools" / "mutants" / "equivalents.toml"),
        tuned=Tuned(root / "tools" / "mutants" / "tuned.toml"),
    )
    if settings.list:
        for module, mutation in sorted(candidates, key=lambda c: (c.module, c.mutation.start)):
            source = (root / module).read_text()
            _print(
                f"{module}:{mutation.line}  {mutation.before(source)} -> {mutation.after(source)}"
            )
        return 0
    _print(f"{len(candidates)} of {number} mutants, seed {settings.seed}; kept in {store}")
    reach = measure(
        root,
        [path.relative_to(root).as_posix() for path in tests],
        store=store,
        rooms=sorted({module.split("/")[0] for module in modules} | _rooms(root)),
        options=LEFT_OUT,
        workers=settings.workers,
        tell=_print,
    )
    campaign = Campaign(
        root=root,
        store=store,
        reach=reach,
        options=LEFT_OUT,
        workers=settings.workers,
        most=settings.seconds,
        patience=settings.patience,
        tell=_print,
    )
    for line in summary(campaign.run(candidates)):
        _print(line)
    return 0


def _test_files(root: Path, names: Sequence[str]) -> list[Path]:
    """List the files of tests; a name is a folder or a file.

    Raises:
        ValueError: a name stands for no test, which would look as if nothing were noticed.
    """
    files: list[Path] = []
    for name in names:
        path = root / name
        tests = [path] if path.is_file() else sorted(path.rglob("test_*.py"))
        if not tests:
            raise ValueError(f"expected a folder or a file of tests, found {name}")
        files += tests
    return [*dict.fromkeys(files)]


def _rooms(root: Path) -> set[str]:
    """List the rooms that are measured together, so that the map serves all of them."""
    return {name for name in MODULES if (root / name).is_dir()}


def _name(root: Path) -> str:
    return "-".join(root.parts[1:])


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
