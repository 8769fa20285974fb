"""Replicas that brokers go on with and a journal without its end does not know: nobody leads them.

Their logs stay, for nobody is sure enough to delete them. What a broker's new process has loaded
nobody has told it to lead; only what an older one goes on with has to be ended. It is journaled, as
brokers are asked for their replicas only while the journal is behind. Kafka has no such case: its
journal is replicated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from controller.core import missing_logs
from controller.core.journal_records import UnknownReplicasReported
from controller.core.state import INITIAL_LEADER_EPOCH, UnknownReplica
from controller.core.step import Step
from protocol.ids import NO_EPOCH, ZERO_UUID, TopicPartition
from protocol.messages.journal import JournalReport


def note(step: Step, reports: Mapping[int, JournalReport]) -> None:
    """Journal what brokers go on with that the state does not give them, instead of what they did.

    Not what they told before they deleted it: they would begin it anew to follow nobody.
    ``tell`` when they listen.
    """
    for broker_id, report in sorted(reports.items()):
        unknown = dict(_unknown(step, broker_id, report))
        if unknown != step.state.unknown_replicas.get(broker_id, {}):
            step.change(UnknownReplicasReported(broker_id, tuple(unknown.items())))


def first_leader_epoch(step: Step, tp: TopicPartition) -> int:
    """Return where the leader epochs of a partition begin that has none yet.

    One that the journal lost and that is added anew begins above what its brokers go on with, and
    above what ``tell`` told them then: they would take anything lower for an old order. Who has not
    told yet may lead it, and clients know that (seed 1060736).
    """
    state, topic = step.state, step.state.topics[tp.topic]
    known = [found[tp] for found in state.unknown_replicas.values() if tp in found]
    above = [one.leader_epoch + 2 for one in known if one.topic_id in (topic.topic_id, ZERO_UUID)]
    if topic.decision <= state.lost_after:
        above.append(missing_logs.epochs_in(missing_logs.lost_since(state)))
    return max([INITIAL_LEADER_EPOCH, *above])


def tell(step: Step, broker_ids: Iterable[int]) -> None:
    """Tell brokers that are reachable that nobody leads these partitions, and that they are gone.

    One that was made anew since is known, and its replicas were told who leads it. Who is none of
    them would go on with the one before, from a broker that may have another log by now; so would
    everybody where the topic was made anew with fewer partitions.
    """
    batch = step.new_batch()
    reported = step.state.unknown_replicas
    known = {tp: one for _, found in sorted(reported.items()) for tp, one in found.items()}
    for broker_id in broker_ids:
        for tp, one in known.items():
            own, partition = reported.get(broker_id, {}).get(tp), step.state.find(tp)
            if partition is None and not _is_older(step, tp.topic, one):
                if own is not None:
                    epoch = own.leader_epoch + 1
                    batch.add_without_leader(broker_id, tp, own.topic_id, epoch)
                batch.add_gone(broker_id, tp)
            elif own is not None and (partition is None or broker_id not in partition.replicas):
                batch.add_stop_replica(broker_id, tp, delete=False, of_any_epoch=True)
    step.send_batch(batch)


def _is_older(step: Step, name: str, replica: UnknownReplica) -> bool:
    """Tell whether there is a topic of the name, and a replica is of another one."""
    topic = step.state.topics.get(name)
    return topic is not None and replica.topic_id not in (ZERO_UUID, topic.topic_id)


def _unknown(
    step: Step, broker_id: int, report: JournalReport
) -> Iterator[tuple[TopicPartition, UnknownReplica]]:
    for topic in report.topics or ():
        if bytes(topic.topic_id) in step.run.deleted_topic_ids:
            continue
        for replica in topic.replicas:
            tp = TopicPartition(topic.name, replica.partition)
            if replica.leader_epoch != NO_EPOCH and not _is_known(step, broker_id, tp):
                yield tp, UnknownReplica(bytes(topic.topic_id), replica.leader_epoch)


def _is_known(step: Step, broker_id: int, tp: TopicPartition) -> bool:
    """Whether a broker is a replica of it, or is ordered to delete it.

    Also of a topic that was deleted while the broker had not heard of the reassignment before: told
    that nobody leads it, behind that order, it would begin the replica anew (seed 1111121).
    """
    partition = step.state.find(tp)
    is_replica = partition is not None and broker_id in partition.replicas
    return is_replica or tp in step.state.removed.get(broker_id, ())
