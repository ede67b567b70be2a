"""The referee of the conformance suite: each law must find a protocol with a mistake."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray  # noqa: TC002 - read at run time, as an annotation of a message

import sottovoce
from sottovoce import CURATOR, Curator, Epsilon, Options, Outcome, Party, Protocol, laplace, message
from sottovoce.crypto import RandomStream
from sottovoce.launch.conformance import ProtocolConformance
from sottovoce.launch.release_tape import ExactRelease
from sottovoce.messages import MisuseError, SottovoceError
from sottovoce.parties import Part, Records
from sottovoce.privacy import Batch, SelectedNoise, SharedNoise
from sottovoce.privacy.laplace import two_sided_geometric
from sottovoce.protocols import AnyProtocol


class HonestParameters(Options):
    epsilon: Epsilon = 1.0


class Honest(Protocol[HonestParameters]):
    """Counts women."""

    name = "honest"
    summary = "women"
    trust = "nobody"
    neighbours = "replace-one"
    needs_schema = True

    @message
    class Said:
        text: str
        cells: NDArray[np.int64]

    def party(self, me: Party) -> None:
        with me.phase("count"):
            self.tell(me, me.records.count("sex", "Female"))

    def tell(self, me: Party, women: int, *, text: str = "", cells: Any = ()) -> None:
        noisy = me.release(
            laplace(women, sensitivity=1, epsilon=self.parameters.epsilon), to=CURATOR
        )
        me.send(
            self.Said(
                f"{text} {noisy}", np.array(cells, np.int64) if isinstance(cells, tuple) else cells
            ),
            to=CURATOR,
        )

    def tell_nothing(self, me: Party) -> None:
        me.send(self.Said("", np.zeros(0, np.int64)), to=CURATOR)

    def curator(self, desk: Curator) -> Outcome:
        with desk.phase("count"):
            heard = desk.gather(self.Said)
        return Outcome(summary={"said": " ".join(said.text for said in heard)})


class Majority(Honest):
    """Sends the most frequent sex."""

    def party(self, me: Party) -> None:
        with me.phase("count"):
            counts = me.records.marginal(["sex"])
            self.tell(me, int(counts[0]), text=str(int(np.argmax(counts))))


class Support(Honest):
    """Sends the labels that occur."""

    def party(self, me: Party) -> None:
        with me.phase("count"):
            self.tell(me, 5, text=str(sorted(set(me.records.column("sex").tolist()))))


class RareBranch(Honest):
    """Sends nothing if there are fewer than three women, which leaks that there are fewer."""

    def party(self, me: Party) -> None:
        with me.phase("count"):
            women = me.records.count("sex", "Female")
            if women < 3:
                me.send(self.Said("suppressed", np.zeros(0, np.int64)), to=CURATOR)
            else:
                self.tell(me, women)


class PhaseName(Honest):
    """Names a phase without messages after a count."""

    def party(self, me: Party) -> None:
        with me.phase(f"women {me.records.count('sex', 'Female')}"):
            pass
        super().party(me)


class Speaker(Honest):
    """Sends to its peers in an order that depends on a count."""

    def party(self, me: Party) -> None:
        with me.phase("count"):
            women = me.records.count("sex", "Female")
            for peer in me.peers if women % 2 and women > 10 else me.peers[::-1]:
                me.send(self.Said("", np.zeros(0, np.int64)), to=peer)
            me.gather(self.Said, sources=me.peers)
            self.tell(me, women)


class Rows(Honest):
    """Sends its number of rows where it is secret."""

    neighbours = "add-or-remove-one"  # type: ignore[assignment]

    def party(self, me: Party) -> None:
        with me.phase("count"):
            self.tell(me, 5, text=str(len(me.records)))


class Sum(Honest):
    """Claims that a sum of codes changes by one."""

    def party(self, me: Party) -> None:
        with me.phase("count"):
            self.tell(me, int(me.records.codes("age").astype(int).sum()))


class Cells(Honest):
    """Claims that a replaced record changes a table by one."""

    def party(self, me: Party) -> None:
        with me.phase("count"):
            batch = Batch(cells=2, sensitivity=1, epsilon=1.0, rows=9, parties=1, colluding=0)
            (cells,) = me.release(
                SharedNoise(pages=[me.records.marginal(["sex"])], batch=batch, seen={}),
                to=CURATOR,
            )
            me.send(self.Said("", cells), to=CURATOR)


class ManyUsers(Honest):
    """Releases fifteen tables of the same records, each as the report of another user."""

    budget_of = "user"

    def party(self, me: Party) -> None:
        with me.phase("count"):
            women = me.records.count("sex", "Female")
            for user in range(15):
                me.release(
                    laplace(women, sensitivity=1, epsilon=1.0), to=CURATOR, users=(user, user + 1)
                )
            self.tell_nothing(me)


class Parts(Honest):
    """Counts each part of a partition from its own records."""

    split: ClassVar[dict[str, Any]] = {"into": 3}

    def records(self, me: Party, part: Part) -> Records:
        return part.records

    def party(self, me: Party) -> None:
        with me.phase("count"):
            for part in me.partition(**self.split):
                women = self.records(me, part).count("sex", "Female")
                me.release(laplace(women, sensitivity=1, epsilon=0.5), to=CURATOR, of=part)
            self.tell_nothing(me)


class PartsByValue(Parts):
    """Counts the records of each race."""

    split: ClassVar[dict[str, Any]] = {"by": "race"}


class WholeTables(Parts):
    """Releases the whole table as that of each part."""

    def records(self, me: Party, part: Part) -> Records:
        return me.records


class WholeTablesByValue(WholeTables):
    """Releases the whole table as that of each race."""

    split: ClassVar[dict[str, Any]] = {"by": "race"}


class OtherParts(Parts):
    """Releases the first part twice, once as the second."""

    def records(self, me: Party, part: Part) -> Records:
        return me.partition(into=3)[part.path[0].index // 2].records


class UnknownMechanism:
    """A mechanism that does not show its exact value."""

    name = "unknown"
    sensitivity = 1.0
    scale = 1.0
    epsilon = 1.0
    delta = 0.0
    by_users = ()
    whole_record = None
    seen: ClassVar[Mapping[str, float]] = {}

    def __init__(self, value: int) -> None:
        self.value = value

    def draw(self, randomness: RandomStream) -> int:
        return self.value + two_sided_geometric(Fraction(1), randomness)


class Opaque(Honest):
    """Releases by a mechanism that the suite cannot look into."""

    def party(self, me: Party) -> None:
        with me.phase("count"):
            noisy = me.release(UnknownMechanism(me.records.count("sex", "Female")), to=CURATOR)
            me.send(self.Said(str(noisy), np.zeros(0, np.int64)), to=CURATOR)


SENT = "test_nothing_of_a_record_is_sent_without_a_release"
CHANGED = "test_one_record_changes_no_more_than_the_sensitivity"


def broken(protocol: type[AnyProtocol]) -> set[str]:
    """List the laws of releases that a protocol breaks."""

    class Suite(ProtocolConformance):
        __test__ = False
        rows = 60

    Suite.protocol = f"{__name__}:{protocol.__name__}"
    Suite.__test__ = False
    suite, found = Suite(), set()
    laws: list[tuple[str, Any]] = [(SENT, kind) for kind in ("others", "first", "last")]
    laws += [(CHANGED, seed) for seed in range(3)]
    for law, argument in laws:
        with pytest.MonkeyPatch.context() as patch:
            # The guard of these runs finds some of the mistakes, too, but only the laws are asked.
            patch.setattr("sottovoce.runs.guard.MIN_SECONDS", 0.1)
            patch.setattr("sottovoce.runs.guard.SLOWER", 60)
            patch.setattr("sottovoce.protocols.registry.find", lambda _: protocol)
            patch.setattr("sottovoce.launch.conformance.find", lambda _: protocol)
            patch.setattr("sottovoce.launch.conformance_runs.find", lambda _: protocol)
            patch.setattr("sottovoce.runs.instance.find", lambda _: protocol)
            try:
                getattr(suite, law)("", argument, patch)
            except (AssertionError, SottovoceError):
                found.add(law)
    return found


@pytest.mark.parametrize(
    ("protocol", "laws"),
    [
        (Honest, set()),
        (Majority, {SENT}),
        (Support, {SENT}),
        (RareBranch, {SENT}),
        (PhaseName, {SENT}),
        (Speaker, {SENT}),
        (Rows, {SENT}),
        (Sum, {CHANGED}),
        (Cells, {CHANGED}),
        (ManyUsers, {CHANGED}),
        (Parts, set()),
        (PartsByValue, set()),
        (WholeTables, {CHANGED}),
        (WholeTablesByValue, {CHANGED}),
        (OtherParts, {CHANGED}),
        (Opaque, {CHANGED}),
    ],
)
def test_a_mistake_is_found(protocol: type[AnyProtocol], laws: set[str]) -> None:
    assert laws <= broken(protocol)
    if not laws:
        assert not broken(protocol)


def test_the_suite_says_what_an_unknown_mechanism_must_define() -> None:
    release = ExactRelease("noise", sensitivity=1.0, value=None, kind="MyNoise")
    with pytest.raises(
        AssertionError,
        match=r"found MyNoise \(noise\) without exact_value: define `def exact_value",
    ):
        release.change(release)


@pytest.fixture
def counts() -> Any:
    from sottovoce.parties import DEMO_SCHEMA, Records
    from sottovoce.parties.demo import demo_table

    return Records(demo_table(50), schema=DEMO_SCHEMA)


def test_exact_arrays_cannot_be_sent(counts: Any) -> None:
    """No numpy function makes them sendable; what was released can be sent."""
    table = counts.marginal(["sex"])
    made = [
        table,
        table * 2 - 1,
        np.concatenate([table, table]),
        np.stack([table]).reshape(-1),
        np.where(table > 3, table, 0),
        np.bincount(counts.codes("sex")),
        np.unique(counts.codes("age"), return_counts=True)[1],
        np.cumsum(table),
        table[:1],
    ]
    for cells in made:
        with pytest.raises(
            MisuseError, match=r"found exact numbers from records: pass them through party\.release"
        ):
            Honest.Said("", cells)
    for cells in (np.zeros_like(table), np.asarray(table)):
        Honest.Said("", cells)


def test_a_share_must_state_its_cost(counts: Any) -> None:
    batch = Batch(cells=2, sensitivity=2, epsilon=1.0, rows=9, parties=3, colluding=0)
    with pytest.raises(ValueError, match="expected seen, the loss in each view of a share"):
        SharedNoise(pages=[counts.marginal(["sex"])], batch=batch, seen={})


def test_selected_noise_hands_on_exact_counts(counts: Any) -> None:
    from sottovoce.crypto import RandomStream

    batch = Batch(cells=2, sensitivity=2, epsilon=1.0, rows=9, parties=3, colluding=1)
    ((page, noise),) = SelectedNoise(
        pages=[np.asarray(counts.marginal(["sex"]))], batch=batch, seen={}
    ).draw(RandomStream(bytes(32)))
    with pytest.raises(MisuseError, match="exact numbers"):
        Honest.Said("", page)
    Honest.Said("", noise)


def test_secret_numbers_of_rows_are_not_sent() -> None:
    """Neighbours add or remove a record, so only the holders of the tables know their rows."""
    given: dict[str, Any] = {"rows": 90, "seed": 1, "epsilon": 0.1}
    assert sottovoce.run("head-count", judge=False, **given).report["rows"] is None
    assert sottovoce.run("head-count", **given).judgement["rows"] == 90
    assert sottovoce.run("one-way", judge=False, aggregator="masks", **given).report["rows"] == 90


def test_users_need_a_protocol_that_gives_them_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """A release of the same records for one user after another is refused when it is run."""
    monkeypatch.setattr(ManyUsers, "budget_of", "record")
    monkeypatch.setattr("sottovoce.runs.instance.find", lambda _: ManyUsers)
    with pytest.raises(MisuseError, match=r"users=\(0, 1\).*of=part.*budget_of = \"user\""):
        sottovoce.run("many-users", rows=60, judge=False)
