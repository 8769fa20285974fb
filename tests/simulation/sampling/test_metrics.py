"""Metrics keep the names that the text gives them."""

from __future__ import annotations

import pytest

from broker.exposition import exposition
from broker.metrics import Family, Sample
from simulation.sampling.metrics import metric_values


def test_every_value_has_the_name_of_its_line() -> None:
    _, text = exposition(
        [
            Family(
                "things_total", "counter", "Things.", ("dir", "api"), [Sample(("/a b", "x"), 3)]
            ),
            Family("depth", "gauge", "Depth.", (), [Sample((), 7)]),
        ]
    )
    lines = [line for line in text.decode().splitlines() if not line.startswith("#")]

    values = metric_values(text.decode())

    assert values == {'things_total{api="x",dir="/a b"}': 3.0, "depth": 7.0}
    assert list(values) == [line.rpartition(" ")[0] for line in lines]


def test_what_a_label_holds_is_escaped_as_in_the_text() -> None:
    _, text = exposition([Family("size", "gauge", "Size.", ("dir",), [Sample(('a\\b"c\nd',), 1)])])
    (name,) = metric_values(text.decode())
    assert f"{name} 1.0" in text.decode().splitlines()


def test_what_is_no_text_of_prometheus_is_refused() -> None:
    with pytest.raises(ValueError, match="how"):
        metric_values("depth how many")
