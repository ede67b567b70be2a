"""The book of groups against a book of single users: what is asked, refused and added up."""

from __future__ import annotations

import random
from math import log

import pytest

from sottovoce.privacy.local.belief import PastReport, leakage
from sottovoce.privacy.local.groups import GroupBook

USERS = 12


@pytest.mark.parametrize("seed", range(60))
def test_a_book_of_groups_is_one_of_single_users(seed: int) -> None:
    """Random ranges and sets: a request passes if all its users were asked alike, for no more.

    Users were asked alike if they were in the same requests.
    """
    draw = random.Random(seed)
    book = GroupBook()
    asked: list[list[tuple[int, frozenset[int], PastReport]]] = [[] for _ in range(USERS)]
    kinds = set()
    for number in range(40):
        start = draw.randrange(USERS)
        end = draw.randint(start + 1, min(USERS, start + draw.choice((1, 2, 6))))
        attributes = frozenset(draw.sample(range(4), draw.randint(1, 4)))
        report = PastReport(draw.choice((0.3, 0.7, 1.0)), draw.choice((1.5, 3.0)))
        histories = asked[start:end]
        before = histories[0]
        alike = all(history == before for history in histories)
        last = before[-1][1] if before else frozenset()
        if not alike or not last <= attributes:
            kinds.add("other users" if not alike else "other attributes")
            with pytest.raises(ValueError, match=r"asked alike|asked before"):
                book.record(start, end, attributes=attributes, report=report)
            continue
        kinds.add("the same" if last == attributes else "more")
        earlier = [entry[2] for entry in before]
        cost = book.record(start, end, attributes=attributes, report=report)
        for history in histories:
            history.append((number, attributes, report))
        loss, loss_before = log(leakage([*earlier, report])), log(leakage(earlier))
        assert cost.users == (start, end)
        assert cost.epsilon == pytest.approx(loss - loss_before, abs=1e-9)
        whole = cost.epsilon if cost.whole_record is None else cost.whole_record
        assert whole == pytest.approx(log(report.ratio), abs=1e-8)
        group = book.of(start, end)
        assert group.attributes == attributes
        assert group.loss == pytest.approx(loss)
        assert group.whole_record_loss == pytest.approx(
            sum(log(past.ratio) for past in (*earlier, report))
        )
    assert len(kinds) > 2
