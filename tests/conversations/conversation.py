"""A drawn conversation: so many steps, each by dice of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Final

from conformance.core.script import Case, Given, Script
from tests.conversations import groups, places, quotas, records, topics, transactions
from tests.conversations.speaker import Speaker, Step

STEPS: Final[Mapping[Callable[[Speaker], Step], int]] = {
    records.send: 20,
    records.read: 12,
    records.offsets_by_time: 6,
    records.end_of_epoch: 2,
    records.delete_records: 2,
    records.producers_of: 3,
    transactions.init: 6,
    transactions.add_partitions: 7,
    transactions.add_offsets: 3,
    transactions.commit_offsets: 4,
    transactions.end: 6,
    transactions.describe: 2,
    transactions.list_all: 2,
    groups.join: 4,
    groups.sync: 1,
    groups.beat: 2,
    groups.leave: 2,
    groups.beat_consumer: 8,
    groups.commit: 6,
    groups.offsets: 4,
    groups.delete_offsets: 2,
    groups.describe: 4,
    groups.list_all: 2,
    groups.delete: 2,
    topics.make: 1,
    topics.change: 4,
    topics.describe: 2,
    topics.look: 1,
    topics.look_at_partitions: 1,
    topics.elect: 1,
    topics.grow: 1,
    places.describe: 2,
    places.move: 2,
    places.reassign: 3,
    places.list_reassignments: 1,
    quotas.alter: 2,
    quotas.describe: 1,
}
"""How often each is said among the others."""


def conversation(seed: int, steps: Sequence[int], versions: Mapping[str, tuple[int, int]]) -> Case:
    """Return a conversation of the steps with these numbers; each number is one step for good."""

    def script(given: Given) -> Script:
        speaker = Speaker(given, versions)
        for name in ("first", "second"):
            speaker.dice = Random(f"{seed}/{name}")
            yield from topics.make(speaker)
        for number in steps:
            speaker.dice = Random(f"{seed}/{number}")
            step = speaker.dice.choices(list(STEPS), list(STEPS.values()))[0]
            yield from step(speaker)

    return Case(f"drawn/{seed}", "What two clusters answer alike.", script, "Metadata", "newest")
