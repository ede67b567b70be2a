"""Pages of the site that are notebooks, run while the site is built.

Notebooks are kept without outputs, so their pages show what this checkout prints. A notebook that
did not change since the last build is not run again: its page is kept in `.cache/notebooks`.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
import tempfile
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "docs" / "examples").glob("*.ipynb"))
CACHE = ROOT / ".cache" / "notebooks"
STYLE = re.compile(r"<style[\s\S]*?</style>")
TABLE = re.compile(r"<(table|tr)\b[^>]*>")
"""Tags whose borders and alignment are the site's."""


def on_files(files: Files, *, config: Any) -> Files:
    """Add a page for each notebook; mkdocs calls this before it reads the pages."""
    for path in NOTEBOOKS:
        name = f"examples/{path.stem}.md"
        files.append(File.generated(config, name, content=page_of(path)))
    return files


def page_of(path: Path) -> str:
    """Write the page of a notebook, from the cache if neither it nor the code has changed."""
    kept = CACHE / f"{path.stem}-{digest_of(path)}.md"
    if not kept.is_file():
        text = markdown(run(path), name=path.name)
        CACHE.mkdir(parents=True, exist_ok=True)
        for old in CACHE.glob(f"{path.stem}-*.md"):
            old.unlink()
        kept.write_text(text)
    return kept.read_text()


def digest_of(path: Path) -> str:
    """Digest a notebook, and all code that it may run."""
    return hashlib.sha256(path.read_bytes() + code_digest(Path(__file__)).encode()).hexdigest()[:16]


@functools.cache
def code_digest(*files: Path) -> str:
    """Digest files, and all code of this checkout."""
    whole = hashlib.sha256()
    package = ROOT / "src" / "sottovoce"
    rooms = [room for room in package.iterdir() if room.is_dir()]
    sources = [*package.glob("*.py"), *(file for room in rooms for file in room.rglob("*.py"))]
    for source in sorted([*files, *sources]):
        whole.update(source.read_bytes())
    return whole.hexdigest()[:16]


def run(path: Path) -> dict[str, Any]:
    """Run a notebook in a kernel of its own; a failing cell is an error of the build."""
    import nbclient
    import nbformat

    book = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        nbclient.NotebookClient(
            book, timeout=600, kernel_name="python3", resources={"metadata": {"path": folder}}
        ).execute()
    executed: dict[str, Any] = json.loads(nbformat.writes(book))
    return executed


def markdown(book: dict[str, Any], *, name: str) -> str:
    """Write a notebook that has run as a page."""
    title, *parts = _parts(book)
    source = f"*This page is the notebook [`{name}`]({name}), run when the site was built.*"
    return "\n\n".join([title, source, *parts]) + "\n"


def _parts(book: dict[str, Any]) -> Iterator[str]:
    for number, cell in enumerate(book["cells"]):
        text = _text(cell["source"])
        if cell["cell_type"] == "markdown":
            yield text
        elif cell["cell_type"] == "code" and text:
            yield f"```python\n{text}\n```"
            for output in cell["outputs"]:
                yield from _output(output, number=number)


def _output(output: dict[str, Any], *, number: int) -> Iterator[str]:
    """Write an output as a table, a picture or text, in this order of preference."""
    if output["output_type"] == "stream":
        yield _preformatted(_text(output["text"]))
        return
    data = output.get("data", {})
    if "text/html" in data:
        html = TABLE.sub(r"<\1>", STYLE.sub("", _text(data["text/html"])))
        lines = "\n".join(line.strip() for line in html.splitlines() if line.strip())
        yield f'<div class="output">\n{lines}\n</div>'
    elif "image/png" in data:
        picture = "".join(_text(data["image/png"]).split())
        alternative = escape(f"Picture {number}: {_text(data.get('text/plain', ''))}", quote=True)
        yield f'<img src="data:image/png;base64,{picture}" alt="{alternative}">'
    elif "text/plain" in data:
        yield _preformatted(_text(data["text/plain"]))


def _preformatted(text: str) -> str:
    return f'<pre class="output"><code>{escape(text.rstrip())}</code></pre>'


def _text(source: str | list[str]) -> str:
    """Join the lines of a cell, which may be a list."""
    return source if isinstance(source, str) else "".join(source)
