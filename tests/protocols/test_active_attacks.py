"""What roles that do not follow the protocol achieve against secure sums.

Each test is a cell of the tables in docs/threat-model.md. Statistical tests have fixed seeds and
fail by chance with a probability below 1e-7.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from scipy import stats

from sottovoce.crypto import RandomStream
from sottovoce.crypto.ciphertexts import Ciphertexts
from sottovoce.crypto.modulus_proof import prove
from sottovoce.crypto.paillier import Encryptor, new_key
from sottovoce.curator import Curator
from sottovoce.messages import CURATOR, MessageError, message
from sottovoce.parties import Party
from sottovoce.privacy.batch import Batch
from sottovoce.privacy.laplace_shares import excess
from sottovoce.privacy.shares import SelectedNoise, SharedNoise
from sottovoce.protocols.secure_sum import (
    CuratorSums,
    PartySums,
    SecureSums,
    SumBatch,
    SumOptions,
    hidden_plaintexts,
    ring,
    star,
)
from sottovoce.protocols.secure_sum.collusion import loss_by_view
from sottovoce.protocols.secure_sum.hidden_words import HiddenWords
from sottovoce.protocols.secure_sum.keys import packing_of

Converse = Callable[..., Any]
COUNT = 12
STARS = ["paillier", "masks"]
HIDDEN = [("paillier", "shares"), ("masks", "shares"), ("paillier", "selected")]
ALL = [*HIDDEN, ("clear", "shares")]


def cells_of(party: int, count: int = COUNT) -> np.ndarray:
    return np.random.default_rng(party).integers(0, 7, count)


def exact(parties: int = 3, count: int = COUNT) -> np.ndarray:
    return np.asarray(sum(cells_of(party, count) for party in range(1, parties + 1)))


class Conversation(SecureSums):
    """The messages of secure sums, and a question of the curator's."""

    @message
    class Question:
        families: tuple[tuple[str, ...], ...]


def talk(
    converse: Converse,
    *,
    aggregator: str = "paillier",
    noise: str = "shares",
    epsilon: float = 200.0,
    batches: int = 1,
    count: int = COUNT,
    contribution: Callable[[int], np.ndarray] | None = None,
    ask: Callable[[Curator], None] | None = None,
    **more: Any,
) -> Any:
    """Sum three parties' tables after a question that all parties should be asked alike."""
    options = SumOptions(aggregator=aggregator)  # type: ignore[arg-type]
    batch = SumBatch(cells=count, sensitivity=2, epsilon=epsilon)

    def party(me: Party) -> None:
        with me.phase("keys"):
            sums = PartySums(me, options, noise=noise)  # type: ignore[arg-type]
        for _ in range(batches):
            with me.phase("count"):
                me.receive(Conversation.Question, source=CURATOR)
                cells = cells_of(me.number, count)
                sums.contribute([cells if contribution is None else contribution(me.number)], batch)

    def curator(desk: Curator) -> Any:
        with desk.phase("keys"):
            sums = CuratorSums(desk, options, noise=noise)  # type: ignore[arg-type]
        totals = []
        for _ in range(batches):
            with desk.phase("count"):
                if ask is None:
                    desk.broadcast(Conversation.Question((("x",),)))
                else:
                    ask(desk)
                totals.append(sums.total(batch))
        return totals

    return converse(party, curator, kinds=kinds_of(Conversation), **more)


def kinds_of(owner: type) -> tuple[type, ...]:
    from sottovoce.protocols import Options, Protocol

    class Kinds(Protocol[Options]):
        name = "kinds"
        uses = (owner,)

        def party(self, me: Party) -> None: ...

        def curator(self, desk: Curator) -> Any: ...

    return Kinds.kinds()


def others_ask(desk: Curator) -> None:
    """Ask party 1 for other tables than parties 2 and 3, of the same number of cells."""
    desk.send(Conversation.Question((("x0",), ("x1",))), to=1)
    for party in (2, 3):
        desk.send(Conversation.Question((("x5",), ("x6",))), to=party)


