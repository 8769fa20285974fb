"""Asks new brokers of Apache Kafka which features they have: ``features.jsonl.gz``.

A line per release: 3.9.2 with ZooKeeper and 4.3.1, each asked by ApiVersions of version 3 and 4;
by feature the lowest and the highest level that it supports, and the level that is finalized.
"""

from __future__ import annotations

import functools
from typing import Any, Final

from jbodlab.asking.rpc import BlockingClient
from protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from tests.golden.kraft_broker import kraft_broker
from tests.golden.made import GOLDEN, Made, write_vectors
from tests.golden.one_broker import one_broker
from tests.golden.vectors import load_vectors

VERSIONS: Final = (3, 4)


def told(client: BlockingClient, release: str) -> list[dict[str, Any]]:
    """Return a line per version of ApiVersions."""
    lines: list[dict[str, Any]] = []
    for version in VERSIONS:
        request = ApiVersionsRequest(client_software_name="golden", client_software_version="1")
        answer: ApiVersionsResponse = client.request(request, version)
        supported = {
            each.name: [each.min_version, each.max_version]
            for each in sorted(answer.supported_features, key=lambda each: each.name)
        }
        finalized = {
            each.name: [each.min_version_level, each.max_version_level]
            for each in sorted(answer.finalized_features, key=lambda each: each.name)
        }
        lines.append(
            {
                "release": release,
                "version": version,
                "supported": supported,
                "finalized": finalized,
                "is_epoch_known": answer.finalized_features_epoch >= 0,
            }
        )
    return lines


def made() -> Made:
    """Ask both releases."""
    with one_broker({}) as client:
        found = told(client, "3.9")
    with kraft_broker() as client:
        found += told(client, "4.3")
    standing = load_vectors("features") if (GOLDEN / "features.jsonl.gz").exists() else []
    differing = [] if found == standing else [f"{found} for {standing}"]
    write = functools.partial(write_vectors, "features", found)
    return Made(f"{len(found)} answers anew", differing, write)
