"""Independent: every party publishes for itself, and the tables are put together. The baseline
without a conversation.

    trust       nobody: every party adds its own noise
    collusion   any: no party's privacy rests on another's noise
    who learns  everybody: each party's network and noisy tables
    rounds      1
    privacy     epsilon for each record, neighbours by replacing one; the parties' records are disjoint

Each party runs PrivBayes (Zhang, Cormode, Procopiuc, Srivastava, Xiao 2014) on its own n_k records
with all of epsilon: beta for the structure, by the exponential mechanism, the rest for the tables
of the families, with one party's full noise. What it sends is the model, which is smaller than a
table drawn from it and says the same; the curator draws n_k rows from each (n_k is public). What
all pay for: noise as large as for the whole table, on a K-th of the records.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray  # noqa: TC002 - read at run time, as an annotation of a message

from ..curator import Curator, Estimate, Marginal, agree, synthesise
from ..messages import CURATOR, MessageError, message, role_name
from ..parties import Party
from ..privacy import BinaryEncoding, Domain, SharedLaplace
from .dp_subn.initial import first_attribute, pick_parents
from .dp_subn.learning import structure_of
from .dp_subn.plan import Sizes, useful_sizes
from .dp_subn.settings import Score
from .dp_subn.updates import own_batch
from .protocol import Epsilon, Mode, Options, Outcome, Protocol
from .secure_sum import Family

__all__ = ["Independent"]


class IndependentParameters(Options):
    epsilon: Epsilon = 1.0
    attributes: Annotated[
        Literal["original", "binary"], msgspec.Meta(description="as they are, or as bits")
    ] = "original"
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
    neighbours = "replace-one"
    needs_schema = True

    @message
    class Model:
        """A party's network and the noisy tables of its maximal families, one after another."""

        rows: int
        families: tuple[tuple[str, ...], ...]
        cells: NDArray[np.int64]

    def __init__(self, parameters: IndependentParameters, *, mode: Mode) -> None:
        super().__init__(parameters, mode=mode)
        self.binary = parameters.attributes == "binary"
        self.score: Score = parameters.score or ("I" if self.binary else "R")

    def party(self, me: Party) -> None:
        epsilon = self.parameters.epsilon
        records = me.records.binary() if self.binary else me.records
        domain = records.domain
        sizes, degree = self.sizes(domain, rows=len(records))
        chosen: list[Family] = [(name,) for name in domain.attributes]
        spent = 0.0
        with me.phase("model"):
            if degree:
                spent = self.parameters.beta * epsilon
                chosen = pick_parents(
                    me,
                    records,
                    [first_attribute(me, domain)],
                    picks=len(domain.attributes) - 1,
                    sizes=sizes,
                    degree=degree,
                    epsilon=spent,
                    score=self.score,
                )
            families = structure_of(domain, chosen).maximal_families
            batch = own_batch(domain, families, rows=len(records), epsilon=epsilon - spent)
            # The curator sees these tables: the noise in them is all that hides a record.
            noisy = me.release(
                SharedLaplace(pages=records.marginals(families), batch=batch, seen={}), to=CURATOR
            )
            me.send(
                self.Model(len(records), tuple(chosen), np.concatenate(list(noisy))), to=CURATOR
            )

    def curator(self, desk: Curator) -> Outcome:
        import pandas as pd

        domain = BinaryEncoding(desk.domain).bits if self.binary else desk.domain
        with desk.phase("model"):
            models = desk.gather(self.Model)
        binary = BinaryEncoding(desk.domain) if self.binary else None
        drawn, networks, rejected = [], [], 0
        with desk.phase("synthesis"):
            for party, said in zip(desk.parties, models, strict=True):
                network = structure_of(domain, said.families)
                ends = np.cumsum([domain.cells(family) for family in network.maximal_families])
                if said.cells.size != ends[-1]:
                    raise MessageError(
                        f"expected {ends[-1]} cells from {role_name(party)}, found {said.cells.size}",
                        where=desk.where,
                    )
                tables = zip(network.maximal_families, np.split(said.cells, ends[:-1]), strict=True)
                known = [
                    Estimate(Marginal.of(domain, family, cells), 1.0) for family, cells in tables
                ]
                settled = [estimate.table for estimate in agree(known, total=said.rows)]
                generator = desk.randomness(f"sampling {party}").generator()
                made = synthesise(
                    network.fit(settled), said.rows, generator=generator, binary=binary
                )
                drawn.append(desk.domain.decode(made.codes))
                networks.append(network.parents)
                rejected += made.rejected
                desk.progress(party, of=len(desk.parties))
        degrees = [max(map(len, parents.values())) for parents in networks]
        return Outcome(
            synthetic=pd.concat(drawn, ignore_index=True),
            model={"parents": networks},
            summary={
                "networks": f"one for each party, with at most {', '.join(map(str, degrees))} parents each",
                **({"rejected": rejected} if rejected else {}),
            },
        )

    def sizes(self, domain: Domain, *, rows: int) -> tuple[Sizes, int]:
        """Say how large a table may be, and k, by theta-usefulness on this party's records."""
        p = self.parameters
        return useful_sizes(
            domain,
            rows=rows,
            epsilon=(1 - p.beta) * p.epsilon,
            theta=p.theta,
            most_parents=p.most_parents,
        )
