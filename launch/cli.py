"""The command line. Every error that is the person's is one line and status 2; every failed run one line and status 3."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from typer.core import TyperCommand

from ..evaluation import evaluate
from ..evaluation.label_attacks import EPSILONS
from ..messages import CURATOR, SottovoceError, UsageError
from ..parties import DEMO, DEMO_SCHEMA, blocks, infer, merge, write_schema
from ..protocols import available, find
from .comparison import compare, read_report
from .datasets import read_given
from .doctor import examine
from .identities import write_identity
from .job import Job, instantiate
from .judgement import Judging, judged
from .mpiexec import World, inside_mpi_job, this_rank
from .pages import comparison_page
from .predicting import attack_table, predict_table
from .printing import print_attacks, print_comparison, print_summary, print_sweep, print_table, print_verdict
from .progress import Progress, Runs, Work
from .publish import BROKEN, check_folder, leave, paged, put
from .rank import be_a_rank
from .reproducing import chosen, data_shown, items, read_item, reproduce, write_index
from .run import run_job
from .scaffold import write_package
from .settings import Settings, parse_assignments, read_settings
from .supervise import Hosts, RunFailed
from .sweep import read_plan, sweep

__all__ = ["main"]

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Conversations between parties that may not show their data and a curator that may not see it.",
)


# Typer's errors of usage share a class that it does not export: its name is the same in all versions.
_WrongWords: type[Exception] = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")


def main() -> None:
    """Run the command line; no bad input ends in a traceback."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a batch system's "stop" is a Ctrl-C
    try:
        app(sys.argv[1:] or ["--help"], standalone_mode=False)
    except SottovoceError as error:
        if traceback := getattr(error, "traceback", ""):
            sys.stderr.write(traceback)
        _complain(str(error))
        sys.exit(getattr(error, "status", error.exit_status))
    except (KeyboardInterrupt, typer.Abort):
        _complain("interrupted: all roles were ended, nothing was written")
        sys.exit(130)
    except typer.Exit as stop:
        sys.exit(stop.exit_code)
    except _WrongWords as error:
        _complain(f"{getattr(error, 'format_message', error.__str__)()} (see --help)")
        sys.exit(2)


LEAVE_AFTER = 3.0
"""Seconds; start-up times of ranks differ by less."""


def _complain(text: str) -> None:
    # In somebody else's MPI job every rank finds the same mistake on the command line; one says it. The others leave after it:
    # at the first that leaves, mpirun ends them all, and the one might not have spoken yet.
    if this_rank() == CURATOR:
        sys.stderr.write(f"sottovoce: {' '.join(text.split())}\n")
        sys.stderr.flush()
    else:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        time.sleep(LEAVE_AFTER)


class Greedy(TyperCommand):
    """A command whose repeated options take all words up to the next option: --ways 2 3."""

    many: tuple[str, ...] = ("--ways", "--classify", "--drop", "--epsilon")

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        spread: list[str] = []
        option = ""
        many = {name for own in self.params if getattr(own, "multiple", False) for name in own.opts if name in self.many}
        for word in args:
            if word.startswith("-"):
                option = word if word in many else ""
                if not option:
                    spread.append(word)
            else:
                spread += [option, word] if option else [word]
        return super().parse_args(ctx, spread)


