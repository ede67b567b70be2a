"""report.html: the report as one page without network, scripts or fonts of its own; light and dark, readable on a phone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import groupby
from types import MappingProxyType
from typing import Any, Final

from .report import epsilon_shown, summary_lines

__all__ = ["page"]

STYLE: Final = """
:root { color-scheme: light dark; --line: #8884; --warn: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --warn: #ff8a80; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
.wide { overflow-x: auto; margin-bottom: 1rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line); }
td.number, th.number { text-align: right; } .warn { color: var(--warn); font-weight: 600; }
svg { display: block; }
code { font-size: .9em; overflow-wrap: anywhere; }
"""

CLASSIFIED: Final = """Share of real people predicted wrong by a linear support vector machine that learnt from the synthetic
table, from the real one, and by the most frequent answer."""
PICTURES: Final = {
    "decisions.svg": "The decision tree: below each test what follows from yes, then from no",
    "graph.svg": "Which attributes belong together",
    "tree.svg": "The junction tree: cliques, and on the lines what two of them share",
}
FORMULAS: Final = """A round and two ciphertexts a party for every cell: as printed, and for the cells that were really counted,
with this run's ciphertexts. Beside it what the run sent: many cells share a ciphertext, and a batch goes in one round."""


def page(report: Mapping[str, Any], *, drawn: Mapping[str, str] = MappingProxyType({})) -> str:
    """Write the page of a report; `drawn`: pictures by their files' names."""
    exchanged, privacy = report["communication"], report["privacy"]
    by_party = privacy["by_party"].items()
    # Ciphertexts and users are not in every protocol.
    some = tuple(name for name in ("ciphertext_bytes", "user_bits") if exchanged[name])
    columns = ("messages", "payload_bytes", "frame_bytes", *some)
    sections = [
        _table(("", ""), summary_lines(report)),
        *(f'<p class="warn">{escape(text)}</p>' for text in report["warnings"]),
        *(f'<h2>{PICTURES[name]}</h2>\n<div class="wide">{own}</div>' for name, own in sorted(drawn.items())),
        "<h2>What was said</h2>",
        *(
            _table((title, *columns), [(key, *(row[column] for column in columns)) for key, row in exchanged[by].items()])
            for title, by in (("phase", "by_phase"), ("from -> to (0 is the curator)", "by_edge"), ("kind", "by_kind"))
        ),
    ]
    if exchanged["predicted"] is not None:
        names = ("phase", "kind", "messages", "measured_messages", "payload_bytes", "measured_payload_bytes")
        sections += [
            "<h2>Predicted and measured</h2>",
            _table(names, [[line[name] for name in names] for line in exchanged["predicted"]]),
        ]
    if report["utility"] is not None and report["utility"].get("distances"):
        columns = ("average", "one_way", "uniform", "worst")
        told_apart = "tvd_synthetic" in report["utility"]
        sections += [
            "<h2>Utility</h2>",
            "<p>Average distance of marginals; beside it that of the real one-way tables alone, and of the uniform one."
            + (" These are the synthetic table's; the published marginals' stand above." if told_apart else "")
            + "</p>",
            _table(
                ("ways", *columns, "worst marginal"),
                [
                    [own["ways"], *(round(own[name], 4) for name in columns), " x ".join(own["worst_marginal"])]
                    for own in report["utility"]["distances"]
                ],
            ),
        ]
        if classified := report["utility"].get("classification"):
            figures = ("target", "synthetic", "real", "majority", "tested")
            sections += [
                f"<p>{CLASSIFIED}</p>",
                _table(figures, [[own[name] for name in figures] for own in classified]),
            ]
    if exchanged.get("formulas"):
        sections += [
            "<h2>The paper's formulas</h2>",
            f"<p>{FORMULAS}</p>",
            _table(tuple(exchanged["formulas"][0]), [[*line.values()] for line in exchanged["formulas"]]),
        ]
    chance = f", but for a chance (delta) of {privacy['delta']:g}" if privacy["delta"] else ""
    claimed = f"Claimed epsilon {epsilon_shown(privacy['claimed_epsilon'])}{chance}."
    columns_of_release = ["party", "phase", "mechanism", "sensitivity", "scale", "epsilon", "to"]
    columns_of_release += ["users"] if any(release.get("users") for release in privacy["releases"]) else []
    sections += [
        "<h2>Privacy</h2>",
        f"<p>Neighbours: {escape(privacy['neighbours'])}. {claimed}{_whole(privacy)}</p>",
        _table(("who looks", "claimed", "real"), _claims(privacy)),
        "<p>Party by party, as far as one's own records go:</p>",
        _table(("party", *privacy["epsilon"]), [(own, *(v[k] for k in privacy["epsilon"])) for own, v in by_party]),
        _table(
            (*columns_of_release, "times"),
            [
                [*alike, len(list(own))]
                for alike, own in groupby(
                    tuple(_of_release(release, name) for name in columns_of_release) for release in privacy["releases"]
                )
            ],
        ),
        "<h2>Phases</h2>",
        _table(("phase", "seconds", "bytes"), [(p["name"], p["seconds"], p["bytes"]) for p in report["phases"]]),
        "<h2>Parameters</h2>",
        _table(
            ("name", "value"),
            [*report["parameters"].items(), ("seed", report["seed"]), ("transport", report["transport"])],
        ),
    ]
    body = "\n".join(sections)
    title = escape(f"sottovoce: {report['protocol']}")
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{title}</title>'
        f"<style>{STYLE}</style></head><body><main><h1>{title}</h1>\n{body}\n</main></body></html>\n"
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    cells = [list(row) for row in rows]
    numeric = [bool(cells) and all(map(_is_number, column)) for column in zip(*cells, strict=True)]
    classes = [' class="number"' if number else "" for number in numeric] or [""] * len(head)
    names = [name.replace("_", " ") for name in head]
    top = "".join(f"<th{kind}>{escape(name)}</th>" for kind, name in zip(classes, names, strict=True)) if any(head) else ""
    lines = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in cells)
    return f'<div class="wide"><table><thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table></div>'


def _whole(privacy: Mapping[str, Any]) -> str:
    """Say what is told of whole records, where the claim is of a part of them."""
    if "whole_record" not in privacy:
        return ""
    return f" Of the whole record, to whoever knows the rest of it: {escape(epsilon_shown(privacy['whole_record']))}."


def _claims(privacy: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Put what is claimed beside what holds, for every view that somebody may have."""
    upto, lines = privacy["claimed_coalition"], []
    for view, real in {**privacy["epsilon"], **privacy["coalitions"]}.items():
        size = int(view.split("_")[0]) if view[0].isdigit() else 1
        claimed = not view.startswith("curator_and") and (upto is None or view in ("public", "curator") or size <= upto)
        shown = epsilon_shown(privacy["claimed_epsilon"]) if claimed else "nothing"
        lines.append((view.replace("_", " "), shown, epsilon_shown(real)))
    return lines


def _of_release(release: Mapping[str, Any], name: str) -> Any:
    if name == "users" and release["users"] is not None:
        first, end = release["users"]
        return f"{first:,} to {end - 1:,}, each"
    return release[name]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _cell(value: Any) -> str:
    if not _is_number(value):
        return f"<td>{escape(str(value))}</td>"
    shown = f"{value:,}" if isinstance(value, int) else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.6g}"
    return f'<td class="number">{shown}</td>'
