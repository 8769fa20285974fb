"""What is said of producers and their transactions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from conformance.core.cases.members import commit_form, offset_row, offsets_form
from conformance.core.script import (
    Answer,
    Coordinator,
    Form,
    Repeated,
    Request,
    Talk,
    To,
    Until,
)
from protocol.errors import ErrorCode
from tests.conversations.speaker import Producer, Speaker, Step, first_of, say

_TIMEOUT_MS: Final = 60_000
_OLD_FORM_MAX: Final = 3
"""AddPartitionsToTxn from v4 on is for brokers."""


def init(speaker: Speaker) -> Step:
    """InitProducerId: a new producer, another life of one, or the next epoch of one."""
    name = speaker.name("txn") if speaker.chance(0.7) else None
    producer = speaker.one_of([None, *_of(speaker, name)])
    again: dict[str, Any] = {}
    if producer is not None and speaker.chance(0.5):
        epoch = speaker.mostly(producer.epoch, producer.epoch + 1, 0, -1)
        again = {"producerId": producer.id, "producerEpoch": epoch}
    timeout_ms = speaker.mostly(_TIMEOUT_MS, 0, -1, 2**31 - 1, share=0.96)
    form = {"transactionalId": name, "transactionTimeoutMs": timeout_ms} | again
    version = speaker.version("InitProducerId", 3 if again else 0)
    to = 1 if name is None else Coordinator(name, 1)
    body = yield from _ask_in_turn("InitProducerId", version, form, to)
    if name is not None:
        yield _settled(name)
    if body.get("errorCode") == 0:
        made = Producer(body["producerId"], body["producerEpoch"], name)
        if producer is not None and made.id == producer.id and again:
            producer.epoch, producer.sequences = made.epoch, {}
        else:
            speaker.producers.append(made)
            del speaker.producers[:-4]


def _of(speaker: Speaker, name: str | None) -> list[Producer]:
    return [each for each in speaker.producers if each.transactional_id == name]


def add_partitions(speaker: Speaker) -> Step:
    """AddPartitionsToTxn of some partitions."""
    producer = _transactional(speaker)
    if producer is None:
        return
    topic = speaker.topic()
    partitions = [speaker.partition(topic) for _ in range(speaker.dice.randint(1, 2))]
    who = _who(speaker, producer)
    form = {
        "v3AndBelowTransactionalId": who["transactionalId"],
        "v3AndBelowProducerId": who["producerId"],
        "v3AndBelowProducerEpoch": who["producerEpoch"],
        "v3AndBelowTopics": [{"name": topic.name, "partitions": sorted(set(partitions))}],
    }
    version = min(speaker.version("AddPartitionsToTxn"), _OLD_FORM_MAX)
    yield from _ask_in_turn("AddPartitionsToTxn", version, form, _to(producer))


def add_offsets(speaker: Speaker) -> Step:
    """AddOffsetsToTxn of a group."""
    producer = _transactional(speaker)
    if producer is None:
        return
    form = _who(speaker, producer) | {"groupId": speaker.name("group")}
    version = speaker.version("AddOffsetsToTxn")
    yield from _ask_in_turn("AddOffsetsToTxn", version, form, _to(producer))


def commit_offsets(speaker: Speaker) -> Step:
    """TxnOffsetCommit, by nobody or a member; what the group has then, stable or not."""
    producer = _transactional(speaker)
    if producer is None:
        return
    group, topic = speaker.name("group"), speaker.topic()
    row = {
        "partitionIndex": speaker.partition(topic),
        "committedOffset": speaker.dice.randint(0, 50),
        "committedLeaderEpoch": speaker.mostly(-1, 0, 3),
        "committedMetadata": speaker.mostly("m", None, ""),
    }
    member = speaker.one_of([None, *(m for m in speaker.members if m.group == group)])
    form = _who(speaker, producer) | {
        "groupId": group,
        "generationId": -1 if member is None else member.generation,
        "memberId": "" if member is None else member.id,
        "topics": [{"name": topic.name, "partitions": [row]}],
    }
    to = Coordinator(group)
    since = 0 if member is None else 3
    answer = yield from say(speaker, "TxnOffsetCommit", form, to=to, since=since)
    if first_of(answer, "topics", "partitions").get("errorCode") != 0:
        # In 3.9 the group is there from now on, in 4.3 it is not.
        rows = commit_form(group, speaker.topics[0], [offset_row(0, 1)])
        yield from say(speaker, "OffsetCommit", rows, to=to, since=2)
    stable = {"requireStable": speaker.chance(0.5)}
    yield from say(
        speaker, "OffsetFetch", offsets_form(group, topic, [0, 1]) | stable, to=to, since=1
    )


def end(speaker: Speaker) -> Step:
    """EndTxn, and all that hangs on its markers."""
    producer = _transactional(speaker)
    if producer is None:
        return
    form = _who(speaker, producer) | {"committed": speaker.chance(0.6)}
    body = yield from _ask_in_turn("EndTxn", speaker.version("EndTxn"), form, _to(producer))
    assert producer.transactional_id is not None
    yield _settled(producer.transactional_id)
    if body.get("errorCode") == 0 and body.get("producerId", -1) >= 0:
        if body["producerEpoch"] != producer.epoch:
            producer.sequences = {}
        producer.id, producer.epoch = body["producerId"], body["producerEpoch"]


def describe(speaker: Speaker) -> Step:
    """DescribeTransactions of one that may not be there."""
    name = speaker.name("txn", 3)
    form = {"transactionalIds": [name]}
    yield from say(speaker, "DescribeTransactions", form, to=Coordinator(name, 1))


def list_all(speaker: Speaker) -> Step:
    """ListTransactions by states."""
    states = speaker.one_of([[], ["Ongoing"], ["Empty"], ["CompleteCommit", "CompleteAbort"]])
    to = Coordinator(speaker.name("txn"), 1)
    yield from say(speaker, "ListTransactions", {"stateFilters": states}, to=to)


def _ask_in_turn(api: str, version: int, form: Form, to: To) -> Step:
    """Ask until no transaction before is being ended; return the body of the answer."""
    talk = Talk([Request(api, version, form)], to=to)
    answers: Sequence[Answer] = yield Repeated(talk, _is_not_concurrent)
    return answers[0].body if answers else {}


def _settled(name: str) -> Until:
    """Wait until markers are written, where there are any to write."""
    request = Request("DescribeTransactions", 0, {"transactionalIds": [name]})
    return Until(request, _is_settled, to=Coordinator(name, 1))


def _is_settled(answer: Form) -> bool:
    (row,) = answer["transactionStates"]
    return not row["transactionState"].startswith("Prepare")


def _is_not_concurrent(answers: Any) -> bool:
    return not any(map(_says_concurrent, answers))


def _says_concurrent(answer: Answer) -> bool:
    rows = [
        row
        for topic in answer.body.get("resultsByTopicV3AndBelow", ())
        for row in topic["resultsByPartition"]
    ]
    codes = [answer.body.get("errorCode"), *(row["partitionErrorCode"] for row in rows)]
    return ErrorCode.CONCURRENT_TRANSACTIONS in codes


def _transactional(speaker: Speaker) -> Producer | None:
    found = [each for each in speaker.producers if each.transactional_id is not None]
    return speaker.one_of(found) if found else None


def _to(producer: Producer) -> Coordinator:
    assert producer.transactional_id is not None
    return Coordinator(producer.transactional_id, 1)


def _who(speaker: Speaker, producer: Producer) -> dict[str, Any]:
    return {
        "transactionalId": producer.transactional_id,
        "producerId": speaker.mostly(producer.id, producer.id + 10**8, share=0.98),
        "producerEpoch": max(
            speaker.mostly(producer.epoch, producer.epoch - 1, producer.epoch + 1, share=0.95), 0
        ),
    }
