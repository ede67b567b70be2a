"""report.html: the page of a run.

It answers what was published, of whose data, who learns how much, at what cost, with what utility,
and how to run it again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from types import MappingProxyType
from typing import Any, Final

from ...messages import Entry
from ..report import Report
from ..reported import ReportedRun
from .cost_panel import conversation_panel, cost_panel, edge_shown
from .document import cards, document, figure, listed, note, section, table, words
from .privacy_panel import privacy_panel
from .sentences import figures, lead
from .utility_panel import utility_panel

__all__ = ["run_page"]

SECTIONS: Final = {
    "privacy": "Privacy",
    "conversation": "The conversation",
    "cost": "What it cost",
    "utility": "How good it is",
    "model": "What was learnt",
    "again": "How to run it again",
}
PICTURES: Final = {
    "decisions.svg": "The decision tree: below each test what follows from yes, then from no",
    "evidence.svg": "What speaks for each label: how many times likelier it is for rows with a "
    "value than for all",
    "graph.svg": "Which attributes belong together",
    "network.svg": "The Bayesian network: parents to the left of their children; dotted, where "
    "else they were looked for",
    "sets.svg": "Into which sets the values of attributes were divided; of an attribute that is "
    "not here all were taken as one",
    "tree.svg": "The junction tree: cliques, and on the lines what two of them share",
}


def run_page(
    run: ReportedRun,
    *,
    entries: Sequence[Entry] = (),
    drawn: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Write the page of a run.

    Args:
        run: The report, and the judgement unless the page is to be published.
        entries: The ledger. Without it there is no diagram.
        drawn: Pictures of the published model by the names of their files.
    """
    report = run.report
    bodies = [
        section(SECTIONS["privacy"], *privacy_panel(report.privacy), name="privacy"),
        section(
            SECTIONS["conversation"], *conversation_panel(report, entries), name="conversation"
        ),
        section(SECTIONS["cost"], *cost_panel(report, entries), name="cost"),
        section(SECTIONS["utility"], *_utility(run), name="utility"),
        section(SECTIONS["model"], *_model(report, drawn), name="model"),
        section(SECTIONS["again"], *_again(report), name="again"),
    ]
    title = f"{report.protocol}{' (paper)' if report.mode == 'paper' else ''}"
    head = [
        f"<header><h1>{escape(title)}: {escape(report.about.summary or 'a run')}</h1>",
        *(words(text, kind="lead") for text in lead(run)),
        cards(figures(run)),
        *(note(text, warn=True) for text in run.warnings),
        listed(SECTIONS, bodies),
        "</header>",
    ]
    return document(f"sottovoce: {title}", "\n".join([*head, *bodies]))


def _utility(run: ReportedRun) -> list[str]:
    """Write the panel on utility, or how to measure it where that was not done."""
    if run.utility is not None:
        return utility_panel(run.utility)
    if run.report.published.synthetic is None:
        return []
    return [
        words(
            "Nothing was measured here: who wrote this page could not read the tables, was told "
            "not to, or writes for others. Whoever may see the real table, and has the folder, asks"
        ),
        "<pre><code>sottovoce evaluate REAL.csv DIR</code></pre>",
    ]


def _model(report: Report, drawn: Mapping[str, str]) -> list[str]:
    outcome = [
        (name.replace("_", " "), f"{value:,}" if isinstance(value, int) else value)
        for name, value in report.outcome.items()
    ]
    return [
        table(("", ""), outcome, caption="What the protocol says of it"),
        *(figure(svg, caption=PICTURES.get(name, name)) for name, svg in sorted(drawn.items())),
    ]


def _again(report: Report) -> list[str]:
    """Write how to repeat the run: command, parameters, origin, and digests of all messages."""
    how = "with fresh noise" if report.seed is None else "to the byte, but for times"
    parameters = [
        (name, _parameter(name, value, report)) for name, value in report.parameters.items()
    ]
    transcript = [(edge_shown(edge), digest) for edge, digest in (report.transcript or {}).items()]
    return [
        words(f"The same {how}, in the folder where it was started:"),
        f"<pre><code>{escape(report.command)}</code></pre>",
        table(("parameter", "value"), parameters, caption="Parameters"),
        table(("", ""), _origin(report), caption="Where it came from"),
        table(("edge", "SHA-256 of all that was said"), transcript, caption="Transcript"),
    ]


def _origin(report: Report) -> list[tuple[str, str]]:
    mpi = report.mpi
    seed = "none: noise from the operating system" if report.seed is None else str(report.seed)
    keys = f"{report.privacy.key_bits:,} bits" if report.communication.ciphertext_bytes else ""
    rows = [
        ("paper", report.about.paper),
        ("who is trusted with what", report.about.trust),
        ("ended", report.ended),
        ("sottovoce", report.sottovoce),
        ("Python", report.python),
        ("transport", report.transport),
        ("MPI", "" if mpi is None else mpi.library),
        ("hosts", "" if mpi is None else ", ".join(dict.fromkeys(mpi.hosts))),
        ("seed", seed),
        ("data", ", ".join(report.data)),
        ("keys", keys),
        ("identities", report.privacy.identities),
    ]
    return [(name, text) for name, text in rows if text]


def _parameter(name: str, value: Any, report: Report) -> str:
    """Write a parameter. One that was left open is the value that the protocol chose for it."""
    if value is None and name in report.chosen:
        chosen = _plain(report.chosen[name])
        return f"{chosen} (not given: chosen in mode {report.mode})"
    return "not given" if value is None else _plain(value)


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
