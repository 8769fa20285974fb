"""A shard is compared with its log: what a record tells that was left out, or is another one."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from broker.core.coordination import Decided
from broker.core.groups.group_offsets import Committed
from broker.core.groups.group_shard import GroupShard
from broker.core.transaction_state.begin import BeginAsked
from broker.core.transaction_state.shard import TransactionLimits, TransactionShard
from protocol.ids import TopicPartition
from simulation.world.loaded_shards import compared
from tests.broker.core.groups.consumer.lab import GROUP, WALL_MS, Lab, image_with
from tests.simulation.contracts.coordinators import consumer_stories as stories

TP = TopicPartition("orders", 0)


def shards(lab: Lab) -> tuple[GroupShard, GroupShard]:
    """Return a shard with the members of a lab, and one that has what the lab wrote."""
    made = [GroupShard(lab.config, lambda: lab.batch_bytes_max, lab.image) for _ in range(2)]
    made[0].members = lab.members
    for key, value in lab.records:
        made[1].replay(key, value)
    return made[0], made[1]


def told(shard: object, loaded: object) -> list[str]:
    return [what for what, has, wanted in compared(shard, loaded) if has != wanted]


def classic() -> Lab:
    lab = Lab(image_with(orders=2))
    lab.stable_classic({"orders": [0, 1]})
    return lab


def upgraded() -> Lab:
    return stories.upgraded()[0]


@pytest.mark.parametrize(
    "story", [stories.shared, stories.too_late, stories.away_and_back, upgraded, classic]
)
def test_what_was_written_is_what_is_there(story: Callable[[], Lab]) -> None:
    assert told(*shards(story())) == []


def test_a_group_whose_end_is_not_written_is_loaded_again() -> None:
    lab = classic()
    lab.members.classic._groups.clear()
    assert told(*shards(lab)) == ["classic groups"]

    lab = stories.shared()
    lab.members.consumer._groups.clear()
    assert told(*shards(lab)) == ["consumer groups"]


def test_a_share_that_is_not_written_is_lost() -> None:
    lab = classic()
    (group,) = lab.members.classic.groups
    next(iter(group.members.values())).assignment = b""
    assert told(*shards(lab)) == [f"group {GROUP}"]


def test_a_group_on_its_way_has_not_written_what_it_will_be() -> None:
    lab = classic()
    lab.join_classic(version=3, unique="late")
    assert told(*shards(lab)) == []


def test_the_time_since_when_a_group_is_stable_is_of_no_use() -> None:
    lab = classic()
    lab.members.classic.groups[0].state_since_ms = 5
    assert told(*shards(lab)) == []


def test_a_member_is_what_was_written_of_it() -> None:
    lab = stories.shared()
    member = lab.group.members["a"]
    lab.group.members["a"] = replace(member, regex=None)
    assert told(*shards(lab)) == []
    lab.group.members["a"] = replace(member, previous_epoch=member.epoch + 1)
    assert told(*shards(lab)) == [f"group {GROUP}"]


def test_offsets_are_those_that_were_written_and_pending_ones_too() -> None:
    shard, loaded = shards(Lab())
    shard.offsets.put("g", {TP: Committed(5, 1, "", 0)})
    assert told(shard, loaded) == ["offsets"]
    loaded.offsets.put("g", {TP: Committed(4, 1, "", 0)})
    loaded.offsets.put("g", {TP: Committed(5, 1, "", 0)})
    assert told(shard, loaded) == [], "the places in the log are no part of them"
    shard.offsets.put("g", {TP: Committed(6, 1, "", 0)}, producer_id=7)
    assert told(shard, loaded) == ["pending offsets"]


def test_transactional_ids_are_as_they_were_written() -> None:
    shard, loaded = (
        TransactionShard(TransactionLimits(10_000, 10_000, 10_000, 10_000), 2, lambda: 10_000)
        for _ in range(2)
    )
    begun: Decided = shard.begin(
        1, BeginAsked("t", 5_000, None), new_producer_id=9, wall_ms=WALL_MS
    )
    assert told(shard, loaded) == ["transactional ids"]
    for key, value in begun.records:
        loaded.replay(key, value)
    assert told(shard, loaded) == []
