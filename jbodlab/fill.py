"""Writes records into a topic, so that its log dirs have something in them. Measures nothing.

One batch at a time, acks=all, over Kafka's own protocol: it needs no client library. A batch whose
answer was lost is written again; what fills a topic may be there twice.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from random import Random
from typing import Final

from jbodlab.asking.admin import ClusterAdmin
from jbodlab.errors import ExitCode, LabError
from protocol.admin.cluster import PartitionView
from protocol.errors import ErrorCode
from protocol.messages.produce import (
    ACKS_ALL,
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from protocol.records.build import NewRecord, build_batch

PATIENCE_MS: Final = 30_000
_BATCH_BYTES: Final = 512 * 1024
_VERSION: Final = 9
_POLL_S: Final = 0.1
_PASSING: Final = (
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.REQUEST_TIMED_OUT,
)
"""Errors that a new leader or a larger Isr ends."""


def fill(
    admin: ClusterAdmin,
    topic: str,
    *,
    size_bytes: int,
    record_bytes: int,
    chance: Random,
    patience_ms: int = PATIENCE_MS,
) -> Iterator[int]:
    """Write ``size_bytes`` evenly over the partitions; yield how many are acknowledged.

    ``chance`` draws the values, which no codec makes smaller. The last batches may be smaller than
    the others, so that the sum of all values is exact but for the last record.

    Raises:
        LabError: FAILED, there is no such topic or it refuses the records; TIMED_OUT.
        ConnectionError: no broker answers.
    """
    count = len(_partitions(admin, topic))
    values = [chance.randbytes(record_bytes) for _ in range(max(1, _BATCH_BYTES // record_bytes))]
    written_bytes = 0
    number = 0
    while written_bytes < size_bytes:
        wanted_count = -(-(size_bytes - written_bytes) // record_bytes)
        chosen = values[:wanted_count]
        _write(admin, topic, number % count, chosen, patience_ms)
        written_bytes += len(chosen) * record_bytes
        number += 1
        yield written_bytes


def _write(
    admin: ClusterAdmin, topic: str, partition: int, values: list[bytes], patience_ms: int
) -> None:
    now_ms = time.time_ns() // 1_000_000
    batch = build_batch([NewRecord(value, timestamp_ms=now_ms) for value in values])
    data = PartitionProduceData(index=partition, records=batch)
    request = ProduceRequest(
        acks=ACKS_ALL,
        timeout_ms=patience_ms,
        topic_data=[TopicProduceData(name=topic, partition_data=[data])],
    )
    deadline = time.monotonic() + patience_ms / 1000
    while True:
        why = _ask_leader(admin, request, _partitions(admin, topic)[partition])
        if why is None:
            return
        if time.monotonic() > deadline:
            raise LabError(
                ExitCode.TIMED_OUT,
                f"{topic}-{partition} took no records for {patience_ms / 1000:.0f} s: {why}; see "
                f"`jbodlab topics describe {topic}`",
            )
        time.sleep(_POLL_S)


def _ask_leader(admin: ClusterAdmin, request: ProduceRequest, view: PartitionView) -> str | None:
    """Write once; return why it has to be tried again, None when it was acknowledged."""
    if view.leader < 0:
        return "it has no leader"
    try:
        answer = admin.ask(request, _VERSION, view.leader)
    except OSError as error:
        return str(error)
    (result,) = answer.responses[0].partition_responses
    code = ErrorCode(result.error_code)
    if code is ErrorCode.NONE:
        return None
    if code in _PASSING:
        return f"broker {view.leader} answers {code.name}"
    words = result.error_message or "see its log"
    raise LabError(ExitCode.FAILED, f"broker {view.leader} answers {code.name}: {words}")


def _partitions(admin: ClusterAdmin, topic: str) -> dict[int, PartitionView]:
    views = {each.partition: each for each in admin.any_view([topic]).partitions}
    if not views:
        raise LabError(ExitCode.FAILED, f"there is no topic {topic}: see `jbodlab topics list`")
    return views
