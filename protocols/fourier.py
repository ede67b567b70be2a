"""FT: the Fourier coefficients of users' bits (InpHT of Cormode, Kulkarni, Srivastava 2018).

    trust       nobody: every user randomizes one bit
    who learns  the curator and everyone: one noisy coefficient for each set of bits of at most
                `ways` attributes
    privacy     epsilon for each user, who reports once
    cost        one bit a user; which coefficient it is for is public

1. Attribute i is written in b_i = ceil(log2 c_i) bits. T is the list of all sets alpha of bits that
   lie in at most k = `ways` attributes. It follows from the schema, so everyone makes it.
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

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from itertools import chain, combinations
from math import prod
from typing import Annotated, Final, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..curator import Curator, Marginal
from ..curator.marginal import Numbers
from ..curator.projections import norm_sub
from ..curator.shrinkage import NoisyTable
from ..messages import Shape, UsageError, message
from ..parties import Party
from ..parties.user_values import parity_values
from ..privacy import BinaryEncoding, Domain
from ..privacy.local.direct import GroupedDirectEncoding
from ..privacy.local.hadamard import walsh_hadamard
from ..privacy.many_labels import too_many_labels
from .cost import Cost, Public
from .local import Interval, Ways, check_marginals, user_counts
from .options import Confidence, Mode
from .outcome import Outcome
from .survey import (
    CohortPlan,
    CuratorSurvey,
    PartySurvey,
    SurveyMessages,
    SurveyOptions,
    SurveyProtocol,
    number_of_users,
    predict_opening,
    with_each_cohort,
)

__all__ = ["Fourier", "by_attributes", "coefficients", "estimate_marginal"]

MAX_COEFFICIENTS: Final = 2_000_000

PartT = TypeVar("PartT")
Masks: TypeAlias = NDArray[np.uint64]
"""A row of words for each set of bits."""


class FourierParameters(SurveyOptions):
    ways: Ways = 2
    confidence: Confidence = 0.95


class FourierMessages:
    """The message of FT beside those of every survey."""

    @message
    class Sizes:
        """The number of users for each coefficient, in the order of `coefficients`."""

        users: Annotated[NDArray[np.int64], Shape(None)]


class Fourier(SurveyProtocol[FourierParameters]):
    """Ask each user for one Fourier coefficient."""

    name = "fourier"
    summary = "all marginals of a few attributes, by one bit a user"
    paper = "Cormode et al. 2018 (InpHT); FT in Zhang et al. 2018 (CALM)"
    goes_on = True
    uses = (*SurveyProtocol.uses, FourierMessages)

    def __init__(self, parameters: FourierParameters, *, mode: Mode) -> None:
        super().__init__(parameters, mode=mode)
        self._randomizer = GroupedDirectEncoding(2, epsilon=parameters.epsilon)

    def sizes(self, domain: Domain, users: int) -> NDArray[np.int64]:
        """Divide the users evenly among the coefficients; the first get one more (step 2)."""
        check_marginals(domain, min(self.parameters.ways, len(domain.attributes)))
        wanted = number_of_coefficients(domain, self.parameters.ways)
        if wanted > users:
            fewer = _fewer_ways(domain, self.parameters.ways, end=", ")
            raise UsageError(
                f"expected at least a user for each of {wanted:,} Fourier coefficients of "
                f"{len(domain.attributes)} attributes, found {users:,} users: "
                f"{fewer}fewer attributes, or calm"
            )
        return users // wanted + (np.arange(wanted) < users % wanted)

    def party(self, me: Party) -> None:
        with me.phase("plan"):
            survey = PartySurvey(me, self.parameters)
            # 1. A cohort lists the coefficients itself, and learns only the numbers of users.
            masks = coefficients(me.records.domain, self.parameters.ways)
            values = parity_values(me.records, masks)

            def check(sizes: FourierMessages.Sizes) -> CohortPlan:
                return survey.assign((self._randomizer,) * len(masks), sizes.users, values)

            plan = survey.receive(FourierMessages.Sizes, check)
        # 2. Users report by randomized response whether their parity is odd.
        with me.phase("reports"):
            survey.answer(plan)

    def curator(self, desk: Curator) -> Outcome:
        domain = desk.domain
        with desk.phase("plan"):
            survey = CuratorSurvey(desk, self.parameters)
            sizes = self.sizes(domain, survey.users)
            desk.broadcast(FourierMessages.Sizes(sizes))
            assignment = survey.assign_groups((self._randomizer,) * len(sizes), sizes)
        with desk.phase("reports"):
            support = survey.count(assignment).reshape(-1, 2)
        with desk.phase("reconstruction"):
            # 3. An odd parity counts -1: theta = 1 - 2 Pr[odd].
            users = survey.sizes
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
                "coefficients": len(users),
                "marginals": len(tables),
                "interval": f"low to high, confidence {confidence:.4g} for each count",
            },
            user_traffic=survey.traffic,
        )

    def predict(self, public: Public) -> list[Cost]:
        if (domain := public.domain) is None:
            return []
        sizes = self.sizes(domain, number_of_users(self.parameters, public))
        lines = [
            *predict_opening(public, self.parameters, phase="plan"),
            with_each_cohort(public, FourierMessages.Sizes(sizes), phase="plan"),
        ]
        if self.parameters.simulate == "counts":
            sums = SurveyMessages.Sums(sizes, np.zeros(2 * len(sizes), np.int64))
            lines.append(with_each_cohort(public, sums, phase="reports"))
        return lines


def number_of_coefficients(domain: Domain, ways: int) -> int:
    """Count the sets of bits, but the empty one, that lie in at most so many attributes."""
    sides = [(1 << width) - 1 for width in BinaryEncoding(domain).widths]
    number: int = sum(prod(group) for group in _groups(sides, ways))
    if not number:
        raise UsageError("expected at least one attribute of two labels or more, found none")
    if number > MAX_COEFFICIENTS:
        fewer = _fewer_ways(domain, ways)
        raise UsageError(
            too_many_labels("Fourier coefficients of marginals", domain, otherwise=fewer)
        )
    return number


def _fewer_ways(domain: Domain, ways: int, *, end: str = "") -> str:
    """Say how to ask for fewer coefficients; nothing where marginals are of one attribute."""
    most = min(ways, len(domain.attributes))
    return f"--set ways={most - 1}{end}" if most > 1 else ""


def coefficients(domain: Domain, ways: int) -> Masks:
    """List all sets of bits, but the empty one, that lie in at most so many attributes.

    A set is a row of words: bit i of the row stands for bit i of `BinaryEncoding`. Sets of the same
    attributes follow one another, the bits of the last attribute changing fastest.
    """
    number_of_coefficients(domain, ways)
    binary = BinaryEncoding(domain)
    words = -(-len(binary.bits.attributes) // 64)
    ends = np.cumsum(binary.widths).tolist()
    subsets = [
        _subsets(range(end - width, end), words=words)
        for width, end in zip(binary.widths, ends, strict=True)
    ]
    return np.concatenate([reduce(_unions, group) for group in _groups(subsets, ways)])


def by_attributes(domain: Domain, values: Numbers, *, ways: int) -> dict[tuple[str, ...], Numbers]:
    """Part a value of each coefficient, in the order of `coefficients`, by sets of attributes.

    The values of a set have an axis for each attribute, with a place for each set of its bits but
    the empty one.
    """
    widths = zip(domain.attributes, BinaryEncoding(domain).widths, strict=True)
    sides = {name: (1 << width) - 1 for name, width in widths}
    parts, start = {}, 0
    for group in _groups(domain.attributes, ways):
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
    for group in _groups(attributes, len(attributes)):
        within = tuple(slice(1, None) if name in group else 0 for name in attributes)
        spectrum[within] = theta[group]
        variance += float(variances[group].sum())
    variance /= spectrum.size**2
    table = walsh_hadamard(spectrum.reshape(-1)).reshape(spectrum.shape) / spectrum.size
    cells = table[tuple(slice(size) for size in domain.shape(attributes))]
    return NoisyTable(Marginal(tuple(attributes), cells), variance, 0.0)


def _groups(parts: Sequence[PartT], size: int) -> Iterator[tuple[PartT, ...]]:
    """List all combinations of one to so many of these parts."""
    return chain.from_iterable(combinations(parts, number) for number in range(1, size + 1))


def _subsets(bits: range, *, words: int) -> Masks:
    """List all sets of these bits but the empty one; set i has the bits of the number i."""
    numbers = np.arange(1, 1 << len(bits), dtype=np.uint64)
    masks = np.zeros((len(numbers), words), np.uint64)
    for place, bit in enumerate(reversed(bits)):
        chosen = numbers >> np.uint64(place) & np.uint64(1)
        masks[:, bit // 64] |= chosen << np.uint64(bit % 64)
    return masks


def _unions(first: Masks, second: Masks) -> Masks:
    """Join each set of the first list with each of the second."""
    return (first[:, np.newaxis] | second).reshape(-1, first.shape[1])
