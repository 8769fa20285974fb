"""A consumer reads what it may at the time of each fetch, whatever its session has."""

from __future__ import annotations

from protocol.acls.authorizer import Authorizer
from protocol.acls.model import AclOperation, AclResourceType
from protocol.errors import ErrorCode
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tests.broker.fakes import FakeBroker
from tests.broker.secured import ALICE, allow, secured

READS = allow(AclOperation.READ, AclResourceType.TOPIC, "orders")
FAILED = ErrorCode.TOPIC_AUTHORIZATION_FAILED


def fetch(*names: str, session: tuple[int, int] = (0, -1), replica_id: int = -1) -> FetchRequest:
    """Fetch partition 0 of each topic."""
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1_000)
    return FetchRequest(
        replica_id=replica_id,
        max_wait_ms=0,
        session_id=session[0],
        session_epoch=session[1],
        topics=[FetchTopic(topic=name, partitions=[partition]) for name in names],
    )


async def told(broker: FakeBroker, request: FetchRequest) -> tuple[int, dict[str, int]]:
    """Return the session and the code of each topic."""
    answer = await broker.ask(request, 11, peer=ALICE)
    return answer.session_id, {row.topic: row.partitions[0].error_code for row in answer.responses}


async def test_topics_that_may_not_be_read_have_an_error_beside_those_that_may():
    broker = secured(READS)
    _, codes = await told(broker, fetch("secret", "orders", "nowhere"))
    assert codes["orders"] != FAILED
    assert (codes["secret"], codes["nowhere"]) == (FAILED, FAILED)
    ((_, parts),) = broker.engine.fetched
    assert [part.tp.topic for part in parts] == ["orders"]


async def test_what_is_forbidden_later_is_not_read_by_a_session_that_has_it():
    broker = secured(READS)
    session_id, codes = await told(broker, fetch("orders", session=(0, 0)))
    assert codes["orders"] != FAILED
    authorizer = broker.context.authorizer
    assert isinstance(authorizer, Authorizer)
    authorizer.replace([])
    _, codes = await told(broker, fetch(session=(session_id, 1)))
    assert codes == {"orders": FAILED}


async def test_a_follower_needs_the_cluster():
    broker = secured(READS)
    answer = await broker.ask(fetch("orders", replica_id=2), 11, peer=ALICE)
    assert FAILED in (
        answer.error_code,
        *(row.partitions[0].error_code for row in answer.responses),
    )
    broker = secured(allow(AclOperation.CLUSTER_ACTION))
    _, codes = await told(broker, fetch("secret", replica_id=2))
    assert codes["secret"] != FAILED
