"""What an administrator is promised who asks for elections.

Source: KafkaController.processReplicaLeaderElection; KIP-460.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Final

from controller.core.elect_leaders import elect_leaders
from controller.core.events import RequestArrived
from controller.core.state import Partition
from controller.core.step import Step
from protocol.errors import ErrorCode
from protocol.ids import NO_LEADER, TopicPartition
from protocol.messages.elections import ElectLeadersRequest
from simulation.contracts.contract import Broken, of_function
from simulation.contracts.controller.cluster_facts import alive, partitions, working
from simulation.contracts.controller.told import answer_of

_DONE: Final = (ErrorCode.NONE, ErrorCode.REQUEST_TIMED_OUT)
_PREFERRED: Final = 0
_UNCLEAN: Final = 1


@of_function(elect_leaders)
def asked(step: Step, event: RequestArrived) -> Generator[None, None, Broken]:
    """Each partition that is asked for has another leader, or the answer says why it has none."""
    request: ElectLeadersRequest = event.request
    kind = request.election_type if event.version >= 1 else _PREFERRED
    before = {tp: one for tp, one, _ in partitions(step.state)}
    going = {name for name, topic in step.state.topics.items() if topic.is_deleting}
    yield
    codes = {
        TopicPartition(topic.topic, each.partition_id): each.error_code
        for topic in answer_of(step, event.token).replica_election_results
        for each in topic.partition_result
    }
    named = {
        TopicPartition(topic.topic, number)
        for topic in request.topic_partitions or ()
        for number in topic.partitions
    }
    if request.topic_partitions is not None and named != set(codes):
        return f"asked for {sorted(named)}, answered are {codes}"
    for tp, code in codes.items():
        broken = _misanswered(step, tp, before.get(tp), kind, code)
        if broken is not None:
            return f"{tp} is answered {code}: {broken}"
    able = [tp for tp in before if tp not in codes and tp.topic not in going]
    missed = [tp for tp in able if request.topic_partitions is None and _is_due(step, tp, kind)]
    return f"{missed} could be led, and are not" if missed else None


def _misanswered(
    step: Step, tp: TopicPartition, old: Partition | None, kind: int, code: int
) -> Broken:
    new = step.state.find(tp)
    if old is None or new is None:
        is_told = code in {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.INVALID_REQUEST}
        return None if is_told else "it is not there"
    is_elected = new.leader_epoch > old.leader_epoch
    if is_elected is not (code in _DONE):
        return f"{old} becomes {new}"
    if is_elected and (
        new.leader == NO_LEADER or (kind == _PREFERRED and new.leader != new.replicas[0])
    ):
        return f"{old} becomes {new}"
    is_needed = (
        old.leader != old.replicas[0] if kind == _PREFERRED else old.leader not in alive(step.state)
    )
    if code == ErrorCode.ELECTION_NOT_NEEDED and is_needed:
        return f"it needs one: {old}"
    is_going = step.state.is_deleting(tp.topic)
    is_kind = kind in {_PREFERRED, _UNCLEAN}
    if not is_elected and is_kind and not is_going and _is_due(step, tp, kind):
        return f"somebody could lead it: {new}"
    return None


def _is_due(step: Step, tp: TopicPartition, kind: int) -> bool:
    """Tell whether there is somebody who can lead and is not leading."""
    one = step.state.partition(tp)
    able = working(step.state, tp) if one.leader_epoch >= 0 else []
    if kind == _PREFERRED:
        first = one.replicas[0]
        return one.leader != first and first in able and first in one.isr
    return one.leader == NO_LEADER and bool(able)
