"""MST: a maximum spanning tree of pairs, chosen by the exponential mechanism, and rows from it.

    1  every single attribute is measured                                       rho / 3
    2  an attribute's labels with noisy counts below three standard deviations are merged
    3  the parties choose d - 1 pairs in turn, by private Kruskal: the pair of two trees
       whose table is farthest from independence, by the exponential mechanism  rho / 3
    4  the tables of these pairs are measured                                   rho / 3
    5  a graphical model is fitted to all tables, and rows are drawn; a merged label is drawn
       among its group, each with the same probability

    trust       No one sees a record. The curator sees sums of all parties with full noise, and
                choices that are private. With one party this is MST of one trusted holder.
    collusion   Up to `colluding` parties may collude, each knowing its own noise, also with
                the curator.
    who learns  The curator learns the noisy tables. The parties learn the estimated single
                attributes and the tree. The public learns the groups, the tree and the synthetic
                table.
    messages    keys; a batch of secure sums; the groups and shares to all parties; Turn and Chosen
                between the curator and each party that chooses; the tree to all parties; a batch
    rounds      6, and 2 for each party that chooses, of which there are at most d - 1
    privacy     epsilon for each record, except with probability delta. Neighbours replace a
                record. All noise is Gaussian, and choices are counted in rho, so delta must be
                above 0.
    error       of the noise, and of all that a tree of pairs does not hold

McKenna, Miklau, Sheldon, "Winning the NIST contest: a scalable and general approach to
differentially private synthetic data" (Journal of Privacy and Confidentiality, 2021).

What differs: neighbours replace a record, and the number of rows is public. Noise is discrete, and
parties make it together. Choices are made in turn: a party compares its own records with the
published shares. Parties' records are disjoint, so each has the whole third of the budget for its
own choices. Rows are raked to the model's tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np

from ...curator import Curator, Estimate
from ...curator.estimates import rescaled
from ...curator.model_fitting import fit_closely, fit_model
from ...curator.model_rows import draw_rows
from ...curator.spanning_forest import SpanningForest
from ...messages import CURATOR, UsageError
from ...parties import Party
from ...privacy import Domain
from ...privacy.many_labels import too_many_labels
from ..adaptive_pairs.messages import plan_message, receive_plan
from ..adaptive_pairs.tables import count_tables
from ..cost import Cost, Public, add_up
from ..outcome import Outcome
from ..secure_sum import (
    ConcentratedProtocol,
    CuratorSums,
    Family,
    PartySums,
    Tables,
    predict_keys,
)
from .choosing import choose_edges, quota_in_turn, quotas, rows_of_members
from .messages import Messages, add_edges, edge_numbers, read_groups, read_shares
from .parameters import MSTParameters, Published, Turn
from .rare_labels import MergedLabels, merge_rare

__all__ = ["MST"]

THIRD: Final = 1 / 3
"""Share of the budget that each of single attributes, choices and pairs has."""
MAX_CELLS: Final = 1 << 25
"""Most cells of all pairs of a tree: every role must be able to hold them."""


class MST(ConcentratedProtocol[MSTParameters]):
    """Publish a table of all parties' records, drawn along a tree of pairs."""

    name = "mst"
    summary = "a synthetic table along a spanning tree of pairs, of one holder or of many parties"
    paper = "McKenna, Miklau, Sheldon 2021 (MST)"
    goes_on = True
    uses = (Messages,)

    def party(self, me: Party) -> None:
        records, names = me.records, attributes_of(me.records.domain)
        with me.phase("keys"):
            sums = PartySums(me, self.parameters, noise=self.noise)
        with me.phase("single attributes"):  # 1
            self.singles(records.domain).contribute(records, sums)
        if len(names) == 1:
            return
        with me.phase("choices"):
            merged = read_groups(receive_plan(me), records.domain, names, where=me.where)  # 2
            values = me.receive(Messages.Shares, source=CURATOR).shares
            shares = read_shares(values, merged, names, where=me.where)
            rows = rows_of_members(sums.rows_by_party, sums.members)
            numbers = quotas(len(names) - 1, rows=rows)
            if numbers[me.number - 1]:  # 3
                forest = SpanningForest()
                edges = me.receive(Messages.Turn, source=CURATOR).edges
                add_edges(forest, edges, names, where=me.where)
                left = len(names) - 1 - len(forest.edges)
                quota = quota_in_turn(me.number, numbers, left=left, rows=rows)
                budget = self.whole.share(THIRD)
                chosen = choose_edges(me, merged, shares, forest, quota=quota, budget=budget)
                me.send(Messages.Chosen(edge_numbers(chosen, names)), to=CURATOR)
        with me.phase("pairs"):  # 4
            tree = SpanningForest()
            edges = me.receive(Messages.Tree, source=CURATOR).edges
            add_edges(tree, edges, names, where=me.where)
            if tree.edges:
                counts = count_tables(records, [merged.planned(edge) for edge in tree.edges])
                sums.contribute(counts, self.pairs(merged, tree.edges).batch)

    def curator(self, desk: Curator) -> Outcome:
        domain, names = desk.domain, attributes_of(desk.domain)
        with desk.phase("keys"):
            sums = CuratorSums(desk, self.parameters, noise=self.noise)
        with desk.phase("single attributes"):  # 1
            singles = self.singles(domain).receive(sums)
        merged, turns, pairs = merge_rare(domain, singles), list[Turn](), list[Estimate]()  # 2
        counted_rows = sums.rows
        singles = [merged.merge(estimate, total=counted_rows) for estimate in singles]
        if len(names) > 1:
            with desk.phase("choices"):
                turns = self.ask(desk, sums, merged, singles)  # 3
            with desk.phase("pairs"):  # 4
                edges = [edge for turn in turns for edge in turn.edges]
                desk.broadcast(Messages.Tree(edge_numbers(edges, names)))
                if edges:
                    pairs = self.pairs(merged, edges).receive(sums)
        with desk.phase("synthesis"):  # 5
            singles = rescaled(singles, rows=counted_rows, total=sums.rows)
            model = fit_closely(merged.domain, [*singles, *pairs], total=sums.rows)
            generator = desk.randomness("sampling").generator()
            codes = draw_rows(
                model,
                rows=self.parameters.synthetic_rows or sums.rows,
                generator=generator,
                progress=desk.progress,
            )
            codes = merged.spread(codes, generator)
        return Outcome(
            synthetic=domain.rows(codes),
            model={
                "groups": dict(merged.groupings),
                "turns": [msgspec.structs.asdict(turn) for turn in turns],
                "tree": model.tree.junction_tree.to_builtins(),
            },
            summary={"pairs": f"{len(pairs)} measured", "cells": model.cells},
        )

    def ask(
        self, desk: Curator, sums: CuratorSums, merged: MergedLabels, singles: Sequence[Estimate]
    ) -> list[Turn]:
        """Ask the parties for their parts of the tree, one after another.

        If a party is lost before it has chosen, those after it choose in its place. What nobody is
        left to choose is missing: the tree then has several parts.
        """
        names = attributes_of(desk.domain)
        model = fit_model(merged.domain, singles, total=sums.rows)
        shares = np.concatenate([model.marginal((name,)).values for name in names])
        rows = rows_of_members(sums.rows_by_party, sums.members)
        numbers = quotas(len(names) - 1, rows=rows)
        desk.broadcast(plan_message(desk.domain, [merged.planned((name,)) for name in names]))
        desk.broadcast(Messages.Shares(np.clip(shares, 0, 1)))
        forest, turns = SpanningForest(), list[Turn]()
        for party, planned in zip(desk.parties, numbers, strict=True):
            if planned:
                before = len(forest.edges)
                desk.send(Messages.Turn(edge_numbers(forest.edges, names)), to=party)
                answer = desk.receive_in_turn(Messages.Chosen, source=party)
                if answer is None:
                    continue
                left = len(names) - 1 - before
                quota = quota_in_turn(party, numbers, left=left, rows=rows)
                add_edges(forest, answer.edges, names, count=quota, where=desk.where)
                turns.append(Turn(party, tuple(forest.edges[before:])))
                desk.progress(len(forest.edges), of=len(names) - 1)
        return turns

    def predict(self, public: Public) -> list[Cost]:
        """Predict the messages: before the run those of keys and single attributes."""
        if public.domain is None:
            return []
        parameters, noise, parties = self.parameters, self.noise, public.parties
        names = attributes_of(public.domain)
        lines = predict_keys(parameters, public, noise=noise, phase="keys")
        lines += self.singles(public.domain).predict(
            parameters, public, noise=noise, phase="single attributes"
        )
        published = public.published(Published)
        if published is None or not published.turns:
            return lines
        merged = MergedLabels(public.domain, published.groups)
        groups = plan_message(public.domain, [merged.planned((name,)) for name in names])
        shares = Messages.Shares(np.zeros(sum(merged.domain.shape(names))))
        lines += [
            Cost.of(message, phase="choices", messages=parties) for message in (groups, shares)
        ]
        edges: list[Family] = []
        for turn in published.turns:
            sent = Messages.Turn(edge_numbers(edges, names))
            answer = Messages.Chosen(edge_numbers(turn.edges, names))
            lines += [Cost.of(message, phase="choices", messages=1) for message in (sent, answer)]
            edges += turn.edges
        tree = Messages.Tree(edge_numbers(edges, names))
        lines.append(Cost.of(tree, phase="pairs", messages=parties))
        lines += self.pairs(merged, edges).predict(parameters, public, noise=noise, phase="pairs")
        return add_up(lines)

    def singles(self, domain: Domain) -> Tables:
        """Make the batch of single attributes. One alone takes the whole budget."""
        names = attributes_of(domain)
        share = THIRD if len(names) > 1 else 1.0
        return Tables(domain, tuple((name,) for name in names), self.whole.share(share))

    def pairs(self, merged: MergedLabels, edges: Sequence[Family]) -> Tables:
        """Make the batch of the tree's pairs."""
        return Tables(merged.domain, tuple(edges), self.whole.share(THIRD))


def attributes_of(domain: Domain) -> list[str]:
    """List the attributes with two labels or more.

    Raises:
        UsageError: there is none, or the tables of a tree may have more cells than a role can hold.
    """
    names = [name for name in domain.attributes if domain.cells((name,)) > 1]
    if not names:
        raise UsageError("expected at least one attribute of two labels or more, found none")
    sizes = sorted(domain.shape(names))
    # In the largest tree every attribute has an edge to the one with most labels.
    if sizes[-1] * sum(sizes[:-1]) > MAX_CELLS:
        raise UsageError(too_many_labels("pairs of a tree for mst", domain, names))
    return names
