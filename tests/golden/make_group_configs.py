"""Asks a broker of Apache Kafka 4.3.1 about configs of groups: ``group_configs.jsonl.gz``.

A line is a request and its answer: ``alter`` (a change that the broker only validates, by group and
entries: error code and message) or ``describe`` (of a group that has ``SET``, a key a line).
"""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeAlias

from jbodlab.asking.rpc import BlockingClient
from protocol.messages.configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsRequestAlterableConfig,
    IncrementalAlterConfigsRequestAlterConfigsResource,
)
from tests.deadlines import DEADLINE_S
from tests.golden.kraft_broker import kraft_broker
from tests.golden.made import GOLDEN, Made, write_vectors
from tests.golden.vectors import load_vectors

Entry: TypeAlias = tuple[str, int, str | None]

GROUP: Final = 32
GROUP_ID: Final = "g"
SET: Final = {
    "consumer.session.timeout.ms": "50000",
    "share.auto.offset.reset": "earliest",
    "streams.num.standby.replicas": "1",
}
_SET, _DELETE = 0, 1
_VALUES: Final = {
    "consumer.session.timeout.ms": "1 44999 45000 60000 60001 x -1 50000.5 2147483648",
    "consumer.heartbeat.interval.ms": "0 4999 5000 15000 15001",
    "consumer.assignment.interval.ms": "-1 0 15000 15001",
    "share.session.timeout.ms": "44999 45000 60000 60001",
    "share.heartbeat.interval.ms": "4999 5000 15000 15001",
    "share.record.lock.duration.ms": "999 1000 14999 15000 60000 60001",
    "share.delivery.count.limit": "1 2 10 11",
    "share.partition.max.record.locks": "99 100 4000 4001",
    "share.auto.offset.reset": (
        "earliest latest LATEST none never by_duration:PT1H by_duration:P1DT2H3M4.5S by_duration:1"
        " by_duration:P by_duration:PT by_duration:P1DT by_duration:-PT1H by_duration:PT-1H"
        " by_duration:pt1h by_duration: BY_DURATION:PT1S by_duration:PT1H30M by_duration:P1W"
    ),
    "share.isolation.level": "read_committed read_uncommitted READ_COMMITTED none",
    "share.renew.acknowledge.enable": "true FALSE yes",
    "share.assignment.interval.ms": "-1 0 15000 15001",
    "streams.session.timeout.ms": "44999 45000 60000 60001",
    "streams.heartbeat.interval.ms": "4999 5000 15000 15001",
    "streams.num.standby.replicas": "-1 0 2 3",
    "streams.initial.rebalance.delay.ms": "-1 0 1000000",
    "streams.assignment.interval.ms": "-1 0 15000 15001",
    "consumer.assignor.offload.enable": "true",
    "session.timeout.ms": "50000",
}


def changes() -> Iterator[tuple[str, list[Entry]]]:
    """Give changes by the group that they are about."""
    for name, values in _VALUES.items():
        for value in values.split():
            yield GROUP_ID, [(name, _SET, value)]
    session = "consumer.session.timeout.ms"
    yield GROUP_ID, [(session, _SET, None)]
    yield GROUP_ID, [(session, _DELETE, None)]
    yield GROUP_ID, [("no.such", _DELETE, None)]
    yield GROUP_ID, [(session, _SET, "50000"), (session, _SET, "50001")]
    yield GROUP_ID, [(session, _SET, "50000"), ("consumer.heartbeat.interval.ms", _SET, "6000")]
    yield "", [(session, _SET, "50000")]


def altered(
    client: BlockingClient, group: str, entries: Sequence[Entry], *, is_tried: bool
) -> list[Any]:
    """Return error code and message; with ``is_tried`` the broker only validates."""
    resource = IncrementalAlterConfigsRequestAlterConfigsResource(
        resource_type=GROUP,
        resource_name=group,
        configs=[
            IncrementalAlterConfigsRequestAlterableConfig(
                name=name, config_operation=operation, value=value
            )
            for name, operation, value in entries
        ],
    )
    request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=is_tried)
    (answer,) = client.request(request, 1).responses
    return [int(answer.error_code), answer.error_message]


def described(client: BlockingClient) -> list[dict[str, Any]]:
    """Return a row a key."""
    resource = DescribeConfigsResource(
        resource_type=GROUP, resource_name=GROUP_ID, configuration_keys=None
    )
    request = DescribeConfigsRequest(resources=[resource], include_synonyms=True)
    return [
        {
            "describe": config.name,
            "value": config.value,
            "read_only": config.read_only,
            "source": int(config.config_source),
            "type": int(config.config_type),
            "synonyms": [[one.name, one.value, int(one.source)] for one in config.synonyms],
        }
        for config in sorted(client.request(request, 4).results[0].configs, key=lambda c: c.name)
    ]


def asked() -> Iterator[dict[str, Any]]:
    """Ask a new broker everything."""
    with kraft_broker() as client:
        for group, entries in changes():
            answer = altered(client, group, entries, is_tried=True)
            yield {"alter": group, "entries": [list(entry) for entry in entries], "answer": answer}
        entries = [(name, _SET, value) for name, value in SET.items()]
        assert altered(client, GROUP_ID, entries, is_tried=False) == [0, None]
        end = time.monotonic() + DEADLINE_S
        while not {row["describe"] for row in described(client) if row["source"] == 8} >= set(SET):
            if time.monotonic() > end:
                raise SystemExit(f"the group's configs were not in force after {DEADLINE_S} s")
        yield from described(client)


def made() -> Made:
    """Ask for every change and every key."""
    found = list(asked())
    is_there = (GOLDEN / "group_configs.jsonl.gz").exists()
    standing = load_vectors("group_configs") if is_there else []
    pairs = itertools.zip_longest(found, standing)
    differing = [f"{new} for {old}" for new, old in pairs if new != old]
    write = functools.partial(write_vectors, "group_configs", found)
    return Made(f"{len(found)} lines asked anew", differing, write)
