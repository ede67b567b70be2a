"""Secure sums: the curator learns the sum of all parties' tables with noise in it, and nothing of
any one party's.

The sub-protocol of the multi-party Laplace mechanism. In a protocol, three lines on each side:

    # party                                                     # curator
    with me.phase("keys"):                                      with desk.phase("keys"):
        sums = PartySums(me, options)                               sums = CuratorSums(desk, options)
    with me.phase("count"):                                     with desk.phase("count"):
        sums.contribute(tables, cells=9, sensitivity=2,             total = sums.total(cells=9, sensitivity=2,
                        epsilon=0.5)                                                   epsilon=0.5)

with `uses = (SecureSums,)` in the protocol's class. `tables` is any iterable of integer arrays; it
is consumed page by page, so a batch may be larger than memory (`sums.pages` on the curator's side).
The keys are exchanged once, the sums are as many as there is budget for. One batch is one release:
`sensitivity` bounds the change of all its cells together.

Who hides a party's table until it is in the sum (`aggregator`):

    paillier    a ring: each party multiplies its own fresh ciphertexts into the running product and passes it on over a
                sealed channel; the last hands it to the curator, who holds the key and sees nothing else
    masks       a star: each party adds masks that cancel in the sum of all, and sends that to the curator
    clear       nothing: for tests and as a baseline of cost

What hides a record within the sum (`noise`): `shares` or `selected`, see `privacy.shares`;
`selected` needs the encryption.

    K = 1       the curator gets the party's noisy table: the central model. No ring, no masks, and nobody to collude with.
    K = 2       shares: each party adds full noise (r = 1), twice the variance, as each is protected by its own noise alone
                against the other. selected: with probability 1/2 the first party's noise is the
                one, and it then knows the second's table exactly.
"""

from .options import NoiseKind, SecureSums, SumOptions, choose_noise, sum_warnings
from .predict import predict_keys, predict_sum
from .summing import SummingProtocol
from .sums import CuratorSums, PartySums
from .tables import Family, Tables

__all__ = [
    "CuratorSums",
    "Family",
    "NoiseKind",
    "PartySums",
    "SecureSums",
    "SumOptions",
    "SummingProtocol",
    "Tables",
    "choose_noise",
    "predict_keys",
    "predict_sum",
    "sum_warnings",
]
