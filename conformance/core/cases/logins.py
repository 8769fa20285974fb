"""Logins and delegation tokens where there are none: a listener without SASL refuses both."""

from __future__ import annotations

import base64
from typing import Any, Final

from conformance.core.catalogue import case
from conformance.core.script import Given, Request, Script, Talk, ask

_MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "GSSAPI", "no such one")
_LOGIN: Final = base64.b64encode(b"\0conform\0secret").decode()
_LONG: Final = base64.b64encode(b"x" * 100_000).decode()
_HANDSHAKE: Final = 1
_WEEK_MS: Final = 7 * 24 * 3_600_000
_TIMES_MS: Final = (-1, 0, 1, _WEEK_MS, -2, -(2**63), 2**63 - 1)


@case("cluster/sasl", "SaslHandshake", versions="all")
def handshake(given: Given) -> Script:
    """A listener without SASL refuses a handshake, whatever its mechanism."""
    for mechanism in (*_MECHANISMS, "", "x" * 1000):
        yield from ask("SaslHandshake", given.version, {"mechanism": mechanism})


@case("typical/SaslAuthenticate", "SaslAuthenticate", versions="all")
def authenticate(given: Given) -> Script:
    """A login where nobody has to log in, before a handshake and behind one; then others go on."""
    login = Request("SaslAuthenticate", given.version, {"authBytes": _LOGIN})
    ping = Request("ApiVersions", 0)
    yield Talk([login, ping])
    hello = Request("SaslHandshake", _HANDSHAKE, {"mechanism": "PLAIN"})
    yield Talk([hello, login, login, ping], connection="other")
    for data in ("", _LONG):
        yield from ask("SaslAuthenticate", given.version, {"authBytes": data})


@case("typical/CreateDelegationToken", "CreateDelegationToken", versions="all")
def create_token(given: Given) -> Script:
    """Who has not logged in is given no token, whoever is to renew it and however long it lasts."""
    name = given.name("user")
    nobody = _who(name, "Sheep")  # Where there are tokens, none is made for a renewer of this kind.
    for renewers in ([], [_who(name)], [_who(name)] * 2, [nobody], [_who("", "")]):
        yield from _create(given, [*renewers, nobody], -1)
    for lifetime_ms in _TIMES_MS:
        yield from _create(given, [nobody], lifetime_ms)
    if given.version >= 3:
        for type_, owner in (("User", name), ("Sheep", name), ("", ""), (None, None)):
            owned = {"ownerPrincipalType": type_, "ownerPrincipalName": owner}
            yield from _create(given, [nobody], -1, **owned)


def _create(
    given: Given, renewers: list[dict[str, Any]], lifetime_ms: int, **owner: str | None
) -> Script:
    form = {"renewers": renewers, "maxLifetimeMs": lifetime_ms, **owner}
    return ask("CreateDelegationToken", given.version, form)


@case("typical/RenewDelegationToken", "RenewDelegationToken", versions="all")
def renew_token(given: Given) -> Script:
    """A token that there is not is not renewed."""
    for hmac, period_ms in (*((_LOGIN, each) for each in _TIMES_MS), ("", -1)):
        form = {"hmac": hmac, "renewPeriodMs": period_ms}
        yield from ask("RenewDelegationToken", given.version, form)


@case("typical/ExpireDelegationToken", "ExpireDelegationToken", versions="all")
def expire_token(given: Given) -> Script:
    """A token that there is not does not expire."""
    for hmac, period_ms in (*((_LOGIN, each) for each in _TIMES_MS), ("", -1)):
        form = {"hmac": hmac, "expiryTimePeriodMs": period_ms}
        yield from ask("ExpireDelegationToken", given.version, form)


@case("typical/DescribeDelegationToken", "DescribeDelegationToken", versions="all")
def describe_tokens(given: Given) -> Script:
    """Who has not logged in is told of no token: of anybody, of nobody, of some."""
    one = _who(given.name("user"))
    for owners in (
        None,
        [],
        [one],
        [one, one],
        [_who(given.name("user"), "Sheep")],
        [_who("", "")],
    ):
        yield from ask("DescribeDelegationToken", given.version, {"owners": owners})


def _who(name: str, type_: str = "User") -> dict[str, Any]:
    return {"principalType": type_, "principalName": name}
