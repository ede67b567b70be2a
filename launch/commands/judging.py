"""Commands of the judge, who has the real table: `evaluate`, `predict`, `attack`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from ...evaluation import evaluate
from ...evaluation.label_attacks import EPSILONS
from ...messages import UsageError
from ...parties.demo import DEMO_ROWS, demo_table
from ...report.folder import check_folder, put
from ...report.predicting import attack_table, predict_table
from ...report.progress import TaskProgress
from ...report.reported import read_run
from ...report.terminal import print_attacks, print_evaluation
from .app import Greedy, app
from .options import FORM_OPTIONS, csv_form, with_job_options

if TYPE_CHECKING:
    import pandas as pd


@app.command("evaluate", cls=Greedy)
@with_job_options(names=FORM_OPTIONS)
def evaluate_command(
    real: Annotated[str, typer.Argument(help="the real table, or demo")],
    synthetic: Annotated[str, typer.Argument(help="the synthetic one, or the folder of a run")],
    schema: Annotated[
        Path | None, typer.Option(help="JSON (default: beside SYNTHETIC, or inferred)")
    ] = None,
    ways: Annotated[
        list[int] | None,
        typer.Option(help="compare marginals of so many attributes (default: 2 3)"),
    ] = None,
    original: Annotated[
        bool, typer.Option("--original-only", help="do not compare binary attributes")
    ] = False,
    classify: Annotated[
        list[str] | None,
        typer.Option(help="predict these: income, 'education>=Bachelors', 'race=White|Black'"),
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option(help="attributes that the classifiers do not get")
    ] = None,
    seed: Annotated[
        int, typer.Option(help="of samples, and of the split into training and test")
    ] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON on standard output")] = False,
    **options: Any,
) -> None:
    """Compare a synthetic table with the real one: distances of marginals, dependence, classifiers.

    Files come first. --separator and --encoding are those of both files, but for a table that a run
    wrote: it has commas and UTF-8.
    """
    folder, demo = Path(synthetic), None
    form = csv_form(options)
    if folder.is_dir():
        synthetic = str(folder / "synthetic.csv")
        if not Path(synthetic).is_file():
            raise UsageError(
                f"expected synthetic.csv in {folder}, found none: "
                "does this protocol publish a table?"
            )
        if real == "demo":
            demo = _demo_of(folder)
    work = TaskProgress()
    try:
        verdict = evaluate(
            real if demo is None else demo,
            synthetic,
            schema=schema,
            ways=ways or (),
            binary=not original,
            classify=classify or (),
            drop=drop or (),
            seed=seed,
            separator=form.separator,
            encoding=form.encoding,
            progress=work.show,
        )
    finally:
        work.close()
    if as_json:
        sys.stdout.write(json.dumps(msgspec.to_builtins(verdict), indent=2) + "\n")
    else:
        print_evaluation(verdict)


def _demo_of(folder: Path) -> pd.DataFrame | None:
    """Make the demo table of a run again, with its number of rows and its seed.

    Without a report it is the default demo table.
    """
    if not (folder / "report.json").is_file():
        return None
    run = read_run(folder)
    if run.report.data != ["demo"]:
        tables = ", ".join(run.report.data)
        raise UsageError(f"expected the table that {folder} was made of ({tables}), found demo")
    return demo_table(run.rows or DEMO_ROWS, seed=run.report.seed or 0)


@app.command("predict")
@with_job_options(names=FORM_OPTIONS)
def predict_command(
    model: Annotated[
        Path, typer.Argument(help="model.json of a classifier, or the folder of its run")
    ],
    data: Annotated[
        str,
        typer.Argument(
            help="the table: CSV (also .gz), Parquet, or demo; it need not have the label"
        ),
    ],
    schema: Annotated[Path | None, typer.Option(help="JSON (default: beside the model)")] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="file for the predictions, a line a row (default: standard output)"),
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="print how often they are right as JSON, and no predictions"),
    ] = False,
    **options: Any,
) -> None:
    """Apply a published classifier to a table.

    If the table has the label, the share of right predictions is printed, too.
    """
    predictions = predict_table(model, data, schema=schema, form=csv_form(options))
    accuracy = predictions.accuracy
    if out is not None:
        check_folder(out.parent)
        put({out.name: predictions.csv}, folder=out.parent)
    elif not as_json:
        sys.stdout.write(predictions.csv.decode())
    if as_json:
        sys.stdout.write(json.dumps(msgspec.to_builtins(accuracy)) + "\n")
    elif accuracy is not None:
        sys.stderr.write(
            f"{accuracy.label} is predicted right in {accuracy.model:.4f} of {accuracy.rows:,} "
            f"rows (most frequent label: {accuracy.majority:.4f})\n"
        )


@app.command("attack", cls=Greedy)
@with_job_options(names=FORM_OPTIONS)
def attack_command(
    data: Annotated[str, typer.Argument(help="the real table, or demo")],
    schema: Annotated[Path | None, typer.Option(help="JSON (default: inferred)")] = None,
    label: Annotated[
        str, typer.Option(help="the attribute that is guessed (default: the last)")
    ] = "",
    epsilon: Annotated[
        list[float] | None, typer.Option(help="budgets (default: 0.5 1 2 4 8)")
    ] = None,
    record_cap: Annotated[
        float | None,
        typer.Option(help="bound on CLLDP's privacy loss of a whole record (default: none)"),
    ] = None,
    seed: Annotated[int, typer.Option(help="of the reports")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON on standard output")] = False,
    **options: Any,
) -> None:
    """Guess labels from the reports of CLLDP and LabelDP: how often three adversaries are right."""
    attacks = attack_table(
        data,
        schema=schema,
        label=label,
        epsilons=epsilon or EPSILONS,
        record_cap=record_cap,
        seed=seed,
        form=csv_form(options),
    )
    if as_json:
        sys.stdout.write(
            json.dumps([msgspec.to_builtins(attack) for attack in attacks], indent=2) + "\n"
        )
    else:
        print_attacks(attacks)
