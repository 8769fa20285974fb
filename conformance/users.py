"""Users of a run, on a cluster with SASL and an authorizer: made, allowed things, taken away again.

They log in by SCRAM, by passwords that nobody knows but the run: some may do much while it lasts.
Whoever cleans up logs in as they do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from conformance.cluster_access import Access
from conformance.core.script import CONTROLLER, As, Form
from conformance.core.security_forms import (
    CLUSTER,
    CLUSTER_NAME,
    DESCRIBE,
    GROUP,
    PREFIXED,
    READ,
    SHA_256,
    TOPIC,
    TRANSACTION,
    WRITE,
    matching,
    password_row,
    rule,
)
from conformance.errors import ConformanceError
from protocol.errors import ErrorCode
from protocol.security.sasl_client import LoginRefusedError

_ALTER_VERSION: Final = 0
_UNKNOWN_MECHANISM: Final = ErrorCode.UNSUPPORTED_SASL_MECHANISM.name
SHARED: Final[dict[str, Sequence[tuple[int, int]]]] = {
    "nobody": (),
    "describer": tuple((kind, DESCRIBE) for kind in (TOPIC, GROUP, CLUSTER, TRANSACTION)),
    "member": ((TOPIC, READ), (TOPIC, WRITE), (GROUP, READ), (TRANSACTION, WRITE)),
}
"""Users that all cases share -> types of resources and what they may do with them: nothing; to
describe all that is a run's, and the cluster; to read and write it, in groups and transactions."""


class Users:
    """Of one run."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._acls: dict[str, int] = {}
        """How many a principal has."""

    async def new(self, name: str, mechanism: str = SHA_256) -> As:
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
        own = matching(principalFilter=who.principal)
        for index in range(1, len(self._access.brokers) + 1):

            async def is_known(place: int = index) -> bool:
                answer = await self._access.request("DescribeAcls", own, place)
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
                rule(kind, CLUSTER_NAME, operation)
                if kind == CLUSTER
                else rule(kind, "conform-", operation, resourcePatternType=PREFIXED)
                for kind, operation in rights
            ]
            if rows:
                await self.allow(made[word], rows)
        return made


async def take_away(access: Access, suffix: str) -> list[str]:
    """Take tokens and ACLs of a run's users away; return what is left."""
    mark = f"-{suffix}"
    left = await _expire_tokens(access, mark)
    found = await access.request("DescribeAcls", matching())
    principals = {
        acl["principal"]
        for each in found["resources"]
        for acl in each["acls"]
        if mark in acl["principal"]
    }
    for principal in sorted(principals):
        filters = {"filters": [matching(principalFilter=principal)]}
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
