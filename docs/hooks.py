"""What the site has from the code while it is built: parameters of protocols, in place of `<!--
parameters: NAME -->`.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(
    0, str(Path(__file__).parents[1] / "src")
)  # what this checkout has, not what is installed

from typer.testing import CliRunner

from sottovoce.launch.cli import app

MARK = re.compile(r"^<!-- parameters: (\S+) -->$", re.MULTILINE)
LIST = re.compile(r"^<!-- protocols -->$", re.MULTILINE)
PAGE_OF = {
    "head-count": "smallest.md#head-count",
    "noisy-marginals": "smallest.md#noisy-marginals",
    "one-way": "smallest.md#one-way",
    "dp-subn": "dp-subn.md",
    "dp-ccbn": "dp-ccbn.md",
    "independent": "dp-ccbn.md#independent",
    "dist-diff-gen": "dist-diff-gen.md",
    "jtree": "jtree.md",
    "calm": "calm.md",
    "fourier": "calm.md#ft",
    "one-way-ldp": "calm.md#the-floor",
    "privincr": "privincr.md",
    "no-incremental": "privincr.md#the-baselines",
    "no-priv-jtree": "privincr.md#the-baselines",
    "lopub": "privincr.md#lopub",
    "clldp-joint": "clldp.md",
    "clldp-naive-bayes": "clldp.md",
    "clldp-decision-tree": "clldp.md",
    "label-dp": "clldp.md#labeldp",
}
"""Where each protocol is described."""


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the tables in: called by mkdocs for every page."""
    return LIST.sub(lambda _: protocols(), MARK.sub(lambda found: parameters(found[1]), markdown))


def parameters(name: str) -> str:
    """Write what `sottovoce protocols NAME` prints as a table."""
    rows = [
        f"| `{own['name']}` | {_cell(own['type'])} | {_cell(_default(own['default']))} | {_cell(own['meaning'])} |"
        for own in _asked("protocols", name)
    ]
    return "\n".join(["| parameter | values | default | |", "| --- | --- | --- | --- |", *rows])


def protocols() -> str:
    """Write what `sottovoce protocols` prints as a table, with a link to each one's page."""
    rows = [
        " | ".join(
            [
                f"| [`{own['name']}`]({PAGE_OF[own['name']]})",
                *(_cell(own[key]) for key in ("publishes", "trust", "paper")),
            ]
        )
        + " |"
        for own in _asked("protocols")
        if own["name"]
        in PAGE_OF  # a plug-in of somebody's is not on the site; a test sees to it that ours are
    ]
    return "\n".join(
        ["| protocol | publishes | who is trusted | paper |", "| --- | --- | --- | --- |", *rows]
    )


def _asked(*words: str) -> list[dict[str, str]]:
    told: list[dict[str, str]] = json.loads(
        CliRunner().invoke(app, [*words, "--json"], catch_exceptions=False).stdout
    )
    return told


def _default(text: str) -> str:
    return "" if text == "null" else text.strip('"') or "(none)"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")
