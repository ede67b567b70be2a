"""The rules that every protocol keeps, as a test class.

One line is enough for the author:

    class TestMine(ProtocolConformance):
        protocol = "my_package:MyProtocol"

It may name its own table and parameters: `data = "people.csv"`, `schema = "schema.json"`,
`parameters = {"clusters": 4}`, `parties`, `rows`.

No line is needed with `pytest --pyargs sottovoce.launch.conformance --sottovoce-protocol
my_package:MyProtocol`, which has an option for each of these (`launch.pytest_plugin`). Tests that
start MPI are skipped, with the reason, where there is no mpiexec.
"""

from __future__ import annotations

import contextlib
from typing import Any, Final

import msgspec
import pytest

from ..messages import PeerLostError, SottovoceError, UsageError, decode, to_bytes
from ..messages.message import message_fields
from ..privacy import coalition, with_curator
from ..protocols.registry import find
from ..report.not_accounted import rehearsal_texts
from ..runs.instance import instantiate
from ..runs.settings import OPTIONS
from .conformance_runs import SuiteRuns
from .conformance_tables import (
    OtherRecords,
    other_records,
    remove_one_record,
    replace_one_record,
)
from .pytest_plugin import ChosenProtocol
from .random_values import names_randomness
from .rehearsal import rehearse
from .release_scope import scope_violation
from .release_totals import epsilon_of_releases, releases_by_user
from .result import Run

__all__ = ["ProtocolConformance"]

SENT: Final = "test_nothing_of_a_record_is_sent_without_a_release"
OTHER_SEEDS: Final = (21, 22, 23, 24, 25, 26)
CHANGED: Final = "test_one_record_changes_no_more_than_the_sensitivity"


