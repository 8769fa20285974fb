"""Passwords of SCRAM and ACLs: what is stored, what is refused, and that it can be taken away."""

from __future__ import annotations

import base64
from hashlib import sha256, sha512
from typing import Any, Final

from conformance.core.catalogue import case
from conformance.core.script import CONTROLLER, Form, Given, Request, Script, Until, ask

_SHA_256: Final = 1
_SHA_512: Final = 2
_UNKNOWN_MECHANISM: Final = 7
_ITERATIONS: Final = 4096
"""The fewest that are taken; 16384 are the most."""
_HASHES: Final = {_SHA_256: sha256, _SHA_512: sha512}
_ACLS: Final = 2
_ACL_FIELDS: Final = {"operation": 3, "permissionType": 3}
"""To read, allowed."""


@case("typical/AlterUserScramCredentials", "AlterUserScramCredentials", versions="all")
def alter_scram(given: Given) -> Script:
    """A password is set, changed and deleted; bad numbers, mechanisms and names are refused."""
    name = given.name("user")
    for mechanism, iterations, user in (
        (_SHA_256, _ITERATIONS, name),
        (_SHA_256, 2 * _ITERATIONS, name),
        (_SHA_512, _ITERATIONS, name),
        (_SHA_256, _ITERATIONS - 1, name),
        (_SHA_256, 4 * _ITERATIONS + 1, name),
        (_UNKNOWN_MECHANISM, _ITERATIONS, name),
        (_SHA_256, _ITERATIONS, ""),
    ):
        row = _password(given, user, mechanism, iterations)
        yield from _alter(given.version, upsertions=[row])
    row = _password(given, name, _SHA_256, _ITERATIONS)
    yield from _alter(given.version, upsertions=[row, row])
    gone = {"name": name, "mechanism": _SHA_256}
    yield from _alter(given.version, upsertions=[row], deletions=[gone])
    yield _until_known(name, 2)
    for mechanism in (_SHA_256, _SHA_512, _SHA_512, _UNKNOWN_MECHANISM):
        yield from _alter(given.version, deletions=[{"name": name, "mechanism": mechanism}])
        yield _until_known(name, 1 if mechanism == _SHA_256 else 0)


@case("typical/DescribeUserScramCredentials", "DescribeUserScramCredentials", versions="all")
def describe_scram(given: Given) -> Script:
    """Which passwords a user has; users who have none, are named twice, or have no name."""
    name = given.name("user")
    for mechanism in (_SHA_256, _SHA_512):
        row = _password(given, name, mechanism, _ITERATIONS)
        yield from _alter(0, upsertions=[row])
    yield _until_known(name, 2)
    for names in ([name], [given.name("none")], [name, name], [""]):
        form = {"users": [{"name": each} for each in names]}
        yield from ask("DescribeUserScramCredentials", given.version, form)
    for mechanism in (_SHA_256, _SHA_512):
        yield from _alter(0, deletions=[{"name": name, "mechanism": mechanism}])


def _password(given: Given, user: str, mechanism: int, iterations: int) -> dict[str, Any]:
    """Return a password that nobody knows but this run."""
    salted = _HASHES.get(mechanism, sha256)(given.suffix.encode()).digest()
    return {
        "name": user,
        "mechanism": mechanism,
        "iterations": iterations,
        "salt": base64.b64encode(given.suffix.encode()).decode(),
        "saltedPassword": base64.b64encode(salted).decode(),
    }


def _alter(version: int, **rows: list[dict[str, Any]]) -> Script:
    form = {"deletions": [], "upsertions": []} | rows
    return ask("AlterUserScramCredentials", version, form, to=CONTROLLER)


def _until_known(name: str, count: int) -> Until:
    """Wait until the first broker knows so many passwords of a user."""

    def condition(answer: Form) -> bool:
        return len(answer["results"][0]["credentialInfos"]) == count

    form = {"users": [{"name": name}]}
    return Until(Request("DescribeUserScramCredentials", 0, form), condition)


@case("typical/CreateAcls", "CreateAcls", versions="all")
def create_acls(given: Given) -> Script:
    """An ACL is made and deleted again; without an authorizer neither is possible."""
    yield from ask("CreateAcls", given.version, _acl(given), to=CONTROLLER)
    yield from ask("DeleteAcls", _ACLS, _acls(given), to=CONTROLLER)


@case("typical/DescribeAcls", "DescribeAcls", versions="all")
def describe_acls(given: Given) -> Script:
    """The ACLs of a topic; without an authorizer there are none to tell."""
    (filtered,) = _acls(given)["filters"]
    yield from ask("DescribeAcls", given.version, filtered)


@case("typical/DeleteAcls", "DeleteAcls", versions="all")
def delete_acls(given: Given) -> Script:
    """ACLs are deleted by a filter; without an authorizer none are."""
    yield from ask("CreateAcls", _ACLS, _acl(given), to=CONTROLLER)
    yield from ask("DeleteAcls", given.version, _acls(given), to=CONTROLLER)


def _acl(given: Given) -> dict[str, Any]:
    who = {"principal": f"User:{given.name('user')}", "host": "*"}
    what = {"resourceType": 2, "resourceName": given.name("topic"), "resourcePatternType": 3}
    return {"creations": [{**who, **what, **_ACL_FIELDS}]}


def _acls(given: Given) -> dict[str, Any]:
    who = {"principalFilter": None, "hostFilter": None}
    what = {"resourceTypeFilter": 2, "resourceNameFilter": given.name("topic")}
    return {"filters": [{**who, **what, "patternTypeFilter": 3, **_ACL_FIELDS}]}
