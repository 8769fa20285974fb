"""Asks a broker of Apache Kafka anew what its configs are and what it says to changes of them.

``configs_of_3_9_2.jsonl``: DescribeConfigs of a topic and of the broker, a key a line; keys whose
values name a machine are not among them. ``altered_on_3_9_2.jsonl``: changes that the broker is to
validate only, one at a time, with the error code and message that it answered.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from jbodlab.asking.rpc import BlockingClient
from protocol.messages.configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResult,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsRequestAlterableConfig,
    IncrementalAlterConfigsRequestAlterConfigsResource,
)
from tests.deadlines import DEADLINE_S
from tests.golden.made import GOLDEN, Made, json_lines
from tests.golden.one_broker import one_broker

TESTS: Final = GOLDEN.parent
DESCRIBED: Final = TESTS / "protocol" / "configs_of_3_9_2.jsonl"
ALTERED: Final = TESTS / "controller" / "core" / "altered_on_3_9_2.jsonl"
RESOURCES: Final = {"topic": (2, "a"), "broker": (4, "1")}
NAMES: Final = dict(RESOURCES.values())
STATIC: Final = {"log.retention.hours": "100", "num.partitions": "2"}
DYNAMIC: Final = ("log.segment.bytes", "500")
TOPIC_KEY: Final = "segment.bytes"
"""The topic's key that takes it; the broker sets it a moment after its own."""
TOPIC: Final = {"retention.ms": "5", "segment.ms": "77"}
_SET: Final = 0


def altered(
    client: BlockingClient, kind: int, entries: Iterable[Sequence[Any]], *, is_tried: bool
) -> list[Any]:
    """Return what a change is answered; with ``is_tried`` the broker only validates it."""
    configs = [
        IncrementalAlterConfigsRequestAlterableConfig(
            name=name, config_operation=operation, value=value
        )
        for name, operation, value in entries
    ]
    resource = IncrementalAlterConfigsRequestAlterConfigsResource(
        resource_type=kind, resource_name=NAMES[kind], configs=configs
    )
    request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=is_tried)
    (answer,) = client.request(request, 1).responses
    return [int(answer.error_code), answer.error_message]


def described(client: BlockingClient, scope: str) -> list[dict[str, Any]]:
    """Return the rows of a resource as they stand in the file."""
    kind, name = RESOURCES[scope]
    resource = DescribeConfigsResource(
        resource_type=kind, resource_name=name, configuration_keys=None
    )
    request = DescribeConfigsRequest(
        resources=[resource], include_synonyms=True, include_documentation=False
    )
    result: DescribeConfigsResult = client.request(request, 4).results[0]
    return [
        {
            "scope": scope,
            "name": config.name,
            "value": config.value,
            "read_only": config.read_only,
            "source": int(config.config_source),
            "type": int(config.config_type),
            "synonyms": [[one.name, one.value, int(one.source)] for one in config.synonyms],
        }
        for config in result.configs
    ]


def described_anew() -> dict[tuple[str, str], dict[str, Any]]:
    """Return all rows of a topic and its broker, by scope and name."""
    with one_broker({NAMES[2]: TOPIC}, STATIC) as client:
        name, value = DYNAMIC
        assert altered(client, 4, [(name, _SET, value)], is_tried=False) == [0, None]
        end = time.monotonic() + DEADLINE_S
        while True:
            rows = [row for scope in RESOURCES for row in described(client, scope)]
            found = {(row["scope"], row["name"]): row for row in rows}
            if found["topic", TOPIC_KEY]["value"] == found["broker", name]["value"] == value:
                return found
            if time.monotonic() > end:
                raise SystemExit(f"{name}={value} was not in force after {DEADLINE_S} s")


def altered_anew(rows: Iterable[list[Any]]) -> list[list[Any]]:
    """Return the rows with what a broker without configs of its own answers."""
    with one_broker({NAMES[2]: {}}, {}) as client:
        return [
            [kind, entries, *altered(client, kind, entries, is_tried=True)]
            for kind, entries, *_ in rows
        ]


def read_rows(path: Path) -> list[Any]:
    """Return the values of a file, one a line."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def made() -> Made:
    """Ask for every key and every change that stands."""
    keys = read_rows(DESCRIBED)
    all_keys = described_anew()
    new_keys = [all_keys.get((row["scope"], row["name"])) for row in keys]
    changes = read_rows(ALTERED)
    new_changes = altered_anew(changes)
    pairs = [*zip(new_keys, keys, strict=True), *zip(new_changes, changes, strict=True)]

    def write() -> None:
        DESCRIBED.write_bytes(json_lines(row for row in new_keys if row is not None))
        lines = [json.dumps(change) for change in new_changes]
        ALTERED.write_text("\n".join(lines) + "\n")

    told = f"{len(keys)} keys and {len(changes)} changes asked anew"
    return Made(told, [f"{new} for {old}" for new, old in pairs if new != old], write)