# ---- a curator, or a network in its place, that tells parties different things


@pytest.mark.parametrize("aggregator", STARS)
def test_an_honest_curator_names_who_received_something_else(
    converse: Converse, aggregator: str
) -> None:
    """The protocol's own mistake: nothing is wrong on the wire, and no sum is read."""
    with pytest.raises(MessageError, match=r"different things"):
        talk(converse, aggregator=aggregator, ask=others_ask)


@pytest.fixture
def curator_does_not_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the curator take digests as they are, and read sums when parties have compared theirs."""

    def take(desk: Curator, *_: object, **__: object) -> None:
        desk.gather(SecureSums.Agreement)
        time.sleep(2)

    monkeypatch.setattr(star, "take_agreements", take)


@pytest.mark.usefixtures("curator_does_not_check")
@pytest.mark.parametrize("aggregator", STARS)
def test_parties_name_the_two_that_were_asked_different_questions(
    converse: Converse, aggregator: str
) -> None:
    with pytest.raises(MessageError, match=r"party \d has received the same as party \d"):
        talk(converse, aggregator=aggregator, ask=others_ask)


@pytest.mark.usefixtures("curator_does_not_check")
@pytest.mark.parametrize("aggregator", STARS)
def test_a_curator_that_asks_different_questions_reads_nothing(
    converse: Converse, aggregator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The questions have equal sizes, so masks that depended on figures alone would cancel.

    Nobody compares digests here; the keys alone protect.
    """
    monkeypatch.setattr(
        star,
        "require_agreement",
        lambda me, circle, **_: me.receive(SecureSums.Agreement, source=circle.before(me.rank)),
    )
    with pytest.raises(MessageError, match="cancel"):
        talk(converse, aggregator=aggregator, ask=others_ask)


