"""report.html: the page of a run.

It answers what was published, of whose data, who learns how much, how good it is, at what cost, by
which messages, and how to run it again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from types import MappingProxyType
from typing import Any, Final

from ...messages import Entry
from ..not_accounted import MARK, MEANING, unaccounted_texts
from ..report import Report
from ..reported import ReportedRun
from .cost_panel import conversation_panel, cost_panel, edge_name
from .document import banner, cards, document, figure, navigation, note, paragraph, section, table
from .key_figures import key_figures
from .privacy_panel import privacy_panel
from .sentences import lead
from .utility_panel import utility_panel

__all__ = ["run_page"]

SECTIONS: Final = {
    "privacy": "Privacy",
    "utility": "Utility",
    "cost": "Cost",
    "conversation": "Messages",
    "model": "What was learnt",
    "again": "How to run it again",
}
PICTURES: Final = {
    "decisions.svg": "The decision tree. Below each test stands the branch of yes, then of no.",
    "evidence.svg": "Evidence for each label: how many times more likely the label is in rows with "
    "the value than in all rows",
    "graph.svg": "The dependency graph: lines join attributes that depend on each other",
    "network.svg": "The Bayesian network: parents are to the left of their children. Dotted lines "
    "join other pairs in which parents were looked for.",
    "sets.svg": "The sets into which the values of attributes were merged. An attribute that is "
    "not shown has one set.",
    "tree.svg": "The junction tree: cliques as boxes, and on each line the attributes that two "
    "cliques share",
}
"""Captions of the pictures."""


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
        section(SECTIONS["utility"], *_utility(run), name="utility"),
        section(SECTIONS["cost"], *cost_panel(report, entries), name="cost"),
        section(
            SECTIONS["conversation"], *conversation_panel(report, entries), name="conversation"
        ),
        section(SECTIONS["model"], *_model(report, drawn), name="model"),
        section(SECTIONS["again"], *_again(report), name="again"),
    ]
    title = f"{report.protocol}{' (paper)' if report.mode == 'paper' else ''}"
    head = [
        f"<header><h1>{escape(title)}: {escape(report.about.summary or 'a run')}</h1>",
        _banner(run),
        *(paragraph(text, kind="lead") for text in lead(run)),
        cards(key_figures(run)),
        *(note(text, warn=True) for text in run.warnings if not text.startswith(MARK)),
        navigation(SECTIONS, bodies),
        "</header>",
    ]
    return document(f"sottovoce: {title}", "\n".join([*head, *bodies]))


def _banner(run: ReportedRun) -> str:
    """Say first which messages no release covers."""
    texts = unaccounted_texts(run.report.privacy.not_accounted)
    lines = [text.removeprefix(f"{MARK}: ") for text in texts]
    return banner(MARK, [*(f"{line}." for line in lines), MEANING] if lines else [])


def _utility(run: ReportedRun) -> list[str]:
    """Write the panel on utility, or how to measure it where that was not done."""
    if run.utility is not None:
        return utility_panel(run.utility)
    if run.report.published.synthetic is None:
        return []
    return [
        paragraph(
            "Utility was not measured: the real tables could not be read, or were not to be used, "
            "or the page is for publication. If you may see the real table and have the run's "
            "folder, measure it with"
        ),
        "<pre><code>sottovoce evaluate REAL.csv DIR</code></pre>",
    ]


def _model(report: Report, drawn: Mapping[str, str]) -> list[str]:
    outcome = [
        (name.replace("_", " "), value if isinstance(value, float) else _plain(value))
        for name, value in report.outcome.items()
    ]
    return [
        table(("", ""), outcome, caption="Figures of the protocol"),
        *(figure(svg, caption=PICTURES.get(name, name)) for name, svg in sorted(drawn.items())),
    ]


def _again(report: Report) -> list[str]:
    """Write how to repeat the run, where it came from, and digests of its messages."""
    how = "with fresh noise" if report.seed is None else "with the same result to the byte"
    parameters = [
        (name, _parameter(name, value, report)) for name, value in report.parameters.items()
    ]
    transcript = [(edge_name(edge), digest) for edge, digest in (report.transcript or {}).items()]
    return [
        paragraph(f"Run it again {how}, in the folder where it was started:"),
        f"<pre><code>{escape(report.command)}</code></pre>",
        table(("parameter", "value"), parameters, caption="Parameters"),
        table(("", ""), _origin(report), caption="Origin"),
        table(("edge", "SHA-256 of all messages"), transcript, caption="Transcript"),
    ]


def _origin(report: Report) -> list[tuple[str, str]]:
    mpi = report.mpi
    seed = "none: noise from the operating system" if report.seed is None else str(report.seed)
    keys = f"{report.privacy.key_bits:,} bits" if report.communication.ciphertext_bytes else ""
    rows = [
        ("paper", report.about.paper),
        ("trust", report.about.trust),
        ("ended", report.ended),
        ("sottovoce", report.sottovoce),
        ("Python", report.python),
        ("transport", report.transport),
        *([] if report.network is None else [("network", report.network)]),
        ("MPI", "" if mpi is None else mpi.library),
        ("hosts", "" if mpi is None else ", ".join(dict.fromkeys(mpi.hosts))),
        ("seed", seed),
        ("data", ", ".join(report.data)),
        ("keys", keys),
        ("identities", report.privacy.identities),
        ("key agreement", report.privacy.key_agreement),
    ]
    return [(name, text) for name, text in rows if text]


def _parameter(name: str, value: Any, report: Report) -> str:
    """Write a parameter. One that was left open is the value that the protocol chose for it."""
    if value is None and name in report.chosen:
        chosen = _plain(report.chosen[name])
        return f"{chosen} (not given: chosen for mode {report.mode})"
    return "not given" if value is None else _plain(value)


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
