"""What a client may do, asked of the authorizer; refusals stand in its log as Kafka writes them."""

from __future__ import annotations

from broker.core.access import Access, Asker
from broker.core.metadata_image import MetadataImage
from protocol.acls.authorizer import Authorizer
from protocol.acls.model import AclBinding, AclOperation, AclResourceType
from protocol.ids import BrokerId
from tests.broker.fakes import TOPIC_ID, topic_state, update_metadata
from tests.broker.secured import allow

TOPIC = AclResourceType.TOPIC


def access(*acls: AclBinding, told: list[str] | None = None) -> Access:
    """Make alice's."""
    authorizer = Authorizer()
    authorizer.replace(acls)
    image = MetadataImage(broker_id=BrokerId(1))
    image.update(update_metadata(topic_state()))
    lines = [] if told is None else told
    asker = Asker("User:alice", "10.0.0.1", "Produce")
    return Access(authorizer, asker, metadata=image, creates_topics=True, told=lines.append)


def test_a_refusal_is_logged_in_kafkas_words() -> None:
    told: list[str] = []
    mine = access(told=told)
    assert not mine.may(AclOperation.WRITE, AclResourceType.TRANSACTIONAL_ID, "t", logs=False)
    assert told == []
    assert not mine.may(AclOperation.WRITE, AclResourceType.TRANSACTIONAL_ID, "t")
    assert told == [
        "Principal = User:alice is Denied operation = WRITE from host = 10.0.0.1 on resource = "
        "TransactionalId:LITERAL:t for request = Produce with resourceRefCount = 1 based on rule "
        "DefaultDeny"
    ]


def test_what_is_allowed_is_not_logged() -> None:
    told: list[str] = []
    assert access(allow(AclOperation.WRITE, TOPIC, "t"), told=told).may(
        AclOperation.WRITE, TOPIC, "t"
    )
    assert told == []


def test_operations_are_those_of_the_client() -> None:
    mine = access(allow(AclOperation.WRITE, TOPIC, "t"))
    assert mine.operations(TOPIC, "t") == 1 << AclOperation.WRITE | 1 << AclOperation.DESCRIBE
    assert mine.operations(TOPIC, "other") == 0


def test_who_may_not_describe_the_cluster_is_told_no_operations_of_it() -> None:
    told: list[str] = []
    assert access(allow(AclOperation.CREATE), told=told).cluster_operations() == 0
    assert told == []
    mine = access(allow(AclOperation.DESCRIBE))
    assert mine.cluster_operations() == 1 << AclOperation.DESCRIBE


def test_an_unknown_topic_id_betrays_nothing() -> None:
    assert access().may_topic_id(AclOperation.READ, bytes(15) + b"x")
    assert not access().may_topic_id(AclOperation.READ, TOPIC_ID)
