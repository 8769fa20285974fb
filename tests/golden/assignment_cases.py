"""Groups whose partitions are to be assigned, drawn from a seed: ``assignments.jsonl.gz``.

A history is a group that changes from round to round, where members keep what Kafka's assignor gave
them; loose groups hold what no assignor gave. Homogeneous groups have topics whose ids Kafka's
hash sets hold in ascending order, since its assignor takes them in the order of these sets.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeAlias

from protocol.ids import uuid_text

Case: TypeAlias = dict[str, Any]
"""assignor, type, topics (partition counts by id), members (topics, instance, current)."""
Answers: TypeAlias = list[dict[str, dict[str, list[int]]]]

SEED: Final = 848
HISTORIES: Final = 300
ROUNDS: Final = 6
LOOSE: Final = 1200


def drawn(assigned: Callable[[Sequence[Case]], Answers]) -> Iterator[tuple[Case, Any]]:
    """Yield cases with what ``assigned`` (Kafka) answers to them, round by round."""
    rng = random.Random(SEED)
    loose = [_loose_group(rng) for _ in range(LOOSE)]
    yield from zip(loose, assigned(loose), strict=True)
    groups = [_group(rng) for _ in range(HISTORIES)]
    for _ in range(ROUNDS):
        answers = assigned(groups)
        yield from zip(groups, answers, strict=True)
        groups = [
            _changed(rng, group, answer) for group, answer in zip(groups, answers, strict=True)
        ]


def _group(rng: random.Random) -> Case:
    is_homogeneous = rng.random() < 0.5
    topic_count = rng.randint(1, 6)
    ids = (
        sorted(number.to_bytes(16) for number in rng.sample(range(2, 16), topic_count))
        if is_homogeneous
        else [rng.randbytes(16) for _ in range(topic_count)]
    )
    topics = {uuid_text(topic_id): rng.randint(1, 12) for topic_id in ids}
    case: Case = {
        "assignor": rng.choices(("uniform", "range"), (4, 1))[0],
        "type": "HOMOGENEOUS" if is_homogeneous else "HETEROGENEOUS",
        "topics": topics,
        "members": {},
    }
    for _ in range(rng.randint(1, 8)):
        _join(rng, case)
    return case


def _loose_group(rng: random.Random) -> Case:
    case = _group(rng)
    members = list(case["members"].values())
    for topic, count in case["topics"].items():
        for partition in range(count):
            if rng.random() < 0.7:
                owner = members[int(len(members) * rng.random() ** 2)]
                owner["current"].setdefault(topic, []).append(partition)
    return case


def _changed(rng: random.Random, case: Case, answer: dict[str, Any]) -> Case:
    """Return the group after a member joined or left, or changed its mind, or a topic grew."""
    members = {
        member_id: {**member, "current": _in_order(case, answer.get(member_id, {}))}
        for member_id, member in case["members"].items()
    }
    changed: Case = {**case, "topics": dict(case["topics"]), "members": members}
    what = rng.choice(("join", "join", "leave", "leave", "grow", "subscribe", "nothing"))
    if what == "join":
        _join(rng, changed)
    elif what == "leave" and len(members) > 1:
        del members[rng.choice(list(members))]
    elif what == "grow":
        changed["topics"][rng.choice(list(changed["topics"]))] += rng.randint(1, 5)
    elif what == "subscribe" and changed["type"] == "HOMOGENEOUS":
        topics = _some(rng, changed)
        for member in members.values():
            member["topics"] = topics
    elif what == "subscribe":
        members[rng.choice(list(members))]["topics"] = _some(rng, changed)
    return changed


def _join(rng: random.Random, case: Case) -> None:
    members = case["members"]
    is_new = not members or case["type"] == "HETEROGENEOUS"
    topics = _some(rng, case) if is_new else next(iter(members.values()))["topics"]
    member_id = f"{rng.getrandbits(32):08x}"
    instance = f"i{rng.getrandbits(16):04x}" if rng.random() < 0.3 else None
    members[member_id] = {"topics": topics, "instance": instance, "current": {}}
    case["members"] = {each: members[each] for each in sorted(members)}


def _some(rng: random.Random, case: Case) -> list[str]:
    topics = list(case["topics"])
    count = max(1, round(len(topics) * rng.random() ** 0.3))
    chosen = rng.sample(topics, count)
    return [topic for topic in topics if topic in chosen]


def _in_order(case: Case, partitions: dict[str, list[int]]) -> dict[str, list[int]]:
    return {topic: partitions[topic] for topic in case["topics"] if topic in partitions}
