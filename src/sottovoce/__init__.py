"""sottovoce: conversations between parties that may not show their data and a curator that may not
see it.

    import sottovoce
    run = sottovoce.run("head-count", parties=3, epsilon=1.0)
    run.report["outcome"], run.ledger

To write a protocol, subclass `Protocol`: see docs/writing-a-protocol.md or `sottovoce new NAME`.
"""

from . import _working_folder  # isort: skip

from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from .launch.estimator import LabelClassifier

__all__ = [
    "run",
    "LabelClassifier",
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


def __getattr__(name: str) -> Any:
    """Find LabelClassifier when it is asked for: scikit-learn is large, and not needed for anything
    else.
    """
    if name == "LabelClassifier":
        from .launch.estimator import LabelClassifier

        return LabelClassifier
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
