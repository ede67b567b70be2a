"""sottovoce: protocols between parties that may not show their data and a curator.

    import sottovoce
    run = sottovoce.run("head-count", parties=3, epsilon=1.0)
    run.report["outcome"], run.ledger

To write a protocol, subclass `Protocol`: see docs/writing-a-protocol.md or `sottovoce new NAME`.

Names are imported when they are first used, so that a process loads only what it needs.
"""

from . import _working_folder  # isort: skip - before anything is looked for in that folder

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .curator import Curator
    from .evaluation import evaluate
    from .launch.audit import Audit, audit
    from .launch.estimator import LabelClassifier
    from .launch.plan import Plan, plan
    from .launch.result import NotAccountedWarning, Run
    from .launch.run import resume, run
    from .launch.schema_proposal import SchemaProposal, propose_schema
    from .launch.synthesizer import Synthesizer
    from .messages import (
        CIPHERTEXT,
        CURATOR,
        ArgumentError,
        BigInts,
        ConversationError,
        Shape,
        SottovoceError,
        UsageError,
        encoded_size,
        message,
        personal,
    )
    from .parties import Party
    from .privacy import Budget, gaussian, laplace, real_mean, real_sum
    from .privacy.above_threshold import above_threshold
    from .privacy.exponential import choose
    from .privacy.histogram import secret_histogram
    from .privacy.noisy_max import report_noisy_max
    from .privacy.quantiles import median, quantile, quantiles
    from .privacy.sparse_vector import sparse_vector
    from .protocols import Cost, Epsilon, Options, Outcome, Protocol, Public
    from .runs.failure import RunFailed

__all__ = [
    "run",
    "resume",
    "plan",
    "Plan",
    "audit",
    "Audit",
    "LabelClassifier",
    "Synthesizer",
    "Run",
    "evaluate",
    "propose_schema",
    "SchemaProposal",
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
    "personal",
    "encoded_size",
    "BigInts",
    "Shape",
    "CIPHERTEXT",
    "Budget",
    "laplace",
    "gaussian",
    "real_sum",
    "real_mean",
    "choose",
    "report_noisy_max",
    "sparse_vector",
    "above_threshold",
    "median",
    "quantile",
    "quantiles",
    "secret_histogram",
    "SottovoceError",
    "UsageError",
    "ArgumentError",
    "ConversationError",
    "RunFailed",
    "NotAccountedWarning",
]

_ROOMS = {
    "run": "launch.run",
    "resume": "launch.run",
    "Run": "launch.result",
    **dict.fromkeys(("plan", "Plan"), "launch.plan"),
    "audit": "launch.audit",
    "Audit": "launch.audit",
    "LabelClassifier": "launch.estimator",
    "Synthesizer": "launch.synthesizer",
    "evaluate": "evaluation",
    **dict.fromkeys(("propose_schema", "SchemaProposal"), "launch.schema_proposal"),
    "Party": "parties",
    "Curator": "curator",
    **dict.fromkeys(("Budget", "laplace", "gaussian", "real_sum", "real_mean"), "privacy"),
    **dict.fromkeys(("median", "quantile", "quantiles"), "privacy.quantiles"),
    "choose": "privacy.exponential",
    "report_noisy_max": "privacy.noisy_max",
    "sparse_vector": "privacy.sparse_vector",
    "above_threshold": "privacy.above_threshold",
    "secret_histogram": "privacy.histogram",
    **dict.fromkeys(("Protocol", "Options", "Epsilon", "Outcome", "Cost", "Public"), "protocols"),
    **dict.fromkeys(
        ("CURATOR", "message", "personal", "encoded_size", "BigInts", "Shape", "CIPHERTEXT"),
        "messages",
    ),
    **dict.fromkeys(
        ("SottovoceError", "UsageError", "ArgumentError", "ConversationError"), "messages"
    ),
    "RunFailed": "runs.failure",
    "NotAccountedWarning": "launch.result",
}


def __getattr__(name: str) -> Any:
    """Import a public name from its room."""
    if name not in _ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_ROOMS[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
