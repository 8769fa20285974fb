"""Asks Kafka's StandardAuthorizer who may do what: ``decisions.jsonl.gz``."""

from __future__ import annotations

import functools
import json
import random
from typing import Any, Final

from benchmarks.peer.kafka import BUILD_DIR, fetch
from protocol.acls.model import (
    CLUSTER_NAME,
    OPERATIONS,
    AclOperation,
    AclResourceType,
    PatternType,
    PermissionType,
)
from tests.golden.made import GOLDEN, Made, run_java, write_vectors
from tests.golden.vectors import load_vectors

WRITER: Final = GOLDEN / "WriteDecisions.java"
RELEASE: Final = "3.9.2"
SEED: Final = 3902
CASES: Final = 80
QUESTIONS: Final = 45
_TYPES: Final = (*(AclResourceType.TOPIC,) * 3, *list(AclResourceType)[3:])
_PRINCIPALS: Final = ("User:alice", "User:bob", "User:CN=carol,O=x:y", "User:*", "Role:alice")
_HOSTS: Final = ("10.0.0.1", "10.0.0.2", "*")
_NAMES: Final = (
    *("a", "ab", "abc", "abd", "b", "ba", "A", "a-b", "a.b", "*", "*a", "z", "hardcode", "hard"),
    CLUSTER_NAME,
)


def _operation(rng: random.Random, kind: AclResourceType) -> AclOperation:
    return rng.choice((*OPERATIONS[kind], AclOperation.ALL))


def _acl(rng: random.Random) -> list[Any]:
    kind = rng.choice(_TYPES)
    pattern = rng.choice((PatternType.LITERAL, PatternType.PREFIXED))
    permission = rng.choice((*(PermissionType.ALLOW,) * 3, PermissionType.DENY))
    name, who, host = rng.choice(_NAMES), rng.choice(_PRINCIPALS), rng.choice((*_HOSTS, "*"))
    return [int(kind), name, int(pattern), who, host, int(_operation(rng, kind)), int(permission)]


def _acls(rng: random.Random, count: int) -> list[list[Any]]:
    """Return so many, less those that are drawn twice: a cluster has each but once."""
    drawn = [_acl(rng) for _ in range(count)]
    return [acl for place, acl in enumerate(drawn) if acl not in drawn[:place]]


def _question(rng: random.Random) -> list[Any]:
    kind = rng.choice(_TYPES)
    who = rng.choice((*_PRINCIPALS, "User:admin"))
    host = rng.choice(_HOSTS[:2])
    operation = rng.choice(OPERATIONS[kind])
    name = None if rng.random() < 1 / 8 else rng.choice((*_NAMES, "abcd", "abx", "hardcodes"))
    return [who, host, int(operation), int(kind), name]


def asked() -> list[dict[str, Any]]:
    """Return drawn sets of ACLs, from none to many, each with questions."""
    rng = random.Random(SEED)
    return [
        {
            "super_users": rng.choice(("User:admin", "User:admin; User:bob", "")),
            "allows_if_no_acl": rng.choice(("true", "false", "false")),
            "acls": _acls(rng, rng.choice((0, 1, 3, 8, 20, 60, 150))),
            "questions": [_question(rng) for _ in range(QUESTIONS)],
        }
        for _ in range(CASES)
    ]


def made() -> Made:
    """Ask for every decision again."""
    cases = asked()
    lines = "\n".join(json.dumps(case) for case in cases) + "\n"
    told = run_java(f"{fetch(BUILD_DIR, RELEASE)}/*", str(WRITER), stdin=lines).splitlines()
    found = [
        {**case, "answers": json.loads(answer)} for case, answer in zip(cases, told, strict=True)
    ]
    path = GOLDEN / "decisions.jsonl.gz"
    standing = load_vectors("decisions") if path.exists() else []
    differing = [f"case {place}" for place, one in enumerate(found) if one not in standing]
    if len(found) != len(standing):
        differing.append(f"{len(found)} for {len(standing)} sets of ACLs")
    write = functools.partial(write_vectors, "decisions", found)
    decisions = sum(len(one["answers"]) for one in found)
    return Made(f"{decisions} decisions asked anew", differing, write)
