from __future__ import annotations

from dataclasses import replace

from simulation.core.copies import Copies
from simulation.core.observation import ObservedLogDir, ObservedReplica
from tests.simulation.core.test_health import TP, WELL, seen

REPLICA = ObservedReplica(size_bytes=1, offset_lag=0)
HELD = ObservedLogDir(error="NONE", replicas={TP: REPLICA})
EMPTY = ObservedLogDir(error="NONE")
STRUCK, COPY = (1, "d1"), (2, "d2")
LOG_DIRS = {STRUCK: HELD, (2, "d1"): EMPTY, COPY: HELD}
LEFT_BEHIND = replace(seen(replace(WELL, isr=(1,))), log_dirs=LOG_DIRS)
PATIENCE_MS = 1000


def _struck(at_ms: int = 0) -> Copies:
    copies = Copies(PATIENCE_MS)
    copies.note_replaced(STRUCK, LEFT_BEHIND, at_ms)
    return copies


def test_who_copied_from_a_disk_that_wrote_elsewhere_and_stays_behind_needs_an_empty_one() -> None:
    """It had a batch of another log, whole, and another leader had none there (seed 834008)."""
    assert _struck().due(LEFT_BEHIND, PATIENCE_MS + 1) == (COPY,)


def test_followers_have_time_after_each_replacement() -> None:
    copies = _struck()
    assert copies.due(LEFT_BEHIND, PATIENCE_MS) == ()
    copies.note_replaced((3, "d1"), LEFT_BEHIND, 500)
    assert copies.due(LEFT_BEHIND, PATIENCE_MS + 1) == ()


def test_nobody_else_who_stays_behind_is_excused() -> None:
    assert Copies(PATIENCE_MS).due(LEFT_BEHIND, 5 * PATIENCE_MS) == ()
    elsewhere = Copies(PATIENCE_MS)
    elsewhere.note_replaced((2, "d1"), LEFT_BEHIND, 0)
    assert elsewhere.due(LEFT_BEHIND, 5 * PATIENCE_MS) == ()


def test_who_is_in_the_isr_or_offline_or_has_no_leader_keeps_its_disk() -> None:
    for partition in (
        WELL,
        replace(WELL, isr=(1,), offline_replicas=(2,)),
        replace(WELL, isr=(1,), offline_replicas=(1,)),
    ):
        looked = replace(seen(partition), log_dirs=LOG_DIRS)
        assert _struck().due(looked, PATIENCE_MS + 1) == ()


def test_a_disk_is_replaced_once() -> None:
    copies = _struck()
    copies.note_replaced(COPY, LEFT_BEHIND, 0)
    assert copies.due(LEFT_BEHIND, PATIENCE_MS + 1) == ()
