"""The progress of a thousand roles fits on a screen."""

import pytest

from sottovoce.messages import Position
from sottovoce.report import progress


def test_parties_at_the_same_step_are_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    positions = {
        rank: Position("count", 1 + (rank % 100 == 7), "sends Word", 10, 1, 1.0, 2.0)
        for rank in range(1001)
    }
    monkeypatch.setattr(progress, "DELAY", 0.0)
    shown = progress.Progress(shown=True)
    shown.show(positions)
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    text = (
        "the curator: count, step 1, sends Word 50%; 990 parties: count, step 1, 50%; "
        "10 parties: count, step 2, 50%"
    )
    assert text in line


def test_bytes_and_work_of_a_line_add_up() -> None:
    positions = {rank: Position("count", 1, "", rank, 2, 1.0, 4.0) for rank in range(101)}
    curator, (name, parties) = progress._lines(positions)
    assert curator == ("the curator", positions[0])
    assert name == "100 parties"
    assert (parties.sent_bytes, parties.received_bytes) == (5050, 200)
    assert (parties.done, parties.of) == (100.0, 400.0)
    few = {rank: positions[rank] for rank in range(progress.MAX_ROLES)}
    assert [position for _, position in progress._lines(few)] == [*few.values()]
