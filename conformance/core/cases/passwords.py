"""Logins by SCRAM, in order and out of it, and passwords that change."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any, Final

from conformance.core.catalogue import secured
from conformance.core.script import (
    BARE,
    CONTROLLER,
    Allow,
    As,
    Given,
    LetIn,
    NewUser,
    Request,
    Script,
    Talk,
    ask,
)
from conformance.core.security_forms import (
    ALTER,
    CLUSTER,
    CLUSTER_NAME,
    DESCRIBE,
    MECHANISMS,
    SHA_256,
    SHA_512,
    password_row,
    rule,
)
from protocol.security.scram import ScramClient

_NONCE: Final = "conform-nonce"
_PING: Final = Request("ApiVersions", 0)
_HELLO: Final = Request("SaslHandshake", 1, {"mechanism": SHA_256})
_OPERATIONS: Final = Request("DescribeCluster", 0, {"includeClusterAuthorizedOperations": True})


def _say(version: int, data: bytes) -> Request:
    return Request("SaslAuthenticate", version, {"authBytes": base64.b64encode(data).decode()})


def _talk(word: str, *requests: Request) -> Talk:
    return Talk(requests, connection=word, who=BARE)


@secured("logins/handshake", "SaslHandshake", versions="all")
def handshake(given: Given) -> Script:
    """Mechanisms that are not spoken are refused, and the connection with them."""
    for number, mechanism in enumerate((SHA_256, "scram-sha-256", "NONE", "", "x" * 1000)):
        request = Request("SaslHandshake", given.version, {"mechanism": mechanism})
        yield _talk(f"{number}", _PING, request)


@secured("logins/scram", "SaslAuthenticate", versions="all")
def scram(given: Given) -> Script:
    """An exchange of SCRAM, message by message; afterwards there is nothing to log in to."""
    who = yield NewUser()
    client = ScramClient(SHA_256, who.user, who.password, _NONCE)
    yield _talk("", _PING, _HELLO)
    token: bytes | None = client.first()
    while token is not None:
        (answer,) = yield _talk("", _say(given.version, token))
        token = client.evaluate(base64.b64decode(answer.body["authBytes"]))
    yield _talk("", _PING, _OPERATIONS)
    yield _talk("", _HELLO)
    yield _talk("", _say(given.version, client.first()), _PING)


@secured("logins/refused", "SaslAuthenticate", versions="all")
def refused(given: Given) -> Script:
    """First messages that are none, that name nobody, or that speak for somebody else."""
    who = yield NewUser()
    for word, data in (
        ("unknown", f"n,,n={given.name('none')},r={_NONCE}".encode()),
        ("other", f"n,a=somebody,n={who.user},r={_NONCE}".encode()),
        ("itself", f"n,a={who.user},n={who.user},r={_NONCE}".encode()),
        ("binding", f"p=tls-unique,,n={who.user},r={_NONCE}".encode()),
        ("nothing", b""),
        ("rubbish", b"rubbish"),
        ("no-nonce", f"n,,n={who.user}".encode()),
        ("binary", b"\xff\xfe\x00"),
    ):
        yield _talk(word, _HELLO, _say(given.version, data))


@secured("logins/wrong-password", "SaslAuthenticate", versions="all")
def wrong_password(given: Given) -> Script:
    """The second message proves another password, another nonce, or nothing."""
    who = yield NewUser()
    for word in ("password", "nonce", "proof", "empty"):
        password = "guess" if word == "password" else who.password
        client = ScramClient(SHA_256, who.user, password, _NONCE)
        _, answer = yield _talk(word, _HELLO, _say(given.version, client.first()))
        last = client.evaluate(base64.b64decode(answer.body["authBytes"])) or b""
        if word == "nonce":
            last = last.replace(b"r=conform", b"r=another")
        elif word == "proof":
            last = last.partition(b",p=")[0]
        elif word == "empty":
            last = b""
        yield _talk(word, _say(given.version, last))


@secured("logins/order", "SaslAuthenticate", versions="all")
def order(given: Given) -> Script:
    """Requests before a login, a login without a handshake, another request within a login."""
    who = yield NewUser()
    first = _say(given.version, ScramClient(SHA_256, who.user, who.password, _NONCE).first())
    yield _talk("request", Request("Metadata", 8, {"topics": []}))
    yield _talk("shaken", _HELLO, _PING)
    yield _talk("within", _HELLO, first, _PING)
    yield _talk("behind-versions", _PING, Request("Metadata", 8, {"topics": []}))
    yield _talk("no-handshake", first)
    yield _talk("two-shakes", _HELLO, _HELLO)
    yield _talk("again", _HELLO, first, first)


@secured("logins/versions-twice", "ApiVersions", versions="all")
def versions_twice(given: Given) -> Script:
    """Versions are asked for once before a login."""
    form = {"clientSoftwareName": "conform", "clientSoftwareVersion": "1"}
    asked = Request("ApiVersions", given.version, form)
    yield _talk("", asked, asked)


def _alter(
    version: int, rows: Sequence[Any] = (), gone: Sequence[Any] = (), who: As | None = None
) -> Script:
    form = {"deletions": list(gone), "upsertions": list(rows)}
    return ask("AlterUserScramCredentials", version, form, to=CONTROLLER, who=who)


@secured("passwords/change", "AlterUserScramCredentials", versions="all")
def change(given: Given) -> Script:
    """A new password takes the place of the old one; who is logged in stays so, even without."""
    who = yield NewUser()
    yield Talk([_OPERATIONS], who=who)
    yield from _alter(given.version, [password_row(As(who.user, "another"))])
    yield LetIn(As(who.user, "another"))
    yield LetIn(who, is_wanted=False)
    yield Talk([_OPERATIONS], who=who)
    yield from _alter(given.version, [password_row(As(who.user, "third", SHA_512))])
    yield LetIn(As(who.user, "third", SHA_512))
    yield from _alter(given.version, gone=[{"name": who.user, "mechanism": MECHANISMS[SHA_256]}])
    yield LetIn(As(who.user, "another"), is_wanted=False)
    yield LetIn(As(who.user, "third", SHA_512))
    yield Talk([_OPERATIONS], who=who)


@secured("passwords/rights", "AlterUserScramCredentials", versions="all")
def rights(given: Given) -> Script:
    """Who may alter the cluster changes passwords, who may describe it is told which there are."""
    who = yield NewUser()
    other = yield NewUser("other")
    gone = {"name": other.user, "mechanism": MECHANISMS[SHA_256]}
    described = {"users": [{"name": other.user}]}
    everybody = {"users": None}
    for operation in (None, DESCRIBE, ALTER):
        if operation is not None:
            yield Allow(who, [rule(CLUSTER, CLUSTER_NAME, operation)])
        yield from ask("DescribeUserScramCredentials", 0, described, who=who)
        yield from _alter(given.version, [password_row(As(other.user, "another"))], who=who)
        yield from _alter(given.version, gone=[gone], who=who)
    if operation is None:
        yield from ask("DescribeUserScramCredentials", 0, everybody, who=who)
