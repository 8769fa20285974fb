"""What contracts say of wrong rules about quotas, passwords and ACLs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest

from controller.core import acls, quotas, scram
from controller.core.acl_records import AclsCreated
from controller.core.quota_records import ClientQuotaRemoved, ClientQuotaSet
from controller.core.scram_records import ScramCredentialDeleted
from controller.core.step import Step
from protocol.acls.requests import new_binding
from protocol.messages.acls import CreateAclsRequest, DeleteAclsRequest
from protocol.messages.scram import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from tests.controller.core.test_acls import CREATION, WRITE, filtered, secured
from tests.golden.make_quotas import VERSION, alter_request
from tests.simulation.contracts.controller.controlled import (
    Act,
    Case,
    led,
    misanswer,
    spoiled,
    tells,
)

QUOTAS, PASSWORDS = "quotas.alter_client_quotas", "scram.alter_credentials"
ALICE: Final = (("user", "alice"),)
RATE: Final = "producer_byte_rate"


def limited(*limits: float | None, is_tried: bool = False, times: int = 1) -> Callable[[], Act]:
    """Return that somebody has all of these limits one after the other, the last one then."""

    def prepare() -> Act:
        cluster = led()
        *before, last = limits
        for limit in before:
            cluster.call(alter_request([(ALICE, [(RATE, limit)])], is_tried=False), VERSION)
        asked = alter_request([(ALICE, [(RATE, last)])] * times, is_tried=is_tried)
        return lambda: cluster.call(asked, VERSION)

    return prepare


def given(*, is_gone: bool = False) -> Callable[[], Act]:
    """Return that somebody gets a password, or loses it."""

    def prepare() -> Act:
        cluster = led()
        put = ScramCredentialUpsertion(
            name="alice", mechanism=1, iterations=4096, salt=b"salt", salted_password=b"salted"
        )
        asked = AlterUserScramCredentialsRequest(deletions=[], upsertions=[put])
        if is_gone:
            cluster.call(asked, 0)
            drop = ScramCredentialDeletion(name="alice", mechanism=1)
            asked = AlterUserScramCredentialsRequest(deletions=[drop], upsertions=[])
        return lambda: cluster.call(asked, 0)

    return prepare


def given_rights(*, is_gone: bool = False) -> Callable[[], Act]:
    """Return that two rights are given, or taken back by a filter each."""

    def prepare() -> Act:
        cluster = secured()
        asked = CreateAclsRequest(creations=[CREATION, WRITE])
        if not is_gone:
            return lambda: cluster.call(asked, 3)
        cluster.call(asked, 3)
        filters = [filtered(CREATION.operation), filtered(WRITE.operation)]
        return lambda: cluster.call(DeleteAclsRequest(filters=filters), 3)

    return prepare


def one_is_lost(step: Step) -> None:
    step.state.acls.pop(next(iter(step.state.acls)))


def one_stays(step: Step) -> None:
    step.change(AclsCreated((new_binding(CREATION),)))


def set_to(limit: float) -> Callable[[Step], object]:
    return lambda step: step.change(ClientQuotaSet(ALICE, RATE, limit))


def taken_off(step: Step) -> None:
    step.change(ClientQuotaRemoved(ALICE, RATE))


def forgotten(step: Step) -> None:
    step.change(ScramCredentialDeleted("alice", "SCRAM-SHA-256"))


CASES: Final[list[Case]] = [
    (QUOTAS, spoiled(quotas.alter_client_quotas, set_to(7.0)), limited(5000.0)),
    (QUOTAS, spoiled(quotas.alter_client_quotas, set_to(5000.0)), limited(5000.0, 6000.0)),
    (QUOTAS, spoiled(quotas.alter_client_quotas, set_to(5000.0)), limited(5000.0, None)),
    (QUOTAS, spoiled(quotas.alter_client_quotas, taken_off), limited(5000.0)),
    (QUOTAS, spoiled(quotas.alter_client_quotas, set_to(7.0)), limited(7.5, 5.0, is_tried=True)),
    (QUOTAS, spoiled(quotas.alter_client_quotas, misanswer(entries=[])), limited(5.0, times=2)),
    ("acls.create_acls", spoiled(acls.create_acls, one_is_lost), given_rights()),
    ("acls.delete_acls", spoiled(acls.delete_acls, one_stays), given_rights(is_gone=True)),
    (PASSWORDS, spoiled(scram.alter_credentials, forgotten), given()),
    (PASSWORDS, spoiled(scram.alter_credentials, misanswer(results=[])), given(is_gone=True)),
]


@pytest.mark.parametrize("case", CASES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(case: Case) -> None:
    tells(case)
