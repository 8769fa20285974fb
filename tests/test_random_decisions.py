"""The comparison of drawn decisions sees one that differs, and draws both kinds."""

from __future__ import annotations

import random

from tests.random_decisions import answers, differing, drawn


def test_a_decision_that_kafka_made_otherwise_is_told() -> None:
    case = drawn(random.Random(1))
    told = answers(case)
    assert not differing([case], [told])
    told[3] = not told[3]
    (line,) = differing([case], [told])
    assert line.startswith(f"{case['questions'][3]}: {not told[3]}, by Kafka {told[3]}")


def test_drawn_questions_are_allowed_and_denied() -> None:
    rng = random.Random(1)
    found = [answer for _ in range(20) for answer in answers(drawn(rng))]
    assert min(found.count(True), found.count(False)) > len(found) / 10
