"""`sottovoce new NAME`: write a working protocol package with a test, to start from."""

from __future__ import annotations

import keyword
import re
import shutil
import sys
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from string import Template
from typing import Final

from ..messages import UsageError

__all__ = ["write_package"]

PLACES: Final = {
    "pyproject.toml": "pyproject.toml.txt",
    "README.md": "README.md.txt",
    "src/$module/__init__.py": "protocol.py.txt",
    "tests/test_$module.py": "test_protocol.py.txt",
}


def write_package(name: str, *, folder: Path) -> str:
    """Write the package into folder/NAME, which must not exist; return what to do next."""
    if keyword.iskeyword(name):
        raise UsageError(f"expected a name for a module, found {name!r}, a word of Python")
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise UsageError(
            f"expected a name of lower-case words joined by '-', such as noisy-mean, found {name!r}"
        )
    module = name.replace("-", "_")
    if module in sys.stdlib_module_names or find_spec(module) is not None:
        raise UsageError(
            f"expected a name that no installed package has, found {name!r}: the module {module} "
            "would hide it"
        )
    target = folder / name
    if target.exists():
        raise UsageError(f"expected {target} not to exist, found it: choose another name or folder")
    words = {
        "name": name,
        "module": module,
        "title": "".join(word.title() for word in name.split("-")),
    }
    templates = files("sottovoce.launch") / "templates"
    package = {
        Template(place).substitute(words): Template((templates / template).read_text()).substitute(
            words
        )
        for place, template in PLACES.items()
    }
    try:
        for place, text in package.items():
            path = target / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    except OSError as error:
        shutil.rmtree(target, ignore_errors=True)  # It was not there before.
        raise UsageError(
            f"expected a folder that can be written, found {target}: {error.strerror}"
        ) from None
    return (
        f"written   {target}/: {', '.join(package)}\n"
        f"next      cd {target} && pip install -e '.[test]' && pytest && sottovoce run {name}\n"
    )
