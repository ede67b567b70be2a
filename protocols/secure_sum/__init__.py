"""Secure sums: the curator learns the noisy sum of all parties' tables, and no party's own table.

This holds if every role follows the protocol; docs/threat-model.md lists what others can do.

This is the sub-protocol of the multi-party Laplace mechanism. It takes three lines on each side:

    # party                                         # curator
    with me.phase("keys"):                          with desk.phase("keys"):
        sums = PartySums(me, options)                   sums = CuratorSums(desk, options)
    with me.phase("count"):                         with desk.phase("count"):
        sums.contribute(tables, batch)                  total = sums.total(batch)

Both sides make the same `batch = SumBatch(cells=9, sensitivity=2, epsilon=0.5)` from public
figures. The protocol's class has `uses = (SecureSums,)`. `tables` is any iterable of integer
arrays. It is consumed page by page, so a batch may be larger than memory (`sums.pages` on the
curator's side). The keys are exchanged once for all batches. One batch is one release:
`sensitivity` bounds the change of all its cells together.

Real numbers are clipped, rounded and summed by `sums.real(values, batch)` on the party's side and
`sums.real(batch)` on the curator's, with the same `batch = RealBatch(bound=1.0, budget=...,
neighbours=...)` on both.

The `aggregator` hides a party's table until it is in the sum:

    paillier    a star: each party adds masks that cancel in the sum of all parties, encrypts under
                the curator's key, and sends the result to the curator (`hidden_plaintexts`). Mode
                paper with noise=selected passes a product from party to party instead (`ring`)
    masks       the same without encryption (`hidden_words`): far cheaper, and as private
    clear       no protection: for tests, and as a baseline of cost

The `noise` hides a record within the sum. It is `shares` or `selected`, see `privacy.shares`;
`selected` needs the encryption.

Several sums take one round together, and a sum may be of some of the parties:

    with sums.together():                           counts, means = sums.totals([a, b])
        sums.contribute(counts, a)
        sums.real(values, b)
    if me.number in (1, 3):
        sums.among([1, 3]).contribute(...)          sums.among([1, 3]).total(...)

Few parties are special cases:

    K = 1       The curator gets the party's noisy table, as in the central model. There are no
                masks, and there is no party to collude with.
    K = 2       With `shares` each party adds full noise (r = 1), so the variance doubles. Each
                party is protected against the other by its own noise alone. With `selected` the
                first party's noise is in the sum with probability 1/2. That party then knows the
                second party's table exactly.
"""

from .batch import SumBatch
from .curator_sums import CuratorSums
from .options import (
    NoiseKind,
    SecureSums,
    SumOptions,
    choose_noise,
    colluding,
    sum_warnings,
)
from .party_sums import PartySums
from .predict import predict_keys, predict_sum, predict_sums
from .reals import RealBatch
from .summing import ConcentratedProtocol, SummingProtocol
from .tables import Family, Tables

__all__ = [
    "ConcentratedProtocol",
    "CuratorSums",
    "Family",
    "NoiseKind",
    "PartySums",
    "RealBatch",
    "SecureSums",
    "SumBatch",
    "SumOptions",
    "SummingProtocol",
    "Tables",
    "choose_noise",
    "colluding",
    "predict_keys",
    "predict_sum",
    "predict_sums",
    "sum_warnings",
]
