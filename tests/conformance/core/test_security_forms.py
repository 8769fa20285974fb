"""Forms of rights and passwords, as AclBinding, AclBindingFilter and SCRAM's requests have them."""

from __future__ import annotations

from conformance.core.script import As
from conformance.core.security_forms import (
    GROUP,
    LITERAL,
    PREFIXED,
    READ,
    SHA_512,
    TOPIC,
    matching,
    password_row,
    rule,
)


def test_a_right_is_allowed_literal_and_from_everywhere_unless_said() -> None:
    plain = rule(TOPIC, "orders", READ)
    assert (plain["host"], plain["permissionType"]) == ("*", 3)
    assert plain["resourcePatternType"] == LITERAL
    assert rule(TOPIC, "orders", READ, resourcePatternType=PREFIXED) == {
        **plain,
        "resourcePatternType": 4,
    }


def test_a_filter_looks_at_what_is_named_alone() -> None:
    everything = matching()
    assert set(everything.values()) == {None, 1}
    assert matching(resourceTypeFilter=GROUP) == {**everything, "resourceTypeFilter": 3}


def test_a_password_is_told_by_its_hash_and_the_number_of_its_mechanism() -> None:
    row = password_row(As("alice", "secret", SHA_512))
    assert (row["name"], row["mechanism"], row["iterations"]) == ("alice", 2, 4096)
    assert "secret" not in str(row)
