"""All checkers, in the order in which their findings are told."""

from __future__ import annotations

from typing import Final

from simulation.core.checkers.acks import check_acks
from simulation.core.checkers.agreement import check_agreement
from simulation.core.checkers.answers import check_answers
from simulation.core.checkers.bounds import check_bounds
from simulation.core.checkers.containment import check_containment
from simulation.core.checkers.deleted_records import check_deleted_records
from simulation.core.checkers.denials import check_denials
from simulation.core.checkers.durability import check_durability
from simulation.core.checkers.elections import check_elections
from simulation.core.checkers.epochs import check_epochs
from simulation.core.checkers.evidence import Checker, Evidence, Violation
from simulation.core.checkers.group_offsets import check_group_offsets
from simulation.core.checkers.groups import check_groups
from simulation.core.checkers.high_watermark import check_high_watermark
from simulation.core.checkers.idempotence import check_idempotence
from simulation.core.checkers.journal import check_journal
from simulation.core.checkers.journal_first import check_journal_first
from simulation.core.checkers.leadership import check_leadership
from simulation.core.checkers.liveness import check_liveness
from simulation.core.checkers.metadata import check_metadata
from simulation.core.checkers.offline import check_offline
from simulation.core.checkers.orders import check_orders
from simulation.core.checkers.placement import check_placement
from simulation.core.checkers.polls import check_polls
from simulation.core.checkers.processing import check_processing
from simulation.core.checkers.producers import check_producers
from simulation.core.checkers.reads import check_reads
from simulation.core.checkers.refused_places import check_refused_places
from simulation.core.checkers.retention import check_retention
from simulation.core.checkers.settled import check_settled
from simulation.core.checkers.stable_offsets import check_stable_offsets
from simulation.core.checkers.states import check_states
from simulation.core.checkers.transactions import check_transactions
from simulation.core.checkers.unassigned import check_unassigned

CHECKERS: Final[tuple[Checker, ...]] = (
    check_durability,
    check_leadership,
    check_states,
    check_elections,
    check_high_watermark,
    check_acks,
    check_reads,
    check_agreement,
    check_retention,
    check_deleted_records,
    check_containment,
    check_placement,
    check_refused_places,
    check_unassigned,
    check_liveness,
    check_settled,
    check_journal,
    check_journal_first,
    check_idempotence,
    check_producers,
    check_epochs,
    check_offline,
    check_denials,
    check_metadata,
    check_orders,
    check_groups,
    check_group_offsets,
    check_transactions,
    check_stable_offsets,
    check_polls,
    check_processing,
    check_answers,
    check_bounds,
)


def check_all(evidence: Evidence) -> list[Violation]:
    """Return what any checker finds."""
    return [violation for check in CHECKERS for violation in check(evidence)]
