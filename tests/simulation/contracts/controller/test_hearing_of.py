"""What contracts say of changes that somebody does not hear of."""

from __future__ import annotations

from controller.core.effects import Effect, Send
from protocol.ids import NO_LEADER
from protocol.messages.control import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from simulation.contracts.controller import hearing_of
from tests.simulation.contracts.controller.stepping import Twist, revised, told, unsent


def beside(leader: int, *replicas: int) -> Twist:
    """Return what tells broker 9, which is no replica, of the partition."""

    def twist(effects: list[Effect]) -> list[Effect]:
        state = LeaderAndIsrPartitionState(
            partition_index=0, leader=leader, leader_epoch=7, isr=[9], replicas=list(replicas)
        )
        topic = LeaderAndIsrTopicState(topic_name="t", topic_id=bytes(16), partition_states=[state])
        request = LeaderAndIsrRequest(controller_id=0, controller_epoch=1, topic_states=[topic])
        return [*effects, Send(9, 1, request)]

    return twist


def test_a_change_that_nobody_hears_of_is_told() -> None:
    assert told(hearing_of.everyone_is_told) == []
    assert told(hearing_of.everyone_is_told, twist=unsent)
    assert told(hearing_of.everyone_is_told, spoil=revised(leader_epoch=9))


def test_who_is_no_replica_is_told_of_no_leader_but_may_hear_that_there_is_none() -> None:
    assert told(hearing_of.everyone_is_told, twist=beside(1, 1, 2, 3))
    assert told(hearing_of.everyone_is_told, twist=beside(NO_LEADER, 1, 2, 3))
    assert told(hearing_of.everyone_is_told, twist=beside(NO_LEADER, 9)) == []
