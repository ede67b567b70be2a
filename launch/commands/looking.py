"""Commands that show protocols and finished runs: `protocols`, `report`, `compare`."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
import typer

from ...messages import Entry, UsageError
from ...protocols import AnyProtocol, available, find
from ...report.comparison import compare
from ...report.comparison_table import comparison_json
from ...report.figures import check_request, default_requests, run_rows, write_figures
from ...report.folder import BROKEN, files_to_publish, page_of, put, read_ledger
from ...report.pages import comparison_page
from ...report.printing import print_table
from ...report.reported import ReportedRun, pack_run, read_run
from ...report.summary import summary_lines
from ...report.terminal import print_comparison, print_summary
from .app import app
from .figure_options import FigureNames, FigureWidthName, read_figure_options

PAGE: Final = "comparison.html"
FIGURES: Final = "comparison-figures"


@app.command("protocols")
def protocols_command(
    name: Annotated[str | None, typer.Argument(help="show this protocol's parameters")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="as JSON")] = False,
) -> None:
    """List the protocols, or one protocol's parameters and defaults."""
    if name is None:
        _list_protocols(as_json=as_json)
        return
    kind = find(name)
    rows = []
    definitions = msgspec.json.schema(kind.Parameters)["$defs"]
    for parameter, rule in definitions[kind.Parameters.__name__]["properties"].items():
        bounds = [f"{sign} {rule[key]}" for key, sign in _BOUNDS.items() if key in rule]
        rows.append(
            [
                parameter,
                " ".join([_values(rule), *bounds]),
                json.dumps(rule.get("default")),
                rule.get("description", ""),
            ]
        )
    if as_json:
        head = ("name", "type", "default", "meaning")
        sys.stdout.write(
            json.dumps([dict(zip(head, row, strict=True)) for row in rows], indent=2) + "\n"
        )
        return
    for title, text in (
        ("protocol", kind.name),
        ("publishes", kind.summary),
        ("paper", kind.paper),
        ("trust", kind.trust),
    ):
        sys.stdout.write(f"{title:<10} {text}\n")
    sys.stdout.write(
        f"{'modes':<10} {', '.join(kind.modes)}\n{'neighbours':<10} {kind.neighbours}\n"
        f"{'collusion':<10} {_collusion(kind)}\n\n"
    )
    print_table(("parameter", "type", "default", "meaning"), rows)


def _collusion(kind: type[AnyProtocol]) -> str:
    """Describe the coalitions that the protocol's claim covers, see `Protocol.colluding`."""
    if "colluding" in kind.Parameters.__struct_fields__:
        return "the claim covers the curator alone, and `colluding` parties together"
    return "the claim covers all other roles together"


def _values(rule: dict[str, Any]) -> str:
    """Describe the values that a parameter takes, by its JSON schema."""
    if "anyOf" in rule:
        return "|".join(values for part in rule["anyOf"] if (values := _values(part)) != "null")
    return "|".join(map(str, rule["enum"])) if "enum" in rule else str(rule.get("type", ""))


_BOUNDS = {"exclusiveMinimum": ">", "minimum": ">=", "exclusiveMaximum": "<", "maximum": "<="}


def _list_protocols(*, as_json: bool) -> None:
    rows = []
    for entry in available():
        try:
            kind = find(entry)
        except UsageError as error:  # one broken plug-in must not hide the others
            rows.append([entry, "", "", f"cannot be loaded: {error}"])
        else:
            rows.append([entry, kind.paper, kind.trust, kind.summary])
    if as_json:
        head = ("name", "paper", "trust", "publishes")
        sys.stdout.write(
            json.dumps([dict(zip(head, row, strict=True)) for row in rows], indent=2) + "\n"
        )
    else:
        print_table(("name", "paper", "trust", "publishes"), rows)


@app.command("report")
def report_command(
    folder: Annotated[Path, typer.Argument(help="the folder of a run")],
    public: Annotated[
        bool, typer.Option("--public", help="leave out what was measured on the real table")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(help="with --public: a folder for everything that can be handed on"),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="print report and judgement as JSON, and write no page")
    ] = False,
) -> None:
    """Write report.html anew from the files of a run, and print the summary again."""
    if out is not None and (not public or as_json):
        raise UsageError("expected --out with --public alone: it takes what can be handed on")
    if out is not None and (out / "judgement.json").is_file():
        raise UsageError(
            f"expected a folder without a judgement for --out, found that of a run in {out}, which "
            "would be removed: name a new folder"
        )
    run = read_run(folder)
    if public:
        run = ReportedRun(report=run.report)
    try:
        summary_lines(run)  # an error must occur before anything is written
        page = page_of(run, entries=_ledger_of(folder), model=_model_of(folder))
    except BROKEN as error:
        raise UsageError(
            f"expected the files of a run in {folder}, found {type(error).__name__}: {error}"
        ) from None
    if as_json:
        _print_run(run, public=public)
        return
    if out is None:
        out, files = folder, {}
    else:
        files = files_to_publish(folder, run.report)
    put({**files, "report.html": page}, folder=out)
    print_summary(run, folder=out, names=sorted(path.name for path in out.iterdir()))


