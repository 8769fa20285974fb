"""What the controller promises of a leader that alters its Isr.

Source: KafkaController.processAlterPartition; KIP-497, KIP-841, KIP-903.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import replace

from controller.core.alter_partition import alter_partition
from controller.core.events import RequestArrived
from controller.core.state import ClusterState, Partition
from controller.core.step import Step
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.control import AlterPartitionRequest, AlterPartitionResponse, PartitionData
from simulation.contracts.contract import Broken, of_function
from simulation.contracts.controller.cluster_facts import alive, partitions
from simulation.contracts.controller.told import answer_of, led_changes


@of_function(alter_partition)
def isr_altered(step: Step, event: RequestArrived) -> Generator[None, None, Broken]:
    """A leader alters the Isr of its own epoch, among replicas that can be in sync, and no more.

    Source: KafkaController.processAlterPartition; KIP-497, KIP-841, KIP-903.
    """
    request: AlterPartitionRequest = event.request
    before = {tp: one for tp, one, _ in partitions(step.state)}
    names = {topic.topic_id: name for name, topic in step.state.topics.items()}
    sender = step.state.brokers.get(request.broker_id)
    is_current = (
        sender is not None and not sender.is_fenced and sender.broker_epoch == request.broker_epoch
    )
    wanted: dict[tuple[str, int], tuple[ErrorCode, Partition | None]] = {}
    for topic in request.topics:
        name = topic.topic_name if event.version < 2 else names.get(bytes(topic.topic_id))
        for data in topic.partitions:
            old = None if name is None else before.get(TopicPartition(name, data.partition_index))
            key = (name or "", data.partition_index)
            wanted[key] = _verdict(step, event.version, name, old, data)
    count, effects = len(step.records), len(step.effects)
    yield
    response = answer_of(step, event.token)
    if response is None:
        return "it is not answered"
    if not is_current:
        is_refused = response.error_code == ErrorCode.STALE_BROKER_EPOCH
        is_nothing = len(step.records) == count and not response.topics
        return None if is_refused and is_nothing else f"of {request.broker_id}: {response}"
    broken = _misanswered(response, wanted)
    if broken is not None:
        return broken
    changed = led_changes(step.records[count:])
    decided = {
        TopicPartition(*key): after
        for key, (_, after) in wanted.items()
        if after is not None and after != before[TopicPartition(*key)]
    }
    found = {tp: step.state.partition(tp) for tp in changed}
    if found != decided:
        return f"{found} is decided, not {decided}"
    told = [getattr(each, "broker_id", None) for each in step.effects[effects:]]
    missing = [each for each in alive(step.state) if decided and each not in told]
    return f"{missing} are not told" if missing else None


def _misanswered(
    response: AlterPartitionResponse,
    wanted: Mapping[tuple[str, int], tuple[ErrorCode, Partition | None]],
) -> Broken:
    entries = {
        (topic.topic_name, entry.partition_index): entry
        for topic in response.topics
        for entry in topic.partitions
    }
    if sorted(entries) != sorted(wanted):
        return f"answered are {sorted(entries)}, asked for {sorted(wanted)}"
    for key, entry in entries.items():
        code, after = wanted[key]
        if entry.error_code != code:
            return f"{key} is answered {entry}, not {code!r}"
        if after is not None and _differs(after, entry):
            return f"answered {entry}, decided {after}"
    return None


def _differs(after: Partition, entry: object) -> bool:
    told = [
        getattr(entry, name)
        for name in ("leader_id", "leader_epoch", "isr", "leader_recovery_state", "partition_epoch")
    ]
    return told != [
        after.leader,
        after.leader_epoch,
        list(after.isr),
        int(after.is_recovering),
        after.partition_epoch,
    ]


def _verdict(
    step: Step, version: int, name: str | None, old: Partition | None, data: PartitionData
) -> tuple[ErrorCode, Partition | None]:
    """Return the code of an entry; and the partition that there is after it, without an error."""
    if version >= 2 and name is None:
        return ErrorCode.UNKNOWN_TOPIC_ID, None
    if old is None or old.leader_epoch < 0:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None
    members = (
        [(each.broker_id, each.broker_epoch) for each in data.new_isr_with_epochs]
        if version >= 3
        else [(each, -1) for each in data.new_isr]
    )
    isr = tuple(each for each, _ in members)
    after = replace(old, isr=isr, is_recovering=data.leader_recovery_state == 1)
    if after == old and data.leader_epoch == old.leader_epoch:
        is_ahead = data.partition_epoch > old.partition_epoch
        return (ErrorCode.NOT_CONTROLLER, None) if is_ahead else (ErrorCode.NONE, old)
    versions = (data.leader_epoch, data.partition_epoch)
    stale = _version_code(versions, (old.leader_epoch, old.partition_epoch))
    if stale is not ErrorCode.NONE:
        return stale, None
    tp = TopicPartition(name or "", data.partition_index)
    code = _members_code(step.state, tp, old, after, members)
    if code is ErrorCode.INELIGIBLE_REPLICA and version < 2:
        code = ErrorCode.OPERATION_NOT_ATTEMPTED
    epochs = (old.partition_epoch + 1, step.state.controller_epoch)
    new = replace(after, partition_epoch=epochs[0], controller_epoch=epochs[1])
    return code, new if code is ErrorCode.NONE else None


def _version_code(asked: tuple[int, int], known: tuple[int, int]) -> ErrorCode:
    """Return what is wrong with the leader epoch and the partition epoch."""
    if any(mine > ours for mine, ours in zip(asked, known, strict=True)):
        return ErrorCode.NOT_CONTROLLER
    if asked[0] != known[0]:
        return ErrorCode.FENCED_LEADER_EPOCH
    return ErrorCode.NONE if asked == known else ErrorCode.INVALID_UPDATE_VERSION


def _members_code(
    state: ClusterState,
    tp: TopicPartition,
    old: Partition,
    after: Partition,
    members: list[tuple[int, int]],
) -> ErrorCode:
    begins_again = after.is_recovering and not old.is_recovering
    is_shared = after.is_recovering and len(members) > 1
    if begins_again or is_shared or old.leader not in after.isr:
        return ErrorCode.INVALID_REQUEST
    for broker_id, epoch in members:
        broker = state.brokers.get(broker_id)
        is_stopping = broker is not None and broker.is_shutting_down
        if (
            broker is None
            or broker.is_fenced
            or (is_stopping and broker_id != old.leader)
            or broker_id not in old.replicas
            or tp in state.offline.get(broker_id, ())
            or (epoch not in {-1, broker.broker_epoch} and broker_id != old.leader)
        ):
            return ErrorCode.INELIGIBLE_REPLICA
    return ErrorCode.NONE
