"""The curator's side of learning a schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec
import numpy as np

from ...curator import Curator
from ...messages import UsageError
from ...parties import Schema, SchemaPlan
from ..cost import Public
from ..secure_sum import CuratorSums, NoiseKind, SumOptions
from .grid import Histogram, Numbers, finer_edges
from .messages import SchemaLearning
from .questions import Questions, decode
from .rounds import Rounds
from .rules import ALL_NUMBERS, FirstCounts, categories_of, number_bins

__all__ = ["learn_as_curator", "unknown_ranges"]


def learn_as_curator(
    desk: Curator,
    options: SumOptions,
    *,
    noise: NoiseKind,
    rounds_of: Callable[[SchemaPlan, Public], Rounds],
) -> Schema:
    """Learn a schema of all parties' records, and send it to them. Called within a phase."""
    sums = CuratorSums(desk, options, noise=noise)
    plan = _agreed_plan(desk)
    public = Public(parties=len(desk.parties), rows=sums.rows, key_bits=desk.key_bits, domain=None)
    rounds = rounds_of(plan, public)
    parts = rounds.parts(parties=len(desk.parties), rows=sums.rows, colluding=sums.colluding)
    first: dict[str, FirstCounts] = {}
    if rounds.counted_first:
        batch = rounds.first(parts)
        cells = np.split(sums.total(batch), len(rounds.counted_first))
        variance = sums.variance(batch)
        first = {
            name: FirstCounts.of(column, variance=variance, rows=sums.rows)
            for name, column in zip(rounds.counted_first, cells, strict=True)
        }
    counted_rows = sums.rows
    texts = tuple(
        name
        for name, rule in plan.learnt.items()
        if rule.kind == "categories" or (rule.kind == "any" and first[name].are_texts)
    )
    finer: dict[str, list[Histogram]] = {
        name: [] for name, counts in first.items() if name not in texts and counts.numbers.has_range
    }
    counted: list[dict[str, dict[str, int]]] = []
    for number, part in enumerate(parts[1:]):
        edges = {
            name: finer_edges(
                [first[name].numbers, *histograms],
                rows=counted_rows,
                bins=plan.learnt[name].bins,
                whole=plan.learnt[name].kind == "integers",
            )
            for name, histograms in finer.items()
        }
        asked_texts = () if number else texts
        questions = Questions(
            edges={name: tuple(each.tolist()) for name, each in edges.items()}, texts=asked_texts
        )
        desk.broadcast(SchemaLearning.Questions(msgspec.json.encode(questions).decode()))
        if edges:
            histograms = _histograms(sums, rounds, part, edges=edges, rows=counted_rows)
            for name, histogram in histograms.items():
                finer[name].append(histogram)
        if asked_texts:
            counted = [
                decode(answer.counts, kind=dict[str, dict[str, int]])
                for answer in desk.gather_answers(SchemaLearning.FrequentTexts).values()
            ]
    schema = _schema(plan, first, finer, texts=texts, counted=counted)
    desk.broadcast(SchemaLearning.LearntSchema(msgspec.json.encode(schema).decode()))
    return schema


def unknown_ranges(schema: Schema) -> list[str]:
    """List the columns of numbers whose range was within the noise."""
    return [
        name
        for name, rule in schema.attributes.items()
        if getattr(rule, "edges", None) == ALL_NUMBERS.edges
    ]


def _agreed_plan(desk: Curator) -> SchemaPlan:
    """Receive every party's plan.

    Raises:
        UsageError: parties have different columns.
    """
    answers = desk.gather_living(SchemaLearning.Columns, sources=desk.parties)
    desk.require_enough(answers, consequence="nothing was released")
    plans = [decode(answer.plan, kind=SchemaPlan) for answer in answers.values()]
    for party, plan in zip(answers, plans, strict=True):
        if plan != plans[0] or [*plan.attributes] != [*plans[0].attributes]:
            raise UsageError(
                "expected the same columns in the same order in every party's data, found others "
                f"at party {party} than at party {min(answers)}: name those that all have with "
                "--columns, or in --schema"
            )
    if not plans[0].learnt:
        raise UsageError("expected a column to learn a rule for, found that all have one")
    return plans[0]


def _histograms(
    sums: CuratorSums, rounds: Rounds, part: float, *, edges: Mapping[str, Numbers], rows: int
) -> dict[str, Histogram]:
    """Receive the finer histograms of a round, scaled to the rows of the first counts.

    They are of fewer rows if a party was lost since. All are fitted together.
    """
    sizes = [len(each) - 1 for each in edges.values()]
    batch = rounds.finer(part, cells=sizes)
    columns = np.split(sums.total(batch), np.cumsum(sizes)[:-1])
    variance = sums.variance(batch)  # of the parties whose tables have arrived
    factor = rows / max(sums.rows, 1)
    return {
        name: Histogram(each, cells.astype(np.float64) * factor, variance * factor**2)
        for (name, each), cells in zip(edges.items(), columns, strict=True)
    }


def _schema(
    plan: SchemaPlan,
    first: Mapping[str, FirstCounts],
    finer: Mapping[str, Sequence[Histogram]],
    *,
    texts: Sequence[str],
    counted: Sequence[Mapping[str, Mapping[str, int]]],
) -> Schema:
    """Make the schema of all that was released."""
    rules = {**plan.public}
    for name, learnt in plan.learnt.items():
        if name in texts:
            missing = first[name].missing if name in first else "refuse"
            rules[name] = categories_of([party.get(name, {}) for party in counted], missing=missing)
        else:
            rules[name] = number_bins(first[name], finer.get(name, []), learnt=learnt)
    return Schema({name: rules[name] for name in plan.attributes})