@app.command("run", cls=Greedy)
def run_command(
    protocol: Annotated[str | None, typer.Argument(help="a name that `sottovoce protocols` lists, or module:Class")] = None,
    data: Annotated[list[str] | None, typer.Option(help="a table to split among the parties, or one for each; or demo")] = None,
    parties: Annotated[int | None, typer.Option(help="how many parties (default 3)")] = None,
    epsilon: Annotated[float | None, typer.Option(help="privacy budget of each record")] = None,
    out: Annotated[Path | None, typer.Option(help="folder for the results (default runs/PROTOCOL-TIME)")] = None,
    seed: Annotated[int | None, typer.Option(help="reproducible to the byte, and not private")] = None,
    mode: Annotated[str | None, typer.Option(help="rigorous (default), or paper: as printed")] = None,
    transport: Annotated[str | None, typer.Option(help="mpi (default), or threads: all in this process")] = None,
    schema: Annotated[Path | None, typer.Option(help="JSON: categories and bins (default: inferred)")] = None,
    identities: Annotated[Path | None, typer.Option(help="folder of `sottovoce identity`")] = None,
    key_bits: Annotated[int | None, typer.Option(help="for protocols that encrypt (default 3072)")] = None,
    insecure_test_keys: Annotated[bool, typer.Option("--insecure-test-keys", help="allow keys below 2048 bits")] = False,
    rows: Annotated[int | None, typer.Option(help="take only so many rows")] = None,
    split: Annotated[str | None, typer.Option(help="of one table: even, sizes:3,1,1 or by:ATTRIBUTE,...@STRENGTH")] = None,
    timeout: Annotated[float | None, typer.Option(help="seconds that any wait may last (default 3600)")] = None,
    assignments: Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="a protocol's parameter")] = None,
    config: Annotated[Path | None, typer.Option(help="TOML file with the same names; options win")] = None,
    hosts: Annotated[str | None, typer.Option(help="hosts for mpiexec: a:2,b:1")] = None,
    hostfile: Annotated[str | None, typer.Option(help="host file for mpiexec")] = None,
    mpiexec: Annotated[str | None, typer.Option(help="which mpiexec")] = None,
    mpi_arg: Annotated[list[str] | None, typer.Option(help="a word to add to mpiexec's arguments")] = None,
    transcript: Annotated[bool, typer.Option("--transcript", help="digest everything that is said, edge by edge")] = False,
    no_judge: Annotated[bool, typer.Option("--no-judge", help="do not measure what was published against the data")] = False,
    classify: Annotated[
        list[str] | None, typer.Option(help="measure how well these are predicted: income 'education>=Bachelors'")
    ] = None,
    progress: Annotated[bool, typer.Option("--progress", help="show progress even where there is no terminal")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="print nothing but errors")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print report.json on standard output")] = False,
) -> None:
    """Run a protocol: one process for the curator and one for each party."""
    given = {
        "protocol": protocol, "data": data or None, "parties": parties, "epsilon": epsilon, "out": str(out) if out else None,
        "seed": seed, "mode": mode, "transport": transport,
        "schema": str(schema) if schema else None, "identities": str(identities) if identities else None, "key-bits": key_bits,
        "rows": rows, "split": split, "timeout": timeout,
        "insecure-test-keys": insecure_test_keys or None, "transcript": transcript or None, "hosts": hosts,
        "hostfile": hostfile, "mpiexec": mpiexec, "mpi-arg": mpi_arg or None, "set": parse_assignments(assignments or []),
    }  # fmt: skip
    try:
        asked = msgspec.convert({name: value for name, value in given.items() if value is not None}, Settings)
    except msgspec.ValidationError as error:
        what, _, key = str(error).partition(" - at `$.")
        raise UsageError(f"--{key.rstrip('`')}: {what[0].lower()}{what[1:]}") from None
    settings = asked.over(read_settings(config)) if config else asked
    world = inside_mpi_job()
    if world is not None and world.size and settings.parties is None and settings.transport != "threads":
        settings = msgspec.structs.replace(settings, parties=world.size - 1 or None)
    job = settings.job()
    if classify and no_judge:
        raise UsageError("expected --classify or --no-judge, found both: the judge is who classifies")
    kind = instantiate(job)
    folder = Path(settings.out or f"runs/{kind.name}-{time.strftime('%Y%m%d-%H%M%S')}")
    check_folder(folder)
    if world is not None and settings.transport != "threads":
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # mpirun ends its ranks with this; one of them has said why
        if classify and this_rank() == CURATOR:
            sys.stderr.write("sottovoce: nothing is judged within an MPI job: `sottovoce evaluate` classifies afterwards\n")
        _join(job, world, folder=folder, quiet=quiet, as_json=as_json)
        return
    shown = progress or (not quiet and sys.stderr.isatty())
    files = run_job(
        job,
        transport=settings.transport or "mpi",
        mpiexec=settings.mpiexec,
        hosts=Hosts(hosts=settings.hosts, hostfile=settings.hostfile, extra=tuple(settings.mpi_arg or ())),
        progress=Progress(shown=shown),
    )
    if not no_judge:
        files = judged(job, files, judging=Judging(classify=classify or []))
    _leave(files, folder=folder, quiet=quiet, as_json=as_json)


