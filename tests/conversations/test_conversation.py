"""Conversations are drawn from a seed, whatever the clusters answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from conformance.core.script import Answer, Given, NewTopic, Repeated, Request, Talk, Topic, Until
from protocol.apis import BY_NAME
from tests.conversations.conversation import STEPS, conversation

VERSIONS = {name: (api.versions.low, api.versions.high) for name, api in BY_NAME.items()}


def said(seed: int, steps: Sequence[int], first_id: int = 1) -> list[Request]:
    """Have a conversation with a cluster that gives ids and refuses all else; return the talk."""
    asked: list[Request] = []
    made = 0
    script = conversation(seed, steps, VERSIONS).script(Given(0, "s", (1, 2, 3)))
    came: Any = None
    while True:
        try:
            step = script.send(came)
        except StopIteration:
            return asked
        match step:
            case NewTopic():
                made += 1
                came = Topic(f"topic{made}", f"id{first_id + made}")
            case Until():
                came = {}
            case Talk() | Repeated():
                talk = step.talk if isinstance(step, Repeated) else step
                requests = [each for each in talk.requests if isinstance(each, Request)]
                asked += requests
                came = [Answer("answer", answer(each, first_id)) for each in requests]
            case _:
                raise AssertionError(step)


def answer(request: Request, first_id: int) -> dict[str, Any]:
    if request.api == "InitProducerId":
        return {"errorCode": 0, "producerId": first_id, "producerEpoch": 0}
    return {"errorCode": 1}


def test_every_step_is_drawn_and_ends_whatever_is_answered():
    drawn = Counter(each.api for seed in range(40) for each in said(seed, range(60)))
    assert len(STEPS) >= 30
    asked = {"Produce", "Fetch", "EndTxn", "JoinGroup", "ConsumerGroupHeartbeat", "DeleteRecords"}
    asked |= {"AlterReplicaLogDirs", "AlterPartitionReassignments", "AlterClientQuotas"}
    asked |= {"IncrementalAlterConfigs", "CreatePartitions", "OffsetDelete", "ListTransactions"}
    assert asked <= set(drawn)


def test_what_is_said_does_not_hang_on_the_ids_that_a_cluster_gives():
    for seed in range(10):
        one, other = said(seed, range(60), first_id=1), said(seed, range(60), first_id=1000)
        assert [(each.api, each.version) for each in one] == [
            (each.api, each.version) for each in other
        ]


def test_a_step_that_is_left_out_changes_no_other_that_learned_nothing_of_it():
    whole, shorter = said(3, range(20)), said(3, [n for n in range(20) if n != 7])
    without = [each for each in whole if each in shorter]
    assert without == shorter
    assert len(shorter) < len(whole)
