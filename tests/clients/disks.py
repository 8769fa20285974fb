"""Which disk breaks while a client program writes: all are ``VICTIM``'s.

Whatever else breaks, two replicas of three are left.
"""

from __future__ import annotations

from typing import Final

from broker.core.coordination import partition_for
from protocol.topic_names import CONSUMER_OFFSETS, TRANSACTION_STATE
from tests.clients.results import Halfway
from tests.integration.labs import Lab

VICTIM: Final = 1
COORDINATORS: Final = 8
"""Partitions of each of the coordinators' topics, where ``VICTIM`` leads them."""
COORDINATOR_CONFIGS: Final = {
    "offsets.topic.num.partitions": str(COORDINATORS),
    "transaction.state.log.num.partitions": str(COORDINATORS),
}
"""Of the brokers: they find a coordinator by these numbers."""
_COMPACTED: Final = {"cleanup.policy": "compact", "min.insync.replicas": "2"}


def fail_disk_of_leader(lab: Lab, topic: str) -> None:
    """Break the log dir of a partition of ``topic`` that ``VICTIM`` leads."""

    def led(_admin: object) -> bool:
        return bool(_led_by_victim(lab, topic))

    lab.cluster.wait_until(led, f"broker {VICTIM} leads a partition of {topic}")
    partition = _led_by_victim(lab, topic)[0]
    lab.control(VICTIM).fail(lab.log_dir_of(VICTIM, topic, partition).path, "eio")


def _led_by_victim(lab: Lab, topic: str) -> list[int]:
    view = lab.admin.any_view([topic])
    return [
        each.partition
        for each in view.partitions
        if each.topic == topic and each.leader == VICTIM and VICTIM not in each.offline_replicas
    ]


def lead_coordinators(lab: Lab) -> None:
    """Have ``VICTIM`` be every group's and every transactional id's coordinator, before any is."""
    others = [each for each in lab.running_brokers() if each != VICTIM]
    assignment = dict.fromkeys(range(COORDINATORS), (VICTIM, *others))
    for topic in (CONSUMER_OFFSETS, TRANSACTION_STATE):
        lab.create(topic, COORDINATORS, assignment=assignment, configs=_COMPACTED)


def fail_disks_of_coordinators(lab: Lab, halfway: Halfway) -> None:
    """Break the log dirs under the coordinators that a program told of; wait until others are.

    Raises:
        ValueError: it told of none.
    """
    told = ((CONSUMER_OFFSETS, halfway.group), (TRANSACTION_STATE, halfway.transactional_id))
    places = [(topic, partition_for(name, COORDINATORS)) for topic, name in told if name]
    if not places:
        raise ValueError(f"who writes to {halfway.topic} told of no coordinator")
    for topic, partition in places:
        assert lab.partition(topic, partition).leader == VICTIM
    for path in {lab.log_dir_of(VICTIM, *place).path for place in places}:
        lab.control(VICTIM).fail(path, "eio")
    for topic, partition in places:
        lab.wait_for_new_leader(topic, VICTIM, partition)
