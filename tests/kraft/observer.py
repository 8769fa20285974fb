"""A broker's half of KRaft, as far as it was tried out: it registers, lives, and reads the log."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, Final

from jbodlab.asking.rpc import BlockingClient
from protocol.errors import ErrorCode
from protocol.ids import NO_EPOCH
from protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ReplicaState,
)
from protocol.messages.lifecycle import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    Feature,
    Listener,
)
from protocol.metadata_log import decode_metadata_record, encode_metadata_record
from protocol.records.batch import iterate_batches
from protocol.records.records import iterate_records
from tests.deadlines import DEADLINE_S
from tests.kraft.quorum import CLUSTER_ID

METADATA_TOPIC_ID: Final = bytes(15) + b"\x01"
"""Of ``__cluster_metadata``, in every cluster."""
METADATA_VERSIONS: Final = (7, 30)
"""What this broker says that it can follow: 3.3-IV3 up to that of 4.3."""
_FETCH_VERSION: Final = 17
_MAX_BYTES: Final = 1 << 20
_MAX_WAIT_MS: Final = 500


class Observer:
    """Knows what it has read of the metadata log, in order."""

    def __init__(self, client: BlockingClient, broker_id: int, log_dirs: list[bytes]) -> None:
        self.records: list[tuple[int, Any]] = []
        """Offset and record of all that is no control record."""
        self.next_offset = 0
        self.broker_epoch = -1
        self._client = client
        self._id = broker_id
        self._log_dirs = log_dirs
        self._last_epoch = 0
        self._leader_epoch = NO_EPOCH

    def register(self, port: int) -> int:
        """Register; return the error code. Sets ``broker_epoch``."""
        low, high = METADATA_VERSIONS
        asked = BrokerRegistrationRequest(
            broker_id=self._id,
            cluster_id=CLUSTER_ID,
            incarnation_id=self._id.to_bytes(16),
            listeners=[Listener(name="PLAINTEXT", host="127.0.0.1", port=port)],
            features=[
                Feature(
                    name="metadata.version", min_supported_version=low, max_supported_version=high
                ),
                *self._others(),
            ],
            log_dirs=sorted(self._log_dirs),
        )
        answer: BrokerRegistrationResponse = self._client.request(asked, 4)
        self.broker_epoch = answer.broker_epoch
        return answer.error_code

    def heartbeat(
        self, *, want_fence: bool = False, offline_log_dirs: list[bytes] | None = None
    ) -> BrokerHeartbeatResponse:
        """Say how far the log was read, and which log dirs failed."""
        asked = BrokerHeartbeatRequest(
            broker_id=self._id,
            broker_epoch=self.broker_epoch,
            current_metadata_offset=self.next_offset - 1,
            want_fence=want_fence,
            offline_log_dirs=offline_log_dirs or [],
        )
        answer: BrokerHeartbeatResponse = self._client.request(asked, 1)
        return answer

    def read_until(self, condition: Callable[[], bool]) -> None:
        """Fetch on until the records that were read fulfil a condition."""
        end = time.monotonic() + DEADLINE_S
        while not condition():
            assert time.monotonic() < end, f"not so after {DEADLINE_S} s"
            self.fetch()

    def fetch(self) -> ErrorCode:
        """Ask once for what follows, as an observer: a replica that is no voter."""
        partition = FetchPartition(
            partition=0,
            current_leader_epoch=self._leader_epoch,
            fetch_offset=self.next_offset,
            last_fetched_epoch=self._last_epoch,
            partition_max_bytes=_MAX_BYTES,
        )
        asked = FetchRequest(
            cluster_id=CLUSTER_ID,
            replica_state=ReplicaState(replica_id=self._id),
            max_wait_ms=_MAX_WAIT_MS,
            min_bytes=1,
            max_bytes=_MAX_BYTES,
            topics=[FetchTopic(topic_id=METADATA_TOPIC_ID, partitions=[partition])],
        )
        answer: FetchResponse = self._client.request(asked, _FETCH_VERSION)
        assert answer.error_code == ErrorCode.NONE
        ((found,),) = [topic.partitions for topic in answer.responses]
        if found.current_leader.leader_epoch != NO_EPOCH:
            self._leader_epoch = found.current_leader.leader_epoch
        records = found.records or b""
        assert not isinstance(records, tuple)  # Only answers that are written come in parts.
        self._read(bytes(records), found.high_watermark)
        return ErrorCode(found.error_code)

    def of(self, kind: type[Any]) -> Iterator[Any]:
        """Give the records of one class, in the order of the log."""
        return (record for _, record in self.records if isinstance(record, kind))

    def _read(self, data: bytes, high_watermark: int) -> None:
        """Keep what is below the high watermark: the rest may still be undone."""
        for position, header in iterate_batches(data):
            if header.last_offset >= high_watermark:
                return
            for record in () if header.is_control else iterate_records(data, position, header):
                value = record.value or b""
                message, version = decode_metadata_record(value)
                assert encode_metadata_record(message, version) == value
                self.records.append((record.offset, message))
            self._last_epoch = header.partition_leader_epoch
            self.next_offset = header.last_offset + 1

    def _others(self) -> list[Feature]:
        """Return the other features that the quorum finalized: who lacks one is refused."""
        asked = ApiVersionsRequest(client_software_name="jbodlab", client_software_version="1")
        told: ApiVersionsResponse = self._client.request(asked, 4)
        return [
            Feature(
                name=each.name,
                min_supported_version=0,
                max_supported_version=each.max_version_level,
            )
            for each in told.finalized_features
            if each.name != "metadata.version"
        ]
