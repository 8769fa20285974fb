"""The states of a followed partition."""

from __future__ import annotations

from broker.engine.follow.followed import FIRST_RETRY_MS, Followed, FollowState
from tests.broker.engine.follow.followers import TOPIC_ID, FakeReplica


def test_a_partition_begins_by_being_reconciled() -> None:
    entry = Followed(FakeReplica(3), 7)
    assert (entry.key, entry.leader_epoch) == ((TOPIC_ID, 3), 7)
    assert (entry.state, entry.retry_ms) == (FollowState.RECONCILING, FIRST_RETRY_MS)


def test_every_change_of_state_has_a_turn_of_its_own() -> None:
    entry = Followed(FakeReplica(), 0)
    turns = [entry.enter(state) for state in (FollowState.READY, FollowState.READY)]
    assert turns == [1, 2]
    assert entry.turn == 2
