"""The folder of a run: its files, made in memory and put into place all together, or not at all.

report.json, the tables, the model, the schema and the ledger can be published as they are.
judgement.json was measured on the real table and is not private; report.html shows both.
"""

from __future__ import annotations

import contextlib
import csv
import io
import shlex
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final, get_type_hints

import msgspec

from ..messages import CURATOR, Entry, UsageError, communication, role_name
from ..parties import write_schema
from ..runs.interruption import uninterrupted
from ..runs.record import RunRecord
from ..runs.value_files import csv_of, parquet_of
from ..runs.values import values_of_run
from .crate import CRATE_FILE, crate_metadata
from .judgement import judgement_json
from .pages import FILES, pictures, run_page
from .report import Report, as_dictionary, report_json
from .reported import ReportedRun

ALWAYS_NEW: Final = (
    "synthetic.csv",
    "synthetic.parquet",
    "marginals.csv",
    "model.json",
    "schema.json",
    "judgement.json",
    CRATE_FILE,
)
"""Files that a run may leave, and that an earlier run in the same folder must not."""

BROKEN: Final = (
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    IndexError,
    ArithmeticError,
    RecursionError,
    csv.Error,
    StopIteration,
)
"""Errors raised for a damaged file of a run's folder."""

__all__ = [
    "BROKEN",
    "check_folder",
    "files_to_publish",
    "ledger_csv",
    "page_of",
    "public_files",
    "put",
    "read_ledger",
    "run_files",
    "write_run",
]


def public_files(record: RunRecord, report: Report) -> dict[str, bytes]:
    """Make every file of a run that can be published."""
    outcome = record.outcome
    files: dict[str, bytes] = {}
    if (columns := values_of_run(record)) is not None:
        files["synthetic.csv"] = csv_of(columns)
        if record.job.parquet:
            files["synthetic.parquet"] = parquet_of(columns)
    if outcome.marginals is not None:
        files["marginals.csv"] = outcome.marginals.csv()
    if outcome.model is not None:
        files["model.json"] = msgspec.json.format(msgspec.json.encode(outcome.model), indent=2)
    files |= {name: text.encode() for name, text in pictures(outcome.model).items()}
    # A schema that only names the columns of texts is an option of the run, too.
    if (schema := record.schema or record.job.schema) is not None:
        files["schema.json"] = write_schema(schema).encode()
    files["ledger.csv"] = ledger_csv(record.entries)
    files["report.json"] = report_json(report)
    return files


def files_to_publish(folder: Path, report: Report) -> dict[str, bytes]:
    """Read the files of a run's folder that can be published, without its page."""
    names = {"ledger.csv", *ALWAYS_NEW, *FILES} - {"judgement.json"}
    files = {name: (folder / name).read_bytes() for name in names if (folder / name).is_file()}
    return {**files, "report.json": report_json(report)}


def run_files(record: RunRecord, run: ReportedRun) -> dict[str, bytes]:
    """Make every file of a run but its page and the list of all files."""
    files = public_files(record, run.report)
    if run.judgement is not None:
        files["judgement.json"] = judgement_json(run.judgement)
    return files


def page_of(run: ReportedRun, *, entries: list[Entry], model: object) -> bytes:
    """Make report.html. It takes a second, so runs that nobody looks at have none."""
    if entries and (difference := _difference(run.report, entries)):
        run = ReportedRun(report=run.report.with_warnings(difference), judgement=run.judgement)
    return run_page(run, entries=entries, drawn=pictures(model)).encode()


def _difference(report: Report, entries: list[Entry]) -> str:
    """Name the sums in which a ledger differs from report.json: one of them is another run's."""
    reported = as_dictionary(report)["communication"]
    differ = [
        key.replace("_", " ")
        for key, counted in communication(entries).items()
        if reported.get(key) != counted
    ]
    if not differ:
        return ""
    return (
        "report.json and ledger.csv are not of the same run, or one was changed: "
        f"they differ in {', '.join(differ)}"
    )


