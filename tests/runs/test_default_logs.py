"""Which runs keep logs though nobody has asked for them."""

from typing import Any

import pytest

from sottovoce.runs.default_logs import keeps_logs
from sottovoce.runs.settings import settings


def keeps(**options: Any) -> bool:
    chosen = settings({"protocol": "noisy-marginals", "transport": "mpi", **options})
    return keeps_logs(chosen.job, chosen.placement)


@pytest.mark.parametrize("transport", ["mpi", "threads"])
def test_every_run_on_real_data_keeps_logs(transport: str) -> None:
    assert keeps(data="adult.csv", transport=transport)
    assert keeps(data="adult.csv", transport=transport, rows=10, seed=1)
    assert keeps(data="adult.csv", transport=transport, on_loss="continue")
    assert keeps(data=["1.csv", "2.csv"], transport=transport)


@pytest.mark.parametrize("name", ["hosts", "hostfile"])
def test_several_hosts_keep_logs(name: str) -> None:
    assert keeps(**{name: "a:2,b:1"})
    assert keeps(**{name: "a:2,b:1"}, on_loss="continue")


def test_others_keep_none() -> None:
    assert not keeps()
    assert not keeps(data="demo", rows=45_000)
    assert not keeps(data="adult.csv", transport="virtual", network="wan")
