"""Stories of groups of the consumer protocol, in which every rule of theirs has something to do."""

from __future__ import annotations

from protocol.errors import KafkaError
from protocol.ids import TopicPartition
from tests.broker.core.groups.consumer.lab import (
    GROUP,
    REBALANCE_MS,
    SESSION_MS,
    Lab,
    image_with,
    rows,
    tell,
)

ORDERS_0 = TopicPartition("orders", 0)


def shared() -> Lab:
    """Let one member have all, and share it with another one."""
    lab = Lab()
    lab.settle("a")
    lab.beat("b")
    lab.settle("a", "b")
    return lab


def silent_about_what_it_has() -> Lab:
    """Let a member be asked for partitions, and not say whether it has them still."""
    lab = Lab()
    lab.settle("a")
    lab.beat("b")
    lab.ask("a", lab.epochs["a"], topic_partitions=rows({"orders": [0, 1, 2, 3]}))
    lab.ask("a", lab.epochs["a"])
    lab.beat("b")
    return lab


def too_late() -> Lab:
    """Let a member keep for too long what it is to give back."""
    lab = silent_about_what_it_has()
    lab.later(REBALANCE_MS // 2)
    lab.ask("a", lab.epochs["a"])
    lab.ask("b", lab.epochs["b"])
    lab.later(REBALANCE_MS)
    return lab


def left_alone() -> Lab:
    """Let everybody be silent for a session."""
    lab = shared()
    lab.later(SESSION_MS)
    return lab


def away_and_back() -> Lab:
    """Let a static member be away, and another one take its place."""
    lab = Lab()
    lab.beat("a", instance_id="i")
    lab.ask("a", -2, instance_id="i")
    lab.ask("b", 0, instance_id="i")
    return lab


def answer_is_lost() -> Lab:
    """Let a member go on in its last epoch, with what it may have and with what it may not."""
    lab = shared()
    epoch = lab.epochs["b"]
    tell(lab.image, "orders", 6)
    lab.ask("b", epoch, topic_partitions=rows(lab.owned["b"]))
    lab.ask("b", epoch, topic_partitions=rows(lab.owned["b"]))
    for wrong in (epoch - 1, epoch + 5):
        lab.refused("b", wrong, topic_partitions=[])
    lab.refused("b", epoch, topic_partitions=rows({"orders": [0, 1, 2, 3, 4, 5]}))
    return lab


def other_topics() -> Lab:
    """Let a member read another topic, then what a regular expression finds."""
    lab = Lab(image_with(orders=2, bills=2))
    lab.settle("a")
    lab.beat("a", subscribed_topic_names=["bills"])
    lab.settle("a")
    lab.beat("b", subscribed_topic_regex="b.*")
    tell(lab.image, "books", 1)
    lab.later(20_000)
    lab.settle("b", "a")
    lab.ask("b", -1)
    return lab


def by_ranges() -> Lab:
    """Let more members than one ask for the range assignor."""
    lab = Lab(image_with(orders=5))
    lab.beat("a", server_assignor="range")
    lab.beat("b", server_assignor="range")
    lab.settle("a", "b")
    return lab


def loaded_in_the_middle() -> Lab:
    """Let the coordinator move while a member gives partitions back."""
    lab = silent_about_what_it_has()
    lab.restart()
    lab.beat("a")
    return lab


def upgraded() -> tuple[Lab, str]:
    """Let a classic group become one of the consumer protocol."""
    lab = Lab(image_with(orders=2))
    classic_id = lab.stable_classic({"orders": [0, 1]})
    lab.beat("a")
    lab.beat_classic(classic_id, 1)
    lab.join_classic(classic_id, owned={"orders": [0, 1]})
    lab.sync_classic(classic_id, 1)
    lab.join_classic(classic_id, owned={"orders": [0]})
    lab.settle("a")
    lab.sync_classic(classic_id, lab.group.members[classic_id].epoch)
    lab.beat_classic(classic_id, lab.group.members[classic_id].epoch)
    return lab, classic_id


def behind() -> None:
    """Let a classic member ask in an epoch that is over."""
    lab, classic_id = upgraded()
    epoch = lab.group.members[classic_id].epoch
    tell(lab.image, "orders", 3)
    lab.beat("a")
    lab.beat_classic(classic_id, epoch)
    try:
        lab.sync_classic(classic_id, epoch)
    except KafkaError:
        return


def downgraded() -> None:
    """Let the last member that speaks the consumer protocol leave."""
    lab, _ = upgraded()
    lab.ask("a", -1)


def left_by_a_classic_member() -> None:
    """Let a member of the classic protocol leave, and name one that is none."""
    lab, classic_id = upgraded()
    lab.leave_classic("nobody")
    lab.leave_classic(classic_id)


def expired() -> object:
    """Ask what of a group's offsets may expire."""
    return shared().members.expiry(GROUP)


def downgraded_before_all_have_their_share() -> Lab:
    """Let a classic member take the place of the last one that spoke the consumer protocol."""
    lab = Lab(image_with(orders=2))
    lab.stable_classic({"orders": [0, 1]})
    lab.beat("a", instance_id="i")
    lab.join_classic(version=5, unique="d", group_instance_id="i")
    return lab
