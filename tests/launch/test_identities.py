"""Identities: made, read, pinned, and what is wrong with them said in one line."""

from __future__ import annotations

import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sottovoce
from sottovoce.curator import Curator
from sottovoce.messages import MessageError, MisuseError, UsageError, message
from sottovoce.parties import Party
from sottovoce.protocols import Options, Outcome, Protocol
from sottovoce.protocols.introductions import introduce
from sottovoce.runs.identities import read_identity, write_identity

RUN: dict[str, Any] = {"rows": 60, "marginals": "sex", "aggregator": "masks", "seed": 1}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for rank in range(4):
        write_identity(tmp_path, rank=rank)
    return tmp_path


def test_a_run_with_identities(folder: Path) -> None:
    run = sottovoce.run("noisy-marginals", identities=folder, **RUN)
    assert run.report["privacy"]["identities"] == str(folder)
    other = sottovoce.run("noisy-marginals", **RUN)
    assert other.report["privacy"]["identities"] == "made for the run"


def test_keys_are_readable_by_their_owner_alone(folder: Path) -> None:
    assert stat.S_IMODE((folder / "party-1.key").stat().st_mode) == 0o600
    assert "PRIVATE" not in (folder / "party-1.pub").read_text()


def test_an_identity_is_not_replaced(folder: Path) -> None:
    before = (folder / "party-2.key").read_bytes()
    with pytest.raises(UsageError, match=r"no identity of party 2 .* yet, found party-2\.key"):
        write_identity(folder, rank=2)
    assert (folder / "party-2.key").read_bytes() == before


def test_what_is_wrong_is_said(folder: Path) -> None:
    (folder / "party-3.pub").write_text("nonsense")
    with pytest.raises(UsageError, match=r"PEM file of `sottovoce identity` at .*party-3\.pub"):
        sottovoce.run("noisy-marginals", identities=folder, **RUN)
    (folder / "party-3.pub").unlink()
    with pytest.raises(
        UsageError, match=r"expected an identity at .*party-3\.pub, found No such file"
    ):
        sottovoce.run("noisy-marginals", identities=folder, **RUN)
    (folder / "party-3.pub").write_bytes((folder / "party-2.pub").read_bytes())
    with pytest.raises(UsageError, match=r"same one in party-2\.pub and party-3\.pub"):
        read_identity(str(folder), rank=3, parties=3)


def test_the_way_out_works(folder: Path) -> None:
    """A lost private key is not simply made again, since its public half is there."""
    (folder / "curator.key").unlink()
    with pytest.raises(UsageError, match=r"if it is lost, remove curator\.pub"):
        read_identity(str(folder), rank=0, parties=3)
    with pytest.raises(UsageError, match=r"found curator\.pub: remove it first"):
        write_identity(folder, rank=0)
    (folder / "curator.pub").unlink()
    with pytest.raises(UsageError, match=r"`sottovoce identity .* --curator` makes it"):
        read_identity(str(folder), rank=0, parties=3)
    write_identity(folder, rank=0)
    assert read_identity(str(folder), rank=0, parties=3).pair is not None


def test_the_curators_key_of_another_folder_is_refused(folder: Path, tmp_path: Path) -> None:
    write_identity(tmp_path / "other", rank=0)
    (folder / "curator.pub").write_bytes((tmp_path / "other" / "curator.pub").read_bytes())
    with pytest.raises(UsageError, match=r"found a public key of another pair: copy curator\.pub"):
        read_identity(str(folder), rank=0, parties=3)


