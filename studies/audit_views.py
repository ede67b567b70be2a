"""What each adversary sees of one run: its realised privacy loss, and the numbers that it holds.

The loss of a run in a view is the log-ratio of everything that the view holds of the audited party,
between the two datasets. Releases are drawn one after another, each with its own randomness, so the
log-ratios add up. Masks and ciphertexts add nothing: without the keys they are uniform.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final
from zlib import crc32

import numpy as np

from ..evaluation.own_mechanisms import answers_alike
from ..messages import CURATOR
from ..messages.message import message_fields
from ..parties.report_likelihood import changed_reports, label_log_ratio
from ..privacy import coalition, with_curator
from ..privacy.likelihood import UnknownLaw, log_ratio
from ..privacy.shares import SelectedNoise, SharedNoise
from ..privacy.taping import ReleasePair, TapedRelease
from ..protocols.secure_sum import SumOptions
from ..protocols.secure_sum.collusion import unknown_shares
from ..protocols.secure_sum.options import Aggregator
from ..runs.printing import Printing, note_printing
from ..runs.private_place import private_place
from .audit_noise import (
    Adversary,
    Counts,
    NoisyTables,
    ViewFigures,
    replaced_figures,
    selected_figures,
    shared_figures,
)
from .audit_run import PairedRun

__all__ = ["ATTRIBUTES_UNKNOWN", "adversaries", "figures_by_view"]

ATTRIBUTES_UNKNOWN: Final = "curator (attributes unknown)"
"""The view on a label of an adversary that knows of the attributes no more than omega allows."""
MAX_NUMBERS: Final = 2_000
"""Numbers of a run that the distinguishing test looks at."""


def adversaries(parties: int) -> list[Adversary]:
    """List the adversaries on one party's records.

    >>> [adversary.view for adversary in adversaries(2)]
    ['public', 'curator', 'other_party', 'curator_and_1']
    """
    return [
        Adversary("public", 0, curator=False),
        Adversary(with_curator(0), 0, curator=True),
        *(Adversary(coalition(size), size, curator=False) for size in range(1, parties)),
        *(Adversary(with_curator(size), size, curator=True) for size in range(1, parties)),
    ]


def figures_by_view(run: PairedRun, *, party: int, parties: int) -> dict[str, ViewFigures]:
    """Give each view's loss in this run, and the numbers that it holds."""
    figures = {
        adversary.view: _add_up(
            run, _Releases(run, party=party, parties=parties).figures(adversary)
        )
        for adversary in adversaries(parties)
    }
    if run.protocol.neighbours == "label-within-belief":
        losses = [
            label_log_ratio(release.first, release.second, release.answer)
            for release in run.releases
        ]
        figures[ATTRIBUTES_UNKNOWN] = ViewFigures(
            None if None in losses else float(sum(loss for loss in losses if loss is not None)), ()
        )
    return figures


def _add_up(run: PairedRun, releases: Iterable[ViewFigures]) -> ViewFigures:
    figures = list(releases)
    numbers = [number for release in figures for number in release.numbers][:MAX_NUMBERS]
    losses = [release.loss for release in figures if release.loss is not None]
    loss: float | None = float(sum(losses))
    is_same = not any(release.differs for release in figures)
    if run.difference:
        # No law is known of what no release covers: the messages are what an adversary sees.
        numbers = list(_flatten(list(map(_fields, run.messages))))[:MAX_NUMBERS]
        loss, is_same = None, False
    elif len(losses) < len(figures):
        numbers.insert(0, float(sum(losses)))
        loss = None
    return ViewFigures(loss, tuple(numbers), is_same)


class _Releases:
    """The audited party's releases, with the noise of the other parties beside them."""

    def __init__(self, run: PairedRun, *, party: int, parties: int) -> None:
        self._run = run
        self._party = party
        self._parties = range(1, parties + 1)
        self._shared = {rank: _in_sums(tape, SharedNoise) for rank, tape in run.others.items()}
        self._chosen = {
            rank: [_same_in_both(release) for release in _in_sums(tape, SelectedNoise)]
            for rank, tape in run.others.items()
        }
        parameters = run.protocol.parameters
        self._aggregator: Aggregator = (
            parameters.aggregator if isinstance(parameters, SumOptions) else "clear"
        )

    def figures(self, adversary: Adversary) -> Iterator[ViewFigures]:
        """Give the figures of each release."""
        sums = iter([cells for owner, cells in self._run.sums if not owner])
        chosen = 0
        shared: Counter[tuple[int, ...]] = Counter()
        colluders = [rank for rank in self._parties if rank != self._party][: adversary.size]
        for release in self._run.releases:
            mechanism = release.first
            if self._run.in_the_open and isinstance(mechanism, SharedNoise | SelectedNoise):
                # No sum hides it: whoever receives it may pass it on to everybody.
                yield _figures_of(release)
            elif isinstance(mechanism, SharedNoise) and mechanism.batch.parties > 1:
                members = mechanism.members or tuple(self._parties)
                others = _same_batch(
                    _among(self._shared, members, all_parties=self._parties),
                    shared[members],
                    cells=mechanism.batch.cells,
                )
                shared[members] += 1
                unknown = unknown_shares(
                    mechanism.batch,
                    members=members,
                    party=self._party,
                    colluders=colluders,
                    curator=adversary.curator,
                    aggregator=self._aggregator,
                )
                hidden_by = [rank for rank in unknown if rank == self._party or rank in others]
                yield shared_figures(_apart(release), others, hidden_by)
            elif isinstance(mechanism, SelectedNoise):
                others = _same_batch(self._chosen, chosen, cells=None)
                chosen += 1
                if mechanism.name == "replaced-laplace":
                    later = {rank: other for rank, other in others.items() if rank > self._party}
                    kept = [pair for pair in self._run.sums if pair[0] >= self._party]
                    yield replaced_figures(_apart(release), later, kept, adversary)
                else:
                    total = _total(sums, mechanism.batch.cells)
                    yield (
                        ViewFigures(None, ())
                        if total is None
                        else selected_figures(_apart(release), others, total, adversary)
                    )
            elif release.to == CURATOR or adversary.size:
                yield _figures_of(release)
            else:
                # What another party was sent shows in that party's releases alone.
                tape = self._run.others.get(release.to, ())
                shown = tuple(_flatten([later.answer for later in tape]))
                yield ViewFigures(None, shown, not _figures_of(release).differs)


