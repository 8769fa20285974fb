"""What contracts say of records about topics and settings that are applied wrongly."""

from __future__ import annotations

from typing import Final

import pytest

from controller.core.acl_records import AclsCreated, AclsDeleted
from controller.core.config_records import (
    BrokerConfigsChanged,
    GroupConfigsChanged,
    TopicConfigsChanged,
)
from controller.core.quota_records import ClientQuotaRemoved, ClientQuotaSet
from controller.core.reassignment_records import (
    AssignmentChanged,
)
from controller.core.records import (
    DeletionQueued,
    Leadership,
    LeadershipChanged,
    PartitionsAdded,
    Record,
    TopicCreated,
    TopicDeleted,
)
from controller.core.scram_records import ScramCredentialDeleted, ScramCredentialStored
from controller.core.token_records import DelegationTokenRemoved, DelegationTokenStored
from tests.simulation.contracts.controller.applied import ACL, CREDENTIAL, USER, tells

RECORDS: Final[list[Record]] = [
    TopicCreated("u", b"u" * 16, {"a": "b"}, ((1,), (2,))),
    PartitionsAdded("t", ((2, 1),)),
    LeadershipChanged((Leadership("t", 0, 2, 4, (2,), 5, 1, is_recovering=True),)),
    AssignmentChanged("t", 0, (1, 3), (3,), ()),
    DeletionQueued("t"),
    TopicDeleted("t"),
    TopicConfigsChanged("t", {"cleanup.policy": "compact"}),
    BrokerConfigsChanged("1", {"log.retention.ms": None}),
    BrokerConfigsChanged("1", {"log.segment.bytes": "7"}),
    GroupConfigsChanged("g", {"consumer.session.timeout.ms": "6"}),
    AclsCreated((ACL._replace(host="h"),)),
    AclsDeleted((ACL,)),
    ScramCredentialStored("bob", "SCRAM-SHA-512", CREDENTIAL),
    ScramCredentialDeleted("alice", "SCRAM-SHA-256"),
    DelegationTokenStored("id", "newer"),
    DelegationTokenRemoved("id"),
    ClientQuotaSet(USER, "consumer_byte_rate", 2.0),
    ClientQuotaRemoved(USER, "consumer_byte_rate"),
]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_a_record_that_changes_nothing_or_too_much_is_told(record: Record) -> None:
    tells(record)
