"""All records promise something, and the journal gets them."""

from __future__ import annotations

from typing import Final

from controller.core.acl_records import AclsReplaced
from controller.core.config_records import (
    ConfigsReplaced,
)
from controller.core.records import (
    RECORD_CLASSES,
    ProducerIdsAllocated,
    Record,
    TopicFound,
)
from controller.core.step import Step
from controller.core.znode_clients import ClientConfigsReplaced
from simulation.contracts.controller.record_promises import PROMISES
from tests.simulation.contracts.controller import test_broker_records, test_topic_records
from tests.simulation.contracts.controller.applied import a_step
from tests.simulation.contracts.wrong_rules import told_of

FROM_ZOOKEEPER: Final = {TopicFound, ConfigsReplaced, ClientConfigsReplaced, AclsReplaced}
"""What stands there is read, not decided."""


def test_all_records_promise_something() -> None:
    shown = [*test_broker_records.RECORDS, *test_topic_records.RECORDS]
    assert set(RECORD_CLASSES) - FROM_ZOOKEEPER == set(PROMISES)
    assert set(map(type, shown)) == set(PROMISES)


def test_a_decision_that_the_journal_does_not_get_is_told() -> None:
    def forgets(step: Step, record: Record) -> None:
        record.apply(step.state)

    assert told_of(forgets, "Step.change", lambda: a_step().change(ProducerIdsAllocated(7)))