def test_a_modulus_for_one_party_ends_the_run(
    converse: Converse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A curator, or a network without pinned identities, gives party 1 a modulus of its own."""
    from sottovoce.protocols.secure_sum import keys

    other = new_key(256, randomness=RandomStream(b"other".ljust(32)))

    class TwoFaced(keys.KeyHolder):
        def __init__(self, desk: Curator) -> None:
            self.desk = desk
            self.private = new_key(desk.key_bits, randomness=desk.randomness("paillier key"))
            for party, private in ((1, other), (2, self.private), (3, self.private)):
                proof = prove(private, context=desk.job_digest)
                desk.send(SecureSums.EncryptionKey(private.public.travel(), proof), to=party)

    from sottovoce.protocols.secure_sum import curator_sums

    monkeypatch.setattr(curator_sums, "KeyHolder", TwoFaced)
    with pytest.raises(MessageError, match=r"has received|receive the same"):
        talk(converse)


@pytest.mark.parametrize(("aggregator", "noise"), ALL)
def test_a_changed_number_of_rows_is_noticed_by_its_party(
    converse: Converse, aggregator: str, noise: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A curator raises party 2's rows by one for all; with `clear` a network may do it, too."""
    honest = Curator.broadcast

    def lying(self: Curator, sent: object, **to: Any) -> None:
        if isinstance(sent, SecureSums.RowsByParty):
            sent = SecureSums.RowsByParty(sent.rows + np.array([0, 1, 0]))
        honest(self, sent, **to)

    monkeypatch.setattr(Curator, "broadcast", lying)
    with pytest.raises(MessageError, match="number of rows that party 2 has, found another"):
        talk(converse, aggregator=aggregator, noise=noise)


@pytest.mark.parametrize("bound", [511, 1023, 2**20 - 1])
def test_random_plaintexts_never_look_like_a_sum(
    bound: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without spare bits a quarter of them would, where every slot is in use."""
    monkeypatch.setattr(Batch, "bound", lambda _, *, shares: bound)
    batch = Batch(cells=1, sensitivity=2, epsilon=1.0, rows=1, parties=3, colluding=1)
    packing = packing_of(batch, shares=True, key_bits=2048)
    stream = RandomStream(b"n" * 32)
    n = stream.below(1 << 2047) | 1 << 2047
    for _ in range(200):
        plaintext = stream.below(n)
        with pytest.raises(OverflowError):
            packing.unpack([plaintext - n * (plaintext > n // 2)], cells=packing.slots)


def lie_about_rows_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the curator send each party its own number of rows, and a false one of another party."""
    honest = Curator.broadcast

    def lying(self: Curator, sent: object, **to: Any) -> None:
        if not isinstance(sent, SecureSums.RowsByParty):
            return honest(self, sent, **to)
        for party in self.parties:
            rows = sent.rows.copy()
            rows[party % 3] += 1
            self.send(SecureSums.RowsByParty(rows), to=party)
        return None

    monkeypatch.setattr(Curator, "broadcast", lying)


@pytest.mark.parametrize(("aggregator", "noise"), [("clear", "shares"), ("paillier", "selected")])
def test_rows_of_others_can_be_changed_without_agreement(
    converse: Converse, aggregator: str, noise: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each party finds its own number in the list, and a false number of another party."""
    lie_about_rows_of_others(monkeypatch)
    if aggregator == "clear":
        assert np.array_equal(talk(converse, aggregator=aggregator).curator[0], exact())
    else:
        # All bounds are raised alike; the curator's own is not, so widths may differ.
        try:
            talk(converse, aggregator=aggregator, noise=noise)
        except MessageError as error:
            assert "slot width" in str(error)


@pytest.mark.parametrize("aggregator", STARS)
def test_rows_of_others_cannot_be_changed_with_agreement(
    converse: Converse, aggregator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lie_about_rows_of_others(monkeypatch)
    with pytest.raises(MessageError, match=r"has received|receive the same"):
        talk(converse, aggregator=aggregator)


# ---- parties that lie


def of_party(number: int, count: int = COUNT) -> Callable[[Sequence[np.ndarray]], bool]:
    return lambda pages: np.array_equal(np.concatenate(list(pages)), cells_of(number, count))


@contextmanager
def without_noise(liars: set[int], *, count: int) -> Iterator[None]:
    """Let these parties add their tables without a share of the noise."""
    plain = SharedNoise.draw

    def skipping(self: SharedNoise, randomness: Any) -> Any:
        pages = [np.asarray(page) for page in self.pages]
        kept = SharedNoise(pages=pages, batch=self.batch, seen=self.seen)
        lies = any(of_party(liar, count)(pages) for liar in liars)
        return iter(pages) if lies else plain(kept, randomness)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SharedNoise, "draw", skipping)
        yield


@pytest.mark.parametrize("aggregator", [*STARS, "clear"])
def test_up_to_colluding_parties_that_skip_their_noise_cost_nothing(
    converse: Converse, aggregator: str
) -> None:
    """With K - c honest shares the published noise is exactly two-sided geometric.

    This is the law that epsilon needs. It is a chi-squared test of 30,000 cells.
    """
    count, epsilon = 30_000, 1.0
    with without_noise({2}, count=count):
        spoken = talk(converse, aggregator=aggregator, epsilon=epsilon, count=count)
    noise = spoken.curator[0] - exact(count=count)
    alpha = math.exp(-epsilon / 2)
    support = np.arange(-8, 9)
    law = (1 - alpha) / (1 + alpha) * alpha ** np.abs(support)
    observed = [int((noise == value).sum()) for value in support]
    tail = count - sum(observed)
    expected = [*(count * law), count * (1 - law.sum())]
    assert stats.chisquare([*observed, tail], expected).pvalue > 1e-7


def test_liars_and_curious_parties_count_together() -> None:
    """One party skips its noise and another subtracts its own: a lone share of three is left."""
    batch = Batch(cells=1, sensitivity=2, epsilon=1.0, rows=60, parties=3, colluding=1)
    two_together = loss_by_view(batch, aggregator="masks", noise="shares")["2_parties"].epsilon
    assert two_together == pytest.approx(excess(rate=0.5, shape=0.5))
    assert two_together > 2.2


@pytest.mark.parametrize("aggregator", [*STARS, "clear"])
def test_more_than_colluding_parties_that_skip_their_noise_lower_it(
    converse: Converse, aggregator: str
) -> None:
    """Two of three skip: the variance is half of what epsilon needs (30,000 cells)."""
    count, epsilon = 30_000, 1.0
    with without_noise({2, 3}, count=count):
        spoken = talk(converse, aggregator=aggregator, epsilon=epsilon, count=count)
    noise = spoken.curator[0] - exact(count=count)
    alpha = math.exp(-epsilon / 2)
    needed = 2 * alpha / (1 - alpha) ** 2
    assert noise.var() / needed == pytest.approx(0.5, abs=0.06)
    # The report's figure for two colluding parties is the figure of that: they know their noise.
    assert excess(rate=epsilon / 2, shape=0.5) > 1.5


def test_selected_noise_that_is_skipped_publishes_the_exact_sum(converse: Converse) -> None:
    """In mode paper the noise is one party's. If that one skips it, the sum is exact."""
    plain, batches = SelectedNoise.draw, 30

    def skipping(self: SelectedNoise, randomness: Any) -> Any:
        for counts, noise in plain(self, randomness):
            yield counts, noise * (0 if np.array_equal(counts, cells_of(2)) else 1)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SelectedNoise, "draw", skipping)
        totals = talk(converse, noise="selected", epsilon=0.02, batches=batches).curator
    hits = sum(np.array_equal(total, exact()) for total in totals)
    # Binomial(30, 1/3): at least one and at most 24 but for a chance of 1e-5, at a fixed seed.
    assert 1 <= hits <= 24


def test_a_party_that_scales_the_ring_reads_its_predecessors_table(converse: Converse) -> None:
    """Attack 1 works in mode paper: party 2 raises what it received to the 20th power.

    Of what is published it subtracts party 3's table, which epsilon lets it know, and divides.
    """

    def scaled(keyed_party: Any, fresh: Ciphertexts, **page: Any) -> None:
        if keyed_party.me.number == 2:
            received = ring.receive_product(
                keyed_party.me,
                source=1,
                key=keyed_party.key,
                **{name: page[name] for name in ("packing", "batch", "page", "cells")},
            )
            powers = [number**20 for number in map(int, received.numbers)]
            square = keyed_party.key.n**2
            scaled = Ciphertexts(keyed_party.key, [n % square for n in powers], fresh=True)
            keyed_party.me.send(
                SecureSums.Product(
                    page["batch"], page["page"], page["packing"].width, scaled.travel()
                ),
                to=3,
            )
            return
        plain(keyed_party, fresh, **page)

    from sottovoce.protocols.secure_sum import selected

    plain = ring.pass_on
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(selected, "pass_on", scaled)
        (total,) = talk(converse, noise="selected", epsilon=1.0, rows=60).curator
    # Seed 1 selects another party's noise; party 2's own would be gone.
    assert np.abs((total - cells_of(3)) / 20 - cells_of(1)).max() < 1


@pytest.mark.parametrize("factor", [0, 2, 20])
def test_a_party_that_scales_its_ciphertexts_ends_the_run(converse: Converse, factor: int) -> None:
    """With masks inside the plaintexts a power of a ciphertext has masks that do not cancel."""
    encrypt = Encryptor.encrypt
    calls = iter(range(100))

    def scaling(self: Encryptor, messages: Any) -> Ciphertexts:
        fresh = encrypt(self, messages)
        if next(calls) != 1:  # the second party that encrypts
            return fresh
        square = self.key.n**2
        return Ciphertexts(
            self.key, [pow(int(number), factor, square) for number in fresh.numbers], fresh=True
        )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Encryptor, "encrypt", scaling)
        with pytest.raises(MessageError, match=r"masks do not cancel|common divisor"):
            talk(converse)


@pytest.mark.parametrize("factor", [0, 2, 5])
def test_a_party_that_scales_its_masked_words_ends_the_run(converse: Converse, factor: int) -> None:
    hide = HiddenWords.hide
    calls = iter(range(100))

    def scaling(self: HiddenWords, cells: Any, masks: Any, *, batch: int, page: int) -> Any:
        masked = hide(self, cells, masks, batch=batch, page=page)
        if next(calls) != 1:
            return masked
        words = self._widen(masked.cells) * np.uint64(factor)
        return SecureSums.Masked(batch, page, self._narrow(words))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(HiddenWords, "hide", scaling)
        with pytest.raises(MessageError, match="masks that cancel"):
            talk(converse, aggregator="masks")


@pytest.mark.parametrize("aggregator", STARS)
def test_a_party_that_replays_an_earlier_page_ends_the_run(
    converse: Converse, aggregator: str
) -> None:
    """Party 2 sends its hidden cells of batch 0 once more, as those of batch 1."""
    hiding: Any = HiddenWords if aggregator == "masks" else hidden_plaintexts.HiddenPlaintexts
    hide = hiding.hide
    first: dict[bytes, Any] = {}

    def replaying(self: Any, cells: Any, masks: Any, *, batch: int, page: int) -> Any:
        hidden = hide(self, cells, masks, batch=batch, page=page)
        if not np.array_equal(cells, cells_of(2)):
            return hidden
        if batch == 0:
            first[b""] = hidden
            return hidden
        fields = {"batch": batch, "page": page, "cells": first[b""].cells}
        if aggregator == "paillier":
            fields["width"] = hidden.width
        return type(hidden)(**fields)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hiding, "hide", replaying)
        with pytest.raises(MessageError, match="cancel"):
            talk(converse, aggregator=aggregator, batches=2)


