"""Places and streams that cannot be used, and parameters out of reach, are one line each."""

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sottovoce as package
from sottovoce import UsageError
from sottovoce.launch.cli import _report
from sottovoce.protocols import available, find
from sottovoce.protocols.options import MAX_SYNTHETIC_ROWS
from sottovoce.runs.job import Job
from sottovoce.runs.setup import require_memory

RUN = ("run", "head-count", "--rows", "40", "--seed", "1", "--transport", "threads")
LONG = "a" * 300


def sottovoce(
    *words: str,
    cwd: Path,
    stdout: int = subprocess.PIPE,
    before: Callable[[], object] | None = None,
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sottovoce", *words],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        timeout=300,
        check=False,
        preexec_fn=before,
    )


def assert_one_line(done: subprocess.CompletedProcess[str], reason: str) -> None:
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("sottovoce: expected ")
    assert reason in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        (*RUN, "--out", LONG),
        (*RUN, "--out", "/".join(["a"] * 3000)),
        (*RUN, "--data", LONG),
        (*RUN, "--data", LONG, "--budget", "budget.toml"),
        (*RUN, "--identities", LONG),
        (*RUN, "--schema", LONG),
        (*RUN, "--config", LONG),
        (*RUN, "--budget", LONG),
        ("report", LONG),
        ("compare", LONG),
        ("evaluate", LONG, LONG),
        ("sweep", LONG),
        ("new", LONG),
        ("identity", LONG),
    ],
    ids=lambda words: " ".join(word[:12] for word in words if word not in RUN[1:]),
)
def test_a_path_that_is_too_long(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = sottovoce(*words, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_working_folder_that_was_removed(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for words in (RUN, ("protocols",)):
        done = sottovoce(*words, cwd=folder, before=folder.rmdir)
        assert_one_line(done, "it was removed, so change to another one")
        folder.mkdir()


@pytest.mark.parametrize(
    "words",
    [(*RUN, "--out", "out"), (*RUN, "--out", "out", "--json"), ("protocols",), ("--version",)],
    ids=["run", "run --json", "protocols", "--version"],
)
@pytest.mark.parametrize("state", ["closed", "full", "without a reader"])
def test_standard_output_that_takes_nothing(
    tmp_path: Path, words: tuple[str, ...], state: str
) -> None:
    if state == "closed":
        done = sottovoce(*words, cwd=tmp_path, before=lambda: os.close(1))
        reason = "Bad file descriptor"
    elif state == "full":
        with Path("/dev/full").open("w") as full:
            done = sottovoce(*words, cwd=tmp_path, stdout=full.fileno())
        reason = "No space left on device"
    else:
        reader, writer = os.pipe()
        os.close(reader)
        done = sottovoce(*words, cwd=tmp_path, stdout=writer)
        os.close(writer)
        reason = "Broken pipe"
    assert_one_line(done, reason)
    if "run" in words:
        assert "the results are in out" in done.stderr
        assert (tmp_path / "out" / "report.json").is_file()


def test_all_standard_streams_may_be_closed(tmp_path: Path) -> None:
    """No file of the run takes the number of a stream."""
    done = sottovoce(
        *RUN, "--out", "out", "--quiet", cwd=tmp_path, before=lambda: os.closerange(0, 3)
    )
    assert done.returncode == 0
    assert (tmp_path / "out" / "report.json").is_file()


@pytest.mark.parametrize("command", [("run", "--config"), ("sweep",)], ids=["run", "sweep"])
def test_toml_of_too_many_levels(tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "deep.toml").write_text(f"set = {'[' * 5000}{']' * 5000}\n")
    done = sottovoce(*command, "deep.toml", cwd=tmp_path)
    assert_one_line(done, "TOML of few levels in deep.toml, found too many")


@pytest.mark.parametrize("name", [*available()])
def test_an_epsilon_that_is_too_small(name: str) -> None:
    """It is refused as an option, or the run finds that its noise cannot be expressed."""
    kind = find(name)
    if "epsilon" not in kind.Parameters.__struct_fields__:
        pytest.skip(f"{name} has no epsilon")
    for mode in kind.modes:
        options: dict[str, Any] = {"mode": mode, "key_bits": 512, "insecure_test_keys": True}
        with pytest.raises(UsageError, match="parameter epsilon"):
            package.run(name, rows=60, parties=2, epsilon=9e-13, **options)
        try:
            package.run(name, rows=60, parties=2, epsilon=1e-12, judge=False, **options)
        except UsageError as error:
            assert "expected " in str(error)


def test_more_synthetic_rows_than_memory_holds() -> None:
    with pytest.raises(UsageError, match="parameter synthetic_rows"):
        package.run("jtree", rows=60, epsilon=1.0, synthetic_rows=3_000_000_000)
    job = Job(protocol="jtree", parameters={"synthetic_rows": MAX_SYNTHETIC_ROWS})
    schema = package.run("head-count", rows=60, seed=1).record.schema
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.sysconf", {"SC_PHYS_PAGES": 1 << 18, "SC_PAGE_SIZE": 4096}.__getitem__)
        with pytest.raises(UsageError, match=r"synthetic_rows that fit .* of 1 GB, found 100,000"):
            require_memory(job, schema=schema)
        require_memory(Job(protocol="jtree", parameters={"synthetic_rows": 1000}), schema=schema)


@pytest.mark.parametrize("number", [errno.EAGAIN, errno.EMFILE, errno.ENOMEM])
def test_a_shortage_of_the_system_is_not_blamed_on_standard_output(
    number: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _report(OSError(number, os.strerror(number))) == 3
    line = capsys.readouterr().err
    assert os.strerror(number) in line
    assert "standard output" not in line


@pytest.mark.parametrize("out", ["circle", "circle/out", "astray", "astray/out"])
def test_a_folder_behind_a_link_to_nothing_is_refused_before_the_run(
    tmp_path: Path, out: str
) -> None:
    """Python 3.11 finds a circle of links where others find nothing."""
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "astray").symlink_to("nowhere")
    done = sottovoce(*RUN, "--out", out, cwd=tmp_path)
    assert_one_line(done, f"found a link to nothing at {Path(out).parts[0]}")
