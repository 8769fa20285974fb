"""How far the loading of log dirs is, for people and gauges."""

from __future__ import annotations

import logging

import pytest

from broker.loading import Loading
from broker.storage.recovery import LoadProgress


def test_what_remains_is_told_by_log_dir_until_its_end_or_failure() -> None:
    online = {"/d1": True, "/d2": True}
    loading = Loading(online.__getitem__)
    loading.note("/d1", LoadProgress(1, 3, 7))
    loading.note("/d2", LoadProgress(0, 1))
    assert loading.remaining() == {
        "/d1": {"logs": 2, "segments": 7},
        "/d2": {"logs": 1, "segments": 0},
    }
    loading.note("/d2", LoadProgress(1, 1))
    assert list(loading.remaining()) == ["/d1"]
    online["/d1"] = False
    assert loading.remaining() == {}


@pytest.mark.scenario(220)
def test_the_gauges_exist_while_loading_only() -> None:
    loading = Loading(lambda _: True)
    assert loading.families() == []
    loading.note("/d1", LoadProgress(1, 3, 7))
    logs, segments = loading.families()
    assert logs.name == "kafka_log_logmanager_remaininglogstorecover"
    assert list(logs.samples) == [(("/d1",), 2)]
    assert list(segments.samples) == [(("/d1",), 7)]
    loading.note("/d1", LoadProgress(3, 3))
    assert loading.families() == []


def test_the_log_tells_it_now_and_then(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    loading = Loading(lambda _: True)
    for done in range(1001):
        loading.note("/d1", LoadProgress(done, 1001))
    for left in range(25, 0, -1):
        loading.note("/d1", LoadProgress(1000, 1001, left))
    loading.note("/d1", LoadProgress(1001, 1001))
    assert [record.getMessage() for record in caplog.records] == [
        "loading /d1: 0 of 1001 logs",
        "loading /d1: 500 of 1001 logs",
        "loading /d1: 1000 of 1001 logs",
        "loading /d1: 1000 of 1001 logs, 20 segments of the next one to be checked",
        "loading /d1: 1000 of 1001 logs, 10 segments of the next one to be checked",
        "loading /d1: 1001 of 1001 logs",
    ]