def _apart(release: ReleasePair) -> NoisyTables:
    return NoisyTables.of(release.first, release.second, release.answer)


def _in_sums(
    tape: Iterable[TapedRelease], kind: type[SharedNoise | SelectedNoise]
) -> list[TapedRelease]:
    """List another party's releases in sums of several parties."""
    return [
        release
        for release in tape
        if isinstance(release.mechanism, kind) and release.mechanism.batch.parties > 1
    ]


def _same_in_both(release: TapedRelease) -> NoisyTables:
    """Take another party's batch apart; its exact tables are the same in both datasets."""
    return NoisyTables.of(release.mechanism, release.mechanism, release.answer)


def _among(
    tapes: Mapping[int, list[TapedRelease]],
    members: tuple[int, ...],
    *,
    all_parties: Sequence[int],
) -> dict[int, list[NoisyTables]]:
    """Keep each party's releases in sums of these members."""
    return {
        rank: [
            _same_in_both(release)
            for release in tape
            if isinstance(release.mechanism, SharedNoise)
            and (release.mechanism.members or tuple(all_parties)) == members
        ]
        for rank, tape in tapes.items()
    }


def _same_batch(
    tables: Mapping[int, list[NoisyTables]], number: int, *, cells: int | None
) -> dict[int, NoisyTables]:
    """Take the other parties' tables of the same batch; a part may release fewer or others."""
    return {
        rank: batches[number]
        for rank, batches in tables.items()
        if number < len(batches) and cells in (None, batches[number].batch.cells)
    }


def _total(sums: Iterator[Counts], cells: int) -> Counts | None:
    """Take the pages of one batch's sum; `None` where the curator kept none."""
    pages = [np.zeros(0, np.int64)]
    while sum(map(len, pages)) < cells:
        page = next(sums, None)
        if page is None:
            return None
        pages.append(page)
    return np.concatenate(pages)


def _figures_of(release: ReleasePair) -> ViewFigures:
    """Give the figures of a release that every adversary sees as it is."""
    reports = changed_reports(release.first, release.second, release.answer)
    numbers = tuple(_flatten(release.answer if reports is None else reports))
    try:
        return ViewFigures(log_ratio(release.first, release.second, release.answer), numbers)
    except UnknownLaw:
        return ViewFigures(None, numbers, _answers_alike(release, numbers))


def _answers_alike(release: ReleasePair, numbers: Sequence[float]) -> bool:
    """Draw a release once more on both datasets, with files and output of its own, and compare."""
    # A stream for each run: from a single one, both might answer alike by chance.
    stream = hashlib.sha256(np.array(numbers, np.float64).tobytes()).digest()
    with (
        private_place(variables=dict(os.environ)) as place,
        place.used(),
        note_printing(Printing(shown=False)),
    ):
        return answers_alike(release, stream=stream)


def _fields(message: object) -> list[object]:
    return [getattr(message, name) for name in message_fields(type(message))]


def _flatten(answer: Any) -> Iterator[float]:
    """List all numbers of an answer."""
    if isinstance(answer, np.ndarray):
        if answer.dtype.kind in "biuf":
            yield from map(float, answer.reshape(-1).tolist())
    elif isinstance(answer, bytes):
        yield from map(float, np.unpackbits(np.frombuffer(answer, np.uint8)).tolist())
    elif isinstance(answer, bool | int | float | np.generic):
        yield float(answer)
    elif isinstance(answer, str):
        yield float(crc32(answer.encode()))
    elif isinstance(answer, Mapping):
        yield from (number for value in answer.values() for number in _flatten(value))
    elif isinstance(answer, list | tuple):
        yield from (number for value in answer for number in _flatten(value))
