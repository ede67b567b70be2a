"""The tables of kept results in the documentation: a verdict for each item, and for each claim."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..report.formats import quantity
from .items import item_paths
from .kept_results import KeptItem
from .reproduction import JudgedClaim

__all__ = ["claims_table", "overview", "provenance_table"]


def overview(kept: Sequence[KeptItem], *, folder: str) -> str:
    """Write the verdicts of all items, and which items have no kept results."""
    rows = []
    for entry in kept:
        item, provenance = entry.item, entry.provenance
        every = entry.judge()
        judged = [judged for judged in every if not judged.claim.ours] or every
        reproduced = sum(claim.verdict == "reproduced" for claim in judged)
        seeds = len({row["seed"] for row in entry.rows})
        size = f"{provenance.size}: {quantity(provenance.runs, 'run')}, {quantity(seeds, 'seed')}"
        if lost := provenance.failed + provenance.left:
            size += f", {lost} of them without a result"
        rows.append(
            (
                f"[{item.name}]({folder}/{item.name}.csv)",
                _with_choices(entry.verdict, [judged.claim.choice for judged in judged]),
                f"{reproduced} of {len(judged)}",
                size,
                _differences(entry),
            )
        )
    table = _table(("results", "verdict", "claims reproduced", "size", "not the dataset"), rows)
    absent = [f"`{name}`" for name in item_paths() if name not in {k.item.name for k in kept}]
    quick = [f"`{entry.item.name}`" for entry in kept if entry.provenance.size == "quick"]
    notes = []
    if quick:
        notes.append(f"Not made in full size: {', '.join(quick)}.")
    if absent:
        notes.append(f"Without kept results: {', '.join(absent)}.")
    return "\n\n".join([table, *notes])


def claims_table(kept: Sequence[KeptItem]) -> str:
    """Write each item's claims with their verdicts and what decided them."""
    parts = []
    for entry in kept:
        rows = [row for judged in entry.judge() for row in _claim_rows(judged)]
        parts.append(f"**{entry.item.paper}, {entry.item.where}** (`{entry.item.name}`)")
        parts.append(_table(("claim", "line", "verdict", "decided by"), rows))
    return "\n\n".join(parts)


def provenance_table(kept: Sequence[KeptItem]) -> str:
    """Write with what each item was made."""
    rows = [
        (
            f"`{entry.item.name}`",
            f"{entry.provenance.seconds:,.0f}",
            ", ".join(f"{name} {value}" for name, value in entry.provenance.versions.items()),
            entry.provenance.machine,
            f"`{entry.provenance.code}`",
        )
        for entry in kept
    ]
    return _table(("results", "seconds", "versions", "machine", "code"), rows)


def _claim_rows(judged: JudgedClaim) -> Iterator[tuple[str, ...]]:
    claim = judged.claim
    says = f"We ask: {claim.says}" if claim.ours else claim.says
    for number, verdict in enumerate(judged.verdicts):
        shown = _with_choices(verdict.verdict, [] if number else [claim.choice])
        yield (says if not number else "", verdict.line, shown, verdict.sentence)


def _with_choices(verdict: str, choices: Sequence[str]) -> str:
    """Name what a verdict hangs on and the paper does not give."""
    named = [choice for choice in dict.fromkeys(choices) if choice]
    return f"{verdict}, with {'; '.join(named)}" if named else verdict


def _differences(entry: KeptItem) -> str:
    kinds = {name: kind for name, kind in entry.provenance.data.items() if kind != "as given"}
    return "; ".join(f"{name}: {kind}" for name, kind in kinds.items())


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines
    )
