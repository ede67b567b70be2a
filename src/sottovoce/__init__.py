"""sottovoce: conversations between parties that may not show their data and a curator that may not see it.

    import sottovoce
    run = sottovoce.run("head-count", parties=3, epsilon=1.0)
    run.report["outcome"], run.ledger

To write a protocol, subclass `Protocol`: see docs/writing-a-protocol.md or `sottovoce new NAME`.
"""

from .curator import Curator
from .evaluation import evaluate
from .launch.run import Run, run
from .messages import (
    CIPHERTEXT,
    CURATOR,
    BigInts,
    ConversationError,
    Shape,
    SottovoceError,
    UsageError,
    encoded_size,
    message,
)
from .parties import Party
from .privacy import laplace
from .protocols import Cost, Epsilon, Options, Outcome, Protocol, Public

__all__ = [
    "run",
    "Run",
    "evaluate",
    "Protocol",
    "Options",
    "Epsilon",
    "Outcome",
    "Cost",
    "Public",
    "Party",
    "Curator",
    "CURATOR",
    "message",
    "encoded_size",
    "BigInts",
    "Shape",
    "CIPHERTEXT",
    "laplace",
    "SottovoceError",
    "UsageError",
    "ConversationError",
]
