"""What lets a fault meet something: work on the disk it is on, bytes on the way it is about.

It only names actions, in the order in which they are worth trying; nobody does them here.
"""

from __future__ import annotations

from typing import Final

from protocol.faults.model import DiskFault, NetworkFault, broker_id_of
from protocol.faults.requests import RequestFault
from protocol.ids import TopicPartition
from simulation.core.actions import (
    Action,
    Ask,
    Cordon,
    CreateTopic,
    DeleteTopic,
    FaultRule,
    Kill,
    Stop,
)

_RECORDS: Final = 3


def fault_triggers(rule: FaultRule, topic: str) -> tuple[Action, ...]:
    """Return what makes happen that ``rule`` waits for, for a rule whose places are known.

    Nodes that it ends are to be started again by whoever does this. Any action may fail.

    Args:
        rule: of a fault in force.
        topic: a name that no topic has yet.
    """
    if isinstance(rule, DiskFault):
        return _of_disk(rule, topic)
    if isinstance(rule, RequestFault):
        return _of_requests(rule, topic)
    return _of_network(rule, topic)


def _of_disk(rule: DiskFault, topic: str) -> tuple[Action, ...]:
    """Make, write, read and delete a log there, and end its broker.

    When it stops it writes everything down; when it starts after a kill it reads its logs.
    """
    broker = broker_id_of(rule.node)
    if broker is None:
        return _of_journal(rule, topic)
    writes = _writes(topic, rule.node)
    return (
        Cordon(broker=rule.node, log_dirs=()),
        CreateTopic(name=topic, assignment=((broker,),), log_dir=rule.log_dir),
        *writes,
        Kill(rule.node),
        Ask(api="Fetch", of=_partition(topic), broker=rule.node),
        *writes,
        Stop(rule.node),
        Ask(api="Fetch", of=_partition(topic), broker=rule.node),
        DeleteTopic(topic),
    )


def _of_journal(rule: DiskFault, topic: str) -> tuple[Action, ...]:
    """Have something decided, and the controller read what it wrote."""
    return CreateTopic(name=topic), DeleteTopic(topic), Kill(rule.node)


def _of_requests(rule: RequestFault, topic: str) -> tuple[Action, ...]:
    """Ask its broker as clients do; what is about another API waits for its own."""
    broker = broker_id_of(rule.node)
    if broker is None:
        return ()
    named = topic if rule.topic is None else rule.topic
    asked = tuple(
        Ask(api=api, of=_partition(named), broker=rule.node)
        for api in ("Produce", "Fetch", "ListOffsets", "Metadata")
        if rule.apis is None or api in rule.apis
    )
    return (CreateTopic(name=topic, assignment=((broker,),)), *(asked * _RECORDS))


def _of_network(rule: NetworkFault, topic: str) -> tuple[Action, ...]:
    """Let both brokers follow each other; with the controller every broker speaks anyhow."""
    ends = [broker_id_of(node) for node in (rule.source, rule.target)]
    brokers = tuple(broker for broker in ends if broker is not None)
    if len(brokers) < len(ends):
        return ()
    follow = CreateTopic(name=topic, assignment=(brokers, brokers[::-1]))
    no_cordons = (Cordon(broker=node, log_dirs=()) for node in (rule.source, rule.target))
    return (*no_cordons, follow, *_writes(topic, rule.source))


def _writes(topic: str, node: str) -> tuple[Action, ...]:
    return (Ask(api="Produce", of=_partition(topic), broker=node),) * _RECORDS


def _partition(topic: str) -> str:
    return str(TopicPartition(topic, 0))
