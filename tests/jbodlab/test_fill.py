"""Topics are filled evenly; what passes is tried again, what does not is told."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from jbodlab.asking.admin import ClusterAdmin
from jbodlab.errors import BrokerAwayError, ExitCode, LabError
from jbodlab.fill import fill
from protocol.admin.cluster import ClusterView, PartitionView
from protocol.errors import ErrorCode
from protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from protocol.records.records import iterate_all_records
from tests.protocol.admin.views import cluster_of


class Admin(ClusterAdmin):
    """Two partitions, led by brokers 1 and 2, that answer one code after the other."""

    def __init__(self, *codes: ErrorCode | BrokerAwayError) -> None:  # no call to super
        self.codes = list(codes)
        self.written: dict[int, list[bytes]] = {0: [], 1: []}

    def any_view(self, topics: Sequence[str] | None = None) -> ClusterView:
        views = [
            PartitionView(
                topic="t",
                partition=partition,
                leader=partition + 1,
                leader_epoch=0,
                replicas=(1, 2),
                isr=(1, 2),
                offline_replicas=(),
                error_code=0,
            )
            for partition in (0, 1)
        ]
        found = tuple(views) if topics == ["t"] else ()
        return cluster_of(found, brokers=(1, 2))

    def ask(
        self, message: Any, version: int, broker_id: int, *, timeout_ms: int | None = None
    ) -> Any:
        assert (version, timeout_ms) == (9, None)
        code = self.codes.pop(0) if self.codes else ErrorCode.NONE
        if isinstance(code, BrokerAwayError):
            raise code
        (data,) = message.topic_data[0].partition_data
        assert broker_id == data.index + 1
        if code is ErrorCode.NONE:
            values = [bytes(each.value or b"") for each in iterate_all_records(data.records)]
            self.written[data.index] += values
        result = PartitionProduceResponse(index=data.index, error_code=code, base_offset=0)
        return ProduceResponse(
            responses=[TopicProduceResponse(name="t", partition_responses=[result])]
        )


def filled(admin: Admin, topic: str = "t", *, patience_ms: int = 10_000) -> list[int]:
    return list(
        fill(
            admin,
            topic,
            size_bytes=1_200_000,
            record_bytes=1000,
            chance=Random(1),
            patience_ms=patience_ms,
        )
    )


def test_records_go_evenly_to_all_partitions() -> None:
    admin = Admin()
    assert filled(admin)[-1] == 1_200_000
    assert {partition: len(values) for partition, values in admin.written.items()} == {
        0: 524 + 152,
        1: 524,
    }
    assert {len(value) for values in admin.written.values() for value in values} == {1000}


def test_what_passes_is_tried_again() -> None:
    admin = Admin(ErrorCode.KAFKA_STORAGE_ERROR, BrokerAwayError("broker 1"), ErrorCode.NONE)
    assert filled(admin)[-1] == 1_200_000


@pytest.mark.parametrize(
    ("code", "patience_ms", "ends", "words"),
    [
        (
            ErrorCode.NOT_ENOUGH_REPLICAS,
            1,
            ExitCode.TIMED_OUT,
            "t-0 took no records for 0 s: broker 1 answers NOT_ENOUGH_REPLICAS",
        ),
        (
            ErrorCode.MESSAGE_TOO_LARGE,
            10_000,
            ExitCode.FAILED,
            "broker 1 answers MESSAGE_TOO_LARGE: see its log",
        ),
    ],
)
def test_what_does_not_pass_is_told(
    code: ErrorCode, patience_ms: int, ends: ExitCode, words: str
) -> None:
    with pytest.raises(LabError, match=words) as caught:
        filled(Admin(*[code] * 9), patience_ms=patience_ms)
    assert caught.value.exit_code is ends


def test_a_topic_that_is_not_there_is_told() -> None:
    with pytest.raises(LabError, match="there is no topic u"):
        filled(Admin(), "u")