def _join(job: Job, world: World, *, folder: Path, quiet: bool, as_json: bool) -> None:
    """Take this rank's part in an MPI job that somebody else started."""
    if world.size is not None and world.size != job.parties + 1:
        raise UsageError(
            f"expected {job.parties + 1} ranks (a curator and {job.parties} parties), found {world.size}: "
            f"start the job with -n {job.parties + 1}, or say --parties {world.size - 1}"
        )

    def conclude(files: dict[str, bytes]) -> None:
        _leave(files, folder=folder, quiet=quiet, as_json=as_json)

    be_a_rank(job, address=None, conclude=conclude)


def _leave(files: dict[str, bytes], *, folder: Path, quiet: bool, as_json: bool) -> None:
    files = leave(files, folder=folder)
    report = json.loads(files["report.json"])
    if as_json:
        sys.stdout.write(files["report.json"].decode())
    elif not quiet:
        print_summary(report, folder=folder, names=sorted(files))


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
    for field in msgspec.json.schema(kind.Parameters)["$defs"][kind.Parameters.__name__]["properties"].items():
        rule = field[1]
        bounds = [f"{sign} {rule[key]}" for key, sign in _BOUNDS.items() if key in rule]
        rows.append(
            [field[0], " ".join([_values(rule), *bounds]), json.dumps(rule.get("default")), rule.get("description", "")]
        )
    if as_json:
        head = ("name", "type", "default", "meaning")
        sys.stdout.write(json.dumps([dict(zip(head, row, strict=True)) for row in rows], indent=2) + "\n")
        return
    for title, text in (
        ("protocol", kind.name),
        ("publishes", kind.summary),
        ("paper", kind.paper),
        ("trust", kind.trust),
    ):
        sys.stdout.write(f"{title:<10} {text}\n")
    sys.stdout.write(f"{'modes':<10} {', '.join(kind.modes)}\n{'neighbours':<10} {kind.neighbours}\n\n")
    print_table(("parameter", "type", "default", "meaning"), rows)


def _values(rule: dict[str, Any]) -> str:
    """Say what values a parameter takes, from its JSON schema."""
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
        sys.stdout.write(json.dumps([dict(zip(head, row, strict=True)) for row in rows], indent=2) + "\n")
    else:
        print_table(("name", "paper", "trust", "publishes"), rows)


@app.command("report")
def report_command(
    folder: Annotated[Path, typer.Argument(help="the folder of a run")],
    public: Annotated[bool, typer.Option("--public", help="leave out what was measured on the real table")] = False,
) -> None:
    """Write report.html anew from report.json and the ledger, and print the summary again."""
    report = read_report(folder)
    try:
        there = [name for name in ("report.json", "ledger.csv", "model.json") if (folder / name).is_file()]
        page = paged({name: (folder / name).read_bytes() for name in there}, public=public)["report.html"]
    except BROKEN as error:
        raise UsageError(f"expected the files of a run in {folder}, found {type(error).__name__}: {error}") from None
    put({"report.html": page}, folder=folder)
    print_summary(report, folder=folder, names=sorted(path.name for path in folder.iterdir()))


@app.command("compare")
def compare_command(
    folders: Annotated[list[Path], typer.Argument(help="the folders of runs", metavar="DIR")],
    out: Annotated[
        Path | None, typer.Option(help="the page (default: comparison.html beside the first run; with --json none)")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON on standard output")] = False,
) -> None:
    """Put runs side by side: privacy claimed and real, bytes, rounds, seconds, distances, predictions; a table and a page."""
    for at, folder in enumerate(folders):
        if folder.resolve() in [other.resolve() for other in folders[:at]]:
            raise UsageError(f"expected each run once, found {folder} twice")
    names = [folder.name or str(folder) for folder in folders]
    if len(set(names)) < len(names):
        names = [str(folder) for folder in folders]
    try:
        rows = compare({name: read_report(folder) for name, folder in zip(names, folders, strict=True)})
        html = comparison_page(rows)
    except BROKEN as error:
        raise UsageError(f"expected report.json of runs, found {type(error).__name__}: {error}") from None
    if as_json:
        sys.stdout.write(json.dumps(rows, indent=2) + "\n")
    else:
        print_comparison(rows)
    if out is None and as_json:
        return
    page = out or Path(os.path.relpath(folders[0].resolve().parent / "comparison.html"))
    if page.is_dir():
        raise UsageError(f"expected a file for --out, found the folder {page}")
    if out is None and not os.access(page.parent, os.W_OK):
        return  # nobody asked for it
    put({page.name: html.encode()}, folder=page.parent)
    if not as_json:
        sys.stdout.write(f"written  {page}\n")


@app.command("sweep")
def sweep_command(
    file: Annotated[Path, typer.Argument(help="TOML: protocols, parameters and seeds")],
    out: Annotated[Path | None, typer.Option(help="folder for the results (default: sweeps/NAME-OF-THE-FILE)")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="list the runs, and start none")] = False,
    progress: Annotated[bool, typer.Option("--progress", help="show progress even where there is no terminal")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="print nothing but errors")] = False,
) -> None:
    """Make many runs from one file; what is done already is not done again."""
    _, cells = read_plan(file)
    if dry_run:
        sys.stdout.write("".join(f"{cell.shown}\n" for cell in cells))
        return
    folder = out or Path("sweeps") / file.stem
    shown = Runs(shown=progress or (not quiet and sys.stderr.isatty()))
    try:
        table, made = sweep(cells, out=folder, told=shown.show)
    finally:
        shown.close()
    if not quiet:
        print_sweep(table, before=made.before, folder=folder)
    if made.failed:
        raise RunFailed(made.complaint, status=3)


