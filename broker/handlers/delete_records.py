"""Serves: DeleteRecords (21), raising log start offsets of the partitions led here.

Differs from Kafka: waiting followers are told at once, so that the answer needs two round trips.
Versions: 0-2.
"""

from __future__ import annotations

from typing import Final

from broker.context import Context
from broker.engine.types import DeletedRecords
from broker.handlers import handles
from protocol.errors import KafkaError
from protocol.ids import TopicPartition
from protocol.messages.topics import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from protocol.releases import shows

_EMPTY_IS_ENOUGH_SINCE: Final = "4.2"
"""Before that release only a policy that says delete lets records go. Source: KIP-1161."""


def refuse(
    request: DeleteRecordsRequest, _version: int, error: KafkaError
) -> DeleteRecordsResponse:
    """Put the code into every partition."""
    refused = DeletedRecords(error.code)
    asked = _asked(request)
    return _response(dict.fromkeys(asked, refused))


@handles(DeleteRecordsRequest, "0-2", refuse=refuse)
async def handle(
    context: Context, request: DeleteRecordsRequest, _version: int
) -> DeleteRecordsResponse:
    """Answer each partition by itself; of one named twice the last offset counts."""
    asked = _asked(request)
    results = await context.record_deletions.delete(
        list(asked.items()),
        timeout_ms=request.timeout_ms,
        is_empty_enough=shows(context.release, _EMPTY_IS_ENOUGH_SINCE),
    )
    return _response(dict(zip(asked, results, strict=True)))


def _asked(request: DeleteRecordsRequest) -> dict[TopicPartition, int]:
    return {
        TopicPartition(topic.name, partition.partition_index): partition.offset
        for topic in request.topics
        for partition in topic.partitions
    }


def _response(results: dict[TopicPartition, DeletedRecords]) -> DeleteRecordsResponse:
    """Answer for partitions; as in Kafka, a topic of which none is named is not in the answer."""
    topics: dict[str, list[DeleteRecordsPartitionResult]] = {}
    for tp, result in results.items():
        topics.setdefault(tp.topic, []).append(
            DeleteRecordsPartitionResult(
                partition_index=tp.partition,
                low_watermark=result.low_watermark,
                error_code=result.error_code,
            )
        )
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(name=name, partitions=rows) for name, rows in topics.items()
        ]
    )
