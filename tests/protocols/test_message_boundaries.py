"""Messages and bounds of surveys and of smaller protocols, tried from both sides."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from math import inf, log2
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

import sottovoce
from sottovoce.messages import MessageError, UsageError, encoded_size
from sottovoce.parties import Records, read_schema
from sottovoce.privacy import BinaryEncoding, Budget, Domain
from sottovoce.privacy.likelihood import log_ratio
from sottovoce.privacy.local import Assignment, DirectEncoding, OptimisedUnary
from sottovoce.privacy.local.bloom import BloomFilters
from sottovoce.privacy.local.clear import ClearAttributes
from sottovoce.protocols import fourier, label_dp, noisy_marginals
from sottovoce.protocols.cost import Public
from sottovoce.protocols.dist_diff_gen.descent import pick_best, specialise
from sottovoce.protocols.dist_diff_gen.disclosure import Disclosure, add_counts, disclose
from sottovoce.protocols.dist_diff_gen.leaves import count_leaves, draw_rows, spread
from sottovoce.protocols.dist_diff_gen.options import Messages
from sottovoce.protocols.dist_diff_gen.plan import SpecialisationPlan
from sottovoce.protocols.dist_diff_gen.scores import choose_together, score_splits
from sottovoce.protocols.lopub.filters import FilterMessages, _read, request
from sottovoce.protocols.noise_replacement import NoiseReplacement, PartyReplacement
from sottovoce.protocols.noise_replacement.rounds import (
    RunningSum,
    batch_of,
    by_owner,
    packing_of,
    plan_round,
    sum_out,
)
from sottovoce.protocols.registry import OWN_PROTOCOLS, find
from sottovoce.protocols.survey import (
    Answer,
    CuratorSurvey,
    MarginalQuestions,
    PartySurvey,
    Question,
    SurveyMessages,
    SurveyOptions,
    number_of_users,
    predict_opening,
    predict_round,
    survey_warnings,
)
from sottovoce.protocols.survey.reading import read_sums
from sottovoce.runs.instance import instantiate
from sottovoce.runs.job import Job


def domain_of(*sizes: int) -> Domain:
    names = "abcdefgh"
    return Domain(
        {name: tuple(map(str, range(size))) for name, size in zip(names, sizes, strict=False)}
    )


def records_of(domain: Domain, codes: Any) -> Records:
    schema = read_schema({name: list(labels) for name, labels in domain.labels.items()})
    table = pd.DataFrame(codes, columns=list(domain.attributes)).astype(str)
    return Records(table, schema=schema)


class Desk:
    """Stand in for a curator who receives given messages and sends nothing."""

    where = None
    min_parties = None
    lost: ClassVar[dict[int, str]] = {}

    def __init__(self, domain: Domain, messages: dict[int, list[Any]]) -> None:
        self.domain = domain
        self.parties = range(1, len(messages) + 1)
        self.sent: list[Any] = []
        self._messages = {rank: list(queue) for rank, queue in messages.items()}

    def gather(self, _: Any) -> list[Any]:
        return [self._messages[rank].pop(0) for rank in self.parties]

    def receive(self, _: Any, *, source: int) -> Any:
        return self._messages[source].pop(0)

    def gather_living(self, _: Any, *, sources: Iterable[int]) -> dict[int, Any]:
        return {rank: self._messages[rank].pop(0) for rank in sources}

    def gather_answers(self, kind: Any, **_: Any) -> dict[int, Any]:
        return self.gather_living(kind, sources=self.parties)

    def require_enough(self, *_: Any, **__: Any) -> None: ...

    def note_batch(self, *_: Any, **__: Any) -> None: ...

    def broadcast(self, message: Any) -> None:
        self.sent.append(message)

    def progress(self, *_: Any, **__: Any) -> None: ...

    def randomness(self, _: str) -> Any:
        return SimpleNamespace(draw=lambda size: bytes(range(size)))


def opened(rows: list[int], *, numbered: Any = (False,), **options: Any) -> CuratorSurvey:
    cohorts: dict[int, list[Any]] = {
        rank: [SurveyMessages.Present(size, numbered[(rank - 1) % len(numbered)])]
        for rank, size in enumerate(rows, start=1)
    }
    desk: Any = Desk(domain_of(2, 3), cohorts)
    return CuratorSurvey(desk, SurveyOptions(**options))


# ---- The curator's side of a survey


@pytest.mark.parametrize(
    ("rows", "numbered", "is_refused"),
    [
        ([1, 5], (False,), False),
        ([1 << 40, 1], (True,), False),
        ([0, 5], (False,), True),
        ([(1 << 40) + 1, 1], (False,), True),
        ([4, 5], (True, False), True),
    ],
)
def test_cohorts_present_themselves(
    rows: list[int], numbered: tuple[bool, ...], is_refused: bool
) -> None:
    if is_refused:
        with pytest.raises(MessageError, match=r"cohorts of 1 to 2\^40 rows, numbered alike"):
            opened(rows, numbered=numbered)
    else:
        survey = opened(rows, numbered=numbered)
        assert survey.users == sum(rows)
        assert len(survey.key) == 16
        assert opened(rows, numbered=numbered, users=7).users == 7


def asked(*users: int) -> list[Question]:
    return [
        Question(
            ("a",) if index % 2 == 0 else ("b",), DirectEncoding(2 + index % 2, epsilon=1.0), size
        )
        for index, size in enumerate(users)
    ]


def test_rounds_follow_one_another() -> None:
    """Users follow those who were asked before; `remaining` come after all of them."""
    survey = opened([60, 40])
    assert survey.remaining == 100
    first = survey.assign(asked(10, 5))
    assert (first.assignment.first, survey.remaining) == (0, 85)
    second = survey.assign(asked(20))
    assert (second.assignment.first, survey.remaining) == (15, 65)
    again = survey.assign(asked(3, 4), starts=[50, 70])
    assert again.assignment.first == 50
    traffic = survey.traffic
    assert (traffic.users, traffic.reports) == (100, 42)
    assert (traffic.least, traffic.most) == (1, 2)
    assert traffic.bits == (10 + 20 + 3) * 1 + (5 + 4) * 2
    plain = survey.traffic_of_reports(12)
    assert (plain.reports, plain.bits, plain.least, plain.most) == (100, 1200, 12, 12)


def sums(users: list[int], support: list[int]) -> SurveyMessages.Sums:
    return SurveyMessages.Sums(np.array(users), np.array(support))


@pytest.mark.parametrize(
    ("users", "support", "match"),
    [
        ([3, 2], [3, 0, 2, 0, 0], ""),
        ([0, 0], [0, 0, 0, 0, 0], ""),
        ([3, 2], [3, 0, 2, 0], "expected 5 counts of users for 2 questions"),
        ([3, 2], [3, 0, 2, 0, 0, 0], "expected 5 counts"),
        ([3], [3, 0, 2, 0, 0], "expected 5 counts"),
        ([-1, 2], [0, 0, 2, 0, 0], "expected 5 counts"),
        ([3, 2], [4, 0, 2, 0, 0], "at most as many users"),
        ([3, 2], [-1, 0, 2, 0, 0], "at most as many users"),
    ],
)
def test_sums_of_a_cohort(users: list[int], support: list[int], match: str) -> None:
    randomizers = tuple(question.randomizer for question in asked(3, 2))
    assignment = Assignment(10, bytes(16), randomizers, np.array([3, 2]))
    if match:
        with pytest.raises(ValueError, match=match):
            read_sums(assignment, sums(users, support))
    else:
        batch = read_sums(assignment, sums(users, support))
        assert batch.last
        assert batch.content.tolist() == support


@pytest.mark.parametrize(
    ("first", "second", "match"),
    [
        ([2, 1], [1, 1], ""),
        ([3, 2], [0, 0], ""),
        ([2, 1], [2, 1], "at most as many users as planned, found more from cohort 2"),
        ([4, 0], [0, 2], "found more from cohort 1"),
        ([1, 1], [1, 1], "expected 5 users to report as planned"),
    ],
)
def test_as_many_users_report_as_planned(first: list[int], second: list[int], match: str) -> None:
    survey = opened([6, 4], simulate="counts")
    plan = survey.assign(asked(3, 2))
    messages = {
        rank: [sums(users, [users[0], 0, users[1], 0, 0])]
        for rank, users in enumerate((first, second), start=1)
    }
    desk: Any = Desk(domain_of(2, 3), messages)
    survey._desk = desk
    if match:
        with pytest.raises(MessageError, match=match):
            survey.collect(plan)
    else:
        answers = survey.collect(plan)
        assert [answer.support.tolist() for answer in answers] == [[3, 0], [2, 0, 0]]
    assert survey.collect(None) == []


def test_malformed_sums_end_a_survey() -> None:
    survey = opened([6, 4], simulate="counts")
    plan = survey.assign(asked(3, 2))
    wrong = sums([1, 1], [2, 0, 0, 0, 0])
    survey._desk = Desk(domain_of(2, 3), {1: [wrong], 2: [wrong]})  # type: ignore[assignment]
    with pytest.raises(MessageError, match="malformed reports from cohort 1"):
        survey.collect(plan)


# ---- A cohort's side of a survey


def cohort(
    rows: list[int], *, users: int, opening: int = 0, number: int = 1, **options: Any
) -> PartySurvey:
    domain = domain_of(2, 3)
    message = SurveyMessages.Opening(np.array(rows), opening or users, bytes(16))
    me: Any = SimpleNamespace(
        min_parties=None,
        records=records_of(domain, [[0, 0]] * 4),
        number=number,
        parties=range(1, 3),
        receive=lambda *_, **__: message,
        send=lambda *_, **__: None,
        where=None,
    )
    return PartySurvey(me, SurveyOptions(**options))


@pytest.mark.parametrize(
    ("rows", "options", "is_refused"),
    [
        ([4, 1], {"users": 5}, False),
        ([4, (1 << 40) - 4], {"users": 1 << 40}, False),
        ([4, (1 << 40) - 3], {"users": (1 << 40) + 1}, True),
        ([4, 0], {"users": 4}, True),
        ([4], {"users": 4}, True),
        ([4, 1, 1], {"users": 6}, True),
        ([3, 2], {"users": 5}, True),
        ([4, 2], {"users": 7}, True),
    ],
)
def test_an_opening_at_its_boundaries(
    rows: list[int], options: dict[str, int], is_refused: bool
) -> None:
    if is_refused:
        with pytest.raises(MessageError, match="malformed Opening"):
            cohort(rows, **options)
    else:
        assert cohort(rows, **options).users == sum(rows)


def test_a_cohort_knows_its_place() -> None:
    """Rows of the second cohort come after those of the first."""
    first = cohort([4, 9], users=13)
    second = PartySurvey(
        SimpleNamespace(  # type: ignore[arg-type]
            min_parties=None,
            records=records_of(domain_of(2, 3), [[0, 0]] * 4),
            number=2,
            parties=range(1, 3),
            receive=lambda *_, **__: SurveyMessages.Opening(np.array([9, 4]), 13, bytes(16)),
            send=lambda *_, **__: None,
            where=None,
        ),
        SurveyOptions(),
    )
    numbers = [next(survey.cohort.windows())[1].tolist() for survey in (first, second)]
    assert numbers == [[0, 1, 2, 3], [9, 10, 11, 12]]


# ---- Forecasts of a survey


@pytest.mark.parametrize("simulate", ["reports", "counts"])
def test_a_round_is_predicted_by_hand(simulate: Any) -> None:
    domain = domain_of(2, 3)
    public = Public(parties=3, rows=50, key_bits=2048, domain=domain)
    options = SurveyOptions(simulate=simulate)
    kind = MarginalQuestions(domain)
    lines = predict_round(public, asked(4, 6), kind, options, phase="x", report_phase="y")
    names = tuple(question.randomizer.name for question in asked(4, 6))
    plan = SurveyMessages.Plan(((0,), (1,)), names, np.array([4, 6]))
    expected = [("x", "Plan", 3, 3 * encoded_size(plan))]
    if simulate == "counts":
        size = encoded_size(sums([0, 0], [0] * 5))
        expected.append(("y", "Sums", 3, 3 * size))
    assert [
        (line.phase, line.kind, line.messages, line.payload_bytes) for line in lines
    ] == expected
    assert len(predict_round(public, [], kind, options, phase="x")) == 1
    (present, opening) = predict_opening(public, options, phase="z")
    assert present.payload_bytes == 3 * encoded_size(SurveyMessages.Present(1, numbered=True))
    message = SurveyMessages.Opening(np.zeros(3, np.int64), 50, bytes(16))
    assert (opening.kind, opening.payload_bytes) == ("Opening", 3 * encoded_size(message))
    assert number_of_users(SurveyOptions(), public) == 50
    assert number_of_users(SurveyOptions(users=9), public) == 9


def test_what_a_survey_gives_up() -> None:
    assert survey_warnings(SurveyOptions()) == []
    assert len(survey_warnings(SurveyOptions(simulate="counts"))) == 1
    assert len(survey_warnings(SurveyOptions(users=5))) == 1
    assert len(survey_warnings(SurveyOptions(users=5, simulate="counts"))) == 2


def test_only_answers_to_one_question_add_up() -> None:
    base = Question(("a",), DirectEncoding(3, epsilon=1.0), 5)
    one = Answer(base, np.array([1, 2, 2]))
    others = [
        Question(("b",), base.randomizer, 5),
        Question(("a",), OptimisedUnary(3, epsilon=1.0), 5),
        Question(("a",), DirectEncoding(4, epsilon=1.0), 5),
    ]
    for other in others:
        with pytest.raises(ValueError, match="answers to one question"):
            one + Answer(other, np.zeros(other.randomizer.cells, np.int64))


@pytest.mark.parametrize("question", [(), (0, 0), (2,), (-1,), (0, 2)])
def test_questions_that_cannot_be(question: tuple[int, ...]) -> None:
    kind = MarginalQuestions(domain_of(2, 3))
    assert (kind.cells((0,)), kind.cells((1, 0)), kind.write(("b", "a"))) == (2, 6, (1, 0))
    with pytest.raises(ValueError, match="questions of different attributes below 2"):
        kind.cells(question)


# ---- Fourier coefficients


@pytest.mark.parametrize("sizes", [(2, 3), (4, 2, 5), (3,), (2, 1, 2)])
@pytest.mark.parametrize("ways", [1, 2])
def test_coefficients_by_enumeration(sizes: tuple[int, ...], ways: int) -> None:
    """All sets of bits that touch at most so many attributes, group by group of attributes.

    Within a group a set is a number for each attribute, the last changing fastest.
    """
    domain = domain_of(*sizes)
    binary = BinaryEncoding(domain)
    bits = binary.bits.attributes
    owner = {bit: name for name in domain.attributes for bit in binary.of(name)}
    expected = {
        frozenset(group)
        for size in range(1, len(bits) + 1)
        for group in combinations(bits, size)
        if len({owner[bit] for bit in group}) <= ways
    }
    masks = fourier.coefficients(domain, ways)[:, 0].tolist()
    found = [frozenset(bit for i, bit in enumerate(bits) if mask >> i & 1) for mask in masks]
    assert set(found) == expected
    assert len(found) == len(expected) == fourier.number_of_coefficients(domain, ways)

    def place(chosen: frozenset[str]) -> tuple[object, ...]:
        numbers = [
            sum(
                2 ** (len(binary.of(name)) - 1 - i)
                for i, bit in enumerate(binary.of(name))
                if bit in chosen
            )
            for name in domain.attributes
        ]
        touched = [i for i, number in enumerate(numbers) if number]
        return len(touched), touched, numbers

    assert found == sorted(found, key=place)


def test_coefficients_of_more_than_64_bits() -> None:
    """Each set of one attribute is a bit of its own, in the second word from bit 64 on."""
    domain = Domain({f"a{number}": ("0", "1") for number in range(70)})
    masks = fourier.coefficients(domain, 2)
    assert masks.shape == (70 + 70 * 69 // 2, 2)
    as_numbers = [int(low) + (int(high) << 64) for low, high in masks]
    assert as_numbers[:70] == [1 << bit for bit in range(70)]
    assert as_numbers[70:] == [(1 << a) + (1 << b) for a, b in combinations(range(70), 2)]


def test_each_user_reports_one_bit_for_a_coefficient() -> None:
    made: Any = instantiate(Job(protocol="fourier", parameters={"epsilon": 0.7}, parties=1))
    assert made.sizes(domain_of(2, 3), 70).tolist() == [10] * 7
    assert made.sizes(domain_of(2, 3), 72).tolist() == [11, 11, 10, 10, 10, 10, 10]
    randomizer = made._randomizer
    assert (randomizer.cells, randomizer.bits, randomizer.epsilon) == (2, 1, 0.7)


def test_the_number_of_coefficients_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    domain = domain_of(2, 3)  # three sets alone, and 1 * 3 of both
    monkeypatch.setattr(fourier, "MAX_COEFFICIENTS", 7)
    assert fourier.number_of_coefficients(domain, 2) == 7
    monkeypatch.setattr(fourier, "MAX_COEFFICIENTS", 6)
    with pytest.raises(
        UsageError, match=r"coefficients .* found b with 3 and a with 2: .* --set ways=1"
    ):
        fourier.number_of_coefficients(domain, 2)
    with pytest.raises(UsageError, match="at least one attribute of two labels"):
        fourier.number_of_coefficients(domain_of(1), 1)


# ---- Packed reports of LoPub and LabelDP

FILTERS = BloomFilters((2, 3), epsilon=40.0, key=bytes(16), hashes=2, bits_per_value=4)
CLEAR = ClearAttributes((3, 4), labels=2, epsilon=1.0)


@pytest.mark.parametrize(
    ("users", "bits", "size", "last", "match"),
    [
        (2, 2, 0, False, ""),
        (0, 0, 0, True, ""),
        (0, 0, 0, False, "bits of each of some users"),
        (-1, 0, 0, True, "bits of each of some users"),
        (1 << 40, 0, 0, True, "bits of each of some users"),
        (2, 1, 0, False, "bits of each of some users"),
        (2, 2, 1, False, "bytes of reports"),
        (2, 2, -1, False, "bytes of reports"),
    ],
)
@pytest.mark.parametrize("kind", ["filters", "clear"])
def test_packed_reports_at_their_boundaries(
    kind: str, users: int, bits: int, size: int, last: bool, match: str
) -> None:
    """`bits` counts reports, and `size` is what the bytes are off by."""
    of_user = FILTERS.bits if kind == "filters" else CLEAR.bits
    packed = np.zeros(max(0, -(-bits * of_user // 8) + size), np.uint8)
    if kind == "filters":
        report: Any = FilterMessages.Reports(users, bits * of_user, packed, last)
        read: Any = lambda: _read(report, FILTERS)  # noqa: E731 - one of two
    else:
        report = label_dp.LabelDP.Clear(users, bits * of_user, packed, last)
        read = lambda: label_dp._read(report, CLEAR)  # noqa: E731 - one of two
    if match:
        with pytest.raises(ValueError, match=match):
            read()
    else:
        batch = read()
        assert (batch.users.tolist(), batch.last) == ([users], last)


def test_what_filters_are_asked() -> None:
    domain = domain_of(2, 3)
    asked_for = request(FILTERS, domain, ("a", "b"))
    assert asked_for.attributes == (0, 1)
    assert (asked_for.hashes, asked_for.bits_per_value) == (2, 4)
    assert asked_for.turned / 2**asked_for.digits == pytest.approx(float(FILTERS.flips))


def test_pairs_of_lopub_have_a_bounded_size() -> None:
    """A label has 2^12 values at most, and a pair 2^20 cells."""
    made: Any = instantiate(Job(protocol="lopub", parameters={"epsilon": 50.0}, parties=1))
    asked_for, filters = made.filters(domain_of(4, 1, 3), key=bytes(16))
    assert asked_for == ("a", "c")
    assert isinstance(filters, BloomFilters)
    assert made.filters(domain_of(1024, 1024), key=bytes(16))[0] == ("a", "b")
    assert made.filters(domain_of(4096, 2), key=bytes(16))[0] == ("a", "b")
    for sizes in ((4097, 2), (1025, 1024)):
        with pytest.raises(UsageError, match=r"pairs of attributes with fewer .* --drop a, "):
            made.filters(domain_of(*sizes), key=bytes(16))
    with pytest.raises(UsageError, match="at least one attribute of two labels"):
        made.filters(domain_of(1, 1), key=bytes(16))


def test_what_label_dp_sends() -> None:
    """The label is the last attribute, and attributes of one label are left out."""
    made: Any = instantiate(Job(protocol="label-dp", parameters={"epsilon": 0.7}, parties=1))
    label, names, encoding = made.encoding(domain_of(3, 1, 2, 4))
    assert (label, names) == ("d", ("a", "c"))
    assert tuple(encoding.sizes) == (3, 2)
    assert encoding.label.cells == 4
    assert encoding.label.epsilon == 0.7
    public = Public(parties=1, rows=5, key_bits=2048, domain=None)
    assert made.warnings(public) == [label_dp.LEAK]


# ---- Noise replacement

TRIPLE = domain_of(2, 3, 4)


def test_a_table_is_summed_out() -> None:
    table = np.arange(24).reshape(2, 3, 4)
    found = sum_out(table, family=("c", "a"), source=("a", "b", "c"))
    assert found.shape == (4, 2)
    for a in range(2):
        for c in range(4):
            assert found[c, a] == sum(int(table[a, b, c]) for b in range(3))
    same = sum_out(table, family=("a", "b", "c"), source=("a", "b", "c"))
    assert (same == table).all()


def running(owner: int, contributors: tuple[int, ...], noise: int) -> RunningSum:
    return RunningSum(np.zeros(0, np.int64), owner, contributors, noise)


def test_a_round_continues_the_best_running_sums() -> None:
    """A family continues its own sum, or the one with most contributors that contains it.

    Of equals the smaller one is continued. Summing out adds the noise of several cells.
    """
    sums_before = {
        ("a", "b"): running(1, (1,), 5),
        ("a", "b", "c"): running(2, (1, 2), 7),
        ("b", "c"): running(2, (1, 2), 3),
    }
    families = [("c",), ("a", "b"), ("b",), ("a",)]
    plan = plan_round(sums_before, families, domain=TRIPLE, rows=100, parties=4, epsilon=2.0)
    assert plan.sources == {
        ("c",): ("b", "c"),
        ("a", "b"): ("a", "b"),
        ("b",): ("b", "c"),
        ("a",): ("a", "b", "c"),
    }
    assert plan.families == (("a", "b"), ("a",), ("b",), ("c",))
    assert plan.owners == (1, 2, 2, 2)
    batch = batch_of(6 + 2 + 3 + 4, 4, epsilon=2.0, rows=100, parties=4)
    assert plan.batch == batch
    assert (batch.sensitivity, batch.epsilon, batch.colluding) == (8, 2.0, 0)
    assert plan.noise == batch.bound(shares=False) - 100
    assert plan.bound == 100 + plan.noise + max(5, 7 * 12, 3 * 4, 3 * 3)
    handovers = dict(plan.handovers(3))
    assert set(handovers) == {1, 2}
    assert handovers[1].families == (("a", "b"),)
    assert handovers[2].families == (("a",), ("b",), ("c",))
    assert handovers[2].sources == (("a", "b", "c"), ("b", "c"), ("b", "c"))
    assert {message.bound for message in handovers.values()} == {plan.bound}
    assert by_owner(plan.owners) == [(1, [0]), (2, [1, 2, 3])]


def test_a_bound_fits_into_a_plaintext() -> None:
    assert packing_of((1 << 62) - 1, key_bits=256).width > 62
    with pytest.raises(UsageError, match="expected a bound from 1 to"):
        packing_of(1 << 62, key_bits=256)


def test_a_party_hands_over_only_noise_of_its_own() -> None:
    """A family that it has not counted is refused, and without families nothing is sent."""
    asked_for = [
        NoiseReplacement.Handover((), (), 10),
        NoiseReplacement.Handover((("a",),), (("a", "b"),), 10),
    ]
    me: Any = SimpleNamespace(number=1, receive=lambda *_, **__: asked_for.pop(0), where=None)
    keyed_party: Any = SimpleNamespace(me=me)
    party = PartyReplacement(keyed_party, domain=TRIPLE)
    party.round(2, count=lambda _: np.zeros(1, np.int64), epsilon=1.0)
    with pytest.raises(MessageError, match="expected a family that this party counted"):
        party.round(3, count=lambda _: np.zeros(1, np.int64), epsilon=1.0)


def test_the_first_round_continues_nothing() -> None:
    plan = plan_round({}, [("a",), ("b",)], domain=TRIPLE, rows=50, parties=2, epsilon=1.0)
    assert plan.owners == (0, 0)
    assert plan.bound == 50 + plan.noise
    assert plan.handovers(1) == []
    assert plan.batch.sensitivity == 4


# ---- Noisy marginals


@pytest.mark.parametrize(
    ("ways", "numbers"), [("2,1,2", [1, 2]), (3, [3]), ([2, 1], [1, 2]), ("1", [1])]
)
def test_ways_are_read(ways: Any, numbers: list[int]) -> None:
    assert noisy_marginals.ways_of(ways) == numbers
    refused: tuple[Any, ...] = ("", "0", "1,0", "x", [], 0, -1)
    for wrong in refused:
        with pytest.raises(UsageError, match="expected ways such as 1,2"):
            noisy_marginals.ways_of(wrong)


def test_marginals_are_requested() -> None:
    domain = domain_of(2, 3, 4)
    both = noisy_marginals.requested(domain, ways="1,3", named="")
    assert both == [("a",), ("b",), ("c",), ("a", "b", "c")]
    named = noisy_marginals.requested(domain, ways="1", named="b * a, c")
    assert named == [("b", "a"), ("c",)]
    for wrong, match in (("a*a", "different attributes"), ("a,b,a", "different marginals")):
        with pytest.raises(UsageError, match=match):
            noisy_marginals.requested(domain, ways="1", named=wrong)
    assert noisy_marginals.requested(domain, ways=3, named="") == [("a", "b", "c")]
    with pytest.raises(UsageError, match="up to the 3 attributes of the data, found 4"):
        noisy_marginals.requested(domain, ways=4, named="")


def test_marginals_have_a_bounded_number_of_cells() -> None:
    """The bound is 2^27 cells in all, and the sensitivity is 2 for each marginal."""
    full = domain_of(1 << 14, 1 << 13, 2)
    assert noisy_marginals.requested(full, ways="1", named="a*b") == [("a", "b")]
    with pytest.raises(
        UsageError,
        match=r"marginals with fewer .* found a with 16,384, .*--drop a, .* or fewer marginals",
    ):
        noisy_marginals.requested(full, ways="1", named="a*b,c")
    made: Any = instantiate(
        Job(protocol="noisy-marginals", parameters={"ways": "1,2", "epsilon": 0.5}, parties=2)
    )
    batch = made.batch(domain_of(2, 3, 4), parties=2)
    assert (batch.cells, batch.sensitivity, batch.epsilon) == (9 + 6 + 8 + 12, 12, 0.5)


def test_every_marginal_is_published_by_its_counts() -> None:
    """At epsilon 1,000 the noise of six tables is below one with a probability of e^-80."""
    generator = np.random.default_rng(1)
    columns = {
        name: generator.integers(0, size, 80) for name, size in zip("abc", (2, 3, 4), strict=True)
    }
    table = pd.DataFrame(columns).astype(str)
    result = sottovoce.run(
        "noisy-marginals",
        table,
        parties=2,
        aggregator="masks",
        epsilon=1000.0,
        seed=1,
        judge=False,
        ways="1,2",
        schema={str(name): sorted(set(table[name])) for name in table},
    )
    published = result.marginals
    assert published is not None
    assert len(published) == 9 + 6 + 8 + 12
    for row in published.to_dict("records"):
        selected = np.ones(80, bool)
        for number in (1, 2):
            name = row.get(f"attribute_{number}")
            if isinstance(name, str) and name:
                selected &= (table[name] == str(row[f"value_{number}"])).to_numpy()
        assert row["count"] == selected.sum()


# ---- DistDiffGen


def plan_of(domain: Domain, **more: Any) -> SpecialisationPlan:
    options: dict[str, Any] = {
        "target": domain.attributes[-1],
        "budget": Budget.pure(1.0),
        "specialisations": 4,
        "score": "max",
        "most_cells": 1000,
        **more,
    }
    return SpecialisationPlan(domain, **options)


@pytest.mark.parametrize("score", ["max", "gain"])
def test_scores_by_a_loop(score: Any) -> None:
    generator = np.random.default_rng(1)
    left, right = (generator.integers(0, 5, (30, 3)).astype(float) for _ in range(2))
    left[0] = right[0] = 0.0

    def entropy(counts: Any) -> float:
        total = counts.sum()
        return -sum(c / total * log2(c / total) for c in counts if c) if total else 0.0

    found = score_splits(left, right, score=score)
    for line in range(30):
        both = left[line] + right[line]
        expected = left[line].max() + right[line].max()
        if score == "gain":
            parts = sum(side.sum() * entropy(side) for side in (left[line], right[line]))
            expected = entropy(both) - parts / both.sum() if both.sum() else 0.0
        assert found[line] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("score", "sensitivity"), [("max", 1.0), ("gain", 2.0)])
def test_two_choices_have_the_sensitivity_of_their_sum(score: Any, sensitivity: float) -> None:
    """Gain is rounded to steps, for which the sensitivity is a little larger."""
    scores = [np.array([1.0, 2.0]), np.array([0.0, 1.0, 3.0])]
    choice = choose_together(scores, score=score, epsilon=0.3)
    assert sensitivity <= choice.sensitivity <= sensitivity * (1 + 1e-4)
    assert choice.loss.epsilon == 0.3
    assert len(choice.parts) == 2


def test_the_likelihood_of_choices_and_of_exact_counts() -> None:
    """The ratio of joint choices is the sum of both; exact counts tell neighbours apart."""
    one, other = (
        choose_together([np.array([a, 2.0]), np.array([1.0, 5.0, 3.0])], score="max", epsilon=0.3)
        for a in (1.0, 2.0)
    )
    answer = (0, 2)
    parts = zip(one.parts, other.parts, answer, strict=True)
    expected = sum(log_ratio(*part) for part in parts)
    assert log_ratio(one, other, answer) == pytest.approx(expected)
    assert 0 < abs(expected) <= 0.3
    counts = np.array([1, 2])
    same, different = Disclosure(counts, 6.0, 0.5), Disclosure(counts + 1, 6.0, 0.5)
    assert log_ratio(same, Disclosure(counts.copy(), 6.0, 0.5), counts) == 0.0
    assert log_ratio(same, different, counts) == inf


def test_exact_counts_cost_everything_but_for_the_public() -> None:
    counts = np.array([1, 2])
    disclosure = Disclosure(counts, 6.0, 0.5)
    losses = disclosure.seen
    assert disclosure.loss.epsilon == 0.5
    assert losses.keys() == {"other_party", "curator_and_1"}
    assert {loss.epsilon for loss in losses.values()} == {inf}


def test_party_2_discloses_its_counts_and_party_1_adds_them() -> None:
    domain = domain_of(2, 3, 2)
    plan = plan_of(domain)
    generator = np.random.default_rng(2)
    tables = [
        records_of(domain, np.column_stack([generator.integers(0, s, 20) for s in (2, 3, 2)]))
        for _ in range(2)
    ]
    released: list[Any] = []

    def release(mechanism: Any, *, to: int) -> Any:
        released.append((mechanism, to))
        return np.asarray(mechanism.counts)

    sent: list[Any] = []
    two: Any = SimpleNamespace(
        records=tables[1], release=release, send=lambda message, *, to: sent.append((message, to))
    )
    disclose(two, plan)
    ((mechanism, to),) = released
    assert (mechanism.sensitivity, mechanism.epsilon, to) == (4.0, 0.5, 1)
    assert sent[0][1] == 1
    one: Any = SimpleNamespace(records=tables[0], receive=lambda *_, **__: sent[0][0], where=None)
    added = add_counts(one, plan)
    for name in ("a", "b"):
        exact = sum(table.marginal((name, "c")).reshape(-1, 2) for table in tables)
        assert (added[name] == exact).all()
    for cells in ([0] * 9, [0] * 11, [-1, *[0] * 9]):
        message = Messages.ClassCounts(np.array(cells))
        wrong: Any = SimpleNamespace(
            records=tables[0], receive=lambda *_, m=message, **__: m, where=None
        )
        with pytest.raises(MessageError, match="expected 10 counts of party 2, none below 0"):
            add_counts(wrong, plan)


def test_the_figures_of_a_plan_by_hand() -> None:
    bins = ("[0, 1]", "(1, 2]", "(2, 3]")
    domain = Domain({"x": bins, "y": ("u", "v"), "one": ("w",), "z": ("n", "p", "q")})
    plan = plan_of(domain, budget=Budget.pure(2.0), specialisations=3)
    assert (plan.classes, plan.predictors, plan.numeric) == (3, ("x", "y"), ("x",))
    assert plan.epsilon_of_choice == pytest.approx(2.0 / (2 * (1 + 6)))
    assert plan.tables.budget == Budget.pure(1.0)
    assert plan.tables.batch.sensitivity == 4
    cuts: Any = {"x": (0, 1, 3), "y": (0, 1, 2)}
    assert plan.leaf_cells(cuts) == 12
    leaves = plan.leaves(cuts)
    assert (leaves.cells, leaves.sensitivity, leaves.epsilon) == (12, 2, 1.0)
    assert plan.summary(cuts).startswith("2 of 3: most_cells=1000")
    assert plan.summary({"x": (0, 1, 2, 3), "y": (0, 1, 2)}) == "3"
    single = plan_of(domain, specialisations=5)
    assert single.summary({"x": (0, 1, 2, 3), "y": (0, 1, 2)}) == (
        "3 of 5: every range is a single label"
    )
    assert [plan_of(domain, specialisations=h).certain_specialisations for h in (2, 3, 9)] == [
        2,
        3,
        3,
    ]
    bounds = [
        plan_of(domain, specialisations=2, most_cells=most).certain_specialisations
        for most in (11, 12)
    ]
    assert bounds == [None, 2]
    assert plan_of(domain, most_cells=3).most_cells == 3
    for more, match in (
        ({"target": "one"}, "two or more labels of the target one"),
        ({"most_cells": 2}, "at least the 3 labels of z, found 2"),
    ):
        with pytest.raises(UsageError, match=match):
            plan_of(domain, **more)


@pytest.mark.parametrize(
    ("borders", "is_refused"),
    [
        (((0, 3), (0, 2)), False),
        (((0, 1, 2, 3), (0, 1, 2)), False),
        (((0, 3),), True),
        (((0, 3), (0, 2), (0, 2)), True),
        (((0, 2), (0, 2)), True),
        (((1, 3), (0, 2)), True),
        (((0, 2, 1, 3), (0, 2)), True),
        (((0, 1, 1, 3), (0, 2)), True),
        (((0,), (0, 2)), True),
    ],
)
def test_cuts_at_their_boundaries(borders: Any, is_refused: bool) -> None:
    plan = plan_of(domain_of(3, 2, 2), specialisations=3, most_cells=12)
    if is_refused:
        with pytest.raises(ValueError, match="expected rising borders"):
            plan.read(borders)
    else:
        assert plan.read(borders) == dict(zip(("a", "b"), borders, strict=True))
    full = ((0, 1, 2, 3), (0, 1, 2))
    for more in ({"specialisations": 2}, {"most_cells": 11}):
        with pytest.raises(ValueError, match="expected at most"):
            plan_of(domain_of(3, 2, 2), **{"specialisations": 3, "most_cells": 12, **more}).read(
                full
            )


def test_leaves_are_counted_by_a_loop() -> None:
    domain = domain_of(4, 3, 2)
    plan = plan_of(domain)
    codes = np.column_stack([np.random.default_rng(3).integers(0, size, 40) for size in (4, 3, 2)])
    cuts: Any = {"a": (0, 1, 3, 4), "b": (0, 2, 3)}
    counts = count_leaves(records_of(domain, codes), plan, cuts).reshape(3, 2, 2)
    for i, (a_low, a_high) in enumerate(((0, 1), (1, 3), (3, 4))):
        for j, (b_low, b_high) in enumerate(((0, 2), (2, 3))):
            for label in range(2):
                inside = [
                    a_low <= a < a_high and b_low <= b < b_high and c == label
                    for a, b, c in codes.tolist()
                ]
                assert counts[i, j, label] == sum(inside)
    drawn = draw_rows(plan, cuts, counts.reshape(-1), generator=np.random.default_rng(1))
    again = count_leaves(records_of(domain, np.column_stack(drawn)), plan, cuts)
    assert (again == counts.reshape(-1)).all()


@pytest.mark.parametrize("seed", range(5))
def test_rounding_moves_no_number_by_one(seed: int) -> None:
    generator = np.random.default_rng(seed)
    values = generator.dirichlet(np.ones(30)) * 100
    rounded = spread(values, 100, generator=generator)
    assert rounded.sum() == 100
    assert (np.abs(rounded - values) < 1 + 1e-5).all()
    assert rounded.min() >= 0


def test_the_best_splits_are_taken_in_order() -> None:
    """The class follows from bins 0 and 1 against 2 and 3, and then from b."""
    bins = ("[0, 1]", "(1, 2]", "(2, 3]", "(3, 4]")
    domain = Domain({"x": bins, "b": ("u", "v", "w"), "z": ("n", "p")})
    tables = {
        "x": np.array([[20.0, 0], [18, 2], [1, 19], [0, 20]]),
        "b": np.array([[15.0, 5], [12, 8], [12, 28]]),
    }
    for h, expected in (
        (1, {"x": (0, 2, 4), "b": (0, 3)}),
        (9, {"x": (0, 1, 2, 3, 4), "b": (0, 1, 2, 3)}),
    ):
        plan = plan_of(domain, specialisations=h, score="gain")
        assert specialise(plan, tables, pick=pick_best) == expected
    narrow = plan_of(domain, specialisations=9, score="gain", most_cells=8)
    cuts = specialise(narrow, tables, pick=pick_best)
    assert narrow.leaf_cells(cuts) <= 8
    assert pick_best([np.array([1.0, 1 + 1e-12, 0.5]), np.array([0.0, 2.0])]) == [0, 1]


# ---- Names of protocols


def test_only_protocols_are_found() -> None:
    for reference, match in (
        ("jtre", "did you mean jtree"),
        ("xyz", "there are adaptive-pairs, aim,"),
        ("sottovoce.privacy:Domain", "a subclass of sottovoce.Protocol"),
        ("sottovoce.protocols.registry:OWN_PROTOCOLS", "a subclass of sottovoce.Protocol"),
    ):
        with pytest.raises(UsageError, match=match):
            find(reference)


# ---- Defaults


def test_without_a_setting_epsilon_is_one() -> None:
    """A claim that nobody set is epsilon 1.

    Only the ceiling without privacy claims nothing, and a schema is a tenth of what a run may cost.
    """
    others = {"no-priv-jtree": inf, "private-schema": 0.1}
    for name in OWN_PROTOCOLS:
        required = {"noisy-marginals": {"marginals": "a*b"}}.get(name, {})
        protocol = instantiate(Job(protocol=name, parameters=required, parties=2))
        assert protocol.epsilon == others.get(name, 1.0)
        assert find(name).name == name


@pytest.mark.parametrize(
    ("protocol", "constants"),
    [
        ("jtree", {"phi": 0.2, "delta": 1e-9, "least": 0.05, "sample": True}),
        ("privincr", {"phi": 0.3, "alpha": 0.05, "graph_users": 0.5, "synthetic_rows": 100_000}),
        ("lopub", {"phi": 0.3, "hashes": 5, "bits_per_value": 8, "iterations": 300}),
        ("dp-ccbn", {"theta": 6.0, "most_parents": 2}),
        ("calm", {"theta": 1e-4, "ways": 2, "synthetic_rows": 100_000}),
        ("fourier", {"ways": 2}),
        ("clldp-joint", {"sample": 0.1, "heads": 0}),
        ("clldp-decision-tree", {"depth": 0}),
        ("independent", {"beta": 0.3, "theta": 4.0, "most_parents": 3}),
        ("dp-subn", {"updates": 1, "largest_view": 12, "block": 8}),
    ],
)
def test_constants_are_those_of_the_specification(
    protocol: str, constants: dict[str, float]
) -> None:
    """JTree takes phi 0.2, PrivIncr phi 0.3, alpha 0.05 and half of the users for the graph."""
    made: Any = instantiate(Job(protocol=protocol, parameters={}, parties=2))
    assert {name: getattr(made.parameters, name) for name in constants} == constants
    public = Public(parties=2, rows=900, key_bits=2048, domain=domain_of(2, 3, 2))
    assert all(line.messages > 0 for line in made.predict(public) or [])
