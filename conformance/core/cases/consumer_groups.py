"""Groups of KIP-848: heartbeats in place of JoinGroup and SyncGroup."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from typing import Any, Final

from conformance.core.cases.members import (
    JOIN,
    SESSION_MS,
    commit_form,
    joined,
    left,
    offset_row,
)
from conformance.core.catalogue import case
from conformance.core.script import (
    Answer,
    Coordinator,
    Form,
    Given,
    NewTopic,
    Repeated,
    Request,
    Script,
    Talk,
    Topic,
    ask,
)

_ONE: Final = "AAAAAAAAAAAAAAAAAAAAAQ"
_TWO: Final = "AAAAAAAAAAAAAAAAAAAAAg"
_DESCRIBE: Final = 0


def _beat(group: str, topic: Topic | None, member: str, epoch: int, **more: Any) -> dict[str, Any]:
    form: dict[str, Any] = {"groupId": group, "memberId": member, "memberEpoch": epoch}
    if epoch == 0 and topic is not None:
        form |= {
            "rebalanceTimeoutMs": SESSION_MS,
            "subscribedTopicNames": [topic.name],
            "topicPartitions": [],
        }
    return form | more


@case("consumer-groups/life", "ConsumerGroupHeartbeat", versions="all")
def consumer_life(given: Given) -> Script:
    """KIP-848: a member joins, is assigned, beats, is described and leaves."""
    topic = yield from known_topic()
    group, member = given.name("group"), _ONE
    to = Coordinator(group)
    joined = yield from ask(
        "ConsumerGroupHeartbeat", given.version, _beat(group, topic, member, 0), to=to
    )
    id_, epoch = joined.get("memberId") or member, joined.get("memberEpoch", 1)
    yield from ask("ConsumerGroupHeartbeat", given.version, _beat(group, None, id_, epoch), to=to)
    yield from ask("ConsumerGroupDescribe", 0, {"groupIds": [group]}, to=to)
    for wrong in (epoch + 1, epoch + 7):
        form = _beat(group, None, id_, wrong)
        yield from ask("ConsumerGroupHeartbeat", given.version, form, to=to)
    yield from ask("ConsumerGroupHeartbeat", given.version, _beat(group, None, id_, -1), to=to)
    yield from ask("ConsumerGroupHeartbeat", given.version, _beat(group, None, id_, -1), to=to)


@case("consumer-groups/refused", "ConsumerGroupHeartbeat", versions="all")
def consumer_refused(given: Given) -> Script:
    """KIP-848: heartbeats that lack what a member has to say, or ask for what is not there."""
    topic = yield NewTopic()
    group, member = given.name("group"), _ONE
    to = Coordinator(group)
    whole = _beat(group, topic, member, 0)
    for form in (
        whole | {"groupId": ""},
        whole | {"rebalanceTimeoutMs": -1},
        whole | {"subscribedTopicNames": None},
        whole | {"topicPartitions": None},
        whole | {"serverAssignor": "nobody"},
        whole | {"instanceId": ""},
        whole | {"rackId": ""},
        _beat(group, None, member, 5),
        _beat(group, None, member, -3),
    ):
        yield from ask("ConsumerGroupHeartbeat", given.version, form, to=to)


@case("typical/ConsumerGroupDescribe", "ConsumerGroupDescribe", versions="all")
def consumer_describe(given: Given) -> Script:
    """KIP-848: a group that is not there, and one of the older protocol."""
    group = given.name("group")
    member, _ = yield from joined(JOIN, group)
    for name in (group, given.name("none"), ""):
        to = Coordinator(name or group)
        yield from ask("ConsumerGroupDescribe", given.version, {"groupIds": [name]}, to=to)
    yield from left(group, member)


@case("consumer-groups/two-members", "ConsumerGroupHeartbeat", versions="all")
def consumers_reconcile(given: Given) -> Script:
    """KIP-848: one member gives back what another is to have, which gets it only then."""
    topic = yield from known_topic()
    group = given.name("group")
    pair = yield from _reconciled(given.version, group, topic)
    if pair is None:
        return
    first, second = pair
    yield from _describe(group)
    yield from _beaten(given, group, _beat(group, None, _TWO, -1))
    more = _beat(group, None, _ONE, first)
    yield _assigned(given.version, group, more)
    yield from _beaten(given, group, _beat(group, None, _TWO, second))
    yield from _describe(group)
    yield from _beaten(given, group, _beat(group, None, _ONE, -1))


def _reconciled(
    version: int, group: str, topic: Topic
) -> Generator[Any, Any, tuple[int, int] | None]:
    """Have two members share a topic; return their epochs, None where there is no KIP-848."""
    to = Coordinator(group)
    api = "ConsumerGroupHeartbeat"
    joined = yield from ask(api, version, _beat(group, topic, _ONE, 0), to=to)
    if joined.get("errorCode", 0):
        return None
    epoch = joined["memberEpoch"]
    # How soon after the first one the second one is assigned anything differs from run to run.
    other = yield from ask(api, version, _beat(group, topic, _TWO, 0), to=to, is_seen=False)
    (told,) = yield _assigned(version, group, _beat(group, None, _ONE, epoch))
    late = _beat(group, None, _TWO, other["memberEpoch"])
    waits = yield from ask(api, version, late, to=to)
    kept = told.body["assignment"]["topicPartitions"]
    done = yield from ask(
        api, version, _beat(group, None, _ONE, epoch, topicPartitions=kept), to=to
    )
    late = _beat(group, None, _TWO, waits["memberEpoch"])
    (has,) = yield _assigned(version, group, late)
    return done["memberEpoch"], has.body["memberEpoch"]


def _assigned(version: int, group: str, form: dict[str, Any]) -> Repeated:
    """Beat until the answer assigns something."""
    beat = Request("ConsumerGroupHeartbeat", version, form)
    return Repeated(Talk([beat], to=Coordinator(group)), _has_partitions)


def _has_partitions(answers: Sequence[Answer]) -> bool:
    assignment = answers[0].body.get("assignment")
    return bool(assignment and assignment["topicPartitions"])


@case("consumer-groups/static-members", "ConsumerGroupHeartbeat", versions="all")
def static_consumers(given: Given) -> Script:
    """KIP-848: an instance id that is in use is refused; who comes back gets what it had."""
    topic = yield from known_topic()
    group = given.name("group")
    static = {"instanceId": "i1"}
    first = yield from _beaten(given, group, _beat(group, topic, _ONE, 0, **static))
    if first.get("errorCode", 0):
        return
    yield from _beaten(given, group, _beat(group, topic, _TWO, 0, **static))
    epoch = first["memberEpoch"]
    yield from _beaten(given, group, _beat(group, None, _TWO, epoch, **static))
    yield from _beaten(given, group, _beat(group, None, _ONE, -2, **static))
    yield from _describe(group)
    yield from _beaten(given, group, _beat(group, topic, _TWO, 0, **static))
    yield from _beaten(given, group, _beat(group, None, _ONE, epoch, **static))
    yield from _describe(group)
    yield from _beaten(given, group, _beat(group, None, _TWO, -1, **static))
    yield from _beaten(given, group, _beat(group, None, _TWO, -1, instanceId="i2"))


@case("consumer-groups/by-regex", "ConsumerGroupHeartbeat", versions="all", since=1)
def consumers_by_regex(given: Given) -> Script:
    """KIP-848: a subscription by a regular expression is resolved; one that is none is refused."""
    topic = yield from known_topic()
    group = given.name("group")
    named = {"subscribedTopicNames": None}
    for bad in ("[", "(", "*"):
        form = _beat(group, topic, _ONE, 0, **named, subscribedTopicRegex=bad)
        yield from _beaten(given, group, form)
    wanted = re.escape(topic.name)[:-1] + "."
    form = _beat(group, topic, _ONE, 0, **named, subscribedTopicRegex=wanted)
    to = Coordinator(group)
    joins = Request("ConsumerGroupHeartbeat", given.version, form)
    (answer,) = yield Talk([joins], to=to, is_seen=False)
    yield _assigned(given.version, group, form | {"memberEpoch": answer.body["memberEpoch"]})
    yield from _beaten(given, group, _beat(group, None, _ONE, -1))


@case("consumer-groups/commit", "OffsetCommit", versions="all", since=8)
def consumers_commit(given: Given) -> Script:
    """KIP-848: a member commits in its epoch; one that is over or to come is refused."""
    topic = yield from known_topic()
    group = given.name("group")
    to = Coordinator(group)
    pair = yield from _reconciled(0, group, topic)
    if pair is None:
        return
    epoch, _ = pair
    for id_, number in (
        (_ONE, epoch),
        (_ONE, epoch - 1),
        (_ONE, 0),
        (_ONE, epoch + 1),
        ("nobody", epoch),
        ("", -1),
    ):
        more = {"memberId": id_, "generationIdOrMemberEpoch": number}
        form = commit_form(group, topic, [offset_row(0, 1), offset_row(1, 1)], **more)
        yield from ask("OffsetCommit", given.version, form, to=to)
    for id_ in (_ONE, _TWO):
        yield from ask("ConsumerGroupHeartbeat", 0, _beat(group, None, id_, -1), to=to)


def known_topic() -> Generator[Any, Any, Topic]:
    """Make a topic of two partitions that every coordinator knows whole."""
    topic: Topic = yield NewTopic(partitions=2)
    yield NewTopic()  # Who knows of the second one has done all that the first one asks for.
    return topic


def _beaten(given: Given, group: str, form: dict[str, Any]) -> Generator[Any, Any, Form]:
    return ask("ConsumerGroupHeartbeat", given.version, form, to=Coordinator(group))


def _describe(group: str) -> Script:
    return ask("ConsumerGroupDescribe", _DESCRIBE, {"groupIds": [group]}, to=Coordinator(group))
