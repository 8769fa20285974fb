"""What follows when brokers or log dirs come and go.

It learns which replicas are offline only from the brokers' answers.

Source: KafkaController.scala onBrokerStartup, onBrokerFailure, onBrokerLogDirFailure,
processLeaderAndIsrResponseReceived, onReplicasBecomeOffline; KIP-112.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from controller.core import deletion, older_topics, reassignment, removals, unknown_replicas
from controller.core.events import RequestAnswered
from controller.core.partition_moves import elect_leaderless, move_partitions, raise_leader_epochs
from controller.core.phases import PartitionPhase, ReplicaPhase
from controller.core.records import (
    BrokerFenced,
    BrokerUnfenced,
    LogDirsFailed,
    ReplicasProbed,
)
from controller.core.replica_moves import Replica, move_replicas
from controller.core.run_state import Probe
from controller.core.step import Step
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition, failure_id, listed, uuid_text
from protocol.messages.control import LeaderAndIsrRequest, LeaderAndIsrResponse
from protocol.metrics.rows import FailoverStep

_ONLINE: Final = (ErrorCode.NONE, ErrorCode.STALE_CONTROLLER_EPOCH)
"""Codes of replicas that are there; the second one says that it was told so before.

A controller that ended before it noted the first answer gets the second.
"""


def broker_started(step: Step, broker_id: int) -> None:
    """Take a broker in: tell it everything, ask what is offline, elect, resume deletions."""
    step.change(BrokerUnfenced(broker_id))
    step.begin_session(broker_id)
    step.connect(broker_id)
    step.note(f"broker {broker_id} is live, epoch {step.state.brokers[broker_id].broker_epoch}")
    others = [other for other in step.state.reachable_brokers() if other != broker_id]
    step.send_metadata(others, ())
    step.send_all_metadata((broker_id,))
    unheard = step.run.unheard_configs.get(broker_id)
    if unheard:
        # A log dir may be cordoned since: it is to know that before it places a replica.
        step.send_changed_configs((broker_id,), list(unheard))
    unknown_replicas.tell(step, (broker_id,))
    replicas = replicas_on(step, broker_id)
    move_replicas(step, replicas, ReplicaPhase.ONLINE)
    elect_leaderless(step)
    removals.tell_again(step, (broker_id,))
    reassignment.resume_on(step, broker_id)
    deletion.resume_topics(step, _topics_being_deleted(step, replicas))


def brokers_failed(step: Step, broker_ids: Sequence[int], reason: str) -> None:
    """Take live brokers out together: elect other leaders, shrink Isrs, tell the rest."""
    for broker_id in broker_ids:
        if step.state.is_shutting_down(broker_id):
            step.note(f"broker {broker_id} left: {reason}")
        else:
            step.warn(f"broker {broker_id} is dead: {reason}")
        step.change(BrokerFenced(broker_id))
        step.run.last_seen_ms.pop(broker_id, None)
        step.disconnect(broker_id)
    replicas_went_offline(step, [r for b in broker_ids for r in replicas_on(step, b)])


def log_dirs_failed(step: Step, broker_id: int, log_dirs: tuple[bytes, ...]) -> None:
    """Note a failure and ask the broker which replicas are offline: LeaderAndIsr for all."""
    broker = step.state.brokers[broker_id]
    failures = tuple(failure_id(broker_id, d, broker.broker_epoch) for d in log_dirs)
    for failure, log_dir in zip(failures, log_dirs, strict=True):
        step.warn(f"log dir {uuid_text(log_dir)} of broker {broker_id} is offline")
        step.report(failure, FailoverStep.CONTROLLER_NOTICED)
    step.change(LogDirsFailed(broker_id, log_dirs))
    _probe(step, broker_id, failures)


def ask_online_replicas(step: Step, broker_id: int) -> None:
    """Tell a live broker again of the replicas that nobody knows to be offline on it.

    A log dir that failed again while it still counted as failed, for its first return was heard
    late, took replicas along of which no answer told; now that it is back they wait for a word.
    """
    offline = step.state.offline.get(broker_id, {})
    there = [
        each
        for each in replicas_on(step, broker_id)
        if each.tp not in offline and not step.state.is_being_deleted(each.tp.topic)
    ]
    move_replicas(step, there, ReplicaPhase.ONLINE)


def ask_offline_replicas(step: Step, broker_id: int) -> None:
    """Ask a live broker for the replicas that were offline on it: something came back.

    Those that are being deleted are just told so again: the answer says whether they are gone.
    Kafka hears of returns only from a new process; see KIP-18.
    """
    offline = step.state.offline.get(broker_id, {})
    replicas = replicas_on(step, broker_id)
    deleting = [tp for tp in offline if step.state.is_being_deleted(tp.topic)]
    asked = [r for r in replicas if r.tp in offline and r.tp not in deleting]
    raise_leader_epochs(step, [replica.tp for replica in asked], broker_id)
    move_replicas(step, asked, ReplicaPhase.ONLINE)
    if deleting:
        step.change(ReplicasProbed(broker_id, (), tuple(deleting)))
    deletion.resume_topics(step, _topics_being_deleted(step, replicas))


def leader_and_isr_answered(step: Step, event: RequestAnswered) -> None:
    """Learn from the codes of one answer which replicas are offline or online again."""
    response: LeaderAndIsrResponse = event.response
    probe = _take_probe(step, event)
    if response.error_code != ErrorCode.NONE:
        step.warn(f"broker {event.broker_id} refused LeaderAndIsr: code {response.error_code}")
        return
    _note_still_offline(step, event)
    older_topics.tell_as_new(step, event)
    newly_offline, online = _learn(step, event)
    moved_count = 0
    if newly_offline:
        moved_count = replicas_went_offline(
            step, [Replica(tp, event.broker_id) for tp in newly_offline]
        )
        if step.run.was_asked_before_return(event.broker_id, event.sequence):
            ask_offline_replicas(step, event.broker_id)  # what came back may have them by now
    if online:
        _tell_what_they_missed(step, event, online)
        _replicas_came_online(step, online)
        # A deletion that began since they were asked counts them as offline.
        came = [Replica(tp, event.broker_id) for tp in online]
        deletion.resume_topics(step, _topics_being_deleted(step, came))
    if probe is not None:
        _report_probe(step, probe, newly_offline, moved_count)


def replicas_went_offline(step: Step, replicas: list[Replica]) -> int:
    """Elect leaders, shrink Isrs, fail deletions; return how many partitions got a leader."""
    dying = [r for r in replicas if step.state.is_being_deleted(r.tp.topic)]
    kept = [r for r in replicas if not step.state.is_being_deleted(r.tp.topic)]
    move_partitions(step, _leaderless(step, kept), PartitionPhase.OFFLINE)
    outcome = elect_leaderless(step)
    move_replicas(step, kept, ReplicaPhase.OFFLINE)
    deletion.fail_replicas(step, dying)
    if not kept and not any(outcome.values()):
        step.send_metadata(step.state.reachable_brokers(), ())
    return sum(outcome.values())


def replicas_on(step: Step, broker_id: int) -> list[Replica]:
    """Return the replicas assigned to a broker."""
    return [Replica(tp, broker_id) for tp in step.state.hosted_by(broker_id)]


def _leaderless(step: Step, replicas: Iterable[Replica]) -> Iterator[TopicPartition]:
    """Give the partitions whose leader is offline, each once."""
    for tp in dict.fromkeys(replica.tp for replica in replicas):
        partition = step.state.partition(tp)
        if partition.has_leadership and not step.state.is_replica_online(tp, partition.leader):
            yield tp


def _topics_being_deleted(step: Step, replicas: Iterable[Replica]) -> list[str]:
    topics = dict.fromkeys(replica.tp.topic for replica in replicas)
    return [topic for topic in topics if step.state.is_deleting(topic)]


def _probe(step: Step, broker_id: int, failures: tuple[str, ...]) -> None:
    before = step.run.channels[broker_id].sent
    move_replicas(step, replicas_on(step, broker_id), ReplicaPhase.ONLINE)
    if step.run.channels[broker_id].sent == before:
        _report_probe(step, Probe(before, failures), (), 0)
        return
    # LeaderAndIsr is the first request of a batch.
    step.run.probes.setdefault(broker_id, []).append(Probe(before + 1, failures))


def _take_probe(step: Step, event: RequestAnswered) -> Probe | None:
    probes = step.run.probes.get(event.broker_id, [])
    for probe in probes:
        if probe.sequence == event.sequence:
            probes.remove(probe)
            return probe
    return None


def _tell_what_they_missed(
    step: Step, event: RequestAnswered, online: tuple[TopicPartition, ...]
) -> None:
    """Tell replicas again whose leadership changed, or that were stopped, while they were asked.

    Until they answered they counted as offline, and nobody tells those of elections. An earlier
    answer, that they are offline, had them stopped: StopReplica follows the request answered now.
    """
    asked = _epochs(event.request)
    missed = [
        Replica(tp, event.broker_id)
        for tp in online
        if step.state.partition(tp).leader_epoch != asked[tp]
        or step.run.replica_phase_of(tp, event.broker_id) is ReplicaPhase.OFFLINE
    ]
    move_replicas(step, missed, ReplicaPhase.ONLINE)


def _replicas_came_online(step: Step, online: tuple[TopicPartition, ...]) -> None:
    """Elect where no leader was left, and tell everyone that these are offline no more."""
    elect_leaderless(step)
    led = [tp for tp in online if step.state.partition(tp).has_leadership]
    step.send_metadata(step.state.reachable_brokers(), led)


def _learn(
    step: Step, event: RequestAnswered
) -> tuple[tuple[TopicPartition, ...], tuple[TopicPartition, ...]]:
    """Update the offline replicas of a broker; return those newly offline and online again."""
    known = step.state.offline.get(event.broker_id, {})
    offline: list[TopicPartition] = []
    online: list[TopicPartition] = []
    for tp, code in _codes(event):
        if code == ErrorCode.KAFKA_STORAGE_ERROR and tp not in known:
            offline.append(tp)
        elif code in _ONLINE and tp in known:
            online.append(tp)
    hosted = step.state.hosted.get(event.broker_id, {})
    newly_offline = tuple(tp for tp in offline if tp in hosted)
    online = [tp for tp in online if tp in hosted]
    if newly_offline:
        step.warn(f"offline on broker {event.broker_id}, by its log dirs: {listed(newly_offline)}")
    if online:
        step.note(f"online again on broker {event.broker_id}: {listed(online)}")
    if newly_offline or online:
        step.change(ReplicasProbed(event.broker_id, newly_offline, tuple(online)))
    return newly_offline, tuple(online)


def _note_still_offline(step: Step, event: RequestAnswered) -> None:
    """Take back that replicas count as online since they were asked; everyone knows the answer.

    Kafka leaves them in OnlineReplica, and a deletion that meets them there skips them.
    """
    known = step.state.offline.get(event.broker_id, {})
    for tp, code in _codes(event):
        phase = step.run.replica_phase_of(tp, event.broker_id)
        if code == ErrorCode.KAFKA_STORAGE_ERROR and tp in known and phase is ReplicaPhase.ONLINE:
            step.run.set_replica_phase(tp, event.broker_id, ReplicaPhase.OFFLINE)


def _codes(event: RequestAnswered) -> Iterator[tuple[TopicPartition, int]]:
    request: LeaderAndIsrRequest = event.request
    response: LeaderAndIsrResponse = event.response
    names = {topic.topic_id: topic.topic_name for topic in request.topic_states}
    for topic in response.topics:
        name = names.get(topic.topic_id)
        if name is not None:
            for error in topic.partition_errors:
                yield TopicPartition(name, error.partition_index), error.error_code


def _epochs(request: LeaderAndIsrRequest) -> dict[TopicPartition, int]:
    return {
        TopicPartition(topic.topic_name, state.partition_index): state.leader_epoch
        for topic in request.topic_states
        for state in topic.partition_states
    }


def _report_probe(
    step: Step, probe: Probe, offline: tuple[TopicPartition, ...], moved_count: int
) -> None:
    topic_count = len(dict.fromkeys(tp.topic for tp in offline))
    for failure in probe.failure_ids:
        step.report(
            failure, FailoverStep.REPLICAS_OFFLINE, topics=topic_count, partitions=len(offline)
        )
        step.report(failure, FailoverStep.LEADERS_ELECTED, partitions=moved_count)
        step.report_when_told(failure, FailoverStep.BROKERS_TOLD)
