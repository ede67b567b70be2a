"""Options exist once, in `Job` and `Placement`; all three ways in read them alike."""

import inspect
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

import sottovoce
from sottovoce import SottovoceError, UsageError
from sottovoce.protocols import RECOMMENDED, RECOMMENDED_PURE
from sottovoce.runs.instance import instantiate
from sottovoce.runs.job import Job
from sottovoce.runs.placement import Placement
from sottovoce.runs.settings import OPTIONS, merge_options, read_options, settings

JOB = {field.name: field.default for field in msgspec.structs.fields(Job)}
OF_THE_PROTOCOL = {"protocol", "parameters"}
READ_FROM_SCHEMA = {"schema_plan"}
ONLY_IN_PYTHON = {"judge", "classify"}
ONLY_OF_MPIEXEC = {"hosts", "hostfile", "mpiexec", "mpi_arg"}


def test_python_has_the_jobs_options_with_their_defaults() -> None:
    signature = inspect.signature(sottovoce.run).parameters
    named = {
        name: one.default for name, one in signature.items() if one.kind is not one.VAR_KEYWORD
    }
    assert named.keys() - ONLY_IN_PYTHON == (
        JOB.keys() - OF_THE_PROTOCOL - READ_FROM_SCHEMA
        | {"protocol", "epsilon", "delta", "transport", "network", "computation", "durable"}
        | {"tell_errors", "budget_file", "no_rehearsal"}
    )
    for name in named.keys() & JOB.keys() - {"protocol", "data", "parties"}:
        assert named[name] == JOB[name], name
    assert (named["data"],) == JOB["data"]
    assert named["parties"] is None  # 3, or one for each table


@pytest.mark.parametrize("name", ["mode", "key_bits", "rows"])
def test_an_option_of_the_run_is_no_parameter_and_is_named(name: str) -> None:
    job = Job(protocol="head-count", parameters={name: "paper"})
    expected = f"found '{name}': it is an option of the run, --{name.replace('_', '-')}"
    with pytest.raises(UsageError, match=f"{expected}$"):
        instantiate(job)


def test_the_command_line_has_them_all() -> None:
    said = subprocess.run(
        [sys.executable, "-m", "sottovoce", "run", "--help"],
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    ).stdout
    for name in (JOB.keys() - OF_THE_PROTOCOL - READ_FROM_SCHEMA) | {*Placement.__struct_fields__}:
        assert f"--{name.replace('_', '-')} " in said, name


@pytest.mark.parametrize(
    ("options", "protocol"),
    [
        ({}, RECOMMENDED),
        ({"delta": 1e-6, "set": {"aggregator": "masks"}}, RECOMMENDED),
        ({"delta": 0.0}, RECOMMENDED_PURE),
        ({"set": {"delta": "0"}}, RECOMMENDED_PURE),
        ({"set": {"delta": "none"}}, RECOMMENDED),
        ({"delta": 0.0, "protocol": RECOMMENDED}, RECOMMENDED),
        ({"delta": 0.0, "protocol": "one-way"}, "one-way"),
        ({"protocol": RECOMMENDED_PURE}, RECOMMENDED_PURE),
    ],
)
def test_delta_decides_which_protocol_is_recommended(
    options: dict[str, Any], protocol: str
) -> None:
    """A name that is given stands."""
    chosen = settings(options)
    assert chosen.job.protocol == protocol
    assert bool(chosen.recommended) == ("protocol" not in options)


def test_every_option_can_stand_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text(
        'protocol = "head-count"\nkey-bits = 4096\nparties = 2\nset = {epsilon = 2.0}\n'
    )
    options = read_options(path)
    job = settings(merge_options({"parties": 5, "seed": None}, options)).job
    assert (job.key_bits, job.parties, job.seed, job.parameters) == (
        4096,
        5,
        None,
        {"epsilon": 2.0},
    )
    assert OPTIONS.keys() >= (JOB.keys() - {"parameters"} - READ_FROM_SCHEMA) | {
        *Placement.__struct_fields__
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"parties": 0}, r"parties: expected `int` >= 1, found 0"),
        ({"parties": "three"}, r"parties: expected `int`, got `str`, found 'three'"),
        ({"mode": "x"}, r"mode: expected rigorous or paper, found 'x'"),
        ({"transport": "foo"}, r"transport: expected threads or mpi or virtual, found 'foo'"),
        ({"seed": -1}, r"seed: expected `int` >= 0, found -1"),
        ({"timeout": 0}, r"timeout: expected `float` > 0.0, found 0"),
        ({"rows": 0}, r"rows: expected `int` >= 1, found 0"),
        ({"key_bits": 512}, r"expected --key-bits of at least 2048, found 512"),
        ({"data": []}, r"expected a table for data, found none"),
        ({"split": "odd"}, r"split"),
        (
            {"epsilom": 1.0},
            r"of head-count .*, found 'epsilom': did you mean epsilon\?",
        ),
    ],
)
def test_bad_options_in_python_are_usage_errors(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        sottovoce.run("head-count", **options)
    assert issubclass(UsageError, SottovoceError)


def test_the_same_words_on_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text("key-bit = 3072\n")
    with pytest.raises(UsageError, match=r"run.toml: unknown key 'key-bit': did you mean key-bits"):
        read_options(path)
    with pytest.raises(UsageError, match=r"^--key-bits: expected `int` >= 64, found 2$"):
        settings(
            {"protocol": "head-count", "key_bits": 2},
            spelling=lambda name: f"--{name.replace('_', '-')}",
        )


def test_a_wrong_word_for_a_parameter_is_answered_by_all_words() -> None:
    with pytest.raises(
        UsageError,
        match="expected auto or laplace or gaussian or selected for parameter",
    ):
        instantiate(Job(protocol="one-way", parameters={"noise": "shares"}))


@pytest.mark.parametrize("transport", [["threads"], ["virtual", "--network", "lan"]])
@pytest.mark.parametrize("option", sorted(ONLY_OF_MPIEXEC))
def test_an_option_that_the_transport_would_ignore_is_refused(
    transport: list[str], option: str, tmp_path: Path
) -> None:
    word = f"--{option.replace('_', '-')}"
    command = ["run", "head-count", "--transport", *transport, word, "none", "--out", "out"]
    done = refused(command, tmp_path)
    assert done == (
        f"sottovoce: expected --transport mpi beside {word}, found {transport[0]}, "
        "which starts no process for a role\n"
    )


@pytest.mark.parametrize("option", sorted(ONLY_OF_MPIEXEC))
def test_within_an_mpi_job_nothing_is_asked_of_mpiexec(option: str, tmp_path: Path) -> None:
    """The user's own mpirun has chosen where ranks run."""
    word = f"--{option.replace('_', '-')}"
    outside = {"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "0"}
    line = refused(["run", "head-count", word, "none", "--out", "out"], tmp_path, **outside)
    assert line.startswith(f"sottovoce: expected {word} without an MPI job around the run, found ")


def test_a_host_file_that_does_not_exist_is_refused_before_logs_are_begun(tmp_path: Path) -> None:
    line = refused(["run", "head-count", "--hostfile", "none", "--out", "out"], tmp_path)
    assert line == "sottovoce: expected a host file, found none at none\n"


def refused(words: list[str], folder: Path, **variables: str) -> str:
    """Give the only line of a command that is refused and leaves nothing."""
    done = subprocess.run(
        [sys.executable, "-m", "sottovoce", *words],
        cwd=folder,
        env={**os.environ, "SOTTOVOCE_STATE": str(folder / "state"), **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done
    assert not [*folder.rglob("*")]
    return done.stderr
