"""Independent: every party publishes for itself, and the tables are put together.

It is the baseline without communication between parties.

    trust       no one: every party adds its own noise
    collusion   any: no party's privacy depends on another's noise
    who learns  Everyone learns each party's network and noisy tables.
    rounds      1
    privacy     epsilon for each record; neighbours replace a record. The parties' records are
                disjoint.

Each party runs PrivBayes (Zhang, Cormode, Procopiuc, Srivastava, Xiao 2014) on its own n_k records
with all of epsilon. The share beta pays for the structure, by the exponential mechanism. The rest
pays for the tables of the families, with one party's full noise. Each party sends its model, which
is smaller than a table drawn from it and contains the same. The curator draws n_k rows from each
model (n_k is public). The price is noise as large as for the whole table, on a K-th of the records.

`PrintedIndependent` (`mode=paper`) takes the noisy tables as they come, as PrivBayes does. By
default a party's tables are made to agree first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
import numpy as np
from numpy.typing import NDArray  # noqa: TC002 - the same

from ..curator import Curator, Estimate, Marginal, agree, synthesise
from ..messages import CURATOR, message
from ..parties import Party
from ..privacy import Budget, Domain
from .dp_subn.attribute_form import BITS, ORIGINAL
from .dp_subn.initial import first_attribute, pick_parents
from .dp_subn.options import Attributes, Score
from .dp_subn.single_party import read_tables, release_tables
from .dp_subn.structure import structure_of
from .dp_subn.usefulness import Sizes, useful_sizes
from .options import Epsilon, Mode, Options
from .outcome import Outcome
from .protocol import Protocol
from .secure_sum import Family

__all__ = ["Independent", "PrintedIndependent"]


class IndependentParameters(Options):
    epsilon: Epsilon = 1.0
    attributes: Annotated[Attributes, msgspec.Meta(description="as they are, or as bits")] = (
        "original"
    )
    score: Annotated[
        Score | None,
        msgspec.Meta(
            description="I (on bits), or R, the distance from independence (on originals)"
        ),
    ] = None
    beta: Annotated[
        float, msgspec.Meta(gt=0, lt=1, description="share of epsilon for the structure")
    ] = 0.3
    theta: Annotated[
        float, msgspec.Meta(gt=0, le=1e6, description="usefulness that the tables must have")
    ] = 4.0
    most_parents: Annotated[
        int, msgspec.Meta(ge=1, le=4, description="that an attribute may have")
    ] = 3


class Independent(Protocol[IndependentParameters]):
    """PrivBayes at every party by itself; the union is published."""

    name = "independent"
    summary = "a synthetic table from every party's own model: the baseline without a conversation"
    paper = "Zhang et al. 2014; Su et al. 2016"
    trust = "nobody: noise at each party"
    modes = ("rigorous", "paper")
    neighbours = "replace-one"
    needs_schema = True
    parties_talk = False
    goes_on = True

    @message
    class Model:
        """A party's network and the noisy tables of its maximal families, one after another."""

        rows: int
        families: tuple[tuple[str, ...], ...]
        cells: NDArray[np.int64]

    @classmethod
    def variant(cls, parameters: IndependentParameters, *, mode: Mode) -> type[Independent]:  # noqa: ARG003
        return PrintedIndependent if mode == "paper" else Independent

    def __init__(self, parameters: IndependentParameters, *, mode: Mode) -> None:
        super().__init__(parameters, mode=mode)
        binary = parameters.attributes == "binary"
        self.form = BITS if binary else ORIGINAL
        self.score: Score = parameters.score or ("I" if binary else "R")

    def party(self, me: Party) -> None:
        records = self.form.records(me)
        domain = records.domain
        whole, sizes, degree = self.plan(domain, rows=len(records))
        chosen: list[Family] = [(name,) for name in domain.attributes]
        left = whole
        with me.phase("model"):
            if degree:  # else no network is worth its noise
                left = whole.share(1 - self.parameters.beta)
                chosen = pick_parents(
                    me,
                    records,
                    [first_attribute(me, domain)],
                    picks=len(domain.attributes) - 1,
                    sizes=sizes,
                    degree=degree,
                    budget=whole.share(self.parameters.beta),
                    score=self.score,
                )
            families = structure_of(domain, chosen).maximal_families
            # The curator sees these tables; the noise in them is all that hides a record.
            cells = release_tables(me, records, families, rows=len(records), budget=left)
            me.send(self.Model(len(records), tuple(chosen), cells), to=CURATOR)

    def curator(self, desk: Curator) -> Outcome:
        domain, decoder = self.form.domain(desk.domain), self.form.decoder(desk.domain)
        with desk.phase("model"):
            models = desk.gather_answers(self.Model)
        drawn, networks, rejected = [], [], 0
        with desk.phase("synthesis"):
            for party, model in models.items():
                network = structure_of(domain, model.families)
                tables = read_tables(
                    domain, network.maximal_families, model.cells, party=party, where=desk.where
                )
                chain = network.fit(self.reconcile(tables, rows=model.rows))
                generator = desk.randomness(f"sampling {party}").generator()
                sample = synthesise(chain, model.rows, generator=generator, binary=decoder)
                drawn.append(sample.codes)
                networks.append(network.parents)
                rejected += sample.rejected
                desk.progress(party, of=len(desk.parties))
        degrees = ", ".join(str(max(map(len, parents.values()))) for parents in networks)
        return Outcome(
            synthetic=desk.domain.rows(
                [np.concatenate(columns) for columns in zip(*drawn, strict=True)]
            ),
            model={"parents": networks},
            summary={
                "networks": f"one for each party, with at most {degrees} parents each",
                **({"rejected": rejected} if rejected else {}),
            },
        )

    def reconcile(self, tables: Sequence[Marginal], *, rows: int) -> Sequence[Marginal]:
        """Make a party's tables agree."""
        agreed = agree([Estimate(table, 1.0) for table in tables], total=rows)
        return [estimate.table for estimate in agreed]

    def plan(self, domain: Domain, *, rows: int) -> tuple[Budget, Sizes, int]:
        """Choose the budget, and find how large a table may be, and k, for this party's records.

        A table is as large as theta-usefulness allows. The budget that makes less noise is taken.
        """
        p, plans = self.parameters, []
        for whole in Budget.candidates(p.epsilon, delta=p.delta):
            # There are about as many tables as attributes.
            epsilon = whole.share(1 - p.beta).laplace_epsilon(tables=len(domain.attributes))
            sizes, degree = useful_sizes(
                domain, rows=rows, epsilon=epsilon, theta=p.theta, max_parents=p.most_parents
            )
            plans.append((-degree, -epsilon, whole, sizes))
        negative, _, whole, sizes = min(plans, key=lambda plan: plan[:2])
        return whole, sizes, -negative


class PrintedIndependent(Independent):
    """The baseline whose tables are taken as they come."""

    def reconcile(self, tables: Sequence[Marginal], *, rows: int) -> Sequence[Marginal]:  # noqa: ARG002
        """Take the tables as they come."""
        return tables
