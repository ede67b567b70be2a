"""FT: the Fourier coefficients of users' bits (InpHT of Cormode, Kulkarni, Srivastava 2018).

    trust       nobody: every user randomizes one bit
    who learns  the curator and everyone: one noisy coefficient for each set of bits of at most
                `ways` attributes
    privacy     epsilon for each user, who reports once
    cost        one bit a user; which coefficient it is for is public

1. Attribute i is written in b_i = ceil(log2 c_i) bits. T is the list of all sets alpha of bits that
   lie in at most k = `ways` attributes.
2. Each user gets one alpha, and reports (-1)^<alpha, x>, with its sign turned with probability
   1 / (e^epsilon + 1).
3. theta_alpha is the mean of the reports, times (e + 1) / (e - 1) with e = e^epsilon. theta of the
   empty set is 1.
4. A marginal of k attributes with b bits is P(x) = 2^-b sum of theta_alpha (-1)^<alpha, x> over the
   alpha within it, a Walsh-Hadamard transform. Codes without a label are dropped, and the other
   cells are made a distribution.

CALM and PrivIncr are compared with it. A coefficient has variance |T| / N ((e + 1) / (e - 1))^2.
It does not vanish for large epsilon, because every user reports one bit. The paper draws alpha for
each user; here users are divided evenly, so the group sizes differ by one user at most.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, combinations, product
from math import prod
from typing import Final

import numpy as np

from ..curator import Curator, Marginal
from ..curator.marginal import Numbers
from ..curator.projections import norm_sub
from ..curator.shrinkage import NoisyTable
from ..messages import UsageError
from ..parties import Party, Records
from ..parties.user_values import ValueFunction, parity_values
from ..privacy import BinaryEncoding, Domain
from ..privacy.local.direct import GroupedDirectEncoding
from ..privacy.local.hadamard import walsh_hadamard
from ..privacy.many_labels import too_many_labels
from .cost import Cost, Public
from .local import Interval, Ways, check_marginals, user_counts
from .options import Confidence, Mode
from .outcome import Outcome
from .survey import (
    CuratorSurvey,
    PartySurvey,
    Question,
    SurveyOptions,
    SurveyProtocol,
    predict_survey,
    questions_by_weight,
)

__all__ = ["Fourier", "by_attributes", "coefficients", "estimate_marginal"]

MAX_COEFFICIENTS: Final = 2_000_000


class FourierParameters(SurveyOptions):
    ways: Ways = 2
    confidence: Confidence = 0.95


class ParityQuestions:
    """Questions for the parity of some bits; a question is written as numbers of bits."""

    def __init__(self, domain: Domain) -> None:
        bits = BinaryEncoding(domain).bits.attributes
        self._numbers = {bit: number for number, bit in enumerate(bits)}

    def write(self, attributes: tuple[str, ...]) -> tuple[int, ...]:
        return tuple(self._numbers[bit] for bit in attributes)

    def cells(self, question: tuple[int, ...]) -> int:
        bits = len(self._numbers)
        if (
            not question
            or not 0 <= min(question) <= max(question) < bits
            or len(set(question)) < len(question)
        ):
            raise ValueError(f"expected sets of bits below {bits}, found {question}")
        return 2

    def values(self, records: Records, questions: Sequence[tuple[int, ...]]) -> ValueFunction:
        return parity_values(records, list(questions))


class Fourier(SurveyProtocol[FourierParameters]):
    """Ask each user for one Fourier coefficient."""

    name = "fourier"
    summary = "all marginals of a few attributes, by one bit a user"
    paper = "Cormode et al. 2018 (InpHT); FT in Zhang et al. 2018 (CALM)"
    goes_on = True

    def __init__(self, parameters: FourierParameters, *, mode: Mode) -> None:
        super().__init__(parameters, mode=mode)
        self._randomizer = GroupedDirectEncoding(2, epsilon=parameters.epsilon)

    def questions(self, domain: Domain, users: int) -> list[Question]:
        """Ask as many users for each coefficient (step 1)."""
        check_marginals(domain, min(self.parameters.ways, len(domain.attributes)))
        wanted = coefficients(domain, self.parameters.ways)
        if len(wanted) > users:
            raise UsageError(
                f"expected at least a user for each of {len(wanted):,} Fourier coefficients of "
                f"{len(domain.attributes)} attributes, found {users:,} users: "
                f"--set ways={max(self.parameters.ways - 1, 1)}, fewer attributes, or calm"
            )
        return questions_by_weight(users, dict.fromkeys(wanted, 1.0), lambda _: self._randomizer)

    def party(self, me: Party) -> None:
        with me.phase("plan"):
            survey = PartySurvey(me, self.parameters)
            kind = ParityQuestions(me.records.domain)
            plan = survey.plan(kind, randomizer=lambda _: self._randomizer)
        # 2. Users report by randomized response whether their parity is odd.
        with me.phase("reports"):
            survey.answer(plan)

    def curator(self, desk: Curator) -> Outcome:
        domain = desk.domain
        with desk.phase("plan"):
            survey = CuratorSurvey(desk, self.parameters)
            plan = survey.plan(self.questions(domain, survey.users), ParityQuestions(domain))
        with desk.phase("reports"):
            answers = survey.collect(plan)
        with desk.phase("reconstruction"):
            # 3. An odd parity counts -1: theta = 1 - 2 Pr[odd].
            users = np.array([answer.question.users for answer in answers])
            support = np.array([answer.support for answer in answers])
            odd = self._randomizer.estimate_groups(support, users=users)[:, 1]
            ways = min(self.parameters.ways, len(domain.attributes))
            theta = by_attributes(domain, 1 - 2 * odd, ways=ways)
            # A report is +1 or -1 times (e + 1) / (e - 1): its noise, and the choice of users.
            of_one = 4 * self._randomizer.variance() + 1
            variances = by_attributes(domain, of_one / users, ways=ways)
            # 4.
            estimates = [
                estimate_marginal(domain, attributes, theta, variances)
                for attributes in combinations(domain.attributes, ways)
            ]
            tables = [
                Marginal(estimate.table.attributes, norm_sub(estimate.table.values))
                for estimate in estimates
            ]
            confidence = self.parameters.confidence
            intervals = [Interval.around(table, confidence=confidence) for table in estimates]
        return Outcome(
            marginals=user_counts(domain, tables, intervals, users=survey.reporting),
            summary={
                "users": survey.reporting,
                "coefficients": len(answers),
                "marginals": len(tables),
                "interval": f"low to high, confidence {confidence:.4g} for each count",
            },
            user_traffic=survey.traffic,
        )

    def predict(self, public: Public) -> list[Cost]:
        return predict_survey(public, self.parameters, self.questions, ParityQuestions)


def coefficients(domain: Domain, ways: int) -> list[tuple[str, ...]]:
    """List all sets of bits, but the empty one, that lie in at most so many attributes."""
    binary = BinaryEncoding(domain)
    subsets = {name: _subsets(binary.of(name)) for name in domain.attributes}
    groups = list(
        chain.from_iterable(combinations(domain.attributes, size) for size in range(1, ways + 1))
    )
    number = sum(prod(len(subsets[name]) for name in group) for group in groups)
    if not number:
        raise UsageError("expected at least one attribute of two labels or more, found none")
    if number > MAX_COEFFICIENTS:
        fewer = f"--set ways={ways - 1}" if ways > 1 else ""
        raise UsageError(
            too_many_labels("Fourier coefficients of marginals", domain, otherwise=fewer)
        )
    return [
        tuple(chain.from_iterable(parts))
        for group in groups
        for parts in product(*(subsets[name] for name in group))
    ]


def by_attributes(domain: Domain, values: Numbers, *, ways: int) -> dict[tuple[str, ...], Numbers]:
    """Part a value of each coefficient, in the order of `coefficients`, by sets of attributes.

    The values of a set have an axis for each attribute, with a place for each set of its bits but
    the empty one.
    """
    widths = zip(domain.attributes, BinaryEncoding(domain).widths, strict=True)
    sides = {name: (1 << width) - 1 for name, width in widths}
    parts, start = {}, 0
    for size in range(1, ways + 1):
        for group in combinations(domain.attributes, size):
            shape = [sides[name] for name in group]
            parts[group] = values[start : start + prod(shape)].reshape(shape)
            start += prod(shape)
    return parts


def estimate_marginal(
    domain: Domain,
    attributes: Sequence[str],
    theta: Mapping[tuple[str, ...], Numbers],
    variances: Mapping[tuple[str, ...], Numbers],
) -> NoisyTable:
    """Transform the coefficients within these attributes to their marginal, without bias.

    Both arguments are parted `by_attributes`. All cells have one variance: the sum of the
    coefficients' over the square of their number.
    """
    binary = BinaryEncoding(domain)
    # alpha as a number has the same bits as a code, so <alpha, x> counts the bits of both.
    spectrum = np.ones([1 << len(binary.of(name)) for name in attributes])
    variance = 0.0
    for size in range(1, len(attributes) + 1):
        for group in combinations(attributes, size):
            within = tuple(slice(1, None) if name in group else 0 for name in attributes)
            spectrum[within] = theta[group]
            variance += float(variances[group].sum())
    variance /= spectrum.size**2
    table = walsh_hadamard(spectrum.reshape(-1)).reshape(spectrum.shape) / spectrum.size
    cells = table[tuple(slice(size) for size in domain.shape(attributes))]
    return NoisyTable(Marginal(tuple(attributes), cells), variance, 0.0)


def _subsets(bits: Sequence[str]) -> list[tuple[str, ...]]:
    """List all sets of these bits but the empty one; set i has the bits of the number i."""
    width = len(bits)
    return [
        tuple(bit for place, bit in enumerate(bits) if number >> (width - 1 - place) & 1)
        for number in range(1, 1 << width)
    ]
