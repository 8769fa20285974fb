"""Metric families as Prometheus reads them."""

from __future__ import annotations

from broker.exposition import exposition
from broker.metrics import Family, Sample


def test_counters_and_gauges_have_their_type_help_and_labels():
    content_type, text = exposition(
        [
            Family("things_total", "counter", "Things.", ("dir",), [Sample(("/a b",), 3)]),
            Family("depth", "gauge", "Depth.", (), [Sample((), 7)]),
        ]
    )
    assert content_type.startswith("text/plain")
    assert text.decode().splitlines() == [
        "# HELP things_total Things.",
        "# TYPE things_total counter",
        'things_total{dir="/a b"} 3.0',
        "# HELP depth Depth.",
        "# TYPE depth gauge",
        "depth 7.0",
    ]