class GreedyForData(Greedy):
    """The same of --data: one word for each dataset."""

    many = ("--data",)


@app.command("reproduce", cls=GreedyForData)
def reproduce_command(
    names: Annotated[list[str] | None, typer.Argument(help="of tables and figures, or all", metavar="NAME")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="in minutes: fewer seeds, values and rows")] = False,
    data: Annotated[list[str] | None, typer.Option(metavar="DATASET=FILE", help="where a dataset is")] = None,
    out: Annotated[Path, typer.Option(help="folder for the results")] = Path("reproductions"),
    progress: Annotated[bool, typer.Option("--progress", help="show progress even where there is no terminal")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="print nothing but errors")] = False,
) -> None:
    """Make tables and figures of the papers, each with a verdict; without a name, list them."""
    given = read_given(data or [])
    if not names:
        rows = [
            [item.name, f"{item.paper}, {item.where}", item.title, data_shown(item)]
            for item in map(read_item, items().values())
        ]
        print_table(("name", "paper", "shows", "data"), rows)
        return
    wanted, left = chosen(names, given)
    check_folder(out)
    failed: list[str] = []
    rows = []
    for item in wanted:
        shown = Runs(shown=progress or (not quiet and sys.stderr.isatty()))
        try:
            found = reproduce(item, given, quick=quick, out=out, told=shown.show)
        finally:
            shown.close()
            write_index(out)
        rows.append([item.name, found.verdict, str(found.made.cells), f"{found.seconds:.0f}", f"{out / item.name}/page.html"])
        failed += [f"{item.name}: {found.made.complaint}"] if found.made.failed else []
    if not quiet:
        print_table(("name", "verdict", "runs", "seconds", "page"), rows)
        sys.stdout.write("".join(f"not made: {reason}\n" for reason in left))
    if failed:
        raise RunFailed(failed[0] + (f" (and {len(failed) - 1} more)" if failed[1:] else ""), status=3)


