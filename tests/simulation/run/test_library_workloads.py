"""Which workload of the library each line of a plan is."""

from __future__ import annotations

from typing import Any

import pytest

from simulation.core.history import History
from simulation.core.plan import Workload
from simulation.run.library_workloads import LibraryClient, library_workload
from simulation.workload.aiokafka_clients import (
    AiokafkaConsumerWorkload,
    AiokafkaProducerWorkload,
)
from simulation.workload.group_consumer import GroupConsumerWorkload
from simulation.workload.producer import ProducerSettings
from simulation.workload.transactional_producer import TransactionalProducerWorkload
from simulation.workload.transformer import TransformWorkload


@pytest.mark.parametrize(
    ("words", "made"),
    [
        ({"kind": "produce"}, AiokafkaProducerWorkload),
        ({"kind": "produce", "transactional": True}, TransactionalProducerWorkload),
        ({"kind": "consume"}, AiokafkaConsumerWorkload),
        ({"kind": "consume", "group": "g"}, GroupConsumerWorkload),
        ({"kind": "transform", "group": "g", "into": "b"}, TransformWorkload),
    ],
)
async def test_a_line_of_a_plan_is_one_workload(words: dict[str, Any], made: type) -> None:
    workload = Workload(name="w", topic="a", client="aiokafka", **words)
    client = LibraryClient({1: ("host", 1)}, "w", History(lambda: 0))
    found = library_workload(workload, 1, client, ProducerSettings(topic="a"))
    assert type(found) is made
