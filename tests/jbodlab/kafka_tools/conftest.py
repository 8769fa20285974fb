"""A cluster of four brokers with the topics foo, bar and baz, served for one test."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.jbodlab.kafka_tools.fake_cluster import FakeCluster, serving
from tests.protocol.admin.views import topic


@pytest.fixture
def cluster() -> Generator[FakeCluster]:
    topics = [
        topic("foo", (0, 1, 2), (1, 2, 3)),
        topic("bar", (2, 3, 0)),
        topic("baz", (1, 0, 2), (0, 2)),
    ]
    with serving(FakeCluster(topics={each.name: each for each in topics})) as cluster:
        yield cluster
