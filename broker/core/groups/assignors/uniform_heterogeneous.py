"""``uniform`` among members that are subscribed to different topics.

Each topic is balanced among its subscribers by how much these have of all topics, over and over,
until a round changes nothing. Where subscriptions overlap without being the same, all shares
together may differ by more than one.

Source: UniformHeterogeneousAssignmentBuilder.java. Members are numbered in ascending order of their
ids, where Kafka takes them in the order of a hash map.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from broker.core.groups.assignors.assignment import (
    AssignedPartitions,
    MemberSubscription,
    topic_order,
)

_ROUNDS_MAX: Final = 16
_NOBODY: Final = -1


def assign(
    members: Mapping[str, MemberSubscription], topics: Mapping[bytes, int]
) -> dict[str, AssignedPartitions]:
    """Keep what members may keep, give away what nobody has, then move what balances."""
    board = _Board(members, topics)
    board.keep_current()
    board.assign_remaining()
    board.balance()
    return board.assigned()


class _Board:
    """Who owns which partition. Members are numbers: their places in the order of their ids."""

    def __init__(
        self, members: Mapping[str, MemberSubscription], topics: Mapping[bytes, int]
    ) -> None:
        self._member_ids = sorted(members)
        self._members = [members[member_id] for member_id in self._member_ids]
        self._sizes = [0] * len(self._members)
        """How many partitions each member owns, of all topics."""
        self._subscribers: dict[bytes, list[int]] = {}
        for member, subscription in enumerate(self._members):
            for topic_id in subscription.topics:
                self._subscribers.setdefault(topic_id, []).append(member)
        self._topic_ids = self._in_order(topics)
        self._owners = {topic_id: [_NOBODY] * topics[topic_id] for topic_id in self._topic_ids}

    def _in_order(self, topics: Mapping[bytes, int]) -> list[bytes]:
        """Topics with the most partitions for each subscriber come first, then those of few."""

        def order(topic_id: bytes) -> tuple[float, int, tuple[int, int]]:
            subscriber_count = len(self._subscribers[topic_id])
            return (
                -topics[topic_id] / subscriber_count,
                subscriber_count,
                topic_order(topic_id),
            )

        return sorted(self._subscribers, key=order)

    def keep_current(self) -> None:
        for member, subscription in enumerate(self._members):
            for topic_id, partitions in subscription.current_partitions.items():
                if topic_id in subscription.topics:
                    for partition in partitions:
                        self._give(topic_id, partition, member)

    def assign_remaining(self) -> None:
        for topic_id in self._topic_ids:
            loads = _Loads(self._subscribers[topic_id], self._sizes)
            for partition, owner in enumerate(self._owners[topic_id]):
                if owner == _NOBODY:
                    self._give(topic_id, partition, loads.next_least_loaded())

    def balance(self) -> None:
        """Go round the topics until the round comes back to the last one that needed moves."""
        shared = [each for each in self._topic_ids if len(self._subscribers[each]) > 1]
        idle_count = -1
        for topic_id in shared * _ROUNDS_MAX:
            idle_count = 0 if self._balance_topic(topic_id) else idle_count + 1
            if idle_count == len(shared) - 1:
                return

    def _balance_topic(self, topic_id: bytes) -> bool:
        """Move partitions from the most to the least loaded subscribers; tell whether any moved."""
        loads = _Loads(self._subscribers[topic_id], self._sizes)
        if loads.imbalance <= 1:
            return False
        movable: dict[int, list[int]] = {}
        for partition, owner in enumerate(self._owners[topic_id]):
            movable.setdefault(owner, []).append(partition)
        has_moved = False
        while (giver := loads.next_most_loaded(movable)) is not None:
            partition = movable[giver].pop()
            taker = loads.next_least_loaded()
            if loads.is_balanced:
                break
            self._give(topic_id, partition, taker)
            has_moved = True
        return has_moved

    def _give(self, topic_id: bytes, partition: int, member: int) -> None:
        owners = self._owners[topic_id]
        if owners[partition] != _NOBODY:
            self._sizes[owners[partition]] -= 1
        owners[partition] = member
        self._sizes[member] += 1

    def assigned(self) -> dict[str, AssignedPartitions]:
        found: dict[str, dict[bytes, list[int]]] = {each: {} for each in self._member_ids}
        for topic_id in sorted(self._owners, key=topic_order):
            for partition, owner in enumerate(self._owners[topic_id]):
                found[self._member_ids[owner]].setdefault(topic_id, []).append(partition)
        return {
            member_id: {topic_id: tuple(partitions) for topic_id, partitions in owned.items()}
            for member_id, owned in found.items()
        }


class _Loads:
    """Names the least and the most loaded subscribers of a topic, as if each had taken and given.

    The least loaded are filled like water rises: everybody of one level in turn, then those of the
    next level with them. The most loaded are emptied likewise from above. ``sizes`` change with
    what the caller moves.
    """

    def __init__(self, subscribers: Iterable[int], sizes: Sequence[int]) -> None:
        self._sizes = sizes
        self._members = sorted(subscribers, key=lambda member: (sizes[member], member))
        lowest, highest = sizes[self._members[0]], sizes[self._members[-1]]
        self.imbalance = highest - lowest
        self._low_level = lowest - 1
        self._low_end = 0
        self._low_next = 0
        self._high_level = highest + 1
        self._high_start = self._high_end = len(self._members)
        self._high_next = len(self._members) - 1

    @property
    def is_balanced(self) -> bool:
        """Another move would only turn the difference round."""
        return self._high_level - self._low_level <= 1

    def next_least_loaded(self) -> int:
        if self._low_next >= self._low_end:
            self._low_level += 1
            while self._low_end < len(self._members) and self._is_at(
                self._low_end, self._low_level
            ):
                self._low_end += 1
            self._low_next = 0
        self._low_next += 1
        return self._members[self._low_next - 1]

    def next_most_loaded(self, movable: Mapping[int, Sequence[int]]) -> int | None:
        """Return who has a partition to give, or None; who has none is asked no more."""
        while (place := self._next_high_place()) >= 0:
            member = self._members[place]
            if movable.get(member):
                return member
            self._high_end -= 1
            last = self._high_end
            self._members[place], self._members[last] = self._members[last], member
        return None

    def _next_high_place(self) -> int:
        if self._high_next < self._high_start:
            if self._high_end <= self._high_start and self._high_start > 0:
                # All of the level had nothing to give: on with the level of who is next.
                self._high_level = self._sizes[self._members[self._high_start - 1]]
            else:
                self._high_level -= 1
            while self._high_start > 0 and self._is_at(self._high_start - 1, self._high_level):
                self._high_start -= 1
            self._high_next = self._high_end - 1
        place = self._high_next
        if place >= 0:
            self._high_next -= 1
        return place

    def _is_at(self, place: int, level: int) -> bool:
        return self._sizes[self._members[place]] == level
