"""Hashes of topics, as Kafka's own library makes them, and what is known of topics."""

from __future__ import annotations

from broker.core.groups.consumer.known_topics import (
    KnownTopic,
    KnownTopics,
    group_hash,
    topic_hash,
)
from protocol.ids import ZERO_UUID
from tests.broker.core.groups.consumer.lab import image_with, tell, tell_brokers, topic_id

SIGNED = 1 << 64


def test_a_topic_has_the_hash_that_hash4j_gives_it() -> None:
    ident = bytes.fromhex("01020304050607081112131415161718")
    hashed = topic_hash(KnownTopic(ident, "ordérs", [["rack-a"], []]))
    assert hashed == 6326581818825862435  # hash4j 0.22, as Utils.computeTopicHash (4.3.1) calls it
    assert group_hash({"ordérs": hashed}) == -6598692828717840473


def test_no_topics_have_the_hash_zero_and_their_order_does_not_matter() -> None:
    assert group_hash({}) == 0
    assert group_hash({"b": 1, "a": 2}) == group_hash({"a": 2, "b": 1})
    assert group_hash({"b": 1, "a": 2}) != group_hash({"a": 1, "b": 2})


def test_new_partitions_another_id_and_other_racks_change_a_hash() -> None:
    image = image_with(racks={1: "x", 2: "y"}, orders=2)
    topics = KnownTopics(image)
    hashes = [topics.hash_of(["orders", "absent"])]
    tell(image, "orders", 3)
    hashes.append(topics.hash_of(["orders"]))
    tell(image, "orders", 3, replicas=[2])
    hashes.append(topics.hash_of(["orders"]))
    tell_brokers(image, {1: "x", 2: "z"})
    hashes.append(topics.hash_of(["orders"]))
    assert len(set(hashes)) == 4


def test_a_broker_that_died_keeps_its_rack() -> None:
    image = image_with(racks={1: "x", 2: "y"}, orders=2)
    tell(image, "orders", 2, replicas=[2])
    topics = KnownTopics(image)
    before = topics.hash_of(["orders"])
    tell_brokers(image, {1: "x"})
    assert topics.hash_of(["orders"]) == before


def test_a_topic_that_was_deleted_does_not_count() -> None:
    image = image_with(orders=2, bills=1)
    topics = KnownTopics(image)
    both = topics.hash_of(["bills", "orders"])
    tell(image, "orders", 2, leader=-2)
    assert topics.hash_of(["bills", "orders"]) == topics.hash_of(["bills"]) != both
    assert topics.get("orders") is None
    assert topics.names() == {"bills"}


def test_topics_are_found_by_name_and_by_id() -> None:
    topics = KnownTopics(image_with(orders=2, bills=1))
    assert topics.ids(["orders", "absent"]) == {topic_id("orders")}
    assert topics.name(topic_id("bills")) == "bills"
    assert topics.partition_counts(["bills", "orders", "absent"]) == {
        topic_id("bills"): 1,
        topic_id("orders"): 2,
    }


def test_names_are_the_same_object_until_there_are_others() -> None:
    image = image_with(orders=2)
    topics = KnownTopics(image)
    names = topics.names()
    tell(image, "orders", 3)
    assert topics.names() is names
    tell(image, "bills", 1)
    assert topics.names() == {"orders", "bills"}


def test_a_topic_without_an_id_is_none_for_groups() -> None:
    image = image_with(orders=2)
    topics = KnownTopics(image)
    alone = topics.hash_of(["orders"])
    tell(image, "old", 1, ident=ZERO_UUID)
    assert topics.get("old") is None
    assert topics.topic_id("old") is None
    assert topics.hash_of(["old", "orders"]) == alone
    assert topics.ids(["old", "orders"]) == {topic_id("orders")}
