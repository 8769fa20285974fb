"""The table of features is what the tool writes."""

from __future__ import annotations

import json

from simulation.core.feature_percents import PERCENTS
from simulation.core.features import USUAL_PERCENTS
from simulation.tally import Tally
from tests.steering import TABLE, steered_by, table_with


def test_the_table_is_as_the_tool_writes_it() -> None:
    text = TABLE.read_text(encoding="utf-8")
    assert table_with(PERCENTS, text) == text


def test_a_report_of_a_sweep_is_enough_to_steer_by() -> None:
    content = json.loads(json.dumps(Tally().content()))
    assert steered_by(content) == dict(PERCENTS)
    assert list(USUAL_PERCENTS) == list(PERCENTS)
