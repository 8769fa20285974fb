"""What tests commit and fetch, past the wire."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from broker.coordinators.coordinator_log import LogPorts, log_ports
from broker.core.groups.group_shard import Commit, FetchedOffset, NewOffset
from broker.core.groups.joins import Joining
from broker.core.groups.membership import Committer
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.groups import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from protocol.records.batch import Compression
from tests.broker.engine.messages import ORDERS
from tests.broker.engine.node import Node

GROUP = "readers"


async def commit(
    node: Node, offset: int, *, group: str = GROUP, metadata: str = "", generation: int = -1
) -> ErrorCode:
    wanted = Commit(
        group,
        Committer(generation=generation, is_transactional=False),
        [NewOffset(ORDERS, offset, 0, metadata)],
    )
    try:
        (code,) = await node.groups.ask(
            group,
            lambda shard, waiter, now_ms, wall_ms: shard.commit(waiter, wanted, now_ms, wall_ms),
            writes=True,
        )
    except KafkaError as error:
        return error.code
    return code


async def fetch(node: Node, *, group: str = GROUP) -> FetchedOffset:
    (found,) = await node.groups.ask(
        group,
        lambda shard, waiter, _now_ms, _wall_ms: shard.fetch(
            waiter, group, [ORDERS], require_stable=False
        ),
    )
    return found


async def join(node: Node, member_id: str = "", *, group: str = GROUP) -> JoinGroupResponse:
    """Join as a client of JoinGroup v4 does, which asks twice."""
    protocols = [JoinGroupRequestProtocol(name="range", metadata=b"")]
    request = JoinGroupRequest(
        group_id=group,
        session_timeout_ms=10_000,
        rebalance_timeout_ms=60_000,
        member_id=member_id,
        protocol_type="consumer",
        protocols=protocols,
    )
    joined: JoinGroupResponse = await node.groups.ask(
        group,
        lambda shard, waiter, now_ms, wall_ms: shard.members.join(
            Joining(waiter, request, 4, "client", "/h", f"{node.id}-{waiter}"), now_ms, wall_ms
        ),
    )
    if joined.error_code == ErrorCode.MEMBER_ID_REQUIRED:
        return await join(node, joined.member_id, group=group)
    return joined


async def sync(
    node: Node, member: JoinGroupResponse, assignments: Mapping[str, bytes], *, group: str = GROUP
) -> SyncGroupResponse:
    """Ask for the assignment of a generation; a leader says all of them."""
    rows = [
        SyncGroupRequestAssignment(member_id=member_id, assignment=given)
        for member_id, given in assignments.items()
    ]
    request = SyncGroupRequest(
        group_id=group,
        generation_id=member.generation_id,
        member_id=member.member_id,
        assignments=rows,
    )
    synced: SyncGroupResponse = await node.groups.ask(
        group,
        lambda shard, waiter, now_ms, wall_ms: shard.members.sync(
            waiter, request, 4, now_ms, wall_ms
        ),
    )
    return synced


async def code_of(asked: Awaitable[JoinGroupResponse | SyncGroupResponse]) -> ErrorCode:
    """Return the code of an answer, or of the error that is raised."""
    try:
        return ErrorCode((await asked).error_code)
    except KafkaError as error:
        return error.code


def ports_of(node: Node) -> LogPorts:
    """Return what a log needs that is kept by the engine of ``node``."""
    return log_ports(
        node.engine,
        record_turns=node.record_turns,
        topic_config=node.topic_config,
        compression=Compression.NONE,
        load_bytes_max=node.config.offsets_load_buffer_size,
    )


async def until_loaded(node: Node) -> None:
    await until(lambda: all(host.is_loaded for host in node.groups.hosts()))


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 - a host has no event for tests
        await asyncio.sleep(0.001)
