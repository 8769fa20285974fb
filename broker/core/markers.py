"""What a coordinator appends to a log that this broker leads: the markers that end transactions.

Who coordinates, and when a transaction ends, is not decided here.
Source: KafkaApis.handleWriteTxnMarkersRequest, ProducerAppendInfo.appendEndTxnMarker.
"""

from __future__ import annotations

from broker.core.append import PreparedAppend
from broker.core.partition import Partition
from broker.core.transactions import EndMarker
from protocol.records.batch import read_batch_header, stamp, stamp_log_append_time


def prepare_marker(
    partition: Partition,
    marker: EndMarker,
    batch: memoryview,
    *,
    is_log_append_time: bool,
    now_ms: int,
) -> PreparedAppend:
    """Give the control batch of ``marker`` its offset in place and note what it ends.

    ``now_ms`` is wall-clock time.

    Raises:
        KafkaError: as ``ProducerStates.check_marker``; nothing is changed then.
    """
    producers, offset = partition.producers, partition.next_offset
    producers.states.check_marker(marker)
    header = read_batch_header(batch)
    stamp(batch, 0, base_offset=offset, leader_epoch=partition.leader_epoch)
    timestamp, append_time_ms = header.max_timestamp, -1
    if is_log_append_time:
        stamp_log_append_time(batch, 0, header, now_ms)
        timestamp = append_time_ms = now_ms
    ended = producers.states.end_transaction(marker, offset, timestamp=timestamp, now_ms=now_ms)
    producers.transaction_ended(ended, partition.high_watermark)
    return PreparedAppend(offset, offset, len(batch), append_time_ms, None)