@app.command("evaluate", cls=Greedy)
def evaluate_command(
    real: Annotated[str, typer.Argument(help="the real table, or demo")],
    synthetic: Annotated[str, typer.Argument(help="the synthetic one, or the folder of a run")],
    schema: Annotated[Path | None, typer.Option(help="JSON (default: beside SYNTHETIC, or inferred)")] = None,
    ways: Annotated[list[int] | None, typer.Option(help="compare marginals of so many attributes (default: 2 3)")] = None,
    original: Annotated[bool, typer.Option("--original-only", help="do not compare binary attributes")] = False,
    classify: Annotated[
        list[str] | None, typer.Option(help="predict these: income, 'education>=Bachelors', 'race=White|Black'")
    ] = None,
    drop: Annotated[list[str] | None, typer.Option(help="attributes that the classifiers do not get")] = None,
    seed: Annotated[int, typer.Option(help="of samples, and of the split into training and test")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON on standard output")] = False,
) -> None:
    """Compare a synthetic table with the real one: distances of marginals, dependence, classifiers. Files come first."""
    folder = Path(synthetic)
    if folder.is_dir():
        synthetic = str(folder / "synthetic.csv")
        if not Path(synthetic).is_file():
            raise UsageError(f"expected synthetic.csv in {folder}, found none: does this protocol publish a table?")
    work = Work()
    try:
        found = evaluate(
            real, synthetic, schema=schema, ways=ways or (2, 3), binary=not original, classify=classify or (), drop=drop or (),
            seed=seed, told=work.show,
        )  # fmt: skip
    finally:
        work.close()
    if as_json:
        sys.stdout.write(json.dumps(found, indent=2) + "\n")
    else:
        print_verdict(found)


@app.command("predict")
def predict_command(
    model: Annotated[Path, typer.Argument(help="model.json of a classifier, or the folder of its run")],
    data: Annotated[str, typer.Argument(help="the table: CSV (also .gz), Parquet, or demo; it need not have the label")],
    schema: Annotated[Path | None, typer.Option(help="JSON (default: beside the model)")] = None,
    out: Annotated[Path | None, typer.Option(help="file for the predictions, a line a row (default: standard output)")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print how often they are right as JSON, and no predictions")] = False,
) -> None:
    """Apply a published classifier to a table; where the table has the label, say how often it is right."""
    said, found = predict_table(model, data, schema=schema)
    if out is not None:
        check_folder(out.parent)
        put({out.name: said}, folder=out.parent)
    elif not as_json:
        sys.stdout.write(said.decode())
    if as_json:
        sys.stdout.write(json.dumps(found) + "\n")
    elif found is not None:
        sys.stderr.write(
            f"{found['label']} is predicted right in {found['model']:.4f} of {found['rows']:,} rows "
            f"(the most frequent one: {found['majority']:.4f})\n"
        )


@app.command("attack", cls=Greedy)
def attack_command(
    data: Annotated[str, typer.Argument(help="the real table, or demo")],
    schema: Annotated[Path | None, typer.Option(help="JSON (default: inferred)")] = None,
    label: Annotated[str, typer.Option(help="the attribute that is guessed (default: the last)")] = "",
    epsilon: Annotated[list[float] | None, typer.Option(help="budgets (default: 0.5 1 2 4 8)")] = None,
    record_cap: Annotated[
        float | None, typer.Option(help="what CLLDP may tell of the whole record (default: no bound)")
    ] = None,
    seed: Annotated[int, typer.Option(help="of the reports")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON on standard output")] = False,
) -> None:
    """Guess labels from the reports of CLLDP and LabelDP: how often three adversaries are right."""
    found = attack_table(data, schema=schema, label=label, epsilons=epsilon or EPSILONS, record_cap=record_cap, seed=seed)
    if as_json:
        sys.stdout.write(json.dumps([msgspec.to_builtins(own) for own in found], indent=2) + "\n")
    else:
        print_attacks(found)


@app.command("schema")
def schema_command(
    source: Annotated[str, typer.Argument(help="CSV (also .gz), Parquet, or demo")],
    out: Annotated[Path | None, typer.Option(help="file to write it to (default: standard output)")] = None,
) -> None:
    """Write a schema of a table, to be edited and given with --schema."""
    if source == DEMO:
        written = write_schema(DEMO_SCHEMA)
    else:
        written = write_schema(merge([infer(blocks(source))]))
        sys.stderr.write(
            "sottovoce: categories and ranges were taken from the data, which is NOT private: replace them by public ones\n"
        )
    if out is None:
        sys.stdout.write(written)
    elif out.exists():
        raise UsageError(f"expected --out to name a new file, found {out}: it may have been edited")
    else:
        out.write_text(written)
        sys.stdout.write(f"{out}: {written.count(chr(10)) - 2} attributes\n")


@app.command("doctor")
def doctor_command(
    mpiexec: Annotated[str | None, typer.Option(help="which mpiexec")] = None,
) -> None:
    """Say what is installed, which MPI is used, and prove by a four-rank exchange that it works."""
    sys.exit(examine(mpiexec))


@app.command("identity")
def identity_command(
    folder: Annotated[Path, typer.Argument(help="folder for the keys")],
    party: Annotated[int, typer.Option(help="which party's", min=1, max=65_535)],
) -> None:
    """Make the key pair by which the other parties know this one."""
    private, public = write_identity(folder, party=party)
    sys.stdout.write(f"{private}: keep it on party {party}'s host alone\n{public}: copy it into every party's folder\n")


@app.command("new")
def new_command(
    name: Annotated[str, typer.Argument(help="the protocol's name, such as noisy-mean")],
    folder: Annotated[Path | None, typer.Option("--in", help="where to write it (default: here)")] = None,
) -> None:
    """Write a working protocol package with a test, to start from."""
    sys.stdout.write(write_package(name, folder=folder or Path.cwd()))
