"""The laws that every protocol keeps, as a test class.

One line for the author:

    class TestMine(ProtocolConformance):
        protocol = "my_package:MyProtocol"

or, without writing any, `pytest --pyargs sottovoce.launch.conformance --sottovoce-protocol
my_package:MyProtocol`. The tests that start MPI skip, saying so, where there is no mpiexec.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import is_dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
import pytest

from ..messages import SottovoceError, decode, to_bytes
from ..messages.message import message_fields
from ..parties import DEMO_SCHEMA, blocks, infer, merge, write_schema
from ..parties.demo import demo_table
from ..privacy import Accountant, Mechanism, coalition
from ..protocols.protocol import AnyProtocol
from ..protocols.registry import find
from ..runs.job import Job, instantiate

if TYPE_CHECKING:
    from .run import Run

__all__ = ["ProtocolConformance"]


class ProtocolConformance:
    """The suite. Subclass it under a name that starts with Test and set `protocol`."""

    protocol: ClassVar[str] = ""
    parameters: ClassVar[Mapping[str, Any]] = {}
    parties: ClassVar[int] = 3
    rows: ClassVar[int] = 120
    data: ClassVar[str] = "demo"
    mode: ClassVar[str] = "rigorous"
    __test__ = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.__test__ = True

    @pytest.fixture
    def reference(self) -> str:
        return self.protocol

    def _run(self, reference: str, **more: Any) -> Run:
        from .run import run  # the one look upwards: the suite starts what it judges

        given: dict[str, Any] = {
            "data": self.data,
            "parties": self.parties,
            "rows": self.rows,
            "seed": 20,
            "mode": self.mode,
            "timeout": 60.0,
            "transcript": True,
            "judge": False,
            **self.parameters,
            **more,
        }
        return run(reference, **given)

    def _usual(self, reference: str) -> Run:
        """Give the run that several laws look at: it is made once, and nobody changes it."""
        if (type(self), reference) not in _USUAL:
            _USUAL[type(self), reference] = self._run(reference)
        return _USUAL[type(self), reference]

    def test_it_says_what_it_is(self, reference: str) -> None:
        kind = find(reference)
        assert kind.name
        assert kind.summary, "summary: what it publishes, in a few words"
        assert kind.trust, "trust: who is trusted with what"
        assert kind.__doc__ or kind.summary

    def test_every_message_travels(self, reference: str) -> None:
        for kind in find(reference).kinds():
            with contextlib.suppress(ValueError):  # a message that `validate` does not let be empty
                said = kind(*(field.sample() for field in message_fields(kind).values()))
                assert decode(kind, memoryview(to_bytes(said))) == said

    def test_same_bytes_on_every_transport(self, reference: str) -> None:
        threads = self._usual(reference)
        assert threads.report["transcript"]
        assert threads.report["transcript"] == self._run(reference).report["transcript"], (
            "not reproducible by its seed"
        )
        mpi = self._with_mpi(reference)
        assert threads.report["transcript"] == mpi.report["transcript"]
        for name in threads.files.keys() - {"report.json", "ledger.csv"}:
            assert threads.files[name] == mpi.files[name], name

    def test_another_seed_says_something_else(self, reference: str) -> None:
        """Noise that does not depend on the seed is no noise: the conversation must differ."""
        one, other = self._usual(reference), self._run(reference, seed=21)
        if one.report["privacy"]["releases"]:
            assert one.report["transcript"] != other.report["transcript"]

    def test_the_ledger_balances(self, reference: str) -> None:
        run = self._usual(reference)
        sums = run.report["communication"]
        assert sums["messages"] == len(run.ledger)
        assert sums["frame_bytes"] == int(run.ledger["frame_bytes"].sum())
        for by in ("by_phase", "by_edge", "by_kind"):
            assert sum(part["frame_bytes"] for part in sums[by].values()) == sums["frame_bytes"]
        assert (run.ledger["frame_bytes"] >= run.ledger["payload_bytes"] + 32).all()
        assert sums["rounds"] == int(run.ledger["round"].max())

    def test_the_predicted_cost_is_right(self, reference: str) -> None:
        predicted = self._usual(reference).report["communication"]["predicted"]
        for line in predicted or []:
            assert (line["messages"], line["payload_bytes"]) == (
                line["measured_messages"],
                line["measured_payload_bytes"],
            )

    def test_every_release_is_accounted_for(self, reference: str) -> None:
        privacy = self._usual(reference).report["privacy"]
        claimed = float(
            privacy["claimed_epsilon"]
        )  # or the word for infinity, of who claims nothing
        for party, views in privacy["by_party"].items():
            own = [release for release in privacy["releases"] if str(release["party"]) == party]
            # Whoever begins a run of users is among those about whom most was said; without users,
            # everybody.
            first = {0, *(release["users"][0] for release in own if release["users"])}
            about = [
                [
                    one
                    for one in own
                    if one["users"] is None or one["users"][0] <= u < one["users"][1]
                ]
                for u in first
            ]
            for view, epsilon in views.items():
                seen = max(
                    sum(float(release["seen"].get(view, 0.0)) for release in one) for one in about
                )
                assert float(epsilon) == pytest.approx(seen)
            spent = max(sum(float(release["epsilon"]) for release in one) for one in about)
            assert spent <= claimed * (1 + 1e-9)
        if self.mode == "rigorous":
            upto = (
                self.parties - 1
                if privacy["claimed_coalition"] is None
                else privacy["claimed_coalition"]
            )
            for view in ("public", "curator", *(coalition(size) for size in range(1, upto + 1))):
                worst = max(float(own.get(view, 0.0)) for own in privacy["by_party"].values())
                assert worst <= claimed * (1 + 1e-9), view

    @pytest.mark.parametrize("kind", ["others", "first", "last"])
    def test_nothing_of_a_record_is_said_without_a_release(
        self, reference: str, kind: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Other records, the same answers of all releases: if every record is behind a release,
        nothing that is said differs.

        The records are drawn anew, or are all alike with the first or the last label. Where
        neighbours differ by a record more or less there are fewer of them, else as many, since then
        their number is public; and so is their domain.

        What it cannot see: a mechanism of one's own with too little noise, and what is kept from
        one run to the next.
        """
        tables, given = self._tables(reference)
        other = [self._others(table, kind, number) for number, table in enumerate(tables)]
        if find(reference).neighbours == "add-or-remove-one":
            other = [table.iloc[:-7] for table in other]
        recorded, replayed, _ = self._twice(reference, tables, other, monkeypatch, **given)
        assert replayed.report["transcript"] == recorded.report["transcript"], (
            "something is said of records without a release"
        )
        assert replayed.report["privacy"] == recorded.report["privacy"], (
            "what is released depends on records"
        )
        for key in ("warnings", "outcome"):
            assert replayed.report[key] == recorded.report[key], (
                f"{key} depend on records without a release"
            )
        named = [
            [(phase["name"], phase["bytes"]) for phase in run.report["phases"]]
            for run in (recorded, replayed)
        ]
        assert named[0] == named[1], "the names of phases depend on records"
        order = [column for column in recorded.ledger.columns if not column.endswith("_at")]
        assert recorded.ledger[order].equals(replayed.ledger[order]), (
            "who speaks when depends on records"
        )
        for name in recorded.files.keys() - {"report.json", "ledger.csv"}:
            assert replayed.files[name] == recorded.files[name], (
                f"{name} has something of records without a release"
            )

    @pytest.mark.parametrize("seed", range(3))
    def test_one_record_changes_no_more_than_the_sensitivity(
        self, reference: str, seed: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Replace one record and give the same answers: what is to be released next changes by no
        more than was said.

        Looks into mechanisms whose exact answer is in `value`, `counts` or `pages` (L1), and into
        choices by score, where only differences of scores matter: half of what two of them move
        apart.
        """
        import numpy as np

        tables, given = self._tables(reference)
        generator = np.random.default_rng(seed)
        other = list(tables)
        who = int(generator.integers(len(tables)))
        other[who] = tables[who].copy()
        at = int(generator.integers(len(other[who])))
        for column, name in enumerate(other[who].columns):
            labels = [
                label for label in tables[who][name].unique() if label != tables[who][name].iloc[at]
            ]
            if labels:
                other[who].iat[at, column] = generator.choice(labels)
        _, _, tape = self._twice(reference, tables, other, monkeypatch, **given)
        for one, two in zip(tape.exact, tape.replayed, strict=True):
            name, sensitivity, before, after = one[0], one[1], one[2], two[2]
            assert name == two[0]
            if before is not None:
                change = np.asarray(after, float) - np.asarray(before, float)
                moved = np.ptp(change) / 2 if name == "exponential" else np.abs(change).sum()
                assert moved <= sensitivity * (1 + 1e-9), (
                    f"{name} in a run: sensitivity {sensitivity}, found a change of {moved}"
                )

    def _tables(self, reference: str) -> tuple[list[Any], dict[str, Any]]:
        """Split the suite's table among the parties, and settle on a schema if one is needed."""
        import numpy as np

        table = (
            demo_table(self.rows)
            if self.data == "demo"
            else next(blocks(self.data, rows=self.rows)).frame().astype(str)
        )
        parts = [
            table.iloc[at].reset_index(drop=True)
            for at in np.array_split(np.arange(len(table)), self.parties)
        ]
        given: dict[str, Any] = {"rows": None}
        if find(reference).needs_schema:
            schema = DEMO_SCHEMA if self.data == "demo" else merge([infer(blocks(table))])
            given["schema"] = json.loads(write_schema(schema))
        return parts, given

    def _others(self, table: Any, kind: str, number: int) -> Any:
        import numpy as np
        import pandas as pd

        generator = np.random.default_rng(number)
        labels = {name: sorted(table[name].unique()) for name in table.columns}
        if kind == "others":
            return pd.DataFrame(
                {name: generator.choice(own, len(table)) for name, own in labels.items()}
            )
        return pd.DataFrame(
            {name: [own[0 if kind == "first" else -1]] * len(table) for name, own in labels.items()}
        )

    def _twice(
        self,
        reference: str,
        tables: list[Any],
        other: list[Any],
        monkeypatch: pytest.MonkeyPatch,
        **given: Any,
    ) -> tuple[Run, Run, Tape]:
        """Run on the tables, which all laws of releases share, then on the others with the same
        answers.
        """
        if (type(self), reference) not in _RECORDED:
            tape = Tape()
            monkeypatch.setattr(Accountant, "release", tape.record)
            _RECORDED[type(self), reference] = self._run(reference, data=tables, **given), tape
        recorded, tape = _RECORDED[type(self), reference]
        monkeypatch.setattr(Accountant, "release", tape.replay)
        return recorded, self._run(reference, data=other, **given), tape

    @pytest.mark.parametrize("side", ["party", "curator"])
    def test_a_role_that_fails_ends_all(
        self, reference: str, side: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        kind = self._playing(reference)

        def fail(*_: object) -> None:
            raise RuntimeError("made to fail")

        monkeypatch.setattr(kind, side, fail)
        with pytest.raises(SottovoceError, match="made to fail") as caught:
            self._run(reference)
        assert f"in {kind.name}" in str(caught.value)
        assert ("rank 0 (curator)" in str(caught.value)) == (side == "curator")

    def _playing(self, reference: str) -> type[AnyProtocol]:
        """Find the class that plays: the variant that mode and parameters stand for."""
        options = {name: v for name, v in self.parameters.items() if name in Job.__struct_fields__}
        parameters = {name: v for name, v in self.parameters.items() if name not in options}
        fields = {"protocol": reference, "mode": self.mode, "parties": self.parties, **options}
        return type(instantiate(msgspec.convert({**fields, "parameters": parameters}, Job)))

    def _with_mpi(self, reference: str) -> Run:
        from .mpiexec import find_launcher

        try:
            find_launcher(None)
        except SottovoceError as error:
            pytest.skip(f"no MPI: {error}")
        return self._run(reference, transport="mpi")


class Tape:
    """What the releases of a run answered, party by party, to be answered again in a run on other
    records.
    """

    def __init__(self) -> None:
        self._release = Accountant.release
        self._answers: dict[int, list[Any]] = {}
        self._exact: dict[tuple[int, int], tuple[str, float, Any]] = {}
        self._replayed: dict[tuple[int, int], tuple[str, float, Any]] = {}

    @property
    def exact(self) -> list[tuple[str, float, Any]]:
        """Every release's name, sensitivity, and exact answer where it can be seen."""
        return [self._exact[key] for key in sorted(self._exact)]

    @property
    def replayed(self) -> list[tuple[str, float, Any]]:
        """The same of the second run."""
        return [self._replayed[key] for key in sorted(self._replayed)]

    @property
    def record(self) -> Callable[..., Any]:
        def release(accountant: Accountant, mechanism: Any, **more: Any) -> Any:
            mechanism, exact = _looked_into(mechanism)
            answer = self._release(accountant, mechanism, **more)
            if isinstance(answer, Iterator):  # page by page
                answer = list(answer)
            own = self._answers.setdefault(accountant.party, [])
            self._exact[accountant.party, len(own)] = (mechanism.name, mechanism.sensitivity, exact)
            own.append(answer)
            return iter(answer) if isinstance(answer, list) else answer

        return release

    @property
    def replay(self) -> Callable[..., Any]:
        self._replayed = {}

        def release(accountant: Accountant, mechanism: Any, **more: Any) -> Any:
            mechanism, exact = _looked_into(mechanism)
            self._release(
                accountant, Silent(mechanism), **more
            )  # check and record it, without a draw
            # Counted by answers: one for several groups of users is several lines in the
            # accountant's book.
            at = sum(party == accountant.party for party, _ in [*self._replayed])
            self._replayed[accountant.party, at] = (mechanism.name, mechanism.sensitivity, exact)
            assert at < len(self._answers.get(accountant.party, ())), (
                "how often something is released depends on records"
            )
            answer = self._answers[accountant.party][at]
            return iter(answer) if isinstance(answer, list) else answer

        return release


def _looked_into(mechanism: Any) -> tuple[Any, Any]:
    """Find what a mechanism would answer without noise, if it shows that; pages are read, and put
    back.
    """
    import numpy as np

    if is_dataclass(mechanism) and not isinstance(mechanism, type) and hasattr(mechanism, "pages"):
        pages = [np.array(page) for page in mechanism.pages]
        return replace(mechanism, pages=pages), np.concatenate(
            [page.reshape(-1) for page in pages]
        ) if pages else None
    if hasattr(mechanism, "steps"):
        return mechanism, mechanism.steps * mechanism.step
    for name in ("value", "counts"):
        if hasattr(mechanism, name):
            return mechanism, np.array(getattr(mechanism, name), float).reshape(-1)
    return mechanism, None


class Silent:
    """A mechanism that answers nothing: all that is public of it."""

    def __init__(self, mechanism: Mechanism[object]) -> None:
        self.name = mechanism.name
        self.sensitivity = mechanism.sensitivity
        self.scale = mechanism.scale
        self.epsilon = mechanism.epsilon
        self.delta = mechanism.delta
        self.seen = mechanism.seen
        self.by_users = mechanism.by_users
        self.whole_record = mechanism.whole_record

    def draw(self, _: object) -> None:
        """Draw nothing."""


_USUAL: dict[tuple[type, str], Run] = {}
_RECORDED: dict[tuple[type, str], tuple[Run, Tape]] = {}


class TestNamedProtocol(ProtocolConformance):
    """The suite on the protocol that the command line names."""

    @pytest.fixture
    def reference(self, sottovoce_protocol: str) -> str:
        return sottovoce_protocol
