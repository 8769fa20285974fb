"""A producer of librdkafka above its quota is throttled by a real broker until the quota goes."""

from __future__ import annotations

import threading

import pytest
from confluent_kafka import Producer

from protocol.messages.quotas import AlterClientQuotasRequest
from tests.deadlines import DEADLINE_S
from tests.golden.make_quotas import VERSION, alter_request, answered
from tests.integration.labs import Lab

TOPIC = "limited"
EVERYBODY = [["client-id", None]]
RECORDS, RECORD_BYTES = 40, 1000


def set_rate(lab: Lab, bytes_per_second: float | None) -> None:
    request: AlterClientQuotasRequest = alter_request(
        [(EVERYBODY, [("producer_byte_rate", bytes_per_second)])], is_tried=False
    )
    assert answered(lab.ask(request, VERSION)) == [[EVERYBODY, 0, None]]


@pytest.mark.integration
def test_a_producer_is_throttled_until_its_quota_is_removed(shared_lab: Lab) -> None:
    shared_lab.create(TOPIC)
    throttled = threading.Event()

    def told(event: object) -> None:
        if getattr(event, "throttle_time", 0) > 0:
            throttled.set()

    config = {
        "bootstrap.servers": ",".join(shared_lab.servers),
        "linger.ms": 0,
        "batch.num.messages": 1,
        "throttle_cb": told,
    }
    producer = Producer(config)
    failed: list[object] = []
    set_rate(shared_lab, 1000.0)
    for _ in range(RECORDS):
        producer.produce(
            TOPIC,
            bytes(RECORD_BYTES),
            on_delivery=lambda error, _: failed.append(error) if error else None,
        )
    while not throttled.is_set():
        assert producer.poll(DEADLINE_S) or throttled.is_set(), "it was never told to wait"
    set_rate(shared_lab, None)
    assert producer.flush(DEADLINE_S) == 0
    assert failed == []
