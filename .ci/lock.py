"""Write which releases `make demo` and `make test` install: a file in locks/ for each Python.

Usage: python .ci/lock.py PYTHON...
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXTRAS = "dev,docs,mpich"


def main(pythons: list[str]) -> None:
    """Write a file for each Python given; each needs pip and the network."""
    for python in pythons:
        number = _asked(python, "-c", "import sys; print('%d%d' % sys.version_info[:2])").strip()
        path = ROOT / "locks" / f"py{number}.txt"
        path.parent.mkdir(exist_ok=True)
        lines = [
            f"# Python {number[0]}.{number[1:]}: releases that were tested together. `make lock`",
            "# writes this file anew.",
            *pins(python),
        ]
        path.write_text("".join(f"{line}\n" for line in lines))
        sys.stdout.write(f"{path.relative_to(ROOT)}: {len(lines) - 2} releases\n")


def pins(python: str) -> list[str]:
    """Ask pip for the newest releases that fit together, without installing them."""
    words = ["install", "--quiet", "--dry-run", "--ignore-installed", "--report", "-"]
    # setuptools builds the package; it is locked with the rest.
    wanted = ["--editable", f".[{EXTRAS}]", "setuptools"]
    report = json.loads(_asked(python, "-m", "pip", *words, *wanted))
    releases = {
        item["metadata"]["name"].lower().replace("_", "-"): item["metadata"]["version"]
        for item in report["install"]
    }
    del releases["sottovoce"]
    return [f"{name}=={release}" for name, release in sorted(releases.items())]


def _asked(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout


if __name__ == "__main__":
    main(sys.argv[1:])
