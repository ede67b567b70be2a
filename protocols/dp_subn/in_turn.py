"""DP-SUBN on bits with sequential updates: what comes closest to the paper and is private.

It differs from `on_bits` in phase 3 alone. There the parties take turns, as in the paper. But each
party releases its own tables with its own full noise, and nothing is replaced:

    3  update    T -> P_k: the search frontier around N_(k-1)
                 P_k -> T: its tables of the frontier, with full noise
                 T adds them to the earlier parties' tables, and selects N_k from the sums

A party pays eps3 once, and the noise of all parties stays in the sums. A family that earlier
parties were not asked for has only the later parties' records: to ask again would cost the earlier
parties eps3 again.

    trust       as `on_bits`; in phase 3 a party's own noise protects it
    collusion   as `on_bits`; in phase 3 no party depends on another's noise
    who learns  as `on_bits`, and T learns each party's noisy tables of phase 3
    rounds      a secure sum for each of the phases 1 and 4, and 2 K messages in phase 3
    privacy     as `on_bits`
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...curator import BayesianNetwork, Curator, Estimate, Marginal
from ...messages import CURATOR, UsageError
from ...parties import Party, Records
from ..cost import Cost, Public
from ..options import Mode
from ..secure_sum import CuratorSums, Family, PartySums
from .bits_plan import BitsPlan, Frontiers
from .cost import ARRAY, frontiers_in_turn
from .learning import Search
from .messages import Messages
from .on_bits import OnBits
from .options import DPSUBNParameters
from .single_party import read_tables, release_tables
from .structure import Structure

__all__ = ["InTurn"]


class InTurn(OnBits):
    """DP-SUBN on bits, corrected, with sequential updates."""

    usual = replace(OnBits.usual, update="sequential")

    def __init__(self, parameters: DPSUBNParameters, *, mode: Mode) -> None:
        super().__init__(parameters, mode=mode)
        if parameters.updates != 1:
            raise UsageError(
                "expected updates=1 for update=sequential, where every party has one turn, "
                f"found {parameters.updates}"
            )

    def count_frontiers(
        self,
        me: Party,
        records: Records,
        sums: PartySums,
        plan: BitsPlan,
    ) -> None:
        """Release the party's own tables in its turn. Called by every party."""
        families = me.receive(Messages.CandidatesInTurn, source=CURATOR).families
        noisy = release_tables(me, records, families, rows=sums.rows, budget=plan.budget.update)
        me.send(Messages.Noisy(noisy), to=CURATOR)

    def update_network(
        self,
        desk: Curator,
        network: BayesianNetwork,
        search: Search,
        sums: CuratorSums,  # noqa: ARG002 - no secure sum here; part of the signature
    ) -> tuple[BayesianNetwork, Frontiers]:
        """Ask one party after another, and select the network by the totals. Called by T."""
        totals: dict[Family, Marginal] = {}
        frontiers: list[tuple[Family, ...]] = []
        for turn in desk.parties:
            frontier = search.around(network)
            families = frontier.maximal_families
            desk.send(Messages.CandidatesInTurn(families), to=turn)
            answer = desk.receive_in_turn(Messages.Noisy, source=turn)
            if answer is None:
                continue
            domain, cells = search.plan.domain, answer.cells
            tables = read_tables(domain, families, cells, party=turn, where=desk.where)
            totals = add_tables(totals, tables)
            estimates = [Estimate(totals[family], 1.0) for family in families]
            network = search.within(frontier, estimates)
            frontiers.append(families)
        return network, tuple(frontiers)

    def predict_frontier(
        self,
        frontier: Sequence[Family],
        public: Public,  # noqa: ARG002 - part of the signature
        plan: BitsPlan,
    ) -> list[Cost]:
        cells = sum(plan.domain.cells(family) for family in frontier)
        return [
            Cost.of(Messages.CandidatesInTurn(tuple(frontier)), phase="update", messages=1),
            Cost(phase="update", kind="Noisy", messages=1, payload_bytes=ARRAY + 8 * cells),
        ]

    def frontiers_of(self, structure: Structure, public: Public) -> Sequence[Sequence[Family]]:
        return frontiers_in_turn(structure, parties=public.parties)

    def parties_of_a_frontier(self, public: Public) -> int:  # noqa: ARG002 - as above
        return 1


def add_tables(
    totals: dict[Family, Marginal], tables: Sequence[Marginal]
) -> dict[Family, Marginal]:
    """Add a party's tables to the totals of the parties before.

    A family that was not counted before continues the smallest total that contains it, if any.
    """
    added: dict[Family, Marginal] = {}
    for table in tables:
        before = min(
            (total for total in totals.values() if total.covers(table.attributes)),
            key=lambda total: total.cells,
            default=None,
        )
        added[table.attributes] = (
            table if before is None else table + before.project(table.attributes)
        )
    return totals | added
