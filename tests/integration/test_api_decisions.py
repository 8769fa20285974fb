"""What each API lets a client do with which ACLs, beside what Apache Kafka 3.9.2 answered."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from protocol.acls.model import SINCE_4_0 as SINCE_4_0_OPERATIONS
from protocol.acls.model import AclResourceType, operation_bits
from tests.api_decisions.acl_sets import acl_sets
from tests.api_decisions.asking import decided
from tests.api_decisions.jbodlab_lab import jbodlab_clients
from tests.golden.vectors import load_vectors

SINCE_4_0: Final = "ConsumerGroupHeartbeat"
"""Asks since then for the topics, too, that a member names: docs/differences.md."""


_NEW_OPERATIONS: Final = operation_bits(SINCE_4_0_OPERATIONS[AclResourceType.GROUP])
_OF_A_GROUP: Final = re.compile(r"groups\[.*\]\.authorized_operations")


def _as_before_4_0(betrayed: dict[str, str]) -> dict[str, str]:
    """Leave out what may be done to a group since 4.0: its configurations."""
    return {
        place: str(int(told) & ~_NEW_OPERATIONS)
        if _OF_A_GROUP.fullmatch(place) and int(told) >= 0
        else told
        for place, told in betrayed.items()
    }


def test_a_client_is_told_by_each_api_what_apache_kafka_tells_it(tmp_path: Path) -> None:
    recorded, sets = load_vectors("api_decisions"), acl_sets()
    assert [each["acls"] for each in recorded] == [[str(acl) for acl in acls] for acls in sets]
    with jbodlab_clients(tmp_path) as (admin, alice):
        found = decided(admin, alice, sets)
    count, otherwise = 0, 0
    for kept, answers in zip(recorded, found, strict=True):
        for name, betrayed in kept["answers"].items():
            count += 1
            if name == SINCE_4_0 and answers[name] != betrayed:
                assert answers[name] == {"error_code": "TOPIC_AUTHORIZATION_FAILED"}
                otherwise += 1
                continue
            assert _as_before_4_0(answers[name]) == betrayed, (name, kept["acls"])
    assert count >= 10_000
    assert 0 < otherwise < 20
