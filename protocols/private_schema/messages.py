"""The messages by which a schema is learnt, beside those of secure sums."""

from __future__ import annotations

from ...messages import message
from ..secure_sum import SecureSums

__all__ = ["SchemaLearning"]


class SchemaLearning(SecureSums):
    """The messages of private schemas; a protocol that learns one names this class in `uses`."""

    @message
    class Columns:
        """The public plan of a party's columns, as JSON; all parties must have the same."""

        plan: str

    @message
    class Questions:
        """From the curator: the next histograms, and the columns of texts, as JSON."""

        questions: str

    @message
    class FrequentTexts:
        """The texts that a party has released, column by column, as JSON."""

        counts: str

    @message
    class LearntSchema:
        """From the curator: the schema that was learnt, as JSON."""

        schema: str
