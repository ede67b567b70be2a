"""Secure noise replacement (Su et al. 2016, section VI-A, phase 3): a growing sum with one noise.

It is mode paper. For each family of attributes the curator T holds its noisy table S_f, the party
whose noise is in it (the owner), and the parties whose records are in it (the contributors). In
round k, for the frontier F of that round:

    T     -> P_k    the families of F, and each one's owner
    T     -> P_o    the families for which P_o hands over its noise; nothing about the others
    P_o   -> P_k    Enc(-noise_o)                             sealed; P_k cannot decrypt it
    P_k   -> T      Enc(-noise_o) * Enc(counts_k + noise_k)
    T               S_f += Dec(...);  owner of f := k;  contributors of f += k

T learns counts_k + noise_k - noise_o, which is S_k - S_(k-1), and nothing else. P_k sees no noise
but its own, P_o sees nothing. Both ciphertexts are fresh. Tables of families with one owner are
packed together.

A family that was never counted starts with P_k's own records. The printed S_0 = 0 would need all
earlier parties to count it again, at their cost. A family that is contained in a counted one takes
over that table, summed out, and its owner hands over the noise summed out in the same way.

THE PRINTED PRIVACY CLAIM IS WRONG. It charges eps3 to every party, as if S_k alone released P_k's
records. But each of S_k, ..., S_K contains P_k's records with new noise, and T sees all of them.
P_k pays (K - k + 1) * eps3, which is reached when the frontier is stable. Against another party no
epsilon holds: P_K knows noise_K, and what is published depends on S_K. The line that releases
tells the accountant so. The rigorous alternative counts the frontier jointly (`secure_sum`).
"""

from .curator import CuratorReplacement
from .messages import NoiseReplacement
from .party import PartyReplacement
from .predict import predict_replacement
from .rounds import ReplacementRound, RunningSum, plan_round

__all__ = [
    "CuratorReplacement",
    "NoiseReplacement",
    "PartyReplacement",
    "ReplacementRound",
    "RunningSum",
    "plan_round",
    "predict_replacement",
]
