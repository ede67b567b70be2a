"""A receiver may wait for one of several kinds of messages; the sender decides which."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest

import sottovoce
from sottovoce.messages import MessageError, MisuseError, Role, message, thread_wires

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


@message
class More:
    step: int


@message
class End:
    result: int


@message
class Other:
    number: int


@message
class Undeclared:
    number: int


def pair() -> tuple[Role, Role]:
    wires = thread_wires(2)
    zero, one = (
        Role(wire, protocol="talk", kinds=[More, End, Other], timeout=0.2) for wire in wires
    )
    return zero, one


@pytest.mark.parametrize("sent", [[More(1), More(2), End(7)], [End(3)], [More(1), End(2), End(1)]])
def test_each_message_comes_as_its_own_kind_and_in_order(sent: list[More | End]) -> None:
    zero, one = pair()
    with zero.phase("all"), one.phase("all"):
        for word in sent:
            zero.send(word, to=1)
        received = [one.receive(More, End, source=0) for _ in sent]
    assert received == sent
    assert [type(word) for word in received] == [type(word) for word in sent]
    # Both ends digest what the curator has sent under the kind that it was.
    assert zero.instructions(1) == one.instructions(0)


def test_gather_takes_another_kind_from_each(
    play_roles: Callable[..., list[BaseException]],
) -> None:
    gathered: list[More | End | Other] = []

    def part(role: Role) -> None:
        if role.rank:
            role.send([More(1), End(2), Other(3)][role.rank - 1], to=0)
        else:
            gathered.extend(role.gather(More, End, Other))

    assert play_roles(thread_wires(4), part, kinds=[More, End, Other]) == []
    assert gathered == [More(1), End(2), Other(3)]


def test_a_kind_that_is_not_among_them_is_refused() -> None:
    zero, one = pair()
    with zero.phase("all"), one.phase("all"):
        zero.send(Other(1), to=1)
        with pytest.raises(
            MessageError,
            match="expected More or End of phase all from the curator, found Other of phase all",
        ):
            one.receive(More, End, source=0)


def test_another_phase_is_refused_for_either_kind() -> None:
    zero, one = pair()
    with zero.phase("before"), one.phase("all"):
        zero.send(End(1), to=1)
        with pytest.raises(
            MessageError, match=r"expected End of phase all .* found End of phase be"
        ):
            one.receive(More, End, source=0)


def test_an_undeclared_kind_among_them_is_refused() -> None:
    _, one = pair()
    with (
        one.phase("all"),
        pytest.raises(MisuseError, match=r"declares \(More, End, Other\), found Undeclared"),
    ):
        one.receive(More, Undeclared, source=0)


def test_a_wait_names_all_kinds(play_roles: Callable[..., list[BaseException]]) -> None:
    def part(role: Role) -> None:
        role.receive(More, End, source=1 - role.rank)

    errors = play_roles(thread_wires(2), part, kinds=[More, End])
    assert any("waits for More or End from" in str(error) for error in errors)


@pytest.mark.parametrize(
    "transport", ["threads", "virtual", pytest.param("mpi", marks=[pytest.mark.mpi])]
)
def test_rounds_that_are_not_known_before_a_run(
    transport: Literal["threads", "mpi", "virtual"], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many records take all questions; with few the noise ends the search, and budget is left."""
    monkeypatch.syspath_prepend(EXAMPLES)
    monkeypatch.chdir(EXAMPLES)
    questions = []
    for rows in (30_000, 60):
        run = sottovoce.run(
            "bisection:Bisection",
            rows=rows,
            seed=1,
            epsilon=2.0,
            transport=transport,
            no_rehearsal=True,
            judge=False,
            network="wan" if transport == "virtual" else None,
        )
        asked = run.report["outcome"]["questions"]
        questions.append(asked)
        assert run.report["communication"]["rounds"] == 2 * asked + 1
        assert run.report["privacy"]["epsilon"]["public"] == pytest.approx(2.0 * asked / 10)
        assert run.report["privacy"]["not_accounted"] == []
    assert questions[0] > questions[1]
    assert questions[1] < 10
