"""What a cluster is promised when brokers and log dirs come and go.

Source: KafkaController.onBrokerStartup, onBrokerFailure, processLeaderAndIsrResponseReceived;
KIP-112.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from typing import Final

from controller.core import failures, log_dir_reports, older_topics, removals, startup
from controller.core.effects import ConnectBroker, Effect, Send
from controller.core.events import RequestAnswered
from controller.core.phases import ReplicaPhase
from controller.core.state import Broker, ClusterState
from controller.core.step import Step
from protocol.errors import ErrorCode
from protocol.ids import NO_LEADER, TopicPartition
from protocol.messages.control import FULL_METADATA, LeaderAndIsrRequest, UpdateMetadataRequest
from protocol.messages.lifecycle import BrokerRegistrationRequest
from simulation.contracts.contract import Broken, of_function
from simulation.contracts.controller.cluster_facts import alive, leaves, live

Check = Generator[None, None, Broken]
_THERE: Final = (ErrorCode.NONE, ErrorCode.STALE_CONTROLLER_EPOCH)


@of_function(failures.broker_started)
def broker_started(step: Step, broker_id: int) -> Check:
    """Who comes in hears all that there is, and is told each of its replicas."""
    count = len(step.effects)
    yield
    state, sent = step.state, step.effects[count:]
    broker = state.brokers[broker_id]
    name = step.settings.control_plane_listener
    where = next((each for each in broker.endpoints if each.name == name), broker.endpoints[0])
    channel = ConnectBroker(broker_id, broker.broker_epoch, where.host, where.port)
    if broker.is_fenced or broker.is_shutting_down or sent.count(channel) != 1:
        return f"{broker} comes in: {sent[:2]}"
    own = [each.request for each in sent if isinstance(each, Send) and each.broker_id == broker_id]
    first = own[0] if own else None
    if not isinstance(first, UpdateMetadataRequest) or first.type != FULL_METADATA:
        return f"the first that it hears is {first}"
    if not step.settings.has_zookeeper and step.run.last_seen_ms.get(broker_id) != step.now_ms:
        return f"its session began at {step.run.last_seen_ms.get(broker_id)}, not {step.now_ms}"
    told = _told(sent, broker_id)
    untold = [tp for tp in _hosted(state, broker_id) if tp not in told]
    if untold:
        return f"it is not told of {untold}"
    due = [tp for tp in state.removed.get(broker_id, ()) if tp not in _stopped(sent, broker_id)]
    return f"it is not told to delete {due}" if due else None


def _hosted(state: ClusterState, broker_id: int) -> list[TopicPartition]:
    return [
        tp
        for tp in state.hosted.get(broker_id, ())
        if state.partition(tp).leader_epoch >= 0 and not state.topics[tp.topic].is_deleting
    ]


def _told(sent: Sequence[Effect], broker_id: int) -> set[TopicPartition]:
    return {
        TopicPartition(topic.topic_name, each.partition_index)
        for effect in sent
        if isinstance(effect, Send) and effect.broker_id == broker_id
        if isinstance(effect.request, LeaderAndIsrRequest)
        for topic in effect.request.topic_states
        for each in topic.partition_states
    }


def _stopped(sent: Sequence[Effect], broker_id: int) -> set[TopicPartition]:
    return {
        TopicPartition(topic.topic_name, each.partition_index)
        for effect in sent
        if isinstance(effect, Send) and effect.broker_id == broker_id
        if not isinstance(effect.request, LeaderAndIsrRequest | UpdateMetadataRequest)
        for topic in effect.request.topic_states
        for each in topic.partition_states
        if each.delete_partition
    }


@of_function(startup.controller_started)
def controller_started(step: Step) -> Check:
    """A new controller tells all brokers everything, and asks for replicas that were offline, too.

    One of these may be back, and the controller before it ended before it heard so.
    """
    count = len(step.effects)
    yield
    state, sent = step.state, step.effects[count:]
    for broker_id in alive(state):
        own = [
            each.request for each in sent if isinstance(each, Send) and each.broker_id == broker_id
        ]
        first = own[0] if own else None
        if not isinstance(first, UpdateMetadataRequest) or first.type != FULL_METADATA:
            return f"the first that broker {broker_id} hears is {first}"
        due = [tp for tp in state.removed.get(broker_id, ()) if tp not in _stopped(sent, broker_id)]
        if due:
            return f"broker {broker_id} is not told to delete {due}"
    for broker_id in live(state):
        told = _told(sent, broker_id)
        untold = [tp for tp in _hosted(state, broker_id) if tp not in told]
        if untold:
            return f"broker {broker_id} is not told of {untold}"
    return None


@of_function(failures.brokers_failed)
def brokers_failed(step: Step, broker_ids: Sequence[int], reason: str) -> Check:
    """The dead lead nothing, and are in no Isr that has another member."""
    before = {each: step.state.hosted_by(each) for each in broker_ids}
    yield
    state = step.state
    for broker_id, tps in before.items():
        is_heard = broker_id in step.run.last_seen_ms or broker_id in step.run.channels
        if not state.brokers[broker_id].is_fenced or is_heard:
            return f"{state.brokers[broker_id]} failed ({reason}), and is heard: {is_heard}"
        for tp in tps:
            broken = _still_counts(step, tp, broker_id)
            if broken is not None:
                return broken
    return None


def _still_counts(step: Step, tp: TopicPartition, broker_id: int) -> Broken:
    """Say how a replica that is offline is taken for one that is there."""
    one = step.state.find(tp)
    if one is None or one.leader_epoch < 0 or leaves(step.state.topics[tp.topic], step.state):
        return None
    if broker_id not in one.replicas:
        return None
    if one.leader == broker_id or (broker_id in one.isr and len(one.isr) > 1):
        return f"{tp} counts on broker {broker_id}: {one}"
    phase = step.run.replica_phases.get(tp, {}).get(broker_id)
    return f"{tp} on broker {broker_id} is {phase}" if phase is ReplicaPhase.ONLINE else None


@of_function(older_topics.tell_as_new)
def tell_as_new(step: Step, event: RequestAnswered) -> Check:
    """What a broker refuses for an older log is new to it, where its topic is the newest one.

    Once while it lives. A topic that may be older than that log is told as before.
    """
    before = frozenset(step.run.told_as_new)
    count = len(step.effects)
    life = (event.broker_id, event.broker_epoch)
    refused = [
        TopicPartition(step.state.topic_names[each.topic_id], error.partition_index)
        for each in event.response.topics
        if each.topic_id in step.state.topic_names
        for error in each.partition_errors
        if error.error_code == ErrorCode.INCONSISTENT_TOPIC_ID
    ]
    yield
    topics, after = step.state.topics, step.state.lost_after
    wanted = {
        tp
        for tp in refused
        if topics[tp.topic].decision > after and not topics[tp.topic].is_deleting
        if event.broker_id in step.state.partition(tp).replicas and (*life, tp) not in before
    }
    noted = {each for each in step.run.told_as_new if each not in before}
    told = _told(step.effects[count:], event.broker_id)
    if noted == {(*life, tp) for tp in wanted} and told == wanted:
        return None
    return f"{wanted} is new to broker {life}, noted is {noted}, told is {told}"


@of_function(failures.log_dirs_failed)
def log_dirs_failed(step: Step, broker_id: int, log_dirs: tuple[bytes, ...]) -> Check:
    """A broker with a failed log dir is asked for all replicas: it alone knows which are gone."""
    count = len(step.effects)
    yield
    broker = step.state.brokers[broker_id]
    if not frozenset(log_dirs) <= frozenset(broker.offline_log_dirs):
        return f"{log_dirs} failed: {broker}"
    told = _told(step.effects[count:], broker_id)
    untold = [tp for tp in _hosted(step.state, broker_id) if tp not in told]
    return f"broker {broker_id} is not asked for {untold}" if untold else None


@of_function(failures.ask_offline_replicas)
def ask_offline_replicas(step: Step, broker_id: int) -> Check:
    """Where something came back, all that was offline is asked for, by leaders in a later epoch.

    A log that comes back may be another one, and is in sync only when its leader has seen so.
    """
    offline = list(step.state.offline.get(broker_id, ()))
    before = {tp: step.state.partition(tp) for tp in offline}
    count = len(step.effects)
    yield
    told = _told(step.effects[count:], broker_id)
    for tp, old in before.items():
        topic, one = step.state.topics.get(tp.topic), step.state.find(tp)
        if one is None or topic is None or topic.is_deleting or one.leader_epoch < 0:
            continue
        is_led = old.leader not in {NO_LEADER, broker_id}
        if is_led and one.leader_epoch <= old.leader_epoch:
            return f"{tp} goes on as {one}"
        if tp not in told and broker_id in alive(step.state):
            return f"broker {broker_id} is not asked for {tp}"
    return None


@of_function(failures.ask_online_replicas)
def ask_online_replicas(step: Step, broker_id: int) -> Check:
    """Where something came back, all that counts as online is told again."""
    offline = dict(step.state.offline.get(broker_id, {}))
    count = len(step.effects)
    yield
    told = _told(step.effects[count:], broker_id)
    wanted = {tp for tp in _hosted(step.state, broker_id) if tp not in offline}
    return f"not told: {sorted(wanted - told)}" if wanted - told else None


@of_function(log_dir_reports.log_dirs_registered)
def log_dirs_registered(step: Step, request: BrokerRegistrationRequest, known: Broker) -> Check:
    """What was asked before log dirs came back is known as such: its answers are of before.

    What is asked because of the return is not among it, nor what is being deleted: of that nobody
    asks whether it is online again.
    """
    del request
    broker_id = known.broker_id
    found = step.state.offline.get(broker_id, ())
    offline = [tp for tp in found if not step.state.is_being_deleted(tp.topic)]
    progress, count = step.run.channels.get(broker_id), len(step.effects)
    before = 0 if progress is None else progress.sent
    yield
    if broker_id not in alive(step.state):
        return None
    noted = step.run.asked_before_return.get(broker_id, 0)
    last: dict[TopicPartition, int] = {}
    for each in step.effects[count:]:
        if isinstance(each, Send):
            last |= dict.fromkeys(_told([each], broker_id).intersection(offline), each.sequence)
    early = [tp for tp, sequence in last.items() if sequence <= noted]
    if noted < before or early:
        return f"broker {broker_id} was asked up to {before}, noted is {noted}: {early}, {last}"
    return None


@of_function(failures.leader_and_isr_answered)
def leader_and_isr_answered(step: Step, event: RequestAnswered) -> Check:
    """A replica is offline when its broker says so, and online when it says that.

    What is offline leads nothing and leaves the Isr; what is online again hears what it missed.
    """
    state, broker_id = step.state, event.broker_id
    before = dict(state.offline.get(broker_id, {}))
    hosted = dict(state.hosted.get(broker_id, {}))
    codes = _codes(event) if event.response.error_code == ErrorCode.NONE else {}
    broken = [tp for tp, code in codes.items() if code == ErrorCode.KAFKA_STORAGE_ERROR]
    gone = [tp for tp in broken if tp in hosted]
    back = [tp for tp, code in codes.items() if code in _THERE and tp in before and tp in hosted]
    stopped = [
        tp
        for tp in back
        if step.run.replica_phases.get(tp, {}).get(broker_id) is ReplicaPhase.OFFLINE
    ]
    is_late = event.sequence <= step.run.asked_before_return.get(broker_id, 0)
    count = len(step.effects)
    yield
    wanted = {tp for tp in (*before, *gone) if tp not in back}
    found = set(state.offline.get(broker_id, ()))
    going = {tp for tp in wanted ^ found if state.is_deleting(tp.topic)}
    if found - going != wanted - going:
        return f"offline on {broker_id} are {sorted(found)}, not {sorted(wanted)}: {codes}"
    asked = _told(step.effects[count:], broker_id)
    for tp in gone:
        wrong = None if tp in asked else _still_counts(step, tp, broker_id)
        if wrong is not None:
            return wrong
        is_new = tp not in before and not state.is_deleting(tp.topic)
        if is_new and is_late and tp not in asked and broker_id in alive(state):
            return f"{tp} came back meanwhile, and broker {broker_id} is not asked again"
    unheard = [tp for tp in back if tp not in asked and not state.is_deleting(tp.topic)]
    idle = [tp for tp in unheard if tp in stopped and state.find(tp) is not None]
    if idle:
        return f"{idle} are back on broker {broker_id}, were told to stop, and hear no more"
    return _missed(step, event, unheard)


def _missed(step: Step, event: RequestAnswered, unheard: list[TopicPartition]) -> Broken:
    epochs = {
        TopicPartition(topic.topic_name, each.partition_index): each.leader_epoch
        for topic in event.request.topic_states
        for each in topic.partition_states
    }
    for tp in unheard:
        one = step.state.find(tp)
        if one is not None and one.leader_epoch != epochs[tp]:
            return f"{tp} on broker {event.broker_id} was asked by {epochs[tp]}: {one}"
    return None


def _codes(event: RequestAnswered) -> dict[TopicPartition, int]:
    names = {bytes(each.topic_id): each.topic_name for each in event.request.topic_states}
    return {
        TopicPartition(names[bytes(topic.topic_id)], each.partition_index): each.error_code
        for topic in event.response.topics
        if bytes(topic.topic_id) in names
        for each in topic.partition_errors
    }


@of_function(removals.tell_again)
def tell_again(step: Step, broker_ids: Iterable[int]) -> Check:
    """Brokers are told again to delete what they have not said to be gone, and nothing else."""
    if not isinstance(broker_ids, Sequence):
        return None
    wanted = {each: set(step.state.removed.get(each, ())) for each in broker_ids}
    count = len(step.effects)
    yield
    able = alive(step.state)
    for broker_id, tps in wanted.items():
        stopped = _stopped(step.effects[count:], broker_id)
        if stopped != (tps if broker_id in able else set()):
            return f"broker {broker_id} is told to delete {sorted(stopped)}, not {sorted(tps)}"
    return None


@of_function(removals.stop_replica_answered)
def removal_answered(step: Step, event: RequestAnswered) -> Check:
    """A replica is off the list of what is to be deleted once its broker has deleted it.

    Only by an answer to what was sent since it was taken away last.
    """
    state, broker_id = step.state, event.broker_id
    before = dict(state.removed.get(broker_id, {}))
    since = dict(step.run.asked_before_removal.get(broker_id, {}))
    kept = {
        TopicPartition(each.topic_name, each.partition_index)
        for each in event.response.partition_errors
        if each.error_code != ErrorCode.NONE
    }
    yield
    asked = {
        TopicPartition(topic.topic_name, each.partition_index)
        for topic in event.request.topic_states
        for each in topic.partition_states
        if each.delete_partition
    }
    done = asked - kept
    if event.response.error_code != ErrorCode.NONE:
        done.clear()
    wanted = {tp for tp in before if tp not in done or event.sequence <= since.get(tp, 0)}
    found = set(state.removed.get(broker_id, ()))
    return None if found == wanted else f"{sorted(found)} are to be deleted, not {sorted(wanted)}"
