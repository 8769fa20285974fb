"""``python -m tests.random_decisions``: drawn questions to Kafka's StandardAuthorizer and to ours.

What ``tests/golden/decisions.jsonl.gz`` has was drawn once; these are drawn anew by each seed, from
more names, hosts and principals. It ends with 1 when an answer differs, and prints each that does.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Sequence
from typing import Any, Final

from benchmarks.peer.kafka import BUILD_DIR, fetch
from protocol.acls.authorizer import Authorizer
from protocol.acls.model import (
    CLUSTER_NAME,
    AclBinding,
    AclOperation,
    AclResourceType,
    PatternType,
    PermissionType,
    ResourcePattern,
)
from protocol.client_address import java_address
from tests.golden.made import run_java
from tests.golden.make_decisions import RELEASE, WRITER

QUESTIONS: Final = 40
"""Of one set of ACLs."""
_TYPES: Final = (*(AclResourceType.TOPIC,) * 4, *list(AclResourceType)[3:])
_OPERATIONS: Final = list(AclOperation)[2:]
_COUNTS: Final = (0, 1, 2, 3, 5, 8, 13, 30, 80, 200)
_PRINCIPALS: Final = (
    *("User:alice", "User:bob", "User:*", "Role:alice", "Role:*", "User:alice ", "User:al:ice"),
    *("User:CN=carol,O=x", "User:ANONYMOUS", "User:Ünal"),
)
_SUPER_USERS: Final = (
    *("", "User:admin", " User:admin ;User:bob; ", "User:*", "Role:alice", "User:CN=carol,O=x"),
)
_ACL_HOSTS: Final = ("*", "*", "10.0.0.1", "10.0.0.2", "0:0:0:0:0:0:0:1", "::1")
_HOSTS: Final = ("10.0.0.1", "10.0.0.2", "::1", "fe80::1:0:2", "::ffff:10.0.0.1")
_LETTERS: Final = "aab.-*é\U0001f600\uff21"
"""Few, so that names begin with each other; the last three are sorted otherwise by Java."""


def drawn(rng: random.Random) -> dict[str, Any]:
    """Return a set of ACLs with questions, as ``WriteDecisions.java`` takes it."""
    acls = [_acl(rng) for _ in range(rng.choice(_COUNTS))]
    return {
        "super_users": rng.choice(_SUPER_USERS),
        "allows_if_no_acl": rng.choice(("true", "false")),
        "acls": [acl for place, acl in enumerate(acls) if acl not in acls[:place]],
        "questions": [_question(rng, acls) for _ in range(QUESTIONS)],
    }


def answers(case: dict[str, Any]) -> list[bool]:
    """Return what our authorizer decides."""
    made = Authorizer(
        super_users=[who.strip() for who in case["super_users"].split(";") if who.strip()],
        allows_if_no_acl=case["allows_if_no_acl"] == "true",
    )
    made.replace(_binding(row) for row in case["acls"])
    found: list[bool] = []
    for who, host, operation, kind, name in case["questions"]:
        asked = (who, java_address(host), AclOperation(operation), AclResourceType(kind))
        is_allowed = (
            made.is_allowed_somewhere(*asked) if name is None else made.is_allowed(*asked, name)
        )
        found.append(is_allowed)
    return found


def differing(cases: Sequence[dict[str, Any]], told: Sequence[Sequence[bool]]) -> list[str]:
    """Return a line for each question that was answered otherwise by Kafka, who ``told`` so."""
    lines: list[str] = []
    for case, theirs in zip(cases, told, strict=True):
        ours = answers(case)
        for question, our, their in zip(case["questions"], ours, theirs, strict=True):
            if our != their:
                about = [acl for acl in case["acls"] if acl[0] == question[3]]
                settings = {key: case[key] for key in ("super_users", "allows_if_no_acl")}
                lines.append(f"{question}: {our}, by Kafka {their}; {settings}, ACLs {about}")
    return lines


def main() -> None:
    """Draw, ask both, and tell."""
    parser = argparse.ArgumentParser(prog="python -m tests.random_decisions")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--decisions", type=int, default=3_000)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    cases = [drawn(rng) for _ in range(-(-options.decisions // QUESTIONS))]
    lines = "\n".join(json.dumps(case) for case in cases) + "\n"
    output = run_java(f"{fetch(BUILD_DIR, RELEASE)}/*", str(WRITER), stdin=lines)
    told = [json.loads(line) for line in output.splitlines()]
    found = differing(cases, told)
    sys.stdout.write("".join(f"{line}\n" for line in found))
    every = [answer for theirs in told for answer in theirs]
    sys.stdout.write(
        f"seed {options.seed}: {len(every)} decisions of Apache Kafka {RELEASE}, "
        f"{every.count(True)} allow; {len(found)} differ\n"
    )
    sys.exit(1 if found else 0)


def _name(rng: random.Random, kind: AclResourceType) -> str:
    if kind is AclResourceType.CLUSTER and rng.random() < 1 / 2:
        return CLUSTER_NAME
    if rng.random() < 1 / 8:
        return rng.choice(("*", "hardcode", "hard"))
    return "".join(rng.choice(_LETTERS) for _ in range(rng.randint(1, 4)))


def _acl(rng: random.Random) -> list[Any]:
    kind = rng.choice(_TYPES)
    pattern = rng.choice((PatternType.LITERAL, PatternType.PREFIXED))
    permission = rng.choice((*(PermissionType.ALLOW,) * 3, PermissionType.DENY))
    who, host = rng.choice(_PRINCIPALS), rng.choice(_ACL_HOSTS)
    operation, name = rng.choice(_OPERATIONS), _name(rng, kind)
    return [int(kind), name, int(pattern), who, host, int(operation), int(permission)]


def _question(rng: random.Random, acls: Sequence[Sequence[Any]]) -> list[Any]:
    """Ask mostly about what an ACL is near to: its name, or one that begins with it."""
    kind, operation = rng.choice(_TYPES), rng.choice(_OPERATIONS)
    who, host, name = rng.choice(_PRINCIPALS), rng.choice(_HOSTS), _name(rng, kind)
    if acls and rng.random() < 3 / 4:
        near = rng.choice(acls)
        kind, name = AclResourceType(near[0]), near[1] + rng.choice(("", "", "a", name))
        who = rng.choice((near[3], who))
        operation = rng.choice((AclOperation(near[5]), AclOperation.DESCRIBE, operation))
    operation = AclOperation.READ if operation is AclOperation.ALL else operation
    about = None if rng.random() < 1 / 8 else name
    return [who, host, int(operation), int(kind), about]


def _binding(row: Sequence[Any]) -> AclBinding:
    kind, name, pattern, principal, host, operation, permission = row
    resource = ResourcePattern(AclResourceType(kind), name, PatternType(pattern))
    return AclBinding(
        resource, principal, host, AclOperation(operation), PermissionType(permission)
    )


if __name__ == "__main__":
    main()
