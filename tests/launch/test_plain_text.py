"""What other roles print or send reaches the terminal without codes that change it."""

import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

from sottovoce.launch.process_output import ProcessOutput
from sottovoce.messages import Position
from sottovoce.report.plain_text import plain_text
from sottovoce.report.printing import print_named, print_table
from sottovoce.report.progress import Progress

ATTACK = "\x1b[2J\x1b]0;title\x07\x9b1mparty\u202e 1\r"


DIRECTIONS = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
"""Unicode's classes of characters that change the direction of what follows."""


def is_harmless(text: str) -> bool:
    return not any(
        unicodedata.category(letter) == "Cc" or unicodedata.bidirectional(letter) in DIRECTIONS
        for letter in text.replace("\n", "")
    )


def test_every_control_character_is_written_out() -> None:
    text = "".join(map(chr, range(0x3000))).replace("\t", "")
    assert not is_harmless(text)
    assert is_harmless(plain_text(text))
    assert plain_text("naïve\tÅ 名前\n") == "naïve\tÅ 名前\n"


def test_what_ranks_print(capfd: pytest.CaptureFixture[str]) -> None:
    code = f"import sys; print({ATTACK!r}); print({ATTACK!r}, file=sys.stderr)"
    process = subprocess.Popen(
        [sys.executable, "-X", "utf8", "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    output = ProcessOutput(process)
    assert process.wait(timeout=60) == 0
    output.pass_on(everything=True)
    text = capfd.readouterr().err
    assert text.count("\\x1b[2J") == 2
    assert is_harmless(text)


@pytest.mark.parametrize(
    ("text", "rank"),
    [
        ("prterun noticed that process rank 12 with PID 1 on node a exited on\nsignal 9.", 12),
        ("process rank 3 exited", None),
    ],
)
def test_the_rank_that_mpiexec_names(text: str, rank: int | None) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", f"import sys; sys.stderr.write({text!r})"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    output = ProcessOutput(process)
    assert process.wait(timeout=60) == 0
    assert output.lost_rank() == rank


def test_what_open_mpi_prints_by_chance_is_left_out(capfd: pytest.CaptureFixture[str]) -> None:
    noise = (
        "[warn] Epoll MOD(1) on fd 24 failed. Old events were 6: Bad file descriptor\n"
        "[host-1:28445] plm:ssh: Warning: setpgid(28451,28451) failed in parent with errno=13\n"
        "[vm:1251] OPAL ERROR: (null) in file /x/ompi/runtime/ompi_mpi_finalize.c at line 170\n"
        "[vm:12] pmix_ptl_base: send_msg: write failed: Connection reset by peer (104) [sd = 21]\n"
    )
    said = "[warn] a plug-in's own words\nsetpgid(1,1) failed\n"
    process = subprocess.Popen(
        [sys.executable, "-c", f"import sys; sys.stderr.write({noise + said!r})"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    output = ProcessOutput(process)
    assert process.wait(timeout=60) == 0
    output.pass_on(everything=True)
    assert capfd.readouterr().err == said


def test_the_error_of_a_plug_in_with_codes(tmp_path: Path) -> None:
    mpiexec = tmp_path / "mpiexec"
    mpiexec.write_text(f"#!/bin/sh\nprintf '%b' '{ATTACK.encode('unicode_escape').decode()}' >&2\n")
    mpiexec.chmod(0o755)
    command = [sys.executable, "-m", "sottovoce", "run", "head-count", "--rows", "20"]
    done = subprocess.run(
        [*command, "--mpiexec", str(mpiexec), "--transport", "mpi"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
        timeout=300,
    )
    assert done.returncode in (2, 3)
    assert b"\\x1b[2J" in done.stderr
    assert b"\x1b" not in done.stdout + done.stderr


def test_names_of_phases_and_of_reports(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sottovoce.report.progress.DELAY", 0.0)
    progress = Progress(shown=True)
    progress.show({1: Position(ATTACK, 1, ATTACK, 0, 0, 0.0, 0.0)})
    progress.close()
    print_named([("warning", ATTACK)])
    print_table(["name"], [[ATTACK]])
    captured = capfd.readouterr()
    assert (captured.out + captured.err).count("\\x1b[2J") == 4
    assert is_harmless(captured.out + captured.err)
