"""Measures what a decision about ACLs costs, with few and with many ACLs.

It prints microseconds of processor time for a decision: for a topic with a literal ACL, for one
with a prefixed one, and for one that nothing allows, which were asked before and are remembered;
and for the first by a literal ACL, of a client that was never seen. ACLs are of 100 principals.
Run: ``python -m benchmarks.authorizer [--acls 10 --acls 10000]``.
"""

from __future__ import annotations

import time

import click

from protocol.acls.authorizer import Authorizer
from protocol.acls.model import (
    AclBinding,
    AclOperation,
    AclResourceType,
    PatternType,
    PermissionType,
    ResourcePattern,
)

_DECISIONS = 20_000
_ROUNDS = 5
_HOST = "10.0.0.1"


def acls(count: int) -> list[AclBinding]:
    """Return ACLs of topics, half of them literal and half prefixed; the first is User:0's."""
    return [
        AclBinding(
            ResourcePattern(
                AclResourceType.TOPIC,
                f"topic-{number}-",
                PatternType.PREFIXED if number % 2 else PatternType.LITERAL,
            ),
            f"User:{number % 100 // 2 * 2}",
            "*",
            AclOperation.READ,
            PermissionType.ALLOW,
        )
        for number in range(count)
    ]


def decision_us(authorizer: Authorizer, name: str, *, expected: bool) -> float:
    """Return the processor time of one decision about a topic: the best of some rounds."""
    asked = ("User:0", _HOST, AclOperation.READ, AclResourceType.TOPIC, name)
    assert authorizer.is_allowed(*asked) == expected
    best = float("inf")
    for _ in range(_ROUNDS):
        begun = time.thread_time()
        for _ in range(_DECISIONS):
            authorizer.is_allowed(*asked)
        best = min(best, time.thread_time() - begun)
    return best / _DECISIONS * 1e6


def first_decision_us(authorizer: Authorizer, name: str) -> float:
    """Return the same for decisions that are allowed and of which none was made before."""
    hosts = [f"10.1.{number // 250}.{number % 250}" for number in range(_DECISIONS)]
    begun = time.thread_time()
    for host in hosts:
        authorizer.is_allowed("User:0", host, AclOperation.READ, AclResourceType.TOPIC, name)
    return (time.thread_time() - begun) / _DECISIONS * 1e6


@click.command()
@click.option("--acls", "counts", type=int, multiple=True, default=(10, 10_000))
def main(counts: tuple[int, ...]) -> None:
    """Print a line for each number of ACLs."""
    click.echo(
        f"{'ACLs':>7} {'literal':>9} {'prefixed':>9} {'refused':>9} {'first':>9}  us a decision"
    )
    for count in counts:
        authorizer = Authorizer()
        authorizer.replace(acls(count))
        row = (
            decision_us(authorizer, "topic-0-", expected=True),
            decision_us(authorizer, "topic-1-a", expected=True),
            decision_us(authorizer, "other", expected=False),
            first_decision_us(authorizer, "topic-0-"),
        )
        click.echo(f"{count:>7} " + " ".join(f"{us:>9.2f}" for us in row))


if __name__ == "__main__":
    main()