class ProtocolConformance(SuiteRuns):
    """The suite. Subclass it under a name that starts with Test and set `protocol`.

    A base of several suites says `__test__ = False`.
    """

    __test__ = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.__test__ = vars(cls).get("__test__", True)

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Try each law of releases on all other tables of this suite."""
        if metafunc.function.__name__ == SENT:
            metafunc.parametrize("kind", self.kinds)
        if metafunc.function.__name__ == CHANGED:
            metafunc.parametrize("seed", self.seeds)

    @pytest.fixture
    def reference(self) -> str:
        return self.protocol

    def test_it_says_what_it_is(self, reference: str) -> None:
        kind = find(reference)
        assert kind.name
        assert kind.summary, "expected a summary of what the protocol publishes"
        assert kind.trust, "expected trust: who is trusted with what"
        assert kind.__doc__ or kind.summary

    def test_every_message_travels(self, reference: str) -> None:
        for kind in find(reference).kinds():
            with contextlib.suppress(ValueError):  # `validate` may refuse an empty message
                message = kind(*(field.sample() for field in message_fields(kind).values()))
                assert decode(kind, memoryview(to_bytes(message))) == message

    def test_same_bytes_on_every_transport(self, reference: str) -> None:
        threads = self._usual_run(reference)
        assert threads.report["transcript"]
        virtual = self._run(reference, transport="virtual", network="wan")
        assert threads.report["transcript"] == virtual.report["transcript"], (
            "the run is not reproducible by its seed"
        )
        others = [virtual, self._with_mpi(reference)] if self.over_mpi else [virtual]
        for other in others:
            assert threads.report["transcript"] == other.report["transcript"]
            for name in threads.files.keys() - {"report.json", "ledger.csv"}:
                assert threads.files[name] == other.files[name], name

    def test_another_seed_says_something_else(self, reference: str) -> None:
        """Noise depends on the seed, so two seeds must give different messages."""
        usual = self._usual_run(reference)
        if usual.report["privacy"]["releases"]:
            # An answer with few outcomes, such as a choice, may come out alike under some seeds.
            transcripts = (
                self._run(reference, seed=seed).report["transcript"] for seed in OTHER_SEEDS
            )
            assert any(each != usual.report["transcript"] for each in transcripts), (
                f"messages are the same under {len(OTHER_SEEDS)} other seeds, so they have no "
                "noise, or noise that does not follow from me.randomness or the release's stream. "
                "If an answer is nearly certain on these records, give the suite fewer records or "
                "a smaller epsilon (parameters)"
            )

    def test_the_ledger_balances(self, reference: str) -> None:
        usual = self._usual_run(reference)
        ledger, sums = usual.ledger, usual.report["communication"]
        assert sums["messages"] == len(ledger)
        assert sums["frame_bytes"] == int(ledger["frame_bytes"].sum())
        for by in ("by_phase", "by_edge", "by_kind"):
            assert sum(part["frame_bytes"] for part in sums[by].values()) == sums["frame_bytes"]
        assert (ledger["frame_bytes"] >= ledger["payload_bytes"] + 32).all()
        assert sums["rounds"] == int(ledger["round"].max())

    def test_the_predicted_cost_is_right(self, reference: str) -> None:
        predicted = self._usual_run(reference).report["communication"]["predicted"]
        for line in predicted or []:
            assert line["messages"] == line["measured_messages"]
            spare = line["payload_bytes"] - line["measured_payload_bytes"]
            assert spare >= 0 if line["at_most"] else spare == 0

    def test_every_release_is_accounted_for(self, reference: str) -> None:
        privacy = self._usual_run(reference).report["privacy"]
        # The claim is the word for infinity where the protocol claims nothing.
        claimed, delta = float(privacy["claimed_epsilon"]), privacy["claimed_delta"]
        for party, losses in privacy["by_party"].items():
            groups = releases_by_user(
                [release for release in privacy["releases"] if str(release["party"]) == party]
            )
            for view, epsilon in losses.items():
                seen = max(epsilon_of_releases(releases, view, delta=delta) for releases in groups)
                assert float(epsilon) == pytest.approx(seen)
            spent = max(epsilon_of_releases(releases, delta=delta) for releases in groups)
            assert spent <= claimed * (1 + 1e-9)
        if self.mode == "rigorous":
            threshold = privacy["claimed_coalition"]
            largest = self.parties - 1 if threshold is None else threshold
            sizes = range(1, largest + 1)
            covered = ["public", "curator", *map(coalition, sizes)]
            if threshold is None or privacy["claimed_with_curator"]:
                covered += map(with_curator, sizes)
            for view in covered:
                worst = max(float(losses.get(view, 0.0)) for losses in privacy["by_party"].values())
                assert worst <= claimed * (1 + 1e-9), view

    def test_nothing_is_left_out_of_the_accounts(self, reference: str) -> None:
        """Every party's part is played again on other records, and so is a rehearsal of it."""
        assert self._usual_run(reference).reported.report.privacy.not_accounted == []
        rehearsal = rehearse(self._job(reference), seconds=self.rehearsal_seconds)
        assert rehearsal.failure is None, rehearsal.failure
        assert not rehearsal.unaccounted, rehearsal_texts(rehearsal)

    def test_nothing_of_a_record_is_sent_without_a_release(
        self, reference: str, kind: OtherRecords, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """With other records and the same answers of all releases, every message is the same.

        The number of records is the same where it is public, that is unless neighbouring datasets
        differ by one record more or less. The domain is public, too.

        The test cannot see a plug-in mechanism with too little noise, nor anything that is kept
        from one run to the next.
        """
        tables, options = self._tables(reference)
        others = [other_records(table, kind, seed=seed) for seed, table in enumerate(tables)]
        if find(reference).neighbours == "add-or-remove-one":
            others = [table.iloc[:-7] for table in others]
        recorded, replayed, _ = self._replayed_run(
            reference, tables, others, monkeypatch, **options
        )
        assert replayed.report["transcript"] == recorded.report["transcript"], (
            "messages depend on records without a release"
        )
        assert _of_releases(replayed) == _of_releases(recorded), (
            "what is released depends on records"
        )
        for key in ("warnings", "outcome"):
            assert replayed.report[key] == recorded.report[key], (
                f"{key} depend on records without a release"
            )
        assert _phases(replayed) == _phases(recorded), "the names of phases depend on records"
        columns = [name for name in recorded.ledger.columns if not name.endswith("_at")]
        assert recorded.ledger[columns].equals(replayed.ledger[columns]), (
            "the order of messages depends on records"
        )
        for name in recorded.files.keys() - {"report.json", "ledger.csv"}:
            assert replayed.files[name] == recorded.files[name], (
                f"{name} depends on records without a release"
            )

    def test_one_record_changes_no_more_than_the_sensitivity(
        self, reference: str, seed: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """One record changes no exact answer by more than the stated sensitivity.

        It is replaced, or removed where neighbouring datasets differ by a record more or less.
        Earlier releases answer the same in both runs. A release that names users or a part of the
        records changes only if the record is one of theirs (`release_scope`).

        Each mechanism shows its exact value, and in which norm its sensitivity bounds the change
        (`privacy.exact_value`). A mechanism that does not show it fails.
        """
        tables, options = self._tables(reference)
        kind = self._variant(reference)
        removes = kind.neighbours == "add-or-remove-one"
        others = (remove_one_record if removes else replace_one_record)(tables, seed=seed)
        _, _, tape = self._replayed_run(reference, tables, others, monkeypatch, **options)
        for first, second in zip(tape.recorded, tape.replayed, strict=True):
            name = first.mechanism
            assert name == second.mechanism
            size = first.change(second)
            if removes and size > first.sensitivity and names_randomness(kind):
                pytest.skip("its part draws for rows, and a record less moves the draws of others")
            assert size <= first.sensitivity * (1 + 1e-9), (
                f"{name} in a run: sensitivity {first.sensitivity}, found a change of {size}"
            )
        violation = scope_violation(tape)
        assert violation is None, violation

    @pytest.mark.parametrize("side", ["party", "curator"])
    def test_a_role_that_fails_ends_all(
        self, reference: str, side: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        kind = self._variant(reference)

        def fail(*_: object) -> None:
            raise RuntimeError("made to fail")

        monkeypatch.setattr(kind, side, fail)
        with pytest.raises(SottovoceError, match="made to fail") as caught:
            self._run(reference)
        assert f"in {kind.name}" in str(caught.value)
        assert ("rank 0 (curator)" in str(caught.value)) == (side == "curator")

    def test_it_goes_on_without_a_lost_party_if_it_says_so(self, reference: str) -> None:
        """With `goes_on` it outlives the loss of a party at any moment, and says what that cost."""
        lasting = {"on_loss": "continue"}
        try:
            goes_on = instantiate(msgspec.structs.replace(self._job(reference), **lasting)).goes_on
        except UsageError as refusal:
            pytest.skip(f"it needs all parties: {refusal}")
        if not goes_on or self.parties < 3:
            pytest.skip("it needs all parties")
        undisturbed = self._run(reference, **lasting)
        assert undisturbed.report["losses"] == []
        party = min(2, self.parties)
        messages = int((undisturbed.ledger["sender"] == f"party {party}").sum())
        for sent in self._moments(messages):
            fault = f"party {party} dies after {sent} messages"
            try:
                report = self._run(reference, **lasting, fault=[fault]).report
            except PeerLostError as ended:
                # Of a few users all who were asked one question may be with the lost party.
                if "expected reports on every question" in str(ended):
                    continue
                raise
            privacy, claimed = report["privacy"], float(report["privacy"]["claimed_epsilon"])
            assert privacy["not_accounted"] == [], fault
            for by_view in privacy["by_party"].values():
                assert float(by_view["public"]) <= claimed * (1 + 1e-9), fault
            for loss in report["losses"]:
                assert loss["party"] == party, fault
                if not loss["batches_with"] and not loss["turns"]:
                    spent = privacy["by_party"][str(party)]
                    assert float(spent["curator"]) == float(spent["public"]) == 0.0, fault


def _of_releases(run: Run) -> dict[str, Any]:
    """Give what a report says of privacy, but for how many tables the time sufficed to try."""
    return {key: value for key, value in run.report["privacy"].items() if key != "check"}


def _phases(run: Run) -> list[tuple[str, int]]:
    return [(phase["name"], phase["bytes"]) for phase in run.report["phases"]]


class TestNamedProtocol(ProtocolConformance):
    """The suite on the protocol that the command line names, with its table and its parameters."""

    @pytest.fixture
    def reference(self, sottovoce_protocol: ChosenProtocol) -> str:
        suite, chosen = TestNamedProtocol, sottovoce_protocol
        suite.parties, suite.rows = chosen.parties, chosen.rows
        suite.parameters = {
            name: msgspec.convert(text, OPTIONS[name], strict=False) if name in OPTIONS else text
            for name, text in chosen.parameters.items()
        }
        suite.data, suite.schema = chosen.data, chosen.schema
        return chosen.reference
