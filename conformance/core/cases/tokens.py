"""Delegation tokens where there are some: made, renewed, used for a login, told, taken away."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Final

from conformance.core.catalogue import secured
from conformance.core.script import (
    Allow,
    Answer,
    As,
    Form,
    Given,
    LetIn,
    NewUser,
    Request,
    Script,
    Talk,
    Until,
    ask,
)
from conformance.core.security_forms import (
    CREATE_TOKENS,
    DESCRIBE,
    DESCRIBE_TOKENS,
    NO_HMAC,
    TOKEN,
    TOPIC,
    USER,
    rule,
)

_NEWEST: Final = {"Create": 3, "Renew": 2, "Expire": 2, "Describe": 3}
_HOUR_MS: Final = 3_600_000
_WEEK_MS: Final = 7 * 24 * _HOUR_MS


def _person(who: As | str, type_: str = "User") -> dict[str, str]:
    name = who if isinstance(who, str) else who.user
    return {"principalType": type_, "principalName": name}


def _create(
    version: int,
    who: As,
    *renewers: As,
    lifetime_ms: int = -1,
    owner: As | None = None,
    is_seen: bool = True,
) -> Generator[Talk, list[Answer], Form]:
    form: dict[str, Any] = {
        "renewers": [_person(each) for each in renewers],
        "maxLifetimeMs": lifetime_ms,
    }
    if owner is not None:
        form |= {"ownerPrincipalType": "User", "ownerPrincipalName": owner.user}
    return ask("CreateDelegationToken", version, form, who=who, is_seen=is_seen)


def _told(owner: As, token_id: str) -> Until:
    """Wait until the first broker tells of a token."""

    def condition(answer: Form) -> bool:
        return any(each["tokenId"] == token_id for each in answer["tokens"])

    form = {"owners": [_person(owner)]}
    return Until(Request("DescribeDelegationToken", _NEWEST["Describe"], form), condition)


def _renew(version: int, who: As, hmac: str, period_ms: int) -> Script:
    form = {"hmac": hmac, "renewPeriodMs": period_ms}
    return ask("RenewDelegationToken", version, form, who=who)


def _expire(version: int, who: As, hmac: str, period_ms: int) -> Script:
    form = {"hmac": hmac, "expiryTimePeriodMs": period_ms}
    return ask("ExpireDelegationToken", version, form, who=who)


def _describe(version: int, who: As, *owners: As) -> Script:
    form = {"owners": [_person(each) for each in owners] if owners else None}
    return ask("DescribeDelegationToken", version, form, who=who)


def _two(given: Given) -> Generator[Any, Any, tuple[As, As]]:
    owner = yield NewUser("owner")
    other = yield NewUser("other")
    return owner, other


@secured("tokens/create", "CreateDelegationToken", versions="all")
def create(given: Given) -> Script:
    """Tokens of several lifetimes, with and without others who may renew them."""
    owner, other = yield from _two(given)
    for lifetime_ms in (-1, _HOUR_MS, _WEEK_MS, 2 * _WEEK_MS, 0, -2):
        made = yield from _create(given.version, owner, lifetime_ms=lifetime_ms)
    made = yield from _create(given.version, owner, other)
    yield _told(owner, made["tokenId"])
    yield from _create(given.version, owner, other, other)
    for renewer in (_person("x", "Sheep"), _person("", ""), _person("")):
        form = {"renewers": [renewer], "maxLifetimeMs": -1}
        yield from ask("CreateDelegationToken", given.version, form, who=owner)


@secured("tokens/of-others", "CreateDelegationToken", versions="all", since=3)
def of_others(given: Given) -> Script:
    """A token for somebody else, by who may make one, and by who may not."""
    owner, other = yield from _two(given)
    yield from _create(given.version, other, owner=owner)
    yield Allow(other, [rule(USER, owner.principal, CREATE_TOKENS)])
    made = yield from _create(given.version, other, owner=owner)
    yield _told(owner, made["tokenId"])
    for who in (owner, other):
        yield from _describe(_NEWEST["Describe"], who)
    for who in (owner, other):
        yield from _renew(_NEWEST["Renew"], who, made["hmac"], _HOUR_MS)
    yield from _create(given.version, owner, owner=owner)
    for type_, name in (("Sheep", owner.user), ("", ""), ("User", "")):
        person = {"ownerPrincipalType": type_, "ownerPrincipalName": name}
        form: dict[str, Any] = {"renewers": [], "maxLifetimeMs": -1, **person}
        yield from ask("CreateDelegationToken", given.version, form, who=other)


@secured("tokens/renew", "RenewDelegationToken", versions="all")
def renew(given: Given) -> Script:
    """Who made a token, and who was named, may renew it; others may not."""
    owner, other = yield from _two(given)
    third = given.users["describer"]
    made = yield from _create(_NEWEST["Create"], owner, other, is_seen=False)
    yield _told(owner, made["tokenId"])
    for who in (owner, other, third):
        yield from _renew(given.version, who, made["hmac"], _HOUR_MS)
    for period_ms in (-1, 2 * _WEEK_MS, 0):
        yield from _renew(given.version, owner, made["hmac"], period_ms)
    yield from _renew(given.version, owner, NO_HMAC, _HOUR_MS)


@secured("tokens/expire", "ExpireDelegationToken", versions="all")
def expire(given: Given) -> Script:
    """Who may renew a token may end it, at once or later; then it is not there any more."""
    owner, other = yield from _two(given)
    third = given.users["describer"]
    made = yield from _create(_NEWEST["Create"], owner, other, is_seen=False)
    yield _told(owner, made["tokenId"])
    yield from _expire(given.version, third, made["hmac"], -1)
    for period_ms in (_HOUR_MS, 2 * _WEEK_MS):
        yield from _expire(given.version, owner, made["hmac"], period_ms)
    yield from _expire(given.version, other, made["hmac"], -1)

    def is_gone(answer: Form) -> bool:
        return not answer["tokens"]

    form = {"owners": [_person(owner)]}
    yield Until(Request("DescribeDelegationToken", _NEWEST["Describe"], form), is_gone)
    yield from _expire(given.version, owner, made["hmac"], -1)
    yield from _renew(_NEWEST["Renew"], owner, made["hmac"], _HOUR_MS)


@secured("tokens/describe", "DescribeDelegationToken", versions="all")
def describe(given: Given) -> Script:
    """Everybody is told of tokens of their own and of those that they may renew or describe."""
    owner, other = yield from _two(given)
    third = yield NewUser("third")
    mine = yield from _create(_NEWEST["Create"], owner, is_seen=False)
    yield _told(owner, mine["tokenId"])
    shared = yield from _create(_NEWEST["Create"], owner, other, is_seen=False)
    yield _told(owner, shared["tokenId"])
    for who in (owner, other, third):
        yield from _describe(given.version, who)
        yield from _describe(given.version, who, owner)
        yield from _describe(given.version, who, other)
        yield from ask("DescribeDelegationToken", given.version, {"owners": []}, who=who)
    yield Allow(third, [rule(TOKEN, mine["tokenId"], DESCRIBE)])
    yield from _describe(given.version, third)
    yield Allow(other, [rule(USER, owner.principal, DESCRIBE_TOKENS)])
    yield from _describe(given.version, other)


@secured("tokens/login", "DescribeDelegationToken", versions="newest")
def login(given: Given) -> Script:
    """Who logs in by a token is its owner, but may not ask for tokens; over it is refused."""
    owner = yield NewUser("owner")
    yield Allow(owner, [rule(TOPIC, given.orders.name, DESCRIBE)])
    made = yield from _create(_NEWEST["Create"], owner, is_seen=False)
    by_token = As(made["tokenId"], made["hmac"], is_token=True)
    yield LetIn(by_token)
    yield LetIn(As(made["tokenId"], made["hmac"], "SCRAM-SHA-512", is_token=True))
    yield LetIn(As(made["tokenId"], NO_HMAC, is_token=True), is_wanted=False)
    yield LetIn(As(made["tokenId"], made["hmac"]), is_wanted=False)
    form = {
        "topics": [{"name": given.orders.name}, {"name": given.name("none")}],
        "includeTopicAuthorizedOperations": True,
    }
    yield from ask("Metadata", 8, form, who=by_token)
    yield from _create(_NEWEST["Create"], by_token)
    yield from _renew(_NEWEST["Renew"], by_token, made["hmac"], _HOUR_MS)
    yield from _describe(given.version, by_token)
    yield from _expire(_NEWEST["Expire"], by_token, made["hmac"], -1)
    yield from _expire(_NEWEST["Expire"], owner, made["hmac"], -1)
    yield LetIn(by_token, is_wanted=False)