def test_a_file_is_no_folder_of_identities(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(UsageError, match=r"found Not a directory: give a folder"):
        read_identity(str(file), rank=1, parties=1)
    with pytest.raises(UsageError, match=r"expected a folder .*, found a file"):
        write_identity(file, rank=1)


def test_a_wrong_peer_is_found(converse: Callable[..., Any]) -> None:
    """Party 2 knows party 1 by another key than the one that party 1 shows."""
    talk_to = {2: {1: b"\1" * 32}}

    def party(me: Party) -> None:
        with me.phase("keys"):
            introduce(me, others=me.others)

    def curator(desk: Curator) -> None:
        with desk.phase("keys"):
            introduce(desk, others=desk.others)

    with pytest.raises(
        MessageError,
        match=r"expected the key 0101010101010101\.\.\. of party 1, found .*: a wrong peer, or a "
        r"wrong party-1\.pub among the identities of party 2",
    ):
        converse(party, curator, pinned=talk_to)


@pytest.mark.parametrize(
    ("protocol", "more", "messages"),
    [
        ("head-count", {}, 2 * 3),
        ("one-way-ldp", {"rows": 300}, 2 * 3),
        ("noisy-marginals", RUN, 2 * 6),
        ("noisy-marginals", RUN | {"aggregator": "clear"}, 2 * 6),
        ("dp-subn", {"rows": 60, "columns": ["sex", "race", "income"], "aggregator": "masks"}, 12),
        ("dist-diff-gen", {"parties": 2, "mode": "paper", "aggregator": "clear", "rows": 60}, 6),
    ],
)
def test_with_identities_everything_is_sealed_and_predicted(
    folder: Path, protocol: str, more: dict[str, Any], messages: int
) -> None:
    run = sottovoce.run(protocol, identities=folder, judge=False, **more)
    ledger = run.ledger
    introductions = ledger[ledger["kind"] == "Introduction"]
    assert len(introductions) == messages
    # Nothing leaves before it: the curator and every party begin with the phase of their own.
    assert set(ledger["phase"].iloc[: 2 * int(run.report["parties"])]) == {"introductions"}
    predicted = run.report["communication"]["predicted"]
    assert predicted
    for line in predicted:
        assert line["messages"] == line["measured_messages"], line
        assert line["payload_bytes"] == line["measured_payload_bytes"], line


def test_without_identities_protocols_without_secure_sums_have_no_introductions() -> None:
    run = sottovoce.run("head-count", judge=False, seed=1)
    assert "Introduction" not in set(run.ledger["kind"])


@pytest.mark.mpi
def test_from_the_command_line(tmp_path: Path) -> None:
    def sottovoce_command(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "sottovoce", *words],
            capture_output=True,
            text=True,
            timeout=600,
            cwd=tmp_path,
            check=False,
        )

    for role in (["--party", "1"], ["--party", "2"], ["--curator"]):
        made = sottovoce_command("identity", "keys", *role)
        assert made.returncode == 0
        assert f"keys/{'-'.join(role)[2:].replace('--', '')}.key: keep it" in made.stdout
    for wrong in ([], ["--party", "1", "--curator"]):
        refused = sottovoce_command("identity", "keys", *wrong)
        assert refused.returncode == 2
        assert "expected --party N or --curator, found" in refused.stderr
    words = (
        "run",
        "noisy-marginals",
        "--parties",
        "2",
        "--rows",
        "60",
        "--set",
        "marginals=sex",
        "--set",
        "aggregator=masks",
    )
    assert sottovoce_command(*words, "--identities", "keys", "--out", "good").returncode == 0
    head_count = ("run", "head-count", "--parties", "2", "--rows", "60")
    assert sottovoce_command(*head_count, "--identities", "keys").returncode == 0
    (tmp_path / "keys" / "curator.pub").rename(tmp_path / "curator.pub")
    missing = sottovoce_command(*head_count, "--identities", "keys")
    assert missing.returncode == 2
    assert missing.stderr.count("\n") == 1
    assert "`sottovoce identity keys --curator` makes it on the host of the curator" in (
        missing.stderr
    )
    (tmp_path / "curator.pub").rename(tmp_path / "keys" / "curator.pub")
    (tmp_path / "keys" / "party-1.key").unlink()
    bad = sottovoce_command(*words, "--identities", "keys", "--out", "bad")
    assert bad.returncode == 2
    assert bad.stderr.count("\n") == 1
    assert "expected an identity at keys/party-1.key" in bad.stderr
    assert not (tmp_path / "bad").exists()


@pytest.mark.mpi
@pytest.mark.parametrize("protocol", ["head-count", "noisy-marginals"])
def test_the_same_bytes_on_every_transport(folder: Path, protocol: str) -> None:
    options: dict[str, Any] = {} if protocol == "head-count" else {"marginals": "sex"}
    threads, mpi = (
        sottovoce.run(
            protocol,
            identities=folder,
            rows=60,
            seed=1,
            judge=False,
            transcript=True,
            transport=transport,
            **options,
        )
        for transport in ("threads", "mpi")
    )
    assert threads.report["transcript"]
    assert threads.report["transcript"] == mpi.report["transcript"]


class Chain(Protocol[Options]):
    """Party 1 passes a word on to party 2, and so on, to the curator."""

    name = "chain"
    summary = "a word"
    trust = "nobody"
    neighbours = "replace-one"
    epsilon = 1.0

    @message
    class Word:
        text: str

    def party(self, me: Party) -> None:
        with me.phase("talk"):
            word = "hush" if me.number == 1 else me.receive(self.Word, source=me.rank - 1).text
            me.send(self.Word(word), to=(me.rank + 1) % me.size)

    def curator(self, desk: Curator) -> Outcome:
        with desk.phase("talk"):
            return Outcome(summary={"word": desk.receive(self.Word, source=len(desk.parties)).text})


class Star(Chain):
    """A chain that declares wrongly that its parties do not talk."""

    name = "star"
    parties_talk = False


class Namesake(Chain):
    """A chain with a message of the framework's name."""

    name = "namesake"

    @message
    class Introduction:
        text: str


def run_plug_in(kind: type, folder: Path, patch: pytest.MonkeyPatch) -> sottovoce.Run:
    # A function of this module's in its place would be a plug-in's that cheats.
    patch.setattr("sottovoce.runs.instance.find", {kind.__name__: kind}.__getitem__)
    return sottovoce.run(
        kind.__name__, identities=folder, rows=60, judge=False, no_rehearsal=True, seed=1
    )


def test_a_plug_in_whose_parties_talk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_plug_in(Chain, folder, monkeypatch)
    assert run.report["outcome"]["word"] == "hush"
    assert (run.ledger["kind"] == "Introduction").sum() == 12
    with pytest.raises(MisuseError, match=r"expected a seal between this role and party \d before"):
        run_plug_in(Star, folder, monkeypatch)
    with pytest.raises(MisuseError, match="expected no message of namesake to be named"):
        run_plug_in(Namesake, folder, monkeypatch)
