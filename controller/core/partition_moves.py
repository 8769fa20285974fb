"""Moves partitions between phases: first leaders, elections, who is told. One call, one batch.

It chooses no leader itself (``election``).

Source: PartitionStateMachine.scala.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from controller.core.election import Elected, Strategy, elect, needs_unclean
from controller.core.phases import PARTITION_MOVES, PartitionPhase
from controller.core.records import LeadershipChanged, leadership_of
from controller.core.state import INITIAL_PARTITION_EPOCH, Partition
from controller.core.step import Step
from controller.core.unknown_replicas import first_leader_epoch
from protocol.configs.parsing import topic_config
from protocol.ids import NO_LEADER, TopicPartition


def move_partitions(step: Step, tps: Iterable[TopicPartition], target: PartitionPhase) -> None:
    """Move partitions to a phase without leader; undeclared moves are skipped with a warning."""
    assert target is not PartitionPhase.ONLINE
    for tp in _allowed(step, tps, target):
        step.run.set_phase(tp, target)


def bring_online(
    step: Step, tps: Iterable[TopicPartition], strategy: Strategy = Strategy.OFFLINE
) -> dict[TopicPartition, bool]:
    """Give partitions a leader and tell the brokers; return who got one.

    A partition in phase NEW gets its first leader, any other one an election by ``strategy``.
    """
    decided: dict[TopicPartition, Elected] = {}
    outcome: dict[TopicPartition, bool] = {}
    for tp in _allowed(step, tps, PartitionPhase.ONLINE):
        elected = _decide(step, tp, strategy)
        outcome[tp] = elected is not None
        if elected is not None:
            decided[tp] = elected
    if decided:
        _commit(step, decided)
    return outcome


def raise_leader_epochs(step: Step, tps: Iterable[TopicPartition], broker_id: int) -> None:
    """Have leaders go on in their next epoch, as a log on a broker may be another one by now.

    What its follower asked of the leader before is under way, perhaps, and would speak for the new
    log. The broker itself is not told here. Kafka needs none of this: only a new process comes back
    with other logs, and its broker epoch tells the two apart (KIP-903).
    """
    led = {tp: step.state.partition(tp) for tp in tps}
    led = {tp: old for tp, old in led.items() if old.leader not in (NO_LEADER, broker_id)}
    if not led:
        return
    raised = {tp: replace(old, leader_epoch=old.leader_epoch + 1) for tp, old in led.items()}
    change_leaderships(step, raised, f"replica on broker {broker_id} comes back")
    batch = step.new_batch()
    for tp, old in led.items():
        others = [replica for replica in old.replicas if replica != broker_id]
        batch.add_leader_and_isr(others, tp, is_new=False)
    step.send_batch(batch)


def elect_leaderless(step: Step) -> dict[TopicPartition, bool]:
    """Try to bring every NEW and OFFLINE partition online, but those of topics being deleted.

    Source: triggerOnlinePartitionStateChange.
    """
    tps = [tp for tp in step.run.leaderless if not step.state.is_being_deleted(tp.topic)]
    return bring_online(step, tps)


def change_leaderships(step: Step, changed: dict[TopicPartition, Partition], reason: str) -> None:
    """Journal new leaderships and have a line logged about each."""
    before = {tp: step.state.partition(tp) for tp in changed}
    write_leaderships(step, changed)
    for tp, old in before.items():
        note_change(step, tp, old, reason)


def write_leaderships(step: Step, changed: dict[TopicPartition, Partition]) -> None:
    """Journal new leaderships, each with the next partition epoch and this controller's epoch.

    Nobody is in the Isr where nobody leads and logs are waited for (``missing_logs``).
    """
    for tp, partition in changed.items():
        assert partition.leader == NO_LEADER or partition.leader in partition.isr, tp
    step.change(
        LeadershipChanged(
            tuple(
                leadership_of(
                    tp,
                    replace(
                        partition,
                        partition_epoch=partition.partition_epoch + 1,
                        controller_epoch=step.state.controller_epoch,
                    ),
                )
                for tp, partition in changed.items()
            )
        )
    )


def note_change(step: Step, tp: TopicPartition, old: Partition, reason: str) -> None:
    """Have one line logged about a leadership that was ``old`` before: old -> new, why."""
    new = step.state.partition(tp)
    leader = f"leader {old.leader} -> {new.leader}, " if new.leader != old.leader else ""
    step.note(
        f"{tp} {leader}epoch {old.leader_epoch} -> {new.leader_epoch}, "
        f"isr {list(old.isr)} -> {list(new.isr)}: {reason}"
    )


def is_unclean_allowed(step: Step, topic: str) -> bool:
    """Tell whether the topic, or else the cluster, allows unclean elections."""
    configs = step.state.topics[topic].configs
    return topic_config(configs, step.defaults).unclean_leader_election_enable


def _allowed(
    step: Step, tps: Iterable[TopicPartition], target: PartitionPhase
) -> list[TopicPartition]:
    allowed: list[TopicPartition] = []
    for tp in tps:
        phase = step.run.phase_of(tp)
        if phase in PARTITION_MOVES[target]:
            allowed.append(tp)
        else:
            step.warn(f"{tp}: no move from {phase.name} to {target.name}, skipped")
    return allowed


def _decide(step: Step, tp: TopicPartition, strategy: Strategy) -> Elected | None:
    if step.run.phase_of(tp) is PartitionPhase.NEW:
        return _first_leader(step, tp)
    allowed = strategy is Strategy.OFFLINE_UNCLEAN or (
        strategy is Strategy.OFFLINE
        and needs_unclean(step.state, tp)
        and is_unclean_allowed(step, tp.topic)
    )
    return elect(step.state, tp, strategy, is_unclean_allowed=allowed)


def _first_leader(step: Step, tp: TopicPartition) -> Elected | None:
    online = step.state.online_replicas(tp)
    if not online:
        return None
    partition = replace(
        step.state.partition(tp),
        leader=online[0],
        isr=online,
        leader_epoch=first_leader_epoch(step, tp),
        partition_epoch=INITIAL_PARTITION_EPOCH - 1,
    )
    return Elected(partition, online, is_unclean=False)


def _commit(step: Step, decided: dict[TopicPartition, Elected]) -> None:
    batch = step.new_batch()
    before = {tp: step.state.partition(tp) for tp in decided}
    write_leaderships(step, {tp: elected.partition for tp, elected in decided.items()})
    for tp, elected in decided.items():
        is_new = step.run.phase_of(tp) is PartitionPhase.NEW
        step.run.set_phase(tp, PartitionPhase.ONLINE)
        step.run.unclean_elections_count += elected.is_unclean
        batch.add_leader_and_isr(elected.recipients, tp, is_new=is_new)
        if not is_new:
            reason = "unclean election" if elected.is_unclean else "election"
            note_change(step, tp, before[tp], reason)
    step.send_batch(batch)
