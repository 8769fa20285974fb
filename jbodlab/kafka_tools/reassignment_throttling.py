"""Setting and clearing the throttles of reassignments.

Which replicas and brokers it is about is decided in ``core.reassignment_throttles``.
"""

from __future__ import annotations

from collections.abc import Iterable

from jbodlab.kafka_tools.client import ClusterClient
from jbodlab.kafka_tools.core.reassignment_file import ProposedReassignment
from jbodlab.kafka_tools.core.reassignment_start import VERIFY_REGULARLY, plural
from jbodlab.kafka_tools.core.reassignment_throttles import (
    Moves,
    broker_throttles,
    log_dir_brokers,
    moving_brokers,
    topic_throttles,
)
from jbodlab.kafka_tools.orders import alter_configs
from jbodlab.kafka_tools.questions import describe_topics
from jbodlab.kafka_tools.report import Report
from protocol.configs.names import MOVE_RATE, THROTTLED_RATES, THROTTLED_REPLICAS
from protocol.configs.types import ResourceType


def set_throttles(
    client: ClusterClient,
    plan: ProposedReassignment,
    moves: Moves,
    rates: tuple[int, int],
    report: Report,
) -> None:
    """Throttle what is about to begin.

    Args:
        client: the cluster.
        plan: for its moves between log dirs.
        moves: between brokers, those under way included.
        rates: bytes per second between brokers and between log dirs; -1 sets nothing.
        report: where to say it.

    Raises:
        KafkaError, ToolFailure: a setting was refused, or a broker does not answer.
    """
    rate, log_dir_rate = rates
    if max(rates) < 0:
        return
    report.say(VERIFY_REGULARLY)
    if rate >= 0:
        alter_configs(client, ResourceType.TOPIC, dict(topic_throttles(moves)))
        _on_brokers(client, moving_brokers(moves), dict(broker_throttles(rate)))
        report.say(f"The inter-broker throttle limit was set to {rate} B/s")
    if log_dir_rate >= 0:
        _on_brokers(client, log_dir_brokers(plan.log_dirs), {MOVE_RATE: str(log_dir_rate)})
        report.say(f"The replica-alter-dir throttle limit was set to {log_dir_rate} B/s")
    report.note("throttles", {"brokers": rate, "log_dirs": log_dir_rate})


def clear_throttles(client: ClusterClient, plan: ProposedReassignment, report: Report) -> None:
    """Take the throttles off all live brokers and the topics of a plan that exist.

    Raises:
        KafkaError, ToolFailure: a setting was refused, or a broker does not answer.
    """
    brokers = sorted(client.nodes())
    wanted = dict.fromkeys(partition.topic for partition, _ in plan.partitions)
    topics = sorted(describe_topics(client, list(wanted)))
    _report_absent(plan, brokers, report)
    listed = ",".join(map(str, brokers))
    report.say(f"Clearing broker-level throttles on broker{plural(len(brokers))} {listed}")
    _on_brokers(client, brokers, dict.fromkeys((*THROTTLED_RATES, MOVE_RATE)))
    if topics:
        names = ",".join(topics)
        report.say(f"Clearing topic-level throttles on topic{plural(len(topics))} {names}")
        removed: dict[str, str | None] = dict.fromkeys(THROTTLED_REPLICAS)
        alter_configs(client, ResourceType.TOPIC, dict.fromkeys(topics, removed))
    report.note("throttles_cleared", {"brokers": brokers, "topics": topics})


def _on_brokers(
    client: ClusterClient, brokers: Iterable[int], values: dict[str, str | None]
) -> None:
    alter_configs(client, ResourceType.BROKER, {str(broker): values for broker in brokers})


def _report_absent(plan: ProposedReassignment, brokers: list[int], report: Report) -> None:
    named = {broker for _, replicas in plan.partitions for broker in replicas}
    for broker in sorted(named.difference(brokers)):
        report.complain(f"Broker {broker} is not in the cluster: its throttles stay")
