"""How long one record takes when nothing else is under way: the next goes out after its answer.

One idempotent producer with one request in flight, as a careful client is that waits for each
record. The times are the client's, from the call to the acknowledgement. It creates no topics.
"""

from __future__ import annotations

import time
from typing import Any, Final

from confluent_kafka import Producer

from benchmarks.paced import Latencies, latencies_of

_WARM_UP_COUNT: Final = 200
_DEADLINE_S: Final = 30.0


def one_at_a_time(bootstrap: str, topic: str, *, count: int, size_bytes: int) -> Latencies:
    """Produce ``count`` records with acks=all, each after the one before it was acknowledged.

    Raises:
        RuntimeError: A record was not acknowledged.
    """
    config: dict[str, Any] = {"bootstrap.servers": bootstrap, "acks": "all", "linger.ms": 0}
    config |= {"enable.idempotence": True, "max.in.flight": 1}
    producer = Producer(config)
    value = bytes(size_bytes)
    for _ in range(_WARM_UP_COUNT):
        _acknowledged_s(producer, topic, value)
    return latencies_of([_acknowledged_s(producer, topic, value) for _ in range(count)])


def _acknowledged_s(producer: Producer, topic: str, value: bytes) -> float:
    """Produce one record and return the seconds until it is acknowledged."""
    answers: list[object] = []
    began_s = time.perf_counter()
    producer.produce(topic, value, partition=0, on_delivery=lambda error, _: answers.append(error))
    while not answers and time.perf_counter() - began_s < _DEADLINE_S:
        producer.poll(1)  # Returns as soon as there was an answer.
    taken_s = time.perf_counter() - began_s
    if answers != [None]:
        raise RuntimeError(f"a record was not acknowledged after {taken_s:.0f} s: {answers}")
    return taken_s
