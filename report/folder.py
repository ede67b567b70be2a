"""What a run leaves behind: files made in memory, put into the folder all together, or not at
all.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import shlex
import shutil
import tempfile
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final, get_type_hints

import msgspec

from ..messages import CURATOR, Entry, UsageError, communication, role_name
from ..parties import write_schema
from ..runs.job import Job, instantiate
from ..runs.take_part import Concluded
from .pages import FILES, pictures, run_page
from .report import make_report

ALWAYS_NEW: Final = ("synthetic.csv", "marginals.csv", "model.json", "schema.json")
"""What a run may leave, and an earlier one in the same folder must not."""

NOT_CLASSIFIED: Final = "nothing was classified"
"""What the judge's warnings begin with."""
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
"""What reading a folder that is no run's, or no longer, ends with."""

__all__ = [
    "BROKEN",
    "NOT_CLASSIFIED",
    "check_folder",
    "leave",
    "ledger_csv",
    "paged",
    "published_files",
    "put",
    "read_ledger",
]


def published_files(
    job: Job, concluded: Concluded, *, transport: str, library: str | None, ended: datetime
) -> dict[str, bytes]:
    """Make every file of the run but its page. Called by the curator: all in here is public."""
    outcome = concluded.outcome
    files: dict[str, bytes] = {}
    if outcome.synthetic is not None:
        files["synthetic.csv"] = outcome.synthetic.to_csv(index=False).encode()
    if outcome.marginals is not None:
        files["marginals.csv"] = outcome.marginals.to_csv(index=False).encode()
    if outcome.model is not None:
        files["model.json"] = msgspec.json.format(msgspec.json.encode(outcome.model), indent=2)
    files |= {
        name: text.encode() for name, text in pictures(msgspec.to_builtins(outcome.model)).items()
    }
    if concluded.schema is not None:
        files["schema.json"] = write_schema(concluded.schema).encode()
    report = make_report(
        job, instantiate(job), concluded, transport=transport, library=library, ended=ended
    )
    files["ledger.csv"] = ledger_csv(concluded.entries)
    files["report.json"] = report_json(report)
    return files


def paged(files: Mapping[str, bytes], *, public: bool = False) -> dict[str, bytes]:
    """Add report.html, made from what the other files say; `public`: without what was measured on
    the real table.

    Apart from `published_files`, since it takes a second: runs that nobody looks at have no page.
    """
    report = json.loads(files["report.json"])
    if public:
        secret = (
            report["privacy"]["neighbours"] == "add-or-remove-one"
        )  # then how many rows there are is secret, too
        judged = [text for text in report["warnings"] if text.startswith(NOT_CLASSIFIED)]
        report = {
            **report,
            "utility": None,
            "rows": None if secret else report["rows"],
            "warnings": [text for text in report["warnings"] if text not in judged],
        }
    entries = read_ledger(files["ledger.csv"]) if "ledger.csv" in files else []
    if entries and (apart := _apart(report["communication"], entries)):
        report = {**report, "warnings": [*report["warnings"], apart]}
    html = run_page(
        report,
        entries=entries,
        drawn=pictures(json.loads(files["model.json"])) if "model.json" in files else {},
    )
    return {**files, "report.html": html.encode()}


def _apart(told: Mapping[str, Any], entries: list[Entry]) -> str:
    """Say in what a ledger differs from what report.json says of it: one of them is another run's,
    or was changed.
    """
    counted = communication(entries)
    differ = [key.replace("_", " ") for key, own in counted.items() if told.get(key) != own]
    if not differ:
        return ""
    return f"report.json and ledger.csv are not of the same run, or one was changed: they differ in {', '.join(differ)}"


def report_json(report: Mapping[str, Any]) -> bytes:
    return (json.dumps(report, indent=2, allow_nan=False) + "\n").encode()


def ledger_csv(entries: list[Entry]) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(Entry._fields)
    for entry in entries:
        named = entry._replace(sender=_short(entry.sender), receiver=_short(entry.receiver))  # type: ignore[arg-type]
        writer.writerow(f"{value:.6f}" if isinstance(value, float) else value for value in named)
    return out.getvalue().encode()


def read_ledger(data: bytes) -> list[Entry]:
    """Read what `ledger_csv` wrote; what is no ledger is a `ValueError`."""
    lines = list(csv.reader(io.StringIO(data.decode(), newline="")))
    if not lines or tuple(lines[0]) != Entry._fields:
        raise ValueError(f"expected a ledger with the columns {', '.join(Entry._fields)}")
    kinds = {**get_type_hints(Entry), "sender": _rank, "receiver": _rank}
    return [
        Entry._make(kinds[name](text) for name, text in zip(Entry._fields, line, strict=True))
        for line in lines[1:]
    ]


def leave(files: Mapping[str, bytes], *, folder: Path) -> dict[str, bytes]:
    """Put a run's files into its folder, with the page that shows them, and say what was put.

    Epsilon is spent: should the page fail, which a protocol of somebody's own may bring about,
    everything else is kept.
    """
    report = json.loads(files["report.json"])
    if isinstance(
        report.get("command"), str
    ):  # the curator, who wrote it, does not know where the run will lie
        schema = shlex.quote(str(folder / "schema.json"))
        report["command"] = report["command"].replace("--schema schema.json", f"--schema {schema}")
    whole = {**files, "report.json": report_json(report)}
    try:
        whole = paged(whole)
    except Exception as error:  # noqa: BLE001 - whatever it is
        report["warnings"].append(f"there is no report.html: {type(error).__name__}: {error}")
        whole["report.json"] = report_json(report)
    try:
        put(whole, folder=folder)
    except UsageError as error:
        elsewhere = Path(tempfile.mkdtemp(prefix="sottovoce-"))
        put(whole, folder=elsewhere)
        raise UsageError(f"{error}; the results are in {elsewhere}") from None
    return whole


def _rank(name: str) -> int:
    return CURATOR if name == "curator" else int(name.removeprefix("party "))


def _short(rank: int) -> str:
    return role_name(rank).removeprefix("the ") if rank == CURATOR else role_name(rank)


def check_folder(folder: Path) -> None:
    """Refuse, before anything starts, a folder that could not be written at the end."""
    existing = folder
    while not existing.exists():
        existing = existing.parent
    if not existing.is_dir():
        raise UsageError(f"expected a folder for --out, found a file at {existing}")
    try:  # rights say little: of root, of file systems without space, of those that are no disks
        _staging(existing).rmdir()
    except OSError as error:
        raise UsageError(
            f"expected a folder for --out that can be written, found {existing}: {error.strerror}"
        ) from None


def _staging(folder: Path) -> Path:
    return Path(tempfile.mkdtemp(prefix=".sottovoce.", dir=folder))


def put(files: Mapping[str, bytes], *, folder: Path) -> None:
    """Write all files beside one another, then move them into their folder; those of an earlier run
    are replaced.

    Nothing can be seen in the folder before everything is written, and report.json comes last. They
    are written in the folder itself: it may be a file system of its own, or all that one may write
    to.
    """
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
        raise UsageError(
            f"expected to write to {folder}, found {error.strerror}: {error.filename}"
        ) from None
    finally:
        if staging is not None:
            shutil.rmtree(staging, ignore_errors=True)
        if new:
            with contextlib.suppress(OSError):
                folder.rmdir()  # if nothing came into it
