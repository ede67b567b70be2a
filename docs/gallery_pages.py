"""The gallery of the site: pages and figures that commands make while the site is built.

`<!-- gallery: NAME -->` on a page becomes a command, what it left, and a link to it. All commands
run in one temporary folder, in the order of `PICTURES`. What they made is kept in `.cache/gallery`
until the code changes.
"""

from __future__ import annotations

import functools
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final, NamedTuple

from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parent))

from notebook_pages import ROOT, code_digest

CACHE = ROOT / ".cache" / "gallery"
PLACE = re.compile(r"^<!-- gallery: (\S+) -->$", re.MULTILINE)
SWEEP: Final = """seeds = 3

[every]
transport = "threads"
rows = 3000

[[run]]
protocol = ["one-way", "dp-subn"]
epsilon = [0.5, 1.0, 2.0]
set = {aggregator = "masks"}
"""


class Picture(NamedTuple):
    """One entry: the command, and the file that it leaves."""

    command: str
    file: str


PICTURES: Final = {
    "pairs": Picture(
        "sottovoce run adaptive-pairs --transport threads --seed 1 --classify income "
        "--out runs/pairs",
        "runs/pairs/report.html",
    ),
    "bayesian-network": Picture(
        "sottovoce run dp-subn --transport threads --seed 1 --classify income --out runs/network",
        "runs/network/report.html",
    ),
    "decision-tree": Picture(
        "sottovoce run clldp-decision-tree --transport threads --rows 20000 --seed 1 --epsilon 4 "
        "--set label=income --out runs/tree",
        "runs/tree/report.html",
    ),
    "wan": Picture(
        "sottovoce run one-way --transport virtual --network wan --rows 2000 --seed 1 "
        "--out runs/wan",
        "runs/wan/report.html",
    ),
    "comparison": Picture(
        "sottovoce compare runs/network runs/pairs --out runs/comparison.html",
        "runs/comparison.html",
    ),
    "audit": Picture(
        "sottovoce audit head-count --runs 2000 --seed 1 --out runs/audit", "runs/audit/audit.html"
    ),
    "costs": Picture(
        "sottovoce plan head-count one-way noisy-marginals --parties 4 10 30 100 --network none "
        "--method predicted --figure bytes:parties --out runs/costs",
        "runs/costs/bytes-over-parties.svg",
    ),
    "errors": Picture(
        "sottovoce sweep sweep.toml --figure error:epsilon --out runs/sweep",
        "runs/sweep/figures/error-over-epsilon.svg",
    ),
}


def on_files(files: Files, *, config: Any) -> Files:
    """Add what the commands made; mkdocs calls this before it reads the pages."""
    for path in made().iterdir():
        files.append(File.generated(config, f"gallery/{path.name}", abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Insert the entries; mkdocs calls this for every page."""
    return PLACE.sub(lambda match: entry(match[1]), markdown)


def entry(name: str) -> str:
    """Write an entry: the command, its page in a frame or its figure, and a link."""
    picture = PICTURES[name]
    file = f"{name}{Path(picture.file).suffix}"
    shown = (
        f'<iframe class="gallery" src="{file}" title="{name}" loading="lazy"></iframe>'
        if file.endswith(".html")
        else f"![{name}](gallery/{file}){{ .gallery }}"
    )
    return (
        f"```console\n$ {picture.command}\n```\n\n{shown}\n\n[The whole page](gallery/{file})"
        if file.endswith(".html")
        else f"```console\n$ {picture.command}\n```\n\n{shown}"
    )


@functools.cache
def made() -> Path:
    """Run all commands, unless the code is that of the last time."""
    folder = CACHE / code_digest(Path(__file__))
    if not folder.is_dir():
        shutil.rmtree(CACHE, ignore_errors=True)
        with tempfile.TemporaryDirectory() as work:
            (Path(work) / "sweep.toml").write_text(SWEEP)
            results = Path(work) / "results"
            results.mkdir()
            for name, picture in PICTURES.items():
                make(picture, folder=Path(work))
                suffix = Path(picture.file).suffix
                shutil.copy(Path(work) / picture.file, results / f"{name}{suffix}")
            folder.parent.mkdir(parents=True, exist_ok=True)
            shutil.copytree(results, folder)
    return folder


def make(picture: Picture, *, folder: Path) -> None:
    """Run the command of an entry; if it fails, so does the build."""
    program, *words = shlex.split(picture.command)
    subprocess.run(
        [sys.executable, "-m", program, *words],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
        timeout=900,
    )
