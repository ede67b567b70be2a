"""A party's side of learning a schema."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from ...messages import CURATOR
from ...parties import Bins, Party, Schema, SchemaPlan
from ...privacy.histogram import SecretHistogram
from ..cost import Public
from ..secure_sum import NoiseKind, PartySums, SumOptions
from .grid import COARSE_EDGES
from .messages import SchemaLearning
from .questions import Questions, check_questions, check_schema, decode
from .rounds import Rounds

__all__ = ["learn_as_party"]

COARSE_BINS: Final = Bins(edges=tuple(COARSE_EDGES.tolist()), clip=True)


def learn_as_party(
    me: Party,
    options: SumOptions,
    *,
    noise: NoiseKind,
    rounds_of: Callable[[SchemaPlan, Public], Rounds],
) -> Schema:
    """Learn a schema of all parties' raw records, by the plan that goes with them.

    Called within a phase. The budget is spent when this returns.
    """
    records, plan = me.records, me.records.plan
    sums = PartySums(me, options, noise=noise)
    public = Public(parties=len(me.parties), rows=sums.rows, key_bits=me.key_bits, domain=None)
    rounds = rounds_of(plan, public)
    me.send(SchemaLearning.Columns(msgspec.json.encode(plan).decode()), to=CURATOR)
    parts = rounds.parts(parties=len(me.parties), rows=sums.rows, colluding=sums.colluding)
    if rounds.counted_first:
        tallies = (records.tally(name, COARSE_BINS) for name in rounds.counted_first)
        sums.contribute(tallies, rounds.first(parts))
    questions: Questions | None = None
    for part in parts[1:]:
        message = me.receive(SchemaLearning.Questions, source=CURATOR)
        before, questions = questions, decode(message.questions, kind=Questions)
        check_questions(questions, plan=plan, before=before)
        if questions.edges:
            cells = [len(edges) - 1 for edges in questions.edges.values()]
            sums.contribute(
                (
                    records.tally(name, Bins(edges=edges, clip=True))[:-2]
                    for name, edges in questions.edges.items()
                ),
                rounds.finer(part, cells=cells),
            )
        if questions.texts:
            released = {
                name: me.release(
                    SecretHistogram(
                        records.count_texts(name),
                        rounds.of_texts(name, parts),
                        rounds.delta_of_texts,
                        me.accountant.neighbours,
                    ),
                    to=CURATOR,
                )
                for name in questions.texts
            }
            me.send(
                SchemaLearning.FrequentTexts(msgspec.json.encode(released).decode()), to=CURATOR
            )
    schema = decode(me.receive(SchemaLearning.LearntSchema, source=CURATOR).schema, kind=Schema)
    check_schema(schema, plan=plan)
    return schema