def ledger_csv(entries: list[Entry]) -> bytes:
    """Write ledger.csv, a row a message."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(Entry._fields)
    for entry in entries:
        named = {"sender": _role(entry.sender), "receiver": _role(entry.receiver)}
        row = {**entry._asdict(), **named}.values()
        writer.writerow(f"{value:.6f}" if isinstance(value, float) else value for value in row)
    return out.getvalue().encode()


def read_ledger(data: bytes) -> list[Entry]:
    """Read ledger.csv.

    Raises:
        ValueError: it is no ledger.
    """
    lines = list(csv.reader(io.StringIO(data.decode(), newline="")))
    if not lines or tuple(lines[0]) != Entry._fields:
        raise ValueError(f"expected a ledger with the columns {', '.join(Entry._fields)}")
    kinds = {**get_type_hints(Entry), "sender": _rank, "receiver": _rank}
    return [
        Entry._make(kinds[name](text) for name, text in zip(Entry._fields, line, strict=True))
        for line in lines[1:]
    ]


def write_run(record: RunRecord, run: ReportedRun, *, folder: Path) -> tuple[Report, list[str]]:
    """Put a run's files and its page into a folder; return the report as written, and the names.

    Epsilon is spent: should the page fail, which a plug-in's model may bring about, everything else
    is kept.
    """
    schema = shlex.quote(str(folder / "schema.json"))
    command = run.report.command  # the curator, who wrote it, does not know where the run will lie
    report = msgspec.structs.replace(
        run.report, command=command.replace("--schema schema.json", f"--schema {schema}")
    )
    run = ReportedRun(report=report, judgement=run.judgement)
    try:
        page = {"report.html": page_of(run, entries=record.entries, model=record.outcome.model)}
    except Exception as error:  # noqa: BLE001 - whatever it is
        # The page shows the judgement, so the text of its error may hold what report.json must not.
        text = f"there is no report.html: {type(error).__name__}"
        run = ReportedRun(report=report.with_warnings(text), judgement=run.judgement)
        page = {}
    files = {**run_files(record, run), **page}
    files[CRATE_FILE] = crate_metadata(run.report, files)
    try:
        put(files, folder=folder)
    except UsageError as error:
        elsewhere = Path(tempfile.mkdtemp(prefix="sottovoce-"))
        put(files, folder=elsewhere)
        raise UsageError(f"{error}; the results are in {elsewhere}") from None
    return run.report, sorted(files)


def _rank(name: str) -> int:
    return CURATOR if name == "curator" else int(name.removeprefix("party "))


def _role(rank: int) -> str:
    return role_name(rank).removeprefix("the ")


def check_folder(folder: Path) -> None:
    """Refuse, before anything starts, a folder that could not be written at the end."""
    existing = folder
    try:
        while not existing.exists():
            if existing.is_symlink():
                raise UsageError(
                    f"expected a folder for --out, found a link to nothing at {existing}"
                )
            existing = existing.parent
        if not existing.is_dir():
            raise UsageError(f"expected a folder for --out, found a file at {existing}")
        # Rights say little: of root, of file systems without space, of those that are no disks.
        with uninterrupted():
            _staging(existing).rmdir()
    except OSError as error:
        raise UsageError(
            f"expected a folder for --out that can be written, found {existing}: {error.strerror}"
        ) from None


def _staging(folder: Path) -> Path:
    return Path(tempfile.mkdtemp(prefix=".sottovoce.", dir=folder))


def put(files: Mapping[str, bytes], *, folder: Path) -> None:
    """Write files into a folder, all of them or none, in place of those of an earlier run.

    They are first written beside one another, and then moved; report.json comes last. That happens
    within the folder, which may be a file system of its own, or the only place to write to.
    """
    with uninterrupted():
        _put(files, folder=folder)


def _put(files: Mapping[str, bytes], *, folder: Path) -> None:
    check_folder(folder)
    new = not folder.exists()
    staging: Path | None = None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        staging = _staging(folder)
        for name, data in files.items():
            (staging / name).write_bytes(data)
        whole_run = "report.json" in files
        for stale in {*ALWAYS_NEW, *FILES} - files.keys() if whole_run else ():
            with contextlib.suppress(FileNotFoundError):
                (folder / stale).unlink()
        for name in sorted(files, key=lambda name: (name == "report.json", name)):
            (staging / name).replace(folder / name)
    except OSError as error:
        # A disk that is full while a file is written names no file.
        place = "" if error.filename is None else f": {error.filename}"
        raise UsageError(f"expected to write to {folder}, found {error.strerror}{place}") from None
    finally:
        if staging is not None:
            shutil.rmtree(staging, ignore_errors=True)
        if new:
            with contextlib.suppress(OSError):
                folder.rmdir()  # if nothing came into it
