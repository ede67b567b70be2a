"""What JTree's variants share: what they are called, the clusters, and the outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from ...curator import JunctionTree, Marginal
from ...curator.marginal import Codes
from ...curator.merging import Budgets, merge
from ...messages import CURATOR, MessageError, Private, UsageError, message
from ...parties import Party
from ...privacy import Budget, Domain
from ...privacy.budget import Unit
from ...privacy.many_labels import too_many_labels
from ..cost import Cost, Public
from ..outcome import Outcome
from ..secure_sum import Family, SecureSums, SummingProtocol, Tables
from .graph_messages import GraphMessages
from .parameters import JTreeParameters
from .scores import Pair

__all__ = [
    "JTreeVariant",
    "merge_cliques",
    "outcome_of",
    "predict_clusters",
    "receive_clusters",
    "trivial_tables",
]

MAX_CELLS: Final = 1 << 24
"""Most cells of all clusters together: every role must be able to hold them."""


class JTreeVariant(SummingProtocol[JTreeParameters]):
    """One of JTree's variants."""

    name = "jtree"
    summary = "a synthetic table along a junction tree, of one holder's records or of many parties'"
    paper = "Chen, Xiao, Zhang, Xu 2015 (JTree)"
    uses = (SecureSums, GraphMessages)

    @message
    class Clusters:
        """To the parties: the clusters to be counted, and how much of the budget they have."""

        sets: tuple[tuple[str, ...], ...]
        budget: float


def merge_cliques(
    tree: JunctionTree, *, least: int, budgets: Budgets, way_out: str
) -> list[Family]:
    """Merge the cliques of at least so many attributes into clusters (section 4.2).

    Raises:
        UsageError: the clusters have more cells than a role can hold; `way_out` says what to set.
    """
    domain = tree.domain
    cliques = [
        clique for clique in tree.cliques if domain.cells(clique) > 1 and len(clique) >= least
    ]
    sets = merge(cliques, domain, budgets=budgets)
    if sum(map(domain.cells, sets)) > MAX_CELLS:
        largest = max(sets, key=domain.cells)
        raise UsageError(
            too_many_labels("clusters", domain, largest, otherwise=f"a larger --set {way_out}=")
        )
    return sets


def receive_clusters(me: Party, *, budget: Budget) -> tuple[Family, ...]:
    """Receive the clusters, and check that they can be counted for this budget.

    Raises:
        MessageError: they cost another budget, are malformed, or have too many cells.
    """
    domain, answer = me.records.domain, me.receive(JTreeVariant.Clusters, source=CURATOR)
    if abs(answer.budget - budget.amount) > 1e-9 * budget.amount:
        raise MessageError(
            f"expected clusters for {budget.unit} {budget.amount:g}, found {answer.budget:g}",
            where=me.where,
        )
    if len(set(map(frozenset, answer.sets))) < len(answer.sets):
        raise MessageError(
            f"expected different clusters, found one twice among {len(answer.sets)}",
            where=me.where,
        )
    for family in answer.sets:
        distinct = len(set(family)) == len(family) and set(family) <= set(domain.attributes)
        if not family or not distinct:
            raise MessageError(
                "expected sets of different attributes, found ",
                Private(", ".join(family) or "none"),
                where=me.where,
            )
    if (cells := sum(map(domain.cells, answer.sets))) > MAX_CELLS:
        raise MessageError(
            f"expected clusters of at most {MAX_CELLS:,} cells, found {cells:,}", where=me.where
        )
    return answer.sets


class ClusterModel(msgspec.Struct, frozen=True):
    """The part of the published model from which the cost of the clusters follows."""

    clusters: tuple[Family, ...]
    budget: Mapping[Unit, float] = msgspec.field(name="budget of clusters")


def predict_clusters(
    protocol: JTreeVariant, public: Public, *, weighted: bool, as_printed: bool = False
) -> list[Cost]:
    """Predict the clusters' secure sum, from the clusters that were published."""
    domain, model = public.domain, public.published(ClusterModel)
    if domain is None or model is None or not model.clusters:
        return []
    ((unit, amount),) = model.budget.items()
    tables = Tables(domain, model.clusters, Budget(unit, amount), weighted, as_printed)
    return tables.predict(protocol.parameters, public, noise=protocol.noise, phase="clusters")


def trivial_tables(domain: Domain) -> list[Marginal]:
    """Make the tables of attributes with a single label, which nobody has to count."""
    names = [name for name in domain.attributes if domain.cells((name,)) == 1]
    return [Marginal.uniform(domain, (name,)) for name in names]


def outcome_of(
    tree: JunctionTree,
    *,
    edges: Sequence[Pair],
    clusters: Sequence[Family],
    budget: Budget,
    codes: Sequence[Codes],
    undefined: int,
) -> Outcome:
    """Make what the curator publishes, of rows drawn along the tree.

    `undefined` counts the draws for which a table had no distribution: then an attribute was drawn
    by itself (spec J12).
    """
    domain = tree.domain
    size = max(map(len, tree.cliques))
    summary: Mapping[str, object] = {
        "edges": len(edges),
        "cliques": f"{len(tree.cliques)}, of at most {size} attributes",
        "clusters": f"{len(clusters)}, of {sum(map(domain.cells, clusters)):,} cells",
    }
    return Outcome(
        synthetic=domain.rows(codes),
        model={
            "edges": edges,
            "tree": tree.to_builtins(),
            "clusters": clusters,
            "budget of clusters": {budget.unit: budget.amount},
        },
        summary={**summary, "undefined": f"{undefined:,} draws"} if undefined else summary,
    )
