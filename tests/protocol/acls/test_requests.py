"""ACLs in requests: what may be created, which ones a filter asks for, what is told of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from protocol.acls.model import (
    AclBinding,
    AclOperation,
    AclResourceType,
    PatternType,
    PermissionType,
    ResourcePattern,
)
from protocol.acls.requests import (
    EVERY_ACL,
    asked_filter,
    bindings_of,
    deleted,
    described,
    new_binding,
)
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.acls import AclCreation

CREATION = AclCreation(
    resource_type=2,
    resource_name="orders",
    resource_pattern_type=3,
    principal="User:alice",
    host="*",
    operation=3,
    permission_type=3,
)


def binding(name: str, pattern: PatternType) -> AclBinding:
    """Make an ACL of a topic."""
    return AclBinding(
        ResourcePattern(AclResourceType.TOPIC, name, pattern),
        "User:alice",
        "*",
        AclOperation.READ,
        PermissionType.ALLOW,
    )


LITERAL, PREFIXED = binding("orders", PatternType.LITERAL), binding("ord", PatternType.PREFIXED)
WILD, OTHER = binding("*", PatternType.LITERAL), binding("other", PatternType.LITERAL)
ALL = (LITERAL, PREFIXED, WILD, OTHER)


def test_an_acl_is_taken_as_it_was_sent() -> None:
    assert new_binding(CREATION) == LITERAL


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"resource_type": 4}, "The only valid name for the CLUSTER resource is kafka-cluster"),
        ({"resource_name": ""}, "Invalid empty resource name"),
        ({"resource_type": 1}, "Invalid resourceType ANY"),
        ({"resource_type": 99}, "Invalid resourceType UNKNOWN"),
        ({"resource_pattern_type": 2}, "Invalid patternType MATCH"),
        ({"operation": 1}, "Invalid operation ANY"),
        ({"permission_type": 0}, "Invalid permissionType UNKNOWN"),
        ({"principal": "alice"}, "Could not parse principal from `alice`"),
    ],
)
def test_what_is_no_acl_is_refused_in_kafkas_words(changes: dict[str, object], text: str) -> None:
    with pytest.raises(KafkaError, match=text) as caught:
        new_binding(replace(CREATION, **changes))  # pyright: ignore[reportArgumentType]
    assert caught.value.code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("pattern", "name", "found"),
    [
        (PatternType.ANY, None, ALL),
        (PatternType.LITERAL, None, (LITERAL, WILD, OTHER)),
        (PatternType.PREFIXED, None, (PREFIXED,)),
        (PatternType.LITERAL, "orders", (LITERAL,)),
        (PatternType.ANY, "ord", (PREFIXED,)),
        (PatternType.MATCH, "orders", (LITERAL, PREFIXED, WILD)),
        (PatternType.MATCH, "or", (WILD,)),
    ],
)
def test_a_filter_finds_patterns_as_kafka_does(
    pattern: PatternType, name: str | None, found: tuple[AclBinding, ...]
) -> None:
    wanted = asked_filter(
        replace(EVERY_ACL, pattern_type_filter=pattern, resource_name_filter=name)
    )
    assert tuple(filter(wanted.matches, ALL)) == found


@pytest.mark.parametrize(
    ("field", "other"),
    [
        ("resource_type_filter", 3),
        ("principal_filter", "User:bob"),
        ("host_filter", "10.0.0.1"),
        ("operation", 4),
        ("permission_type", 2),
    ],
)
def test_a_filter_for_something_else_finds_nothing(field: str, other: object) -> None:
    wanted = asked_filter(replace(EVERY_ACL, **{field: other}))  # pyright: ignore[reportArgumentType]
    assert not any(wanted.matches(acl) for acl in ALL)


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("resource_type_filter", "Unknown patternFilter."),
        ("pattern_type_filter", "Unknown patternFilter."),
        ("operation", "Unknown entryFilter."),
        ("permission_type", "Unknown entryFilter."),
    ],
)
def test_a_filter_with_what_nobody_knows_is_refused(field: str, text: str) -> None:
    with pytest.raises(KafkaError, match=text):
        asked_filter(replace(EVERY_ACL, **{field: 77}))  # pyright: ignore[reportArgumentType]


def test_what_is_told_of_acls_is_read_as_the_same_acls() -> None:
    again = LITERAL._replace(principal="User:bob")
    resources = described([LITERAL, PREFIXED, again])
    assert [len(each.acls) for each in resources] == [2, 1]
    assert bindings_of(resources) == [LITERAL, again, PREFIXED]


def test_a_deleted_acl_is_told_whole() -> None:
    told = deleted(PREFIXED)
    assert (told.resource_type, told.resource_name, told.pattern_type) == (2, "ord", 4)
    assert (told.principal, told.host) == ("User:alice", "*")
    assert (told.operation, told.permission_type) == (3, 3)
