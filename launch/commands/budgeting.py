"""The command `budget`: make the budget of datasets, and show who has spent what of it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ...messages import UsageError
from ...report.formats import epsilon_text, quantity
from ...report.printing import print_table
from ...runs.budget import Budget
from ...runs.budget_file import create_budget, read_budget
from .app import app


@app.command("budget")
def budget_command(
    file: Annotated[Path, typer.Argument(help="where it is kept, beside the data")],
    epsilon: Annotated[
        float | None, typer.Option(help="make it, with this total for each dataset")
    ] = None,
    neighbours: Annotated[
        str | None,
        typer.Option(help="relation for which it counts (default replace-one)"),
    ] = None,
    against_anyone: Annotated[
        bool,
        typer.Option(
            "--against-anyone", help="count coalitions that the claim of a run does not cover"
        ),
    ] = False,
) -> None:
    """Make a budget that outlives runs, or show what runs have spent."""
    if epsilon is not None:
        create_budget(
            file,
            epsilon=epsilon,
            neighbours=neighbours or "replace-one",
            against_anyone=against_anyone,
        )
        sys.stdout.write(
            f"{file}: epsilon {epsilon_text(epsilon)} for each dataset; "
            f"spend from it by `sottovoce run ... --budget {file}`\n"
        )
        return
    if neighbours is not None or against_anyone:
        option = "--neighbours" if neighbours is not None else "--against-anyone"
        raise UsageError(f"expected --epsilon TOTAL beside {option}, to make a budget")
    _show(read_budget(file), file)


def _show(budget: Budget, file: Path) -> None:
    """Print what is left of each dataset's budget, and every run."""
    digests = list(dict.fromkeys(entry.dataset for entry in budget.spending))
    rows = []
    for digest in digests:
        entries, spent = budget.of(digest), budget.spent(digest)
        left = max(0.0, budget.epsilon - spent)
        name, runs = entries[-1].name, len({entry.run for entry in entries})
        rows.append([name, digest[:12], str(runs), _text(spent), _text(left)])
    sys.stdout.write(
        f"{file}: epsilon {epsilon_text(budget.epsilon)} for each dataset, under "
        f"{budget.neighbours}, against "
        + ("anyone" if budget.against == "anyone" else "those whom each run's claim covers")
        + "\n"
    )
    if not rows:
        sys.stdout.write("no run has spent anything\n")
        return
    print_table(("dataset", "digest", "runs", "spent", "left"), rows)
    sys.stdout.write("\n")
    print_table(
        ("began", "who", "dataset", "protocol", "epsilon", "to anyone", "delta", "state"),
        [
            [
                f"{entry.began:%Y-%m-%d %H:%M}",
                entry.who,
                entry.dataset[:12],
                entry.protocol,
                _text(entry.epsilon),
                _text(entry.to_anyone),
                f"{entry.delta:g}",
                entry.state,
            ]
            for entry in budget.spending
        ],
    )
    if running := sum(entry.state == "started" for entry in budget.spending):
        sys.stdout.write(
            f"{quantity(running, 'entry', 'entries')} of runs that have not ended, or failed: they "
            "count with their claim\n"
        )


def _text(epsilon: float) -> str:
    return epsilon_text(float(f"{epsilon:.12g}"))