def _print_run(run: ReportedRun, *, public: bool) -> None:
    """Print a report and, unless it is for the public, the judgement under a key of its own."""
    packed = pack_run(run)
    shown = packed["report"] if public else {**packed["report"], "judgement": packed["judgement"]}
    sys.stdout.write(json.dumps(shown, indent=2) + "\n")


def _ledger_of(folder: Path) -> list[Entry]:
    path = folder / "ledger.csv"
    return read_ledger(path.read_bytes()) if path.is_file() else []


def _model_of(folder: Path) -> Any:
    path = folder / "model.json"
    return json.loads(path.read_bytes()) if path.is_file() else None


@app.command("compare")
def compare_command(
    folders: Annotated[list[Path], typer.Argument(help="the folders of runs", metavar="DIR")],
    out: Annotated[
        Path | None,
        typer.Option(
            help="the page (default: comparison.html beside the first run; with --json none)"
        ),
    ] = None,
    public: Annotated[
        bool, typer.Option("--public", help="leave out what was measured on the real tables")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON on standard output")] = False,
    figures: FigureNames = None,
    figure_width: FigureWidthName = None,
) -> None:
    """Put runs side by side: epsilon claimed and as accounted, bytes, rounds, seconds and quality.

    The result is a table, a page, and figures for a paper as SVG, PDF and CSV.
    """
    requests, width = read_figure_options(figures, figure_width)
    runs = _runs_to_compare(folders, public=public)
    try:
        comparison = compare(runs)
        table = run_rows(comparison, runs)
        for request in requests:
            check_request(request, table)
        html = comparison_page(comparison)
    except BROKEN as error:
        raise _broken_runs(error) from None
    if as_json:
        sys.stdout.write(comparison_json(comparison))
    else:
        print_comparison(comparison)
    page = out or Path(os.path.relpath(folders[0].resolve().parent / PAGE))
    if page.is_dir():
        raise UsageError(f"expected a file for --out, found the folder {page}")
    wants_page = out is not None or not (as_json or not os.access(page.parent, os.W_OK))
    drawn: list[str] = []
    if wants_page:
        put({page.name: html.encode()}, folder=page.parent)
    if wants_page or requests:
        chosen = requests or default_requests(table)
        folder = page.parent / f"{page.stem}-figures"
        drawn += write_figures(table, chosen, folder=folder, width=width)
    if wants_page:
        drawn.append(f"written  {page}")
    if not as_json:
        sys.stdout.write("".join(f"{line}\n" for line in drawn))


def _runs_to_compare(folders: list[Path], *, public: bool) -> dict[str, ReportedRun]:
    """Read the runs of folders by their names, with paths where these are not different."""
    # With `compare runs/*` what an earlier comparison wrote is among the arguments.
    folders = [path for path in folders if not _is_of_comparison(path)]
    if not folders:
        raise UsageError(f"expected the folders of runs, found only {PAGE}")
    for index, folder in enumerate(folders):
        if folder.resolve() in [other.resolve() for other in folders[:index]]:
            raise UsageError(f"expected each run once, found {folder} twice")
    names = [folder.name or str(folder) for folder in folders]
    if len(set(names)) < len(names):
        names = [str(folder) for folder in folders]
    try:
        runs = {name: read_run(folder) for name, folder in zip(names, folders, strict=True)}
    except BROKEN as error:
        raise _broken_runs(error) from None
    return {name: ReportedRun(report=run.report) for name, run in runs.items()} if public else runs


def _broken_runs(error: BaseException) -> UsageError:
    return UsageError(f"expected report.json of runs, found {type(error).__name__}: {error}")


def _is_of_comparison(path: Path) -> bool:
    """Tell whether a path is the page or the figures of an earlier comparison, not a run."""
    return (path.name == PAGE and path.is_file()) or (
        path.name == FIGURES and not (path / "report.json").exists()
    )
