"""ACLs where there is an authorizer: made, told and deleted; what cannot be is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from conformance.core.catalogue import secured
from conformance.core.script import CONTROLLER, Form, Given, Request, Script, Until, ask
from conformance.core.security_forms import (
    ALL,
    ANY,
    CLUSTER,
    CLUSTER_NAME,
    CREATE_TOKENS,
    DENY,
    DESCRIBE,
    DESCRIBE_TOKENS,
    GROUP,
    LITERAL,
    MATCH,
    OTHER_HOST,
    PREFIXED,
    READ,
    TOKEN,
    TOPIC,
    TRANSACTION,
    USER,
    WRITE,
    matching,
    rule,
)

_NEWEST: Final = 3


def _who(given: Given) -> str:
    return f"User:{given.name('user')}"


def _create(version: int, rows: Sequence[Mapping[str, Any]], *, is_seen: bool = True) -> Script:
    form = {"creations": list(rows)}
    return ask("CreateAcls", version, form, to=CONTROLLER, is_seen=is_seen)


def _known(given: Given, count: int) -> Until:
    """Wait until the first broker tells so many ACLs of the case's principal."""

    def condition(answer: Form) -> bool:
        return sum(len(each["acls"]) for each in answer["resources"]) == count

    form = matching(principalFilter=_who(given))
    return Until(Request("DescribeAcls", _NEWEST, form), condition)


def _of(given: Given, *rows: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"principal": _who(given), **row} for row in rows]


def _good(given: Given) -> list[dict[str, Any]]:
    name = given.name("one")
    return _of(
        given,
        rule(TOPIC, name, READ),
        rule(TOPIC, name, WRITE, permissionType=DENY),
        rule(TOPIC, name, READ, host=OTHER_HOST),
        rule(TOPIC, given.name("other"), ALL),
        rule(GROUP, name, READ),
        rule(CLUSTER, CLUSTER_NAME, DESCRIBE, host=OTHER_HOST),
        rule(TRANSACTION, name, WRITE),
        rule(TOKEN, name, DESCRIBE),
    )


def _prefixed(given: Given) -> dict[str, Any]:
    (row,) = _of(given, rule(TOPIC, given.name("one"), READ, resourcePatternType=PREFIXED))
    return row


@secured("acls/create", "CreateAcls", versions="all")
def create(given: Given) -> Script:
    """ACLs of every kind of resource are made, one by one and together, and told afterwards."""
    rows = _good(given)
    yield from _create(given.version, rows[:1])
    yield from _create(given.version, rows[1:])
    yield _known(given, len(rows))
    yield from ask("DescribeAcls", _NEWEST, matching(principalFilter=_who(given)))
    yield from _create(given.version, [])


@secured("acls/create-patterns", "CreateAcls", versions="all", since=1)
def create_patterns(given: Given) -> Script:
    """Prefixed ACLs stand beside literal ones of the same name."""
    rows = [_good(given)[0], _prefixed(given)]
    yield from _create(given.version, rows)
    yield _known(given, 2)
    name = given.name("one")
    asked = [(kind, name) for kind in (LITERAL, PREFIXED, ANY, MATCH)]
    for kind, asked_name in (*asked, (MATCH, f"{name}-longer")):
        # Others may have rights on all names.
        form = matching(principalFilter=_who(given), patternTypeFilter=kind)
        form |= {"resourceNameFilter": asked_name}
        yield from ask("DescribeAcls", _NEWEST, form)


@secured("acls/create-users", "CreateAcls", versions="all", since=3)
def create_users(given: Given) -> Script:
    """Who may make tokens for somebody else, and look at them."""
    name = _who(given)
    rows = _of(given, rule(USER, name, CREATE_TOKENS), rule(USER, name, DESCRIBE_TOKENS))
    yield from _create(given.version, rows)
    yield _known(given, len(rows))
    yield from ask("DescribeAcls", _NEWEST, matching(principalFilter=_who(given)))


