"""Reproductions: the runs of a table or figure, its claims held against them, and the page with the
verdict.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from ..evaluation.points import overall
from ..evaluation.verdicts import judge_claim
from ..messages import UsageError
from ..report.folder import put
from ..report.pages.canvas import standalone
from .cells import Cell, ReportProgress, Start, StudyResult, run_cells
from .datasets import TABLES, Given, Prepared, prepare
from .items import Item
from .planning import plan_of
from .reproduction import JudgedClaim, Reproduction
from .reproduction_page import index_page, picture, reproduction_page

__all__ = ["judge_item", "plan_item", "reproduce", "write_index"]


SIZES: Final = ("full", "quick")


def write_index(out: Path) -> None:
    """Write the page over all that was made in a folder."""
    found = [json.loads(path.read_text()) for path in sorted(out.glob("*/verdict.json"))]
    put({"index.html": index_page(found).encode()}, folder=out)


def plan_item(
    item: Item, given: Mapping[str, Given], *, quick: bool, out: Path, start: Start
) -> list[Cell]:
    """Make the cells of an item; runs on a dataset that is wanted and not there are left out."""
    sizes = item.quick if quick else item.full
    where = f"{item.name} ({SIZES[quick]})"
    if "seeds" not in sizes:
        raise UsageError(f"{where}: expected seeds, found none")
    tables: dict[str, Prepared] = {}
    runs = []
    for own in item.run:
        run = {**item.every, **own, "set": {**item.every.get("set", {}), **own.get("set", {})}}
        # Of two sizes of one run: what is only = "quick" is not made in full, and the other way
        # round.
        if run.get("only", SIZES[quick]) != SIZES[quick]:
            continue
        needed = sorted({name for text in _texts(run) if (name := _named(text)) in TABLES})
        if any(TABLES[name][0] not in given for name in needed):
            continue
        for name in needed:
            if name not in tables:
                tables[name] = prepare(name, given[TABLES[name][0]], out=out / "data")
        runs.append(
            _filled(
                {key: own for key, own in run.items() if key != "only"}, sizes, tables, where=where
            )
        )
    found = {"seeds": sizes["seeds"], "run": runs}
    return plan_of(found, where=where, start=start)[1]


def _used(item: Item, given: Mapping[str, Given], *, quick: bool) -> list[Given]:
    """List the files whose tables an item of this size takes; a quick one may leave a dataset
    out.
    """
    runs = [
        {**item.every, **own} for own in item.run if own.get("only", SIZES[quick]) == SIZES[quick]
    ]
    taken = {
        TABLES[name][0] for run in runs for text in _texts(run) if (name := _named(text)) in TABLES
    }
    return [given[name] for name in (*item.needs, *item.wants) if name in given and name in taken]


def _named(text: str) -> str:
    """Give the name in braces."""
    found = re.fullmatch(r"\{([\w-]+)\}", text)
    return found[1] if found else ""


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for own in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        yield from _texts(own)


def _filled(
    run: Mapping[str, Any], sizes: Mapping[str, Any], tables: Mapping[str, Prepared], *, where: str
) -> dict[str, Any]:
    """Put values in the place of their names; a table's schema comes with it."""

    def fill(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: fill(own) for key, own in value.items()}
        if not isinstance(value, str) or not (name := _named(value)):
            return value
        if name in tables:
            return str(tables[name].data)
        if name not in sizes:
            raise UsageError(f"{where}: expected a value of {name!r}, found none")
        return sizes[name]

    filled = {key: fill(own) for key, own in run.items()}
    if (name := _named(str(run.get("data", "")))) in tables:
        filled["schema"] = str(tables[name].schema)
    return filled


def reproduce(
    item: Item,
    given: Mapping[str, Given],
    *,
    quick: bool,
    out: Path,
    start: Start,
    progress: ReportProgress,
) -> Reproduction:
    """Make an item, and leave picture, table, page and verdict in a folder of its name."""
    began = time.monotonic()
    cells = plan_item(item, given, quick=quick, out=out, start=start)
    folder = out / item.name
    last: list[Reproduction] = []

    def finish(result: StudyResult) -> None:
        result = replace(result, rows=[*map(_renamed, result.rows)])
        done = [row for row in result.rows if row["status"] == "done"]
        judgements = judge_item(item, done)
        verdict = overall([own.verdict for own in judgements if not own.ours])
        found = Reproduction(
            item, result.rows, judgements, verdict, result, time.monotonic() - began
        )
        last.append(found)
        svg = picture(item, done)
        used = _used(item, given, quick=quick)
        put(
            {
                "picture.svg": standalone(svg).encode(),
                "results.csv": _csv(result.rows),
                "page.html": reproduction_page(found, svg=svg, used=used, quick=quick).encode(),
                "verdict.json": (
                    json.dumps(verdict_of(found, used=used, quick=quick), indent=2) + "\n"
                ).encode(),
            },
            folder=folder,
        )

    run_cells(
        cells,
        out=folder,
        progress=lambda done, of, what: progress(done, of, f"{item.name}: {what}"),
        finish=finish,
    )
    return last[-1]


def _csv(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """Write all results, a line a run; where a run stands for several lines, as many."""
    import pandas as pd

    return pd.DataFrame([dict(row) for row in rows]).to_csv(index=False).encode()


def _renamed(row: Mapping[str, Any]) -> dict[str, Any]:
    """Call tables by their names: where they were written says nothing."""
    own = {key: value for key, value in row.items() if key not in {"schema", "test"}}
    if "data" in own:
        own["data"] = re.sub(r"^.*/([\w-]+)-[0-9a-f]{16}\.csv$", r"\1", str(own["data"]))
    return own


def _ways(figure: str) -> str:
    """Name a figure that several panels draw: of marginals, by how many attributes they have."""
    found = re.search(r"_(\d+)$", figure)
    return f"{found[1]}-way" if found else figure


def judge_item(item: Item, rows: Sequence[Mapping[str, Any]]) -> list[JudgedClaim]:
    """Hold the claims against results."""
    picture = item.picture
    drawn = [panel.y for panel in picture.panel]
    titles = {
        panel.y: panel.title if drawn.count(panel.y) == 1 else _ways(panel.y)
        for panel in picture.panel
    }
    titles[picture.x] = picture.x_title or picture.x
    return [
        JudgedClaim(
            says=claim.says,
            at=claim.at,
            why=claim.why,
            ours=claim.ours,
            judged=judge_claim(claim, rows, x=picture.x, printed=item.printed, titles=titles),
        )
        for claim in item.claim
    ]


def verdict_of(found: Reproduction, *, used: Sequence[Given], quick: bool) -> dict[str, Any]:
    """Say in short what came out, for programs and the index."""
    item = found.item
    return {
        "name": item.name,
        "title": item.title,
        "paper": item.paper,
        "where": item.where,
        "verdict": found.verdict,
        "quick": quick,
        "runs": found.result.cells,
        "failed": len(found.result.failures),
        "left": sum(row["status"] == "not run" for row in found.rows),
        "seconds": round(found.seconds, 1),
        "data": {own.dataset: own.kind for own in used},
        "sha256": {own.dataset: own.digest for own in used},
        "claims": [
            {
                "says": own.says,
                "at": own.at,
                "ours": own.ours,
                "verdict": own.verdict,
                "line": own.judged[0].line,
                "decided_by": own.judged[0].sentence,
                "beside": [
                    {"line": other.line, "verdict": other.verdict, "decided_by": other.sentence}
                    for other in own.judged[1:]
                ],
            }
            for own in found.judgements
        ],
    }
