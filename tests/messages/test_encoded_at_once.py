"""What is encoded at once has the bytes of what is encoded one by one."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sottovoce.messages import MessageError, MisuseError, Role, decode, message, to_bytes
from sottovoce.messages.buffers import Reader, Writer
from sottovoce.messages.composed_fields import IntegersField, SequenceField
from sottovoce.messages.fields import IntField
from sottovoce.messages.message import encode
from sottovoce.messages.threads import thread_wires

INTEGERS = st.lists(st.integers(-(1 << 63), (1 << 63) - 1)).map(tuple)


@message
class Sets:
    sets: tuple[tuple[int, ...], ...]


def written(field: Any, value: object) -> bytes:
    writer = Writer()
    field.write(value, writer)
    return b"".join(writer.parts())


@settings(deadline=None)  # on a busy machine any example may take long
@given(INTEGERS)
def test_integers_have_the_bytes_of_a_sequence(value: tuple[int, ...]) -> None:
    together, one_by_one = IntegersField(IntField()), SequenceField(IntField())
    data = written(together, value)
    assert data == written(one_by_one, value)
    assert together.read(Reader(memoryview(data))) == one_by_one.read(Reader(memoryview(data)))


def test_a_cut_sequence_of_integers_is_refused() -> None:
    data = to_bytes(Sets(((1, 2), (3,))))
    for end in range(len(data)):
        with pytest.raises(MessageError, match="truncated"):
            decode(Sets, memoryview(data[:end]))


def test_a_broadcast_is_encoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[object] = []

    def noting(message: object) -> Writer:
        encoded.append(message)
        return encode(message)

    monkeypatch.setattr("sottovoce.messages.edges.encode", noting)
    sent = Sets(((1, 2), (), (3,)))
    wires = thread_wires(4)
    roles = [Role(wire, protocol="p", kinds=[Sets], timeout=5) for wire in wires]
    with roles[0].phase("work"):
        roles[0].broadcast(sent)
        roles[0].broadcast(Sets(()))
    assert encoded == [sent, Sets(())]
    for role in roles[1:]:
        with role.phase("work"):
            assert role.receive(Sets, source=0) == sent
            assert role.receive(Sets, source=0) == Sets(())


@pytest.mark.parametrize(
    "value",
    [(1 << 63,), (0, -(1 << 63) - 1), (1, True), (1.0,), ("1",), 5],
    ids=["large", "small", "bool", "float", "text", "number"],
)
def test_what_is_no_sequence_of_integers_is_refused(value: Any) -> None:
    together, one_by_one = IntegersField(IntField()), SequenceField(IntField())
    with pytest.raises(MisuseError) as expected:
        one_by_one.check(value)
    with pytest.raises(MisuseError) as found:
        together.check(value)
    assert found.value.parts == expected.value.parts


def test_other_integers_are_taken_as_ints() -> None:
    taken = IntegersField(IntField()).check([np.int64(3), np.uint8(4), 5])
    assert taken == (3, 4, 5)
    assert {*map(type, taken)} == {int}
