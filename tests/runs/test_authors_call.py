"""Calls of an author's code with wrong arguments: one line with what is expected, and where."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import sottovoce
from sottovoce import (
    CURATOR,
    Budget,
    Curator,
    Epsilon,
    Outcome,
    Party,
    Protocol,
    choose,
    laplace,
    median,
    message,
)
from sottovoce.messages import SottovoceError
from sottovoce.protocols.secure_sum import (
    CuratorSums,
    PartySums,
    RealBatch,
    SecureSums,
    SumBatch,
    SumOptions,
)
from sottovoce.runs.authors_call import call_of
from sottovoce.runs.failure import describe

COUNTS = np.array([3, 4])
COUNT_BATCH = SumBatch(cells=2, sensitivity=2, epsilon=0.5)
REAL_BATCH = RealBatch(bounds=(0, 9), budget=Budget.pure(0.5), neighbours="replace-one")


class MistakenParameters(SumOptions):
    epsilon: Epsilon = 1.0
    case: int = 0


class Mistaken(Protocol[MistakenParameters]):
    """Makes one mistake, which is a function of all that a part has at hand."""

    name = "mistaken"
    neighbours = "replace-one"
    uses = (SecureSums,)

    @message
    class Note:
        value: float

    def party(self, me: Party) -> None:
        options: Any = self.parameters
        with me.phase("keys"):
            sums = PartySums(me, options)
        hand = SimpleNamespace(
            **FUNCTIONS, me=me, sums=sums, options=options, note=self.Note, protocol=self
        )
        with me.phase("sum"):
            OF_PARTY[self.parameters.case][0](hand)

    def curator(self, desk: Curator) -> Outcome:
        with desk.phase("keys"):
            CuratorSums(desk, self.parameters)
        return Outcome()


# Under other names, as a type checker would refuse most of the mistakes.
CALLED = (Budget, CuratorSums, Outcome, PartySums, RealBatch, SumBatch, choose, laplace, median)
FUNCTIONS: dict[str, Any] = {function.__name__: function for function in CALLED}
Mistake = tuple[Callable[[Any], object], str]
OF_PARTY: list[Mistake] = [
    (
        lambda at: at.PartySums(at.me),
        "PartySums(me: Party, options: SumOptions, *, noise=...|'options'",
    ),
    (
        lambda at: at.PartySums(at.options, at.me),
        "MistakenParameters for me, which is of type Party",
    ),
    (
        lambda at: at.PartySums(at.me, at.protocol),
        "Mistaken for options, which is of type SumOptions",
    ),
    (lambda at: at.PartySums(at.me, type(at.options)), "the class MistakenParameters for options"),
    (lambda at: at.PartySums(at.me, at.options, "shares"), "too many arguments without a name"),
    (lambda at: at.PartySums(at.me, at.options, row=3), "unexpected keyword argument 'row'"),
    (
        lambda at: at.sums.contribute(COUNT_BATCH),
        "contribute(tables: Tables, batch: SumBatch|'batch'",
    ),
    (lambda at: at.sums.contribute(COUNT_BATCH, [COUNTS]), "expected a SumBatch in `contribute`"),
    (lambda at: at.sums.contribute([COUNTS], SumBatch), "make it as SumBatch(cells=..."),
    (
        lambda at: at.sums.contribute([COUNTS], COUNT_BATCH, of="sex"),
        "str for of, which is of type",
    ),
    (lambda at: at.sums.contribute([COUNTS / 2], COUNT_BATCH), "expected tables of integers"),
    (lambda at: at.sums.real([1.5]), "real(values: npt.ArrayLike, batch: RealBatch|'batch'"),
    (lambda at: at.sums.real(REAL_BATCH, [1.5]), "the party says sums.real(values, batch)"),
    (lambda at: at.sums.real(at.me.records, REAL_BATCH), 'me.records.column("NAME")'),
    (lambda at: at.sums.among(1, 3), "among(parties: Iterable[int])|too many arguments"),
    (lambda at: at.sums.among(2), "int for parties, which is of type Iterable[int]"),
    (lambda at: at.me.send(at.note(1.0)), "send(message: object, *, to: int)|without 'to'"),
    (lambda at: at.me.send(at.note(1.0), to="curator"), "str for to, which is of type int"),
    (lambda at: at.me.send(1.0, to=CURATOR), "a class under @message"),
    (lambda at: at.note(), "expected Note(value: float)|without 'value'"),
    (lambda at: at.note("x"), "Note.value: expected a float, found str"),
    (
        lambda at: at.me.receive(at.note),
        "receive(kind: type[Any], *more, *, source|without 'source'",
    ),
    (lambda at: at.me.receive("Note", source=CURATOR), "str for kind, which is of type type[Any]"),
    (lambda at: at.me.gather(), "gather(kind: type[Any], *more, *, sources=...)"),
    (
        lambda at: at.me.gather(at.note, sources=2),
        "int for sources, which is of type Sequence[int]",
    ),
    (lambda at: at.me.broadcast(at.note(1.0), to=2), "int for to, which is of type Sequence[int]"),
    (lambda at: at.me.release(at.laplace([3], sensitivity=1, epsilon=0.1)), "without 'to'"),
    (lambda at: at.me.release(3, to=CURATOR), "expected a mechanism with the fields name"),
    (
        lambda at: at.me.release(at.laplace([3]), to=CURATOR),
        "laplace(value: npt.ArrayLike|'sensitivity'",
    ),
    (lambda at: at.laplace([3.7], sensitivity=1, epsilon=0.1), "expected whole numbers in laplace"),
    (lambda at: at.median([3.5]), "median(values: npt.ArrayLike|without 'bounds' and 'neighbours'"),
    (lambda at: at.choose([3], epsilon=0.1), "choose(scores: npt.ArrayLike|without 'sensitivity'"),
    (lambda at: at.me.partition("sex"), "partition(*, by=..., into=..., seed=..., within=...)"),
    (lambda at: at.me.partition(into="5"), "str for into, which is of type int | None"),
    (lambda at: at.me.partition(), "expected partition(by=ATTRIBUTE) or partition(into=NUMBER)"),
    (lambda at: at.me.randomness(), "randomness(purpose: str)|without 'purpose'"),
    (lambda at: at.me.phase().__enter__(), "phase(name: str)|without 'name'"),
    (lambda at: at.me.phase(7).__enter__(), "int for name, which is of type str"),
    (lambda at: at.me.records.column(), "column(attribute: str)|without 'attribute'"),
    (lambda at: at.me.records["age"], 'expected me.records.column("NAME")'),
    (lambda at: at.Budget("epsilon"), "Budget(unit: Unit, amount: float|without 'amount'"),
    (lambda at: at.Budget("eps", 1.0), "expected the unit epsilon or rho first"),
    (
        lambda at: at.SumBatch(2, 2, 1.0),
        "SumBatch(*, cells: int, sensitivity: int|too many arguments",
    ),
    (lambda at: at.RealBatch(bounds=(0, 1), budget=Budget.pure(1)), "without 'neighbours'"),
    (lambda at: at.CuratorSums(at.me), "CuratorSums(desk: Curator, options: SumOptions|'options'"),
    (lambda at: at.Outcome(3), "Outcome(*, synthetic=..., marginals=...|too many arguments"),
    (lambda at: at.Outcome(summary=[1]), "expected summary={NAME: VALUE} in Outcome, found a list"),
    (lambda at: at.Outcome(marginals=[1, 2]), "expected a DataFrame for marginals in Outcome"),
]


@pytest.mark.parametrize("case", range(len(OF_PARTY)))
def test_the_line_says_what_is_expected_and_where(case: int) -> None:
    mistake, texts = OF_PARTY[case]
    with pytest.raises(SottovoceError) as raised:
        sottovoce.run(
            f"{__name__}:Mistaken",
            rows=60,
            seed=1,
            aggregator="masks",
            case=case,
            no_rehearsal=True,
        )
    text = str(raised.value)
    assert "\n" not in text
    assert "in mistaken, phase sum, step" in text
    assert f"{__name__.rpartition('.')[2]}.py, line {mistake.__code__.co_firstlineno}" in text
    for part in texts.split("|"):
        assert part in text


def test_a_line_for_others_has_no_name_that_the_authors_code_has_chosen() -> None:
    with pytest.raises(TypeError) as raised:
        FUNCTIONS["PartySums"](**{"me": None, "options": None, "Jane Doe": 1})
    text = describe(raised.value, where=None)
    assert "Jane Doe" in text.line
    assert text.public.endswith("found a call with an argument that it does not take")


def test_a_function_of_another_library_with_the_same_name_is_not_meant() -> None:
    assert callable(median)
    with pytest.raises(TypeError) as raised:
        np.median()  # type: ignore[call-overload]
    assert call_of(raised.value) is None


def test_errors_of_an_authors_own_code_are_told_as_they_are() -> None:
    with pytest.raises(KeyError) as raised:
        dict[str, int]()["age"]
    assert describe(raised.value, where=None).line == "KeyError: 'age'"
