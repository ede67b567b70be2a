"""DP-CCBN: the baseline of DP-SUBN. The curator builds the network from noisy tables of every
candidate.

Su, Tang, Cheng, Chen, Wu, "Differentially private multi-party high-dimensional data publishing"
(ICDE 2016), section V.

    trust       nobody with a record: the curator T sees sums of all parties with full noise
    collusion   as for any secure sum: `noisy_marginals` says it
    who learns  T: the noisy tables; parties: the network; everybody: the synthetic table
    rounds      iterative: a secure sum for each attribute, and one for the parameters; oneshot: two
    privacy     epsilon for each record, neighbours by replacing one, half for the structure and half for the parameters

    1  structure     for i = 1, ..., d - 1: all (d - i) C(i, k) candidates are counted, and T adds the one of most information
    2  parameters    tables of the network's maximal families
    3  synthesis     T draws the table

Each iteration is a release of A_i tables with eps1 / (d - 1), so of scale 2 A_i (d - 1) / eps1 (the
text says eps / (d - 1), which would spend eps1 twice: spec E15). The same sets of attributes come
back in every later iteration, and are counted again. That makes it a straw man: *oneshot* counts
every set of k + 1 attributes once, with 2 C(d, k + 1) / eps1: at d = 52 and k = 2 a 13th of the
noise that an iteration has on average, a 23rd of the worst.

Of noisy tables of different sizes the larger seem to tell more, as noise looks like dependence. So
on original attributes the score is the distance from independence less what the noise alone would
make of it; on bits all are alike: it is the paper's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import comb, sqrt
from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from ..curator import (
    BayesianNetwork,
    Curator,
    Estimate,
    agree,
    dependence,
    information_of_all,
    synthesise,
)
from ..curator.projections import norm_mul
from ..messages import CURATOR, UsageError, encoded_size, message
from ..parties import Party
from ..privacy import BinaryEncoding, Domain
from .dp_subn.structure import structure_of
from .dp_subn.usefulness import CELL_NOISE, Sizes, inflation_of, useful_sizes
from .protocol import Cost, Epsilon, Formula, Mode, Outcome, Public, add_up
from .secure_sum import (
    CuratorSums,
    Family,
    PartySums,
    SecureSums,
    SummingProtocol,
    SumOptions,
    Tables,
    predict_keys,
)

__all__ = ["DPCCBN"]

Search: TypeAlias = Literal["iterative", "oneshot"]

MOST_TABLES: Final = 1_000_000
"""In one batch: more would take hours to count and days to encrypt."""


class Candidates(SecureSums):
    """What is said."""

    @message
    class Chosen:
        """To all: families that were added to the network, each an attribute after its parents."""

        families: tuple[tuple[str, ...], ...]


class DPCCBNParameters(SumOptions):
    epsilon: Epsilon = 1.0
    attributes: Annotated[
        Literal["original", "binary"] | None,
        msgspec.Meta(description="as they are, or as bits (mode paper)"),
    ] = None
    search: Annotated[
        Search,
        msgspec.Meta(
            description="count candidates in every iteration, as printed, or all sets once"
        ),
    ] = "iterative"
    theta: Annotated[
        float, msgspec.Meta(gt=0, le=1e6, description="usefulness that the tables must have")
    ] = 6.0
    most_parents: Annotated[
        int, msgspec.Meta(ge=1, le=4, description="that an attribute may have")
    ] = 2


class DPCCBN(SummingProtocol[DPCCBNParameters]):
    """Learn the network from tables of all candidates, then its parameters."""

    name = "dp-ccbn"
    summary = "a synthetic table, by a network from all candidates' tables: the baseline"
    paper = "Su et al. 2016, section V"
    uses = (Candidates,)

    def __init__(self, parameters: DPCCBNParameters, *, mode: Mode) -> None:
        super().__init__(parameters, mode=mode)
        self.binary = (
            parameters.attributes or ("binary" if mode == "paper" else "original")
        ) == "binary"
        self.oneshot = parameters.search == "oneshot"

    def party(self, me: Party) -> None:
        records = me.records.binary() if self.binary else me.records
        domain = records.domain
        with me.phase("keys"):
            sums = PartySums(me, self.parameters, noise=self.noise)
        sizes, degree = self.sizes(domain, rows=sums.rows, parties=len(me.parties))
        if not degree:
            with me.phase("parameters"):
                self.of_parameters(BayesianNetwork(domain, {}), alone=True).contribute(
                    records, sums
                )
            return
        with me.phase("structure"):  # 1
            if self.oneshot:
                self.of_structure(domain, sets_of(sizes, degree), steps=1).contribute(records, sums)
                chosen = list(me.receive(Candidates.Chosen, source=CURATOR).families)
            else:
                chosen = list(me.receive(Candidates.Chosen, source=CURATOR).families)
                for step in range(1, len(domain.attributes)):
                    self.of_structure(domain, extensions(sizes, chosen, degree)).contribute(
                        records, sums
                    )
                    chosen += me.receive(Candidates.Chosen, source=CURATOR).families
                    me.progress(step + 1, of=len(domain.attributes))
        with me.phase("parameters"):  # 2
            self.of_parameters(structure_of(domain, chosen)).contribute(records, sums)

    def curator(self, desk: Curator) -> Outcome:
        domain = self.domain(desk.domain)
        with desk.phase("keys"):
            sums = CuratorSums(desk, self.parameters, noise=self.noise)
        sizes, degree = self.sizes(domain, rows=sums.rows, parties=len(desk.parties))
        chosen: list[Family] = []
        if degree:
            with desk.phase("structure"):  # 1
                chosen = [
                    (
                        domain.attributes[
                            desk.randomness("first attribute").below(len(domain.attributes))
                        ],
                    )
                ]
                if self.oneshot:
                    counted = self.of_structure(domain, sets_of(sizes, degree), steps=1).receive(
                        sums
                    )
                    chosen = search_all(counted, chosen, sizes=sizes, degree=degree, rows=sums.rows)
                    desk.broadcast(Candidates.Chosen(tuple(chosen)))
                else:
                    desk.broadcast(Candidates.Chosen(tuple(chosen)))
                    for _ in domain.attributes[1:]:
                        families = extensions(sizes, chosen, degree)
                        scores = scores_of(
                            self.of_structure(domain, families).receive(sums),
                            families,
                            domain,
                            rows=sums.rows,
                        )
                        chosen.append(families[int(np.argmax(scores))])
                        desk.broadcast(Candidates.Chosen((chosen[-1],)))
        network = structure_of(domain, chosen)
        with desk.phase("parameters"):  # 2
            known = self.of_parameters(network, alone=not degree).receive(sums)
        with desk.phase("synthesis"):  # 3
            settled = agree(known, total=sums.rows) if self.mode == "rigorous" else known
            chain = network.fit([estimate.table for estimate in settled])
            binary = BinaryEncoding(desk.domain) if self.binary else None
            made = synthesise(
                chain, sums.rows, generator=desk.randomness("sampling").generator(), binary=binary
            )
        return Outcome(
            synthetic=desk.domain.decode(made.codes),
            model={"parents": network.parents, "chosen": chosen},
            summary={
                "network": _at_most(network.degree)
                if degree
                else "none worth its noise: one-way tables",
                **({"rejected": made.rejected} if made.rejected else {}),
            },
        )

    # What all roles, and the report, compute alike.

    def domain(self, domain: Domain) -> Domain:
        return BinaryEncoding(domain).bits if self.binary else domain

    def sizes(self, domain: Domain, *, rows: int, parties: int) -> tuple[Sizes, int]:
        """Say how large a table may be, and k, by theta-usefulness for the half that pays for the
        parameters.
        """
        p = self.parameters
        return useful_sizes(
            domain,
            rows=rows,
            epsilon=p.epsilon / 2,
            theta=p.theta,
            max_parents=p.most_parents,
            inflation=inflation_of(p, noise=self.noise, parties=parties),
            min_parents=int(self.mode == "paper"),
        )

    def of_structure(
        self, domain: Domain, families: Sequence[Family], *, steps: int | None = None
    ) -> Tables:
        """A batch of candidates: an iteration has its part of eps1."""
        if len(families) > MOST_TABLES:
            raise UsageError(
                f"expected at most {MOST_TABLES:,} candidates to count at once, found {len(families):,}: set most_parents lower"
            )
        part = self.parameters.epsilon / 2 / (steps or len(domain.attributes) - 1)
        return Tables(domain, tuple(families), part, weighted=self.weighted)

    def of_parameters(self, network: BayesianNetwork, *, alone: bool = False) -> Tables:
        epsilon = self.parameters.epsilon / (1 if alone else 2)
        return Tables(network.domain, network.maximal_families, epsilon, weighted=self.weighted)

    @property
    def weighted(self) -> bool:
        return self.mode == "rigorous" and not self.binary

    def batches(self, domain: Domain, public: Public) -> Iterator[tuple[str, Tables]]:
        """List every batch of a run, as it follows from the network that was published."""
        sizes, degree = self.sizes(domain, rows=public.rows, parties=public.parties)
        chosen = [tuple(family) for family in (public.model or {"chosen": ()})["chosen"]]
        if degree and self.oneshot:
            yield "structure", self.of_structure(domain, sets_of(sizes, degree), steps=1)
        elif degree:
            for step in range(1, len(chosen)):
                yield (
                    "structure",
                    self.of_structure(domain, extensions(sizes, chosen[:step], degree)),
                )
        yield "parameters", self.of_parameters(structure_of(domain, chosen), alone=not degree)

    def chosen(self) -> dict[str, Any]:
        return {**super().chosen(), "attributes": "binary" if self.binary else "original"}

    def predict(self, public: Public) -> list[Cost] | None:
        if public.domain is None or public.model is None:
            return None
        domain = self.domain(public.domain)
        lines = predict_keys(self.parameters, public, phase="keys")
        for phase, batch in self.batches(domain, public):
            lines += batch.predict(self.parameters, public, noise=self.noise, phase=phase)
        chosen = [tuple(family) for family in public.model["chosen"]]
        for told in (
            [tuple(chosen)] if self.oneshot and chosen else [(family,) for family in chosen]
        ):
            size = encoded_size(Candidates.Chosen(told))
            lines.append(
                Cost(
                    phase="structure",
                    kind="Chosen",
                    messages=public.parties,
                    payload_bytes=public.parties * size,
                )
            )
        return add_up(lines)

    def formulas(self, public: Public) -> list[Formula]:
        """Put section V beside what it should say: sum over i of (d - i) C(i, k) = C(d + 1, k + 2),
        not d C(d, k + 1).
        """
        if public.domain is None or public.model is None or not self.binary:
            return []
        domain = self.domain(public.domain)
        _, k = self.sizes(domain, rows=public.rows, parties=public.parties)
        if not k:
            return []
        ciphertext, d = 2 * -(-public.key_bits // 8), len(domain.attributes)
        said = printed(d=d, k=k, parties=public.parties, t1=8 * ciphertext)
        cells = dict.fromkeys(said, 0)
        for phase, batch in self.batches(domain, public):
            cells[phase] += batch.batch.cells
        return [
            Formula(
                phase=phase,
                printed_rounds=rounds,
                printed_bytes=size,
                corrected_rounds=cells[phase],
                corrected_bytes=2 * public.parties * ciphertext * cells[phase],
            )
            for phase, (rounds, size) in said.items()
        ]


def printed(*, d: int, k: int, parties: int, t1: int) -> dict[str, tuple[float, float]]:
    """Evaluate the paper's formulas as they stand: rounds, and bytes, by phase. `t1` is a
    ciphertext in bits.

    >>> total = printed(d=52, k=2, parties=3, t1=1024).values()
    >>> round(sum(rounds for rounds, _ in total)), round(sum(size for _, size in total) / 1e6, 2)
    (9194000, 7060.99)
    """
    bits = parties * t1
    return {
        "structure": (
            d * comb(d, k + 1) * 2.0 ** (k + 1),
            d * bits * comb(d, k + 1) * 2 ** (k + 2) / 8,
        ),
        "parameters": ((d - k) * 2.0 ** (k + 1), bits * (d - k) * 2 ** (k + 2) / 8),
    }


def extensions(sizes: Sizes, chosen: Sequence[Family], degree: int) -> list[Family]:
    """List the candidates of an iteration: an attribute that is not in the network yet, after
    parents that are.
    """
    return sizes.extensions([family[-1] for family in chosen], degree=degree)


def sets_of(sizes: Sizes, degree: int) -> list[Family]:
    """List the sets of k + 1 attributes whose tables fit, and the smaller ones that no larger one
    covers.
    """
    names = sizes.domain.attributes
    found: list[Family] = []
    covered: set[Family] = set()
    for size in range(min(degree + 1, len(names)), 0, -1):
        for own in combinations(names, size):
            if (size == 1 or sizes.domain.cells(own) <= sizes.max_cells) and own not in covered:
                found.append(own)
                covered.update(part for less in range(1, size) for part in combinations(own, less))
    return found


def search_all(
    counted: Sequence[Estimate], start: Sequence[Family], *, sizes: Sizes, degree: int, rows: int
) -> list[Family]:
    """Add the family of most information again and again, all from one set of tables."""
    domain = sizes.domain
    covering: dict[frozenset[str], Estimate] = {}
    for estimate in sorted(
        counted, key=lambda one: -one.table.cells
    ):  # the smallest that covers a set is written last
        for size in range(1, len(estimate.attributes) + 1):
            covering |= dict.fromkeys(
                map(frozenset, combinations(estimate.attributes, size)), estimate
            )
    chosen, scored = list(start), dict[Family, float]()
    for _ in range(len(domain.attributes) - len(start)):
        families = extensions(sizes, chosen, degree)
        new = [family for family in families if family not in scored]
        tables = [covering[frozenset(family)].project(family) for family in new]
        scored.update(zip(new, scores_of(tables, new, domain, rows=rows).tolist(), strict=True))
        chosen.append(max(families, key=lambda family: scored[family]))
    return chosen


def scores_of(
    counted: Sequence[Estimate], families: Sequence[Family], domain: Domain, *, rows: int
) -> npt.NDArray[np.float64]:
    """Score every candidate by how much its last attribute has to do with the others."""
    if set(domain.shape(domain.attributes)) == {2}:
        sizes = [2 if len(family) > 1 else 1 for family in families]
        return information_of_all([estimate.table.values for estimate in counted], sizes, base=2)
    return np.array(
        [
            dependence(estimate.table.map(norm_mul), family[-1:])
            - CELL_NOISE * estimate.table.cells * sqrt(estimate.variance) / rows
            if len(family) > 1
            else 0.0
            for estimate, family in zip(counted, families, strict=True)
        ]
    )


def _at_most(parents: int) -> str:
    return f"at most {parents} parent{'' if parents == 1 else 's'}"
