"""Copies of the working tree, in which mutants are tried. The working tree is never changed."""

from __future__ import annotations

import compileall
import contextlib
import hashlib
import io
import os
import py_compile
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

__all__ = ["copy_tree", "digest", "environment", "tracked"]


def tracked(root: Path) -> list[Path]:
    """List the tree's files, with links as links: what git knows, or else all files."""
    done = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],  # noqa: S607
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    if done.returncode == 0:
        names = [Path(name) for name in done.stdout.split("\0") if name]
    else:
        paths = [path for path in root.rglob("*") if "__pycache__" not in path.parts]
        names = [path.relative_to(root) for path in paths]
    return sorted({name for name in names if (root / name).is_symlink() or (root / name).is_file()})


def copy_tree(root: Path, target: Path) -> None:
    """Copy a tree's files, and compile its modules.

    Compiled modules are valid for one text, whatever its time and length. So a mutant is never
    mistaken for what was there before.
    """
    shutil.rmtree(target, ignore_errors=True)
    for name in tracked(root):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / name, target / name, follow_symlinks=False)
    with contextlib.redirect_stdout(io.StringIO()):
        compileall.compile_dir(
            str(target), quiet=2, invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH
        )


def environment(tree: Path, **more: str) -> Mapping[str, str]:
    """Return the variables for tests in a copy, which import the copy and compile nothing."""
    tools = Path(__file__).resolve().parents[1]
    paths = [str(tree / "src"), str(tree), str(tools)]
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    usual = {"PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"}
    return {**os.environ, **threads, **usual, **more}


def digest(paths: Iterable[Path]) -> str:
    """Compute a digest of files' contents."""
    whole = hashlib.sha256()
    for path in sorted(paths):
        whole.update(hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()[:16]


def python() -> str:
    """Return the interpreter in which tests run."""
    return sys.executable
