"""FT: Fourier coefficients of users' bits (Cormode, Kulkarni, Srivastava 2018, InpHT), as CALM and
PrivIncr compare with it.

    trust       nobody: every user randomizes one bit
    who learns  the aggregator and everybody: one noisy coefficient for each set of bits of at most `ways` attributes
    privacy     epsilon for each user, who reports once
    cost        one bit a user; which coefficient is public

1. Attribute i is written in b_i = ceil(log2 c_i) bits. T: all sets alpha of bits that lie in at most k = `ways` attributes.
2. Each user is given one alpha, at random, and says (-1)^<alpha, x>, turned over with probability 1 / (e^epsilon + 1).
3. theta_alpha is the mean of what is said, times (e + 1) / (e - 1); theta of the empty set is 1.
4. A marginal of k attributes with b bits is P(x) = 2^-b sum of theta_alpha (-1)^<alpha, x> over the alpha within it: a
   Walsh-Hadamard transform. What is left over of codes without a label is dropped, and the rest
   made a distribution.

The variance of a coefficient, |T| / N ((e + 1) / (e - 1))^2, does not vanish for large epsilon:
every user says one bit. The paper draws alpha for each user; here users are divided evenly, which
is the same but for a user more or less.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, combinations, product
from math import prod

import numpy as np

from ..curator import Curator, Marginal
from ..curator.projections import norm_sub
from ..messages import UsageError
from ..parties import Party, Records
from ..parties.cohort import Values, parities
from ..privacy import BinaryEncoding, Domain
from ..privacy.local import DirectEncoding, Randomizer
from ..privacy.local.hadamard import walsh_hadamard
from .local import OneSurvey, Question, SurveyOptions, Ways, check_size, published, questions_for
from .protocol import Outcome

__all__ = ["Fourier", "coefficients", "reconstructed"]

MOST = 2_000_000


class FourierParameters(SurveyOptions):
    ways: Ways = 2


class Fourier(OneSurvey[FourierParameters]):
    """Ask each user for one Fourier coefficient."""

    name = "fourier"
    summary = "all marginals of a few attributes, by one bit a user"
    paper = "Cormode et al. 2018 (InpHT); FT in Zhang et al. 2018 (CALM)"
    modes = ("rigorous",)

    def questions(self, domain: Domain, users: int) -> list[Question]:
        check_size(domain, min(self.parameters.ways, len(domain.attributes)))
        # 1.
        wanted = coefficients(domain, self.parameters.ways)
        return questions_for(users, dict.fromkeys(wanted, 1.0), lambda _: self.randomizer(2))

    def choose_randomizer(self, cells: int) -> Randomizer:
        # 2. Whether the parity is odd, by randomized response.
        return DirectEncoding(cells, epsilon=self.parameters.epsilon)

    def numbers(self, domain: Domain, questions: Sequence[Question]) -> list[tuple[int, ...]]:
        places = {bit: at for at, bit in enumerate(BinaryEncoding(domain).bits.attributes)}
        return [tuple(places[bit] for bit in own.attributes) for own in questions]

    def cells(self, domain: Domain, question: tuple[int, ...]) -> int:
        bits = sum((size - 1).bit_length() for size in domain.shape(domain.attributes))
        if (
            not question
            or not all(0 <= at < bits for at in question)
            or len(set(question)) < len(question)
        ):
            raise ValueError(f"expected sets of bits below {bits}, found {question}")
        return 2

    def values(self, records: Records, questions: Sequence[tuple[int, ...]]) -> Values:
        return parities(records, list(questions))

    def party(self, me: Party) -> None:
        # 2.
        self.respond(me)

    def curator(self, desk: Curator) -> Outcome:
        answers, said = self.survey(desk)
        with desk.phase("reconstruction"):
            # 3. An odd parity is -1: theta = 1 - 2 Pr[odd].
            theta = {
                own.question.attributes: 1 - 2 * float(own.frequencies()[1]) for own in answers
            }
            # 4.
            ways = min(self.parameters.ways, len(desk.domain.attributes))
            tables = [
                reconstructed(desk.domain, own, theta)
                for own in combinations(desk.domain.attributes, ways)
            ]
        return Outcome(
            marginals=published(desk.domain, tables, users=said.users),
            summary={"users": said.users, "coefficients": len(theta), "marginals": len(tables)},
            user_traffic=said,
        )


def coefficients(domain: Domain, ways: int) -> list[tuple[str, ...]]:
    """List all sets of bits, but the empty one, that lie in at most so many attributes."""
    binary = BinaryEncoding(domain)
    own = {name: _subsets(binary.of(name)) for name in domain.attributes}
    groups = list(
        chain.from_iterable(combinations(domain.attributes, size) for size in range(1, ways + 1))
    )
    number = sum(prod(len(own[name]) for name in group) for group in groups)
    if not 0 < number <= MOST:
        raise UsageError(
            f"expected 1 to {MOST:,} Fourier coefficients, found {number:,}: --set ways={max(ways - 1, 1)}"
        )
    return [
        tuple(chain.from_iterable(parts))
        for group in groups
        for parts in product(*(own[name] for name in group))
    ]


def reconstructed(
    domain: Domain, attributes: Sequence[str], theta: Mapping[tuple[str, ...], float]
) -> Marginal:
    """Transform the coefficients within these attributes to their marginal, as a distribution."""
    binary = BinaryEncoding(domain)
    widths = [len(binary.of(name)) for name in attributes]
    # Place alpha as a number has the same bits as a code, so that <alpha, x> is what both have in
    # common.
    sets = [[(), *_subsets(binary.of(name))] for name in attributes]
    found = np.array(
        [
            theta[tuple(chain.from_iterable(parts))] if any(parts) else 1.0
            for parts in product(*sets)
        ]
    )
    table = walsh_hadamard(found).reshape([1 << width for width in widths]) / found.size
    return Marginal(
        tuple(attributes), norm_sub(table[tuple(slice(size) for size in domain.shape(attributes))])
    )


def _subsets(bits: Sequence[str]) -> list[tuple[str, ...]]:
    """List all sets of these bits but the empty one, as the numbers 1, 2, 3 ... have them."""
    width = len(bits)
    return [
        tuple(bit for at, bit in enumerate(bits) if number >> (width - 1 - at) & 1)
        for number in range(1, 1 << width)
    ]
