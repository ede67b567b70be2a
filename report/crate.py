"""Where a result comes from: ro-crate-metadata.json, in the form of RO-Crate 1.1.

It says which release made the files of a run, with which options and libraries, and has the SHA-256
digest of each file that can be published. It tells nothing that report.json does not tell, but the
versions of the libraries. The judgement is left out, and so is the digest of the page that shows
it: a digest would let anybody test guesses of it.

See https://w3id.org/ro/crate/1.1.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import Any, Final, TypeAlias

from ..runs.infinity import in_json
from .report import Report

__all__ = ["CRATE_FILE", "crate_metadata"]

Entity: TypeAlias = dict[str, Any]

CRATE_FILE: Final = "ro-crate-metadata.json"
CONTEXT: Final = "https://w3id.org/ro/crate/1.1/context"
PROFILE: Final = "https://w3id.org/ro/crate/1.1"
SCHEMA_ORG: Final = "https://schema.org/"
LIBRARIES: Final = (
    "cryptography",
    "gmpy2",
    "mpi4py",
    "msgspec",
    "numpy",
    "phe",
    "scipy",
)
"""The libraries on which results depend."""
DESCRIPTIONS: Final = {
    "synthetic.csv": "The synthetic table",
    "synthetic.parquet": "The synthetic table",
    "marginals.csv": "Noisy marginals",
    "model.json": "The protocol's model",
    "schema.json": "The public schema: categories and bins",
    "ledger.csv": "The ledger: a row for each message",
    "report.json": "What was published, its cost and its privacy loss",
    "report.html": "The report as a page",
}
FORMATS: Final = {
    ".csv": "text/csv",
    ".parquet": "application/vnd.apache.parquet",
    ".json": "application/json",
    ".html": "text/html",
    ".svg": "image/svg+xml",
}
NOT_PRIVATE: Final = ("judgement.json",)
"""Files that were measured on the real table: they are not part of the crate."""
WITHOUT_DIGEST: Final = ("report.html",)
"""Files that show what was measured on the real table."""


def crate_metadata(report: Report, files: Mapping[str, bytes]) -> bytes:
    """Write the metadata of a run's folder."""
    listed = [_file(name, data) for name, data in sorted(files.items()) if name not in NOT_PRIVATE]
    options = [_option(name, value) for name, value in _options(report).items()]
    software = _software(report)
    graph = [_descriptor(), _root(report, listed), *listed, _license()]
    graph += [_action(report, listed, options=options, software=software), *options, *software]
    document = {"@context": [CONTEXT, {"sha256": f"{SCHEMA_ORG}sha256"}], "@graph": graph}
    return (json.dumps(document, indent=2) + "\n").encode()


def _descriptor() -> Entity:
    return {
        "@id": CRATE_FILE,
        "@type": "CreativeWork",
        "conformsTo": {"@id": PROFILE},
        "about": {"@id": "./"},
    }


def _root(report: Report, files: Sequence[Entity]) -> Entity:
    private = "" if report.seed is None else " The run had a seed, so it is not private."
    return {
        "@id": "./",
        "@type": "Dataset",
        "name": f"A run of {report.protocol}",
        "description": (
            f"What {report.protocol} ({report.about.summary}) published, its cost and its privacy "
            f"loss.{private}"
        ),
        "datePublished": report.ended,
        "license": {"@id": "#license"},
        "hasPart": _references(files),
        "mentions": {"@id": "#run"},
    }


def _license() -> Entity:
    return {
        "@id": "#license",
        "@type": "CreativeWork",
        "name": "No license is stated",
        "description": "Whoever holds the data decides who may use these files.",
    }


def _file(name: str, data: bytes) -> Entity:
    suffix = name[name.rindex(".") :]
    entity = {
        "@id": name,
        "@type": "File",
        "name": DESCRIPTIONS.get(name, "A picture of the model"),
        "encodingFormat": FORMATS.get(suffix, "application/octet-stream"),
    }
    if name not in WITHOUT_DIGEST:
        entity |= {
            "contentSize": str(len(data)),
            "sha256": hashlib.sha256(data).hexdigest(),
        }
    return entity


def _options(report: Report) -> dict[str, Any]:
    """List what was run: nothing that report.json does not have."""
    named = {
        "protocol": report.reference,
        "mode": report.mode,
        "parties": report.parties,
        "data": report.data,
        "split": report.split,
        "seed": report.seed,
        "transport": report.transport,
        "network": report.network,
        "command": report.command,
    }
    return {**named, **{f"parameters.{name}": value for name, value in report.parameters.items()}}


def _option(name: str, value: Any) -> Entity:
    text = value if isinstance(value, str) else json.dumps(in_json(value))
    return {"@id": f"#{name}", "@type": "PropertyValue", "name": name, "value": text}


def _software(report: Report) -> list[Entity]:
    """List the program, and the libraries in the process that wrote the files."""
    versions = {"sottovoce": report.sottovoce, "Python": report.python}
    if report.mpi is not None:
        versions[report.mpi.library] = ""
    for name in LIBRARIES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:  # a library that a system packaged in its own way
            continue
    return [
        {
            "@id": f"#software-{number}",
            "@type": "SoftwareApplication",
            "name": name,
            **({"softwareVersion": version} if version else {}),
        }
        for number, (name, version) in enumerate(versions.items())
    ]


def _action(
    report: Report, files: Sequence[Entity], *, options: Sequence[Entity], software: list[Entity]
) -> Entity:
    return {
        "@id": "#run",
        "@type": "CreateAction",
        "name": f"sottovoce run {report.reference}",
        "endTime": report.ended,
        "instrument": _references(software),
        "object": _references(options),
        "result": _references(files),
    }


def _references(entities: Sequence[Entity]) -> list[Entity]:
    return [{"@id": entity["@id"]} for entity in entities]
