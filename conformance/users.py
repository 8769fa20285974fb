"""Users of a run, on a cluster with SASL and an authorizer: made, allowed things, taken away again.

They log in by SCRAM, by passwords that nobody knows but the run: some may do much while it lasts.
Whoever cleans up logs in as they do.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any, Final

from conformance.cluster_access import Access
from conformance.core.script import CONTROLLER, As, Form
from conformance.errors import ConformanceError
from protocol.errors import ErrorCode
from protocol.security.sasl_client import LoginRefusedError
from protocol.security.scram import ITERATIONS_MIN, salted_password

MECHANISMS: Final = {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}
_ALTER_VERSION: Final = 0
_ANY: Final = 1
"""In filters of ACLs: whatever it is."""
_UNKNOWN_MECHANISM: Final = ErrorCode.UNSUPPORTED_SASL_MECHANISM.name
SHARED: Final[dict[str, Sequence[tuple[int, int]]]] = {
    "nobody": (),
    "describer": ((2, 8), (3, 8), (4, 8), (5, 8)),
    "member": ((2, 3), (2, 4), (3, 3), (5, 4)),
}
"""Users that all cases share -> types of resources and what they may do with them: nothing; to
describe all that is a run's, and the cluster; to read and write it, in groups and transactions."""
_CLUSTER: Final = 4


def password_row(who: As) -> dict[str, Any]:
    """Return what AlterUserScramCredentials is told of a user's password."""
    salt = who.user.encode()
    salted = salted_password(who.mechanism, who.password, salt, ITERATIONS_MIN)
    return {
        "name": who.user,
        "mechanism": MECHANISMS[who.mechanism],
        "iterations": ITERATIONS_MIN,
        "salt": base64.b64encode(salt).decode(),
        "saltedPassword": base64.b64encode(salted).decode(),
    }


def acl_row(kind: int, name: str, operation: int, **more: Any) -> dict[str, Any]:
    """Return one ACL without its principal: allowed, literal and from everywhere unless said."""
    return {
        "resourceType": kind,
        "resourceName": name,
        "resourcePatternType": 3,
        "host": "*",
        "operation": operation,
        "permissionType": 3,
        **more,
    }


class Users:
    """Of one run."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._acls: dict[str, int] = {}
        """How many a principal has."""

    async def new(self, name: str, mechanism: str = "SCRAM-SHA-256") -> As:
        """Make a user whom every broker lets in.

        Raises:
            ConformanceError: the cluster does not take it.
        """
        who = As(name, self._access.password_of(name), mechanism)
        form = {"deletions": [], "upsertions": [password_row(who)]}
        answer = await self._access.request(
            "AlterUserScramCredentials", form, CONTROLLER, version=_ALTER_VERSION
        )
        code = answer["results"][0]["errorCode"]
        if code:
            raise ConformanceError(f"user {name} was not made: {ErrorCode(code).name}")
        await self.lets_in(who, is_wanted=True)
        return who

    async def lets_in(self, who: As, *, is_wanted: bool) -> None:
        """Wait until every broker lets somebody in, or does not any more.

        Raises:
            ConformanceError: the mechanism is not spoken, or it takes too long.
        """
        words = f"{who.user} is {'let in' if is_wanted else 'refused'}"
        for broker in self._access.brokers.values():

            async def is_so(place: Any = broker) -> bool:
                try:
                    (await self._access.connection(place, who)).close()
                except LoginRefusedError as error:
                    if _UNKNOWN_MECHANISM in str(error):
                        said = f"the listener has to take logins by {who.mechanism}: {error}"
                        raise ConformanceError(said) from error
                    return not is_wanted
                return is_wanted

            await self._access.until(is_so, f"{words} by broker {broker.id}")

    async def allow(self, who: As, rows: Sequence[Form]) -> None:
        """Make ACLs by which every broker decides afterwards.

        Raises:
            ConformanceError: the cluster does not take them, or has no authorizer.
        """
        creations = [{**row, "principal": who.principal} for row in rows]
        answer = await self._access.request("CreateAcls", {"creations": creations}, CONTROLLER)
        for each in answer["results"]:
            if each["errorCode"]:
                code = ErrorCode(each["errorCode"]).name
                raise ConformanceError(f"ACLs of {who.principal} were not made: {code}")
        count = self._acls.get(who.principal, 0) + len(creations)
        self._acls[who.principal] = count
        for index in range(1, len(self._access.brokers) + 1):

            async def is_known(place: int = index) -> bool:
                answer = await self._access.request("DescribeAcls", acls_of(who.principal), place)
                return sum(len(each["acls"]) for each in answer["resources"]) == count

            await self._access.until(is_known, f"broker {index} knows ACLs of {who.principal}")

    async def shared(self, suffix: str) -> dict[str, As]:
        """Make the users that all cases share.

        Raises:
            ConformanceError: as ``new`` and ``allow``.
        """
        made: dict[str, As] = {}
        for word, rights in SHARED.items():
            made[word] = await self.new(f"conform-{word}-{suffix}")
            rows = [
                acl_row(kind, "kafka-cluster", operation)
                if kind == _CLUSTER
                else acl_row(kind, "conform-", operation, resourcePatternType=4)
                for kind, operation in rights
            ]
            if rows:
                await self.allow(made[word], rows)
        return made


def acls_of(principal: str | None) -> dict[str, Any]:
    """Return a filter for all ACLs of a principal; None for those of everybody."""
    return {
        "resourceTypeFilter": _ANY,
        "resourceNameFilter": None,
        "patternTypeFilter": _ANY,
        "principalFilter": principal,
        "hostFilter": None,
        "operation": _ANY,
        "permissionType": _ANY,
    }


async def take_away(access: Access, suffix: str) -> list[str]:
    """Take tokens and ACLs of a run's users away; return what is left."""
    mark = f"-{suffix}"
    left = await _expire_tokens(access, mark)
    found = await access.request("DescribeAcls", acls_of(None))
    principals = {
        acl["principal"]
        for each in found["resources"]
        for acl in each["acls"]
        if mark in acl["principal"]
    }
    for principal in sorted(principals):
        filters = {"filters": [acls_of(principal)]}
        answer = await access.request("DeleteAcls", filters, CONTROLLER)
        left += [f"ACLs of {principal}" for each in answer["filterResults"] if each["errorCode"]]
    return left


async def _expire_tokens(access: Access, mark: str) -> list[str]:
    """Have their owners take the tokens away: nobody else may, unless they were told to renew."""
    left: list[str] = []
    told = await access.request("DescribeDelegationToken", {"owners": None})
    for each in told["tokens"]:
        owner = each["principalName"]
        if mark not in owner:
            continue
        form = {"hmac": each["hmac"], "expiryTimePeriodMs": -1}
        who = As(owner, access.password_of(owner))
        try:
            answer = await access.request("ExpireDelegationToken", form, who=who)
        except OSError as error:
            left.append(f"a token of {owner}: {error}")
            continue
        if answer["errorCode"]:
            left.append(f"a token of {owner}")
    return left
