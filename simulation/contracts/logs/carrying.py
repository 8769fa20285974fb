"""What may come into a log by a version of Produce, or by a copy of another log.

Source: ProduceRequest.validateRecords, KIP-98, KIP-110; ReplicaAlterLogDirsThread.scala.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Generator
from itertools import pairwise

from broker.core import batch_order
from broker.core import produce_version as rules
from broker.core.batch_order import BatchOrder
from protocol.errors import ErrorCode, KafkaError, Malformed
from protocol.ids import NO_EPOCH
from protocol.ports import Buffer
from protocol.records.batch import BatchHeader, Compression, read_batch_header
from simulation.contracts.contract import Broken, of_function, of_method

_BATCHES_ONLY_SINCE = 3
_ZSTD_SINCE = 7


@of_function(rules.check_produce_version)
def check_produce_version(buffer: Buffer | None, version: int) -> Generator[None, int, Broken]:
    """One whole batch is taken, in a codec that the version has; of old versions all is."""
    flaw, header = _flaw(buffer, version), _header(buffer)
    try:
        size_bytes = yield
    except KafkaError as error:
        is_plain = flaw is None and header is not None and header.size_bytes == len(buffer or b"")
        if is_plain or (version < _BATCHES_ONLY_SINCE and buffer):
            return f"what is right for version {version} is refused: {error}"
        return f"{error.code.name}, not {flaw.name}" if flaw not in (None, error.code) else None
    if flaw is not None:
        return f"{flaw.name} is overlooked in version {version}"
    wanted = len(buffer or b"")
    if version >= _BATCHES_ONLY_SINCE and header is not None:
        wanted = header.size_bytes
    return None if size_bytes == wanted else f"{size_bytes} bytes are taken, not {wanted}"


def _flaw(buffer: Buffer | None, version: int) -> ErrorCode | None:
    """Return what is wrong with records; None, too, where their first batch cannot be read."""
    if buffer is None or len(buffer) == 0:
        return ErrorCode.INVALID_RECORD
    header = _header(buffer)
    if version < _BATCHES_ONLY_SINCE or header is None:
        return None
    if header.size_bytes > len(buffer):
        return ErrorCode.INVALID_RECORD
    if header.attributes & 7 == Compression.ZSTD and version < _ZSTD_SINCE:
        return ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    rest = memoryview(buffer)[header.size_bytes :]
    second = _header(rest)
    is_whole = second is not None and second.size_bytes <= len(rest)
    return ErrorCode.INVALID_RECORD if is_whole else None


def _header(buffer: Buffer | None) -> BatchHeader | None:
    """Return the header of the batch of format 2 that comes first, be it whole or cut."""
    try:
        return None if buffer is None else read_batch_header(buffer)
    except Malformed:
        return None


@of_method(BatchOrder, "take")
def take(order: BatchOrder, header: BatchHeader) -> Generator[None, str | None, Broken]:
    """A batch stands behind the one before it, within its segment, in the epoch of its offset."""
    next_offset, end_offset = order._next_offset, order._end_offset  # noqa: SLF001 -- nothing public
    fault = yield
    begun = [one for one in order._epochs.entries if one.start_offset <= header.base_offset]  # noqa: SLF001
    epoch = header.partition_leader_epoch
    is_right = (
        next_offset <= header.base_offset
        and header.last_offset < end_offset
        and (not begun or epoch in (NO_EPOCH, begun[-1].epoch))
    )
    if (fault is None) is not is_right:
        return f"{header} from {next_offset} to {end_offset}, {begun[-1:]}: {fault}"
    wanted = header.last_offset + 1 if is_right else next_offset
    goes_on_at = order._next_offset  # noqa: SLF001 -- as above
    return None if goes_on_at == wanted else f"it goes on at {goes_on_at}, not {wanted}"


@of_function(batch_order.check_copied)
def check_copied(buffer: Buffer, order: BatchOrder) -> Generator[None, list[BatchHeader], Broken]:
    """A move copies whole batches, all that it has read, one behind the other."""
    batches = yield
    size_bytes = sum(one.size_bytes for one in batches)
    if size_bytes != len(buffer):
        return f"{size_bytes} of {len(buffer)} bytes are copied"
    back = [one for before, one in pairwise(batches) if one.base_offset <= before.last_offset]
    return f"{back[0]} goes back" if back else None
