"""report.html: what was published, of whose data, at what epsilon against whom, at what cost, how
good, how to repeat it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from types import MappingProxyType
from typing import Any, Final

from ...messages import Entry
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
    "evidence.svg": "What speaks for each label: how many times likelier it is for rows with a value than for all",
    "graph.svg": "Which attributes belong together",
    "network.svg": "The Bayesian network: parents to the left of their children; dotted, where else they were looked for",
    "sets.svg": "Into which sets the values of attributes were divided; of an attribute that is not here all were taken as one",
    "tree.svg": "The junction tree: cliques, and on the lines what two of them share",
}


def run_page(
    report: Mapping[str, Any],
    *,
    entries: Sequence[Entry] = (),
    drawn: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Write the page of a run.

    `entries`: its ledger, without which there is no diagram; `drawn`: pictures of what was learnt,
    by their files' names.
    """
    bodies = [
        section(SECTIONS["privacy"], *privacy_panel(report["privacy"]), name="privacy"),
        section(
            SECTIONS["conversation"], *conversation_panel(report, entries), name="conversation"
        ),
        section(SECTIONS["cost"], *cost_panel(report, entries), name="cost"),
        section(
            SECTIONS["utility"],
            *_quality(report),
            name="utility",
        ),
        section(SECTIONS["model"], *_learnt(report, drawn), name="model"),
        section(SECTIONS["again"], *_again(report), name="again"),
    ]
    about = report.get("about") or {}
    title = f"{report['protocol']}{' (paper)' if report['mode'] == 'paper' else ''}"
    head = [
        f"<header><h1>{escape(title)}: {escape(about.get('summary') or 'a run')}</h1>",
        *(words(text, kind="lead") for text in lead(report)),
        cards(figures(report)),
        *(note(text, warn=True) for text in report["warnings"]),
        listed(SECTIONS, bodies),
        "</header>",
    ]
    return document(f"sottovoce: {title}", "\n".join([*head, *bodies]))


def _quality(report: Mapping[str, Any]) -> list[str]:
    """Say how good it is, or why nothing is said of that and how to find out."""
    if report["utility"]:
        return utility_panel(report["utility"])
    if not (report.get("published") or {}).get("synthetic"):
        return []
    why = "Nothing was measured here: who wrote this page could not read the tables, was told not to, or writes for others."
    return [
        words(f"{why} Whoever may see the real table, and has the folder, asks"),
        "<pre><code>sottovoce evaluate REAL.csv DIR</code></pre>",
    ]


def _learnt(report: Mapping[str, Any], drawn: Mapping[str, str]) -> list[str]:
    outcome = [
        (name.replace("_", " "), f"{value:,}" if isinstance(value, int) else value)
        for name, value in report["outcome"].items()
    ]
    return [
        table(("", ""), outcome, caption="What the protocol says of it"),
        *(figure(own, caption=PICTURES.get(name, name)) for name, own in sorted(drawn.items())),
    ]


def _again(report: Mapping[str, Any]) -> list[str]:
    parts = []
    if command := report.get("command"):
        how = f"The same {'with fresh noise' if report['seed'] is None else 'to the byte, but for times'}"
        parts = [
            words(f"{how}, in the folder where it was started:"),
            f"<pre><code>{escape(command)}</code></pre>",
        ]
    about = report.get("about") or {}
    mpi = report["mpi"] or {}
    rows = [
        ("paper", about.get("paper")),
        ("who is trusted with what", about.get("trust")),
        ("ended", report.get("ended")),
        ("sottovoce", report["sottovoce"]),
        ("Python", report["python"]),
        ("transport", report["transport"]),
        ("MPI", mpi.get("library")),
        ("hosts", ", ".join(dict.fromkeys(mpi.get("hosts", ())))),
        (
            "seed",
            "none: noise from the operating system" if report["seed"] is None else report["seed"],
        ),
        ("data", ", ".join(report["data"])),
        (
            "keys",
            f"{report['privacy']['key_bits']:,} bits"
            if report["communication"]["ciphertext_bytes"]
            else None,
        ),
        ("identities", report["privacy"]["identities"]),
    ]
    transcript = [
        (edge_shown(edge), str(digest)) for edge, digest in (report["transcript"] or {}).items()
    ]
    return [
        *parts,
        table(
            ("parameter", "value"),
            [(name, _given(name, value, report)) for name, value in report["parameters"].items()],
            caption="Parameters",
        ),
        table(
            ("", ""),
            [(name, str(value)) for name, value in rows if value],
            caption="Where it came from",
        ),
        table(("edge", "SHA-256 of all that was said"), transcript, caption="Transcript"),
    ]


def _given(name: str, value: Any, report: Mapping[str, Any]) -> str:
    """Write a parameter; one that was left open as what it stood for."""
    chosen = report.get("chosen") or {}
    if value is None and name in chosen:
        return f"{_plain(chosen[name])} (not given: chosen in mode {report['mode']})"
    return "not given" if value is None else _plain(value)


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