@pytest.mark.parametrize(("aggregator", "noise"), ALL)
def test_a_lie_about_counts_changes_the_sum_within_the_bound(
    converse: Converse, aggregator: str, noise: str
) -> None:
    """Nobody can tell a party's false counts from true ones: the sum is wrong by the lie."""
    lie = np.arange(COUNT)

    def contribution(number: int) -> np.ndarray:
        return cells_of(number) + (lie if number == 2 else 0)

    (total,) = talk(converse, aggregator=aggregator, noise=noise, contribution=contribution).curator
    assert np.array_equal(total, exact() + lie)


def beyond_the_bound(number: int) -> np.ndarray:
    """Count more than all parties' rows and the noise together, at party 2."""
    batch = Batch(cells=COUNT, sensitivity=2, epsilon=200.0, rows=60, parties=3, colluding=1)
    return cells_of(number) + (batch.bound(shares=True) + 1 if number == 2 else 0)


@pytest.mark.parametrize(("aggregator", "noise"), HIDDEN)
def test_a_lie_beyond_the_bound_ends_the_run(
    converse: Converse, aggregator: str, noise: str
) -> None:
    with pytest.raises(MessageError, match=r"wrong counts|exceed"):
        talk(converse, aggregator=aggregator, noise=noise, contribution=beyond_the_bound)


def test_a_lie_beyond_the_bound_is_not_noticed_in_the_clear(converse: Converse) -> None:
    (total,) = talk(converse, aggregator="clear", contribution=beyond_the_bound).curator
    assert np.array_equal(total, sum(beyond_the_bound(number) for number in (1, 2, 3)))


@pytest.mark.parametrize(("aggregator", "noise"), [("clear", "shares"), ("paillier", "selected")])
def test_different_questions_are_not_noticed_without_agreement(
    converse: Converse, aggregator: str, noise: str
) -> None:
    """The sum adds up tables of different attributes, and the run ends well."""
    (total,) = talk(converse, aggregator=aggregator, noise=noise, ask=others_ask).curator
    assert np.array_equal(total, exact())


def test_masks_and_clear_sums_have_no_key_and_no_selection(converse: Converse) -> None:
    """No message of the curator's is there to be forged."""
    for aggregator in ("masks", "clear"):
        kinds = {heard.kind for heard in talk(converse, aggregator=aggregator).heard}
        assert not kinds & {"EncryptionKey", "Indicator", "Permutation", "Product"}
    assert "Indicator" not in {heard.kind for heard in talk(converse).heard}
