"""Tables that the site takes from the code while it is built.

`<!-- parameters: NAME -->` becomes the parameters of a protocol, `<!-- protocols -->` the list of
all protocols. `<!-- reproductions -->`, `<!-- claims -->` and `<!-- provenance -->` become tables
of the results in `docs/reproductions/`, judged anew.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

# The site describes this checkout, not an installed package.
sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

from typer.testing import CliRunner

from sottovoce.launch.commands import app
from sottovoce.studies.kept_results import read_kept
from sottovoce.studies.kept_table import claims_table, overview, provenance_table

PARAMETERS = re.compile(r"^<!-- parameters: (\S+) -->$", re.MULTILINE)
PROTOCOLS = re.compile(r"^<!-- protocols -->$", re.MULTILINE)
REPRODUCTIONS = re.compile(r"^<!-- (reproductions|claims|provenance) -->$", re.MULTILINE)
KEPT = Path(__file__).parent / "reproductions"
"""The folder of the results that are kept."""
PAGE_OF = {
    "head-count": "smallest.md#head-count",
    "noisy-marginals": "smallest.md#noisy-marginals",
    "one-way": "smallest.md#one-way",
    "private-schema": "private-schemas.md",
    "adaptive-pairs": "adaptive-pairs.md",
    "dp-subn": "dp-subn.md",
    "dp-ccbn": "dp-ccbn.md",
    "independent": "dp-ccbn.md#independent",
    "dist-diff-gen": "dist-diff-gen.md",
    "jtree": "jtree.md",
    "aim": "aim.md",
    "mst": "aim.md#mst",
    "flaim": "flaim.md",
    "aug-flaim": "flaim.md",
    "calm": "calm.md",
    "fourier": "calm.md#ft",
    "one-way-ldp": "calm.md#the-baseline",
    "privincr": "privincr.md",
    "no-incremental": "privincr.md#the-baselines",
    "no-priv-jtree": "privincr.md#the-baselines",
    "lopub": "privincr.md#lopub",
    "clldp-joint": "clldp.md",
    "clldp-naive-bayes": "clldp.md",
    "clldp-decision-tree": "clldp.md",
    "label-dp": "clldp.md#labeldp",
}
"""The page that describes each protocol."""


BREAKPOINTS = {"76.25em": "68.75em", "76.234375em": "68.734375em"}
"""Widths from which the theme shows the navigation beside a page: 1,220 pixels, here 1,100."""


def on_post_build(*, config: Any, **_: Any) -> None:
    """Show the navigation on screens of 1,200 pixels; mkdocs calls this when all is written."""
    changed = 0
    for path in (Path(config["site_dir"]) / "assets").rglob("*"):
        if path.suffix in (".css", ".js"):
            text = path.read_text()
            for theirs, ours in BREAKPOINTS.items():
                changed += text.count(theirs)
                text = text.replace(theirs, ours)
            path.write_text(text)
    if not changed:
        raise ValueError("expected the theme's breakpoints in its assets, found none")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Insert the tables; mkdocs calls this for every page."""
    with_parameters = PARAMETERS.sub(lambda match: parameters(match[1]), markdown)
    with_protocols = PROTOCOLS.sub(lambda _: protocols(), with_parameters)
    return REPRODUCTIONS.sub(lambda match: reproductions(match[1]), with_protocols)


def parameters(name: str) -> str:
    """Write the output of `sottovoce protocols NAME` as a table."""
    rows = [
        f"| `{row['name']}` | {_cell(row['type'])} | {_cell(_default(row['default']))} "
        f"| {_cell(row['meaning'])} |"
        for row in _output("protocols", name)
    ]
    return "\n".join(
        ["| parameter | values | default | meaning |", "| --- | --- | --- | --- |", *rows]
    )


def protocols() -> str:
    """Write the output of `sottovoce protocols` as a table, with a link to each protocol's page.

    Installed plug-ins are left out. A test checks that the package's own protocols are all there.
    """
    rows = [
        f"| [`{row['name']}`]({PAGE_OF[row['name']]}) | "
        + " | ".join(_cell(row[key]) for key in ("publishes", "trust", "paper"))
        + " |"
        for row in _output("protocols")
        if row["name"] in PAGE_OF
    ]
    return "\n".join(
        ["| protocol | publishes | who is trusted | paper |", "| --- | --- | --- | --- |", *rows]
    )


def reproductions(table: str) -> str:
    """Write a table of the results that are kept."""
    kept = read_kept(KEPT)
    if table == "reproductions":
        return overview(kept, folder=KEPT.name)
    return claims_table(kept) if table == "claims" else provenance_table(kept)


def _output(*words: str) -> list[dict[str, str]]:
    """Run a command of sottovoce and read its JSON."""
    result = CliRunner().invoke(app, [*words, "--json"], catch_exceptions=False)
    rows: list[dict[str, str]] = json.loads(result.stdout)
    return rows


def _default(text: str) -> str:
    return "" if text == "null" else text.strip('"') or "(none)"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")
