"""Print the least releases that pyproject.toml allows, as constraints for pip.

They are those of the dependencies and of the extras, but not of the tools that developers use.

Usage: python .ci/oldest.py > constraints.txt
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
TOOLS = {"dev", "docs"}
REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9._-]+)(\[[^\]]*\])?(?P<bound>.*)")


def constraints(project: Mapping[str, Any]) -> Iterator[str]:
    """Turn each lower bound into the one release that it names.

    Raises:
        ValueError: a requirement has no lower bound, or more than that.
    """
    extras = project["optional-dependencies"]
    groups = [project["dependencies"], *(extras[name] for name in extras if name not in TOOLS)]
    for requirement in sorted({text for group in groups for text in group}):
        parts = REQUIREMENT.fullmatch(requirement)
        if parts is None or not re.fullmatch(r"(>=[0-9.]+)?", parts["bound"]):
            raise ValueError(f"expected name>=release in pyproject.toml, found {requirement!r}")
        if parts["name"] == project["name"]:  # an extra that takes in others
            continue
        if not parts["bound"]:
            raise ValueError(f"expected a lower bound in pyproject.toml, found {requirement!r}")
        yield f"{parts['name']}{parts['bound'].replace('>=', '==')}"


if __name__ == "__main__":
    with (ROOT / "pyproject.toml").open("rb") as file:
        sys.stdout.writelines(f"{line}\n" for line in constraints(tomllib.load(file)["project"]))
