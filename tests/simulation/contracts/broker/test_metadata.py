"""What the contracts of metadata say of wrong rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import pytest

from broker.core.metadata_image import MetadataChange, MetadataImage
from protocol.ids import BrokerId
from protocol.messages.control import FULL_METADATA, UpdateMetadataRequest
from protocol.messages.metadata import MetadataRequest, MetadataResponse
from tests.broker.core.test_metadata_answer import answers as told_by
from tests.broker.core.test_metadata_image import broker, partition, request, topic
from tests.simulation.contracts.wrong_rules import answers, told_of

UPDATE: Final = MetadataImage.update
NOTHING: Final = MetadataChange((), ("t",), brokers_changed=False)


def updated(*requests: UpdateMetadataRequest) -> MetadataImage:
    image = MetadataImage(broker_id=BrokerId(1))
    for each in requests:
        image.update(each)
    return image


def changed(**fields: object) -> Callable[..., object]:
    """Take a request for another one: with these fields of its partitions."""

    def rule(image: MetadataImage, told: UpdateMetadataRequest) -> MetadataChange:
        states = [replace(one, **fields) for one in told.topic_states[0].partition_states]
        topics = [replace(told.topic_states[0], partition_states=states)]
        return UPDATE(image, replace(told, topic_states=topics))

    return rule


def merges_everything(image: MetadataImage, told: UpdateMetadataRequest) -> MetadataChange:
    return UPDATE(image, replace(told, type=0))


def keeps_the_dead(image: MetadataImage, told: UpdateMetadataRequest) -> MetadataChange:
    return UPDATE(image, replace(told, live_brokers=[broker(1), broker(2)]))


def told() -> MetadataImage:
    return updated(request(topic(partition(0, epoch=3, offline=(2,)))))


def deleted() -> MetadataImage:
    return updated(request(topic(partition(0))), request(topic(partition(0, leader=-2))))


def all_but_one() -> MetadataImage:
    everything = replace(request(topic(partition(1))), type=FULL_METADATA)
    return updated(request(topic(partition(0))), everything)


def asked(version: int = 12) -> MetadataResponse:
    found, _ = told_by(topic(partition(0, epoch=3, offline=(2,))))
    return found.answer(MetadataRequest(topics=None), version, cluster_id="c")


def says(**fields: object) -> Callable[..., object]:
    """Answer, but with these fields of the partition."""
    right = asked()
    row = right.topics[0]
    wrong = [replace(one, **fields) for one in row.partitions]
    return answers(replace(right, topics=[replace(row, partitions=wrong)]))


WRONG_RULES: Final[list[tuple[str, Callable[..., object], Callable[[], object]]]] = [
    ("MetadataImage.update", answers(NOTHING), told),
    ("MetadataImage.update", changed(offline_replicas=[]), told),
    ("MetadataImage.update", changed(leader_epoch=2), told),
    ("MetadataImage.update", changed(isr=[1]), told),
    ("MetadataImage.update", changed(leader=1), deleted),
    ("MetadataImage.update", merges_everything, all_but_one),
    (
        "MetadataImage.update",
        keeps_the_dead,
        lambda: updated(request(topic(partition(0)), brokers=[broker(1)])),
    ),
    ("MetadataAnswers.answer", says(leader_id=2), asked),
    ("MetadataAnswers.answer", says(leader_epoch=2), asked),
    ("MetadataAnswers.answer", says(offline_replicas=[]), asked),
    ("MetadataAnswers.answer", says(isr_nodes=[1]), asked),
    ("MetadataAnswers.answer", answers(replace(asked(), topics=[])), asked),
    ("MetadataAnswers.answer", answers(replace(asked(), brokers=[])), asked),
]


@pytest.mark.parametrize(("rule", "wrong", "use"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Callable[..., object], use: Callable[[], object]
) -> None:
    assert told_of(None, rule, use) == []
    assert told_of(wrong, rule, use)
