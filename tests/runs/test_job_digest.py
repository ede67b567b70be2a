"""The digest of a job: what roles must agree on changes it, and what differs by host does not."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sottovoce.messages import frame
from sottovoce.parties import LEARN_ALL, Schema, read_schema
from sottovoce.runs import job_digest
from sottovoce.runs.instance import instantiate
from sottovoce.runs.job import Job
from sottovoce.runs.job_digest import DIGEST_BYTES, digest_job
from sottovoce.runs.version import VERSION

SCHEMA = read_schema({"sex": ["F", "M"], "age": {"bins": 4, "range": [0, 80]}})
JOB = Job(protocol="noisy-marginals", parameters={"epsilon": 0.5}, data=("a.csv",), parties=3)


def digest(job: Job = JOB, schema: Schema | None = SCHEMA) -> bytes:
    return digest_job(job, instantiate(job), schema=schema)


# Fields of a job that may differ from host to host, or change no message.
FREE: dict[str, Any] = {
    "data": ("/elsewhere/b.csv",),
    "timeout": 7.0,
    "transcript": True,
    "labels": True,
    "midpoints": True,
    "parquet": True,
    "separator": ";",
    "encoding": "latin-1",
}
BINDING: dict[str, Any] = {
    "protocol": "one-way",
    "parameters": {"epsilon": 0.25},
    "parties": 4,
    "seed": 1 << 200,
    "mode": "paper",
    "identities": "keys",
    "key_bits": 2048,
    "insecure_test_keys": True,
    "rows": 100,
    "drop": ("name",),
    "columns": ("sex",),
    "split": "sizes:3,1,1",
    "fault": ("party 1 lies",),
    "on_loss": "continue",
    "schema_plan": LEARN_ALL,
    "schema_share": 0.3,
}
ELSEWHERE = {"schema", "min_parties", "max_wait"}
"""Fields that the agreed schema stands for, or that another field must go with."""


def test_every_field_of_a_job_is_bound_or_left_out_on_purpose() -> None:
    assert FREE.keys() | BINDING.keys() | ELSEWHERE == set(Job.__struct_fields__)
    assert not FREE.keys() & BINDING.keys()


@pytest.mark.parametrize("field", FREE)
def test_what_differs_by_host_does_not_change_it(field: str) -> None:
    assert digest(msgspec.structs.replace(JOB, **{field: FREE[field]})) == digest()


def test_the_folder_of_identities_does_not_change_it() -> None:
    here, there = (msgspec.structs.replace(JOB, identities=name) for name in ("keys", "/etc/keys"))
    assert digest(here) == digest(there)


@pytest.mark.parametrize("field", BINDING)
def test_what_roles_must_agree_on_changes_it(field: str) -> None:
    assert digest(msgspec.structs.replace(JOB, **{field: BINDING[field]})) != digest()


def test_the_fewest_parties_change_it() -> None:
    going_on = msgspec.structs.replace(JOB, on_loss="continue", parties=5)
    digests = {
        digest(msgspec.structs.replace(going_on, min_parties=fewest)) for fewest in (2, 3, 4)
    }
    assert len(digests) == 3
    assert digest(going_on) in digests, "the default is a number, too"


def test_a_table_for_each_party_changes_it() -> None:
    assert digest(msgspec.structs.replace(JOB, data=("a.csv", "b.csv", "c.csv"))) != digest()


def test_a_default_that_is_written_out_does_not_change_it() -> None:
    written = {"epsilon": 0.5, "aggregator": "paillier"}
    assert digest(msgspec.structs.replace(JOB, parameters=written)) == digest()


@pytest.mark.parametrize(
    "schema",
    [
        None,
        read_schema({"age": {"bins": 4, "range": [0, 80]}, "sex": ["F", "M"]}),
        read_schema({"sex": ["M", "F"], "age": {"bins": 4, "range": [0, 80]}}),
        read_schema({"sex": ["F", "M"], "age": {"bins": 4, "range": [0, 90]}}),
        read_schema({"sex": ["F", "M"]}),
    ],
    ids=["none", "attributes turned round", "labels turned round", "other bins", "one attribute"],
)
def test_the_schema_and_its_order_change_it(schema: Schema | None) -> None:
    assert digest(schema=schema) != digest()


def test_a_schema_that_travelled_as_json_is_the_same() -> None:
    from sottovoce.parties import DEMO_SCHEMA

    travelled = msgspec.json.decode(msgspec.json.encode(DEMO_SCHEMA), type=Schema)
    assert digest(schema=travelled) == digest(schema=DEMO_SCHEMA)


def test_versions_change_it(monkeypatch: pytest.MonkeyPatch) -> None:
    before = digest()
    assert len(before) == DIGEST_BYTES
    monkeypatch.setattr(job_digest, "VERSION", "0")
    other = digest()
    monkeypatch.setattr(job_digest, "FRAME_VERSION", frame.VERSION + 1)
    assert len({before, other, digest()}) == 3


def test_the_version_is_that_of_the_package() -> None:
    path = Path(__file__).parents[2] / "pyproject.toml"
    assert tomllib.loads(path.read_text())["project"]["version"] == VERSION


def test_roles_on_threads_may_be_the_first_to_read_a_schema() -> None:
    """msgspec must have looked at the type before, as two threads that do so crash the process."""
    source = """
import sys, threading
from sottovoce.parties import DEMO_SCHEMA
from sottovoce.runs import job_digest

def read():
    together.wait()
    job_digest._canonical(DEMO_SCHEMA)

sys.setswitchinterval(1e-6)
together = threading.Barrier(8)
threads = [threading.Thread(target=read) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""
    for _ in range(2):
        subprocess.run([sys.executable, "-c", source], check=True, timeout=120)