@secured("acls/create-refused", "CreateAcls", versions="all")
def create_refused(given: Given) -> Script:
    """ACLs that cannot be are refused, each by itself; a good one between them is made."""
    name = given.name("bad")
    good = rule(TOPIC, name, READ)
    bad = [
        good | {"resourceName": ""},
        good | {"resourceType": ANY},
        good | {"operation": ANY},
        good | {"permissionType": ANY},
        rule(CLUSTER, name, DESCRIBE),
        rule(CLUSTER, "", DESCRIBE),
    ]
    for row in _of(given, *bad):
        yield from _create(given.version, [row])
    yield from _create(given.version, _of(given, bad[0], good, bad[4]))
    yield _known(given, 1)
    for principal in (name, "", f"{name}:", f":{name}"):
        yield from _create(given.version, [good | {"principal": principal}])


@secured("acls/create-again", "CreateAcls", versions="all")
def create_again(given: Given) -> Script:
    """An ACL that is there already, and one that a request names twice."""
    rows = _good(given)
    yield from _create(given.version, rows[:1])
    yield _known(given, 1)
    yield from _create(given.version, rows[:1])
    yield from _create(given.version, [rows[1], rows[1]])
    yield _known(given, 2)


@secured("acls/describe", "DescribeAcls", versions="all")
def describe(given: Given) -> Script:
    """Filters by each field; what fits no ACL finds none."""
    rows = _good(given)
    yield from _create(_NEWEST, rows, is_seen=False)
    yield _known(given, len(rows))
    name = given.name("one")
    for fields in (
        {},
        {"resourceTypeFilter": TOPIC},
        {"resourceTypeFilter": TOKEN},
        {"resourceNameFilter": name},
        {"resourceNameFilter": given.name("none")},
        {"hostFilter": "*"},
        {"hostFilter": OTHER_HOST},
        {"operation": READ},
        {"operation": ALL},
        {"permissionType": DENY},
        {"resourceTypeFilter": TOPIC, "resourceNameFilter": name, "operation": WRITE},
    ):
        form = matching(principalFilter=_who(given), patternTypeFilter=LITERAL, **fields)
        yield from ask("DescribeAcls", given.version, form)
    yield from ask(
        "DescribeAcls", given.version, matching(patternTypeFilter=LITERAL, resourceNameFilter=name)
    )


@secured("acls/delete", "DeleteAcls", versions="all")
def delete(given: Given) -> Script:
    """ACLs are deleted by several filters, some of which find the same or nothing."""
    rows = _good(given)
    yield from _create(_NEWEST, rows, is_seen=False)
    yield _known(given, len(rows))
    own = {"principalFilter": _who(given), "patternTypeFilter": LITERAL}
    name = given.name("one")
    left = len(rows)
    for filters in (
        [matching(**own, permissionType=DENY)],
        [matching(**own, permissionType=DENY), matching(**own, resourceTypeFilter=GROUP)],
        [matching(**own, resourceNameFilter=name), matching(**own, resourceTypeFilter=CLUSTER)],
        [],
        [matching(**own)],
        [matching(**own)],
    ):
        answer = yield from ask("DeleteAcls", given.version, {"filters": filters}, to=CONTROLLER)
        left -= sum(len(each["matchingAcls"]) for each in answer["filterResults"])
        yield _known(given, left)


@secured("acls/delete-together", "DeleteAcls", versions="all")
def delete_together(given: Given) -> Script:
    """Two filters of one request that find the same ACL."""
    yield from _create(_NEWEST, _good(given), is_seen=False)
    yield _known(given, len(_good(given)))
    own = {"principalFilter": _who(given), "patternTypeFilter": LITERAL}
    filters = [matching(**own, resourceTypeFilter=GROUP), matching(**own, resourceTypeFilter=GROUP)]
    yield from ask("DeleteAcls", given.version, {"filters": filters}, to=CONTROLLER)
    yield _known(given, len(_good(given)) - 1)


@secured("acls/unknown", "CreateAcls", versions="all")
def unknown(given: Given) -> Script:
    """Values that nobody knows, in an ACL and in filters."""
    good = rule(TOPIC, given.name("bad"), READ)
    for field in ("resourceType", "operation", "permissionType"):
        yield from _create(given.version, _of(given, good | {field: 0}))
    for field in ("resourceTypeFilter", "operation", "permissionType"):
        form = matching(principalFilter=_who(given), patternTypeFilter=LITERAL) | {field: 0}
        yield from ask("DescribeAcls", given.version, form, to=CONTROLLER)
        yield from ask("DeleteAcls", given.version, {"filters": [form]}, to=CONTROLLER)
