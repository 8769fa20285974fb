"""What the controller promises of each change: brokers are told at once, then it is answered.

Who ordered something finds it in force on whatever broker it asks next. Source:
ZkAdminManager.topicPurgatory, KafkaController.sendUpdateMetadataRequest.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator, Mapping
from typing import Any, Final

from controller.core.acl_records import AclsCreated, AclsDeleted
from controller.core.config_records import (
    BrokerConfigsChanged,
    GroupConfigsChanged,
    TopicConfigsChanged,
)
from controller.core.decision import Decision, Durable
from controller.core.effects import Answer, Effect, Send
from controller.core.events import Event, RequestArrived
from controller.core.machine import Machine
from controller.core.quota_records import ClientQuotaRemoved, ClientQuotaSet
from controller.core.records import DeletionQueued, LeadershipChanged, Record
from controller.core.run_state import Waiting
from controller.core.scram_records import ScramCredentialDeleted, ScramCredentialStored
from controller.core.state import ClusterState
from controller.core.token_records import DelegationTokenRemoved, DelegationTokenStored
from protocol.configs.messages import (
    CHANGED_ACLS,
    CHANGED_CLIENT_QUOTAS,
    CHANGED_DELEGATION_TOKENS,
    CHANGED_GROUP_CONFIGS,
    CHANGED_SCRAM_CREDENTIALS,
)
from protocol.configs.types import ALL_BROKERS
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.acls import CreateAclsRequest, DeleteAclsRequest
from protocol.messages.configs import AlterConfigsRequest, IncrementalAlterConfigsRequest
from protocol.messages.control import (
    FULL_METADATA,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
)
from protocol.messages.elections import ElectLeadersRequest
from protocol.messages.quotas import AlterClientQuotasRequest
from protocol.messages.scram import AlterUserScramCredentialsRequest
from protocol.messages.topics import (
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
)
from simulation.contracts.contract import Broken, of_method
from simulation.contracts.controller.cluster_facts import alive, leaves

Told = Generator[None, Decision, Broken]
_ROWS: Final[dict[type[Any], str]] = {
    AclsCreated: CHANGED_ACLS,
    AclsDeleted: CHANGED_ACLS,
    ScramCredentialStored: CHANGED_SCRAM_CREDENTIALS,
    ScramCredentialDeleted: CHANGED_SCRAM_CREDENTIALS,
    ClientQuotaSet: CHANGED_CLIENT_QUOTAS,
    ClientQuotaRemoved: CHANGED_CLIENT_QUOTAS,
    DelegationTokenStored: CHANGED_DELEGATION_TOKENS,
    DelegationTokenRemoved: CHANGED_DELEGATION_TOKENS,
    GroupConfigsChanged: CHANGED_GROUP_CONFIGS,
}
"""Record -> the row that has every broker ask for what changed."""
_OWN_CONFIGS: Final = ""
_BEHIND_ALL: Final = (
    CreateAclsRequest,
    DeleteAclsRequest,
    AlterUserScramCredentialsRequest,
    AlterClientQuotasRequest,
    IncrementalAlterConfigsRequest,
    AlterConfigsRequest,
)
"""Orders that are answered behind all that brokers are being told: it may be what is ordered."""
_ORDERS: Final = (
    *_BEHIND_ALL,
    CreateTopicsRequest,
    CreatePartitionsRequest,
    DeleteTopicsRequest,
    ElectLeadersRequest,
)
"""The others wait where they changed something, and say TIMED_OUT where they may not."""
_CONFIGS_CHANGED: Final = (TopicConfigsChanged, BrokerConfigsChanged)
_Row = tuple[str, int]
_NO_PARTITION: Final = -1


def _effects(decision: Decision) -> list[Effect]:
    return list(decision.effects(Durable(decision.journal_number)))


@of_method(Machine, "step")
def told_at_once(machine: Machine, _: Event, _now_ms: int) -> Told:
    """Each broker that a change concerns is told of it, as it is, in the step that decides it."""
    decision = yield
    if machine.run.hearing is not None or not decision.records:
        return None
    due = [row for record in decision.records for row in _due(machine, record)]
    if not due:
        return None
    reachable = alive(machine.state)
    told = _told(_effects(decision))
    for broker_id, name, partition in due:
        for each in reachable if broker_id is None else [broker_id]:
            if each in reachable and not _has(told[each], (name, partition), machine.state):
                return f"broker {each} is not told of {name!r} {partition}: {decision.records}"
    return None


def _due(machine: Machine, record: Record) -> Iterator[tuple[int | None, str, int]]:
    """Give (broker, or None for all; name of a row; partition or -1) of what is to be told.

    What is kept in ZooKeeper brokers see there.
    """
    has_zookeeper = machine._settings.has_zookeeper  # noqa: SLF001 -- nothing public has it
    if has_zookeeper and (type(record) in _ROWS or isinstance(record, _CONFIGS_CHANGED)):
        return
    if type(record) in _ROWS:
        yield None, _ROWS[type(record)], _NO_PARTITION
    elif isinstance(record, TopicConfigsChanged):
        yield None, record.name, _NO_PARTITION
    elif isinstance(record, BrokerConfigsChanged):
        is_all = record.name == ALL_BROKERS
        yield None if is_all else int(record.name), _OWN_CONFIGS, _NO_PARTITION
    else:
        for tp in _places(machine.state, record):
            yield None, tp.topic, tp.partition


def _places(state: ClusterState, record: Record) -> list[TopicPartition]:
    """Return the partitions that are led otherwise, or go; of one that goes only that is told."""
    if isinstance(record, LeadershipChanged):
        led = [TopicPartition(each.topic, each.partition) for each in record.changes]
        return [tp for tp in led if tp.topic in state.topics and not _goes(state, tp.topic)]
    topic = state.topics.get(record.name) if isinstance(record, DeletionQueued) else None
    if topic is None or not leaves(topic, state):
        return []
    led = [one.leader_epoch >= 0 for one in topic.partitions]
    return [tp for tp, is_led in zip(topic.keys, led, strict=True) if is_led]


def _goes(state: ClusterState, topic: str) -> bool:
    return state.topics[topic].is_deleting


def _told(effects: list[Effect]) -> dict[int, list[UpdateMetadataRequest]]:
    """Return what each broker is told."""
    told: dict[int, list[UpdateMetadataRequest]] = defaultdict(list)
    for each in effects:
        if isinstance(each, Send) and isinstance(each.request, UpdateMetadataRequest):
            told[each.broker_id].append(each.request)
    return told


def _has(told: list[UpdateMetadataRequest], row: _Row, state: ClusterState) -> bool:
    """Tell whether a broker is told of a row, and last as it is in the end."""
    name, partition = row
    for request in reversed(told):
        for topic in request.topic_states:
            if topic.topic_name != name:
                continue
            if partition < 0 and not topic.partition_states:
                return True
            for each in topic.partition_states:
                if each.partition_index == partition:
                    return _is_so(each, TopicPartition(name, partition), state)
    return partition >= 0 and any(each.type == FULL_METADATA for each in told)


def _is_so(told: UpdateMetadataPartitionState, tp: TopicPartition, state: ClusterState) -> bool:
    one = state.find(tp)
    if one is None or _goes(state, tp.topic):
        return True
    return (told.leader_epoch, told.zk_version) == (one.leader_epoch, one.partition_epoch)


@of_method(Machine, "step")
def answered_behind(machine: Machine, event: Event, _now_ms: int) -> Told:
    """Who ordered something waits for each broker that was told, of this or before."""
    run = machine.run
    if run.hearing is None and not isinstance(event, RequestArrived):
        return None
    asked = list(run.hearing.held if run.hearing is not None else ())
    asked += [event] if isinstance(event, RequestArrived) else []
    orders = {each.token: each.request for each in asked if isinstance(each.request, _ORDERS)}
    if not orders:
        return None
    due = {each: progress.metadata_sent for each, progress in run.channels.items()}
    decision = yield
    effects = _effects(decision)
    if run.hearing is not None:
        return None
    due.update(_first_sent(effects))
    open_to = {
        each: (progress.broker_epoch, due[each])
        for each, progress in run.channels.items()
        if progress.answered < due.get(each, 0)
    }
    answers = [each for each in effects if isinstance(each, Answer) and each.token in orders]
    done = [each for each in answers if _says_done(orders[each.token], each.response)]
    if open_to and done:
        return f"{done} are given while brokers are told: {open_to}"
    return _held_too_little(run.waiting, orders, open_to)


def _held_too_little(
    waiting: list[Waiting], orders: Iterable[int], open_to: Mapping[int, tuple[int, int]]
) -> Broken:
    for held in waiting:
        is_order = isinstance(held.done, Answer) and held.done.token in orders
        if is_order and not all(_is_behind(held, *each) for each in open_to.items()):
            return f"{held} does not wait for all of {open_to}"
    return None


def _first_sent(effects: list[Effect]) -> dict[int, int]:
    """Return the first of this step that tells a broker something: more may follow from that."""
    return {
        each.broker_id: each.sequence
        for each in reversed(effects)
        if isinstance(each, Send) and isinstance(each.request, UpdateMetadataRequest)
    }


def _is_behind(waiting: Waiting, broker_id: int, due: tuple[int, int]) -> bool:
    broker_epoch, sequence = waiting.told.get(broker_id, (due[0], 0))
    return broker_epoch == due[0] and sequence >= due[1]


# Any: one of the orders, and the answer to it.
def _says_done(request: Any, response: Any) -> bool:
    """Tell whether an answer says of anything that it is in force by now."""
    if isinstance(request, _BEHIND_ALL):
        return True
    # Any: what an answer says of one topic, or of one partition.
    results: list[Any] = []
    if isinstance(request, ElectLeadersRequest):
        for topic in response.replica_election_results:
            results += topic.partition_result
    elif isinstance(request, DeleteTopicsRequest):
        results = response.responses
    elif not request.validate_only:
        is_new = isinstance(request, CreateTopicsRequest)
        results = response.topics if is_new else response.results
    return any(each.error_code == ErrorCode.NONE for each in results)
