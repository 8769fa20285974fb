"""Decisions are those of Apache Kafka's StandardAuthorizer; each rule of it once in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from protocol.acls.authorizer import DECISIONS_MAX, Authorizer
from protocol.acls.model import (
    AclBinding,
    AclOperation,
    AclResourceType,
    PatternType,
    PermissionType,
    ResourcePattern,
)
from tests.golden.vectors import load_vectors

CASES = load_vectors("decisions")
TOPIC = AclResourceType.TOPIC
ALICE, BOB, HERE, ELSEWHERE = "User:alice", "User:bob", "10.0.0.1", "10.0.0.2"


def acl(
    name: str,
    operation: AclOperation,
    permission: PermissionType = PermissionType.ALLOW,
    *,
    pattern: PatternType = PatternType.LITERAL,
    principal: str = ALICE,
    host: str = "*",
) -> AclBinding:
    """Make an ACL of a topic."""
    return AclBinding(ResourcePattern(TOPIC, name, pattern), principal, host, operation, permission)


def authorizer(*acls: AclBinding, **options: Any) -> Authorizer:
    """Make an authorizer that has these ACLs."""
    made = Authorizer(**options)
    made.replace(acls)
    return made


def bindings(rows: Sequence[Sequence[Any]]) -> list[AclBinding]:
    """Return the ACLs of a recorded case."""
    return [
        AclBinding(
            ResourcePattern(AclResourceType(kind), name, PatternType(pattern)),
            principal,
            host,
            AclOperation(operation),
            PermissionType(permission),
        )
        for kind, name, pattern, principal, host, operation, permission in rows
    ]


def test_there_are_enough_recorded_decisions_of_both_kinds() -> None:
    answers = [answer for case in CASES for answer in case["answers"]]
    about_types = [asked for case in CASES for asked in case["questions"] if asked[4] is None]
    assert len(answers) >= 2_000
    assert min(answers.count(True), answers.count(False)) >= 500
    assert len(about_types) >= 200


@pytest.mark.parametrize("case", CASES)
def test_what_apache_kafka_decided_is_decided_here(case: dict[str, Any]) -> None:
    made = authorizer(
        *bindings(case["acls"]),
        super_users=[who.strip() for who in case["super_users"].split(";") if who.strip()],
        allows_if_no_acl=case["allows_if_no_acl"] == "true",
    )
    for question, expected in zip(case["questions"], case["answers"], strict=True):
        who, host, operation, kind, name = question
        asked = (who, host, AclOperation(operation), AclResourceType(kind))
        if name is None:
            assert made.is_allowed_somewhere(*asked) == expected, question
        else:
            assert made.is_allowed(*asked, name) == expected, question


def test_a_denied_prefix_stands_before_an_allowed_name() -> None:
    made = authorizer(
        acl("orders", AclOperation.READ),
        acl("ord", AclOperation.READ, PermissionType.DENY, pattern=PatternType.PREFIXED),
    )
    rule = made.rule(ALICE, HERE, AclOperation.READ, TOPIC, "orders")
    assert not rule.is_allowed
    assert "resourceName=ord, patternType=PREFIXED" in rule.reason


def test_a_write_that_is_allowed_allows_to_describe_and_one_that_is_denied_does_not_forbid_it() -> (
    None
):
    describe = (ALICE, HERE, AclOperation.DESCRIBE, TOPIC, "t")
    assert authorizer(acl("t", AclOperation.WRITE)).is_allowed(*describe)
    denied = authorizer(
        acl("t", AclOperation.READ), acl("t", AclOperation.WRITE, PermissionType.DENY)
    )
    assert denied.is_allowed(*describe)


def test_an_acl_of_one_host_says_nothing_of_another() -> None:
    made = authorizer(acl("t", AclOperation.READ, host=HERE))
    assert made.is_allowed(ALICE, HERE, AclOperation.READ, TOPIC, "t")
    assert not made.is_allowed(ALICE, ELSEWHERE, AclOperation.READ, TOPIC, "t")


def test_everybody_may_do_what_no_acl_is_about_only_where_that_is_configured() -> None:
    acls = (acl("owned", AclOperation.READ),)
    read = (BOB, HERE, AclOperation.READ, TOPIC)
    assert authorizer(*acls, allows_if_no_acl=True).is_allowed(*read, "free")
    assert not authorizer(*acls, allows_if_no_acl=True).is_allowed(*read, "owned")
    assert not authorizer(*acls).is_allowed(*read, "free")


def test_the_wildcard_does_not_cover_a_name_that_begins_with_a_star_as_in_kafka() -> None:
    made = authorizer(acl("*", AclOperation.READ))
    assert made.is_allowed(ALICE, HERE, AclOperation.READ, TOPIC, "t")
    assert not made.is_allowed(ALICE, HERE, AclOperation.READ, TOPIC, "*t")


def test_nobody_but_super_users_may_do_anything_before_the_acls_are_known() -> None:
    made = Authorizer(super_users=[ALICE], allows_if_no_acl=True)
    assert made.is_allowed(ALICE, HERE, AclOperation.READ, TOPIC, "t")
    assert not made.is_allowed(BOB, HERE, AclOperation.READ, TOPIC, "t")


def test_acls_that_were_replaced_decide_nothing_any_more() -> None:
    made = authorizer(acl("t", AclOperation.READ))
    made.replace([])
    assert not made.is_allowed(ALICE, HERE, AclOperation.READ, TOPIC, "t")


def test_what_is_remembered_is_bounded_and_long_names_are_not_remembered() -> None:
    made = authorizer(acl("t", AclOperation.READ))
    for number in range(DECISIONS_MAX + 10):
        assert made.is_allowed(ALICE, f"host-{number}", AclOperation.READ, TOPIC, "t")
    assert not made.is_allowed(ALICE, HERE, AclOperation.READ, TOPIC, "n" * 30_000)
    sizes = [len(asked[-1]) for asked in made._decisions]  # pyright: ignore[reportPrivateUsage]
    assert (len(sizes), max(sizes)) == (DECISIONS_MAX, 1)
