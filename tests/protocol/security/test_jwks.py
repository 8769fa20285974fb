"""Signed tokens: checked by keys of a file or of a server, claims as the configuration says."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from protocol.configs.broker import BrokerConfig
from protocol.security.jwks import Jwks, read_url, validates_signed
from protocol.security.oauth import BearerToken, unsecured_token
from protocol.security.sasl import InvalidTokenError
from protocol.security.tls import SecurityConfigError

NOW_MS = 1_700_000_000_000
NOW_S = NOW_MS // 1000
RSA, EC, FOREIGN = (
    rsa.generate_private_key(65537, 2048),
    ec.generate_private_key(ec.SECP256R1()),
    ec.generate_private_key(ec.SECP256R1()),
)
CLAIMS: dict[str, Any] = {"sub": "alice", "iat": NOW_S, "exp": NOW_S + 60, "scope": ["a", "b"]}


def key_set() -> dict[str, Any]:
    made = [
        {**RSAAlgorithm.to_jwk(RSA.public_key(), as_dict=True), "kid": "r"},
        {**ECAlgorithm.to_jwk(EC.public_key(), as_dict=True), "kid": "e"},
    ]
    return {"keys": made}


@pytest.fixture
def url(tmp_path: Path) -> str:
    file = tmp_path / "jwks.json"
    file.write_text(json.dumps(key_set()))
    return file.as_uri()


def signed(claims: dict[str, Any], key: Any = EC, kid: str | None = "e", alg: str = "ES256") -> str:
    return jwt.encode(claims, key, algorithm=alg, headers={"kid": kid} if kid else {})


def said(url: str, token: str, **keys: Any) -> BearerToken:
    config = BrokerConfig(sasl_oauthbearer_jwks_endpoint_url=url, **keys)
    return validates_signed(config)(token, NOW_MS)


def test_tokens_of_each_key_are_taken(url: str) -> None:
    wanted = BearerToken("alice", NOW_MS + 60_000)
    assert said(url, signed(CLAIMS)) == wanted
    assert said(url, signed(CLAIMS, RSA, "r", "RS256")) == wanted


def test_claims_go_by_the_names_of_the_configuration(url: str) -> None:
    claims = {**CLAIMS, "client_id": "robot", "aud": ["kafka", "x"], "iss": "idp"}
    names = {
        "sasl_oauthbearer_sub_claim_name": "client_id",
        "sasl_oauthbearer_expected_audience": ("kafka",),
        "sasl_oauthbearer_expected_issuer": "idp",
    }
    assert said(url, signed(claims), **names).principal == "robot"
    for spoiled in ({"aud": "y"}, {"iss": "other"}, {"client_id": ""}):
        with pytest.raises(InvalidTokenError):
            said(url, signed({**claims, **spoiled}), **names)


@pytest.mark.parametrize(
    "spoiled",
    [
        {"exp": NOW_S - 30},
        {"iat": NOW_S + 31},
        {"nbf": NOW_S + 31},
        {"sub": " "},
        {"scope": ["a", " a"]},
        {"scope": " "},
        {"scope": [1]},
        {"exp": None},
        {"exp": "soon"},
    ],
)
def test_claims_that_do_not_hold_are_refused(url: str, spoiled: dict[str, Any]) -> None:
    with pytest.raises(InvalidTokenError):
        said(url, signed({**CLAIMS, **spoiled}))


def test_the_issuers_clock_may_differ_by_the_skew(url: str) -> None:
    assert said(url, signed({**CLAIMS, "exp": NOW_S - 29})).principal == "alice"
    with pytest.raises(InvalidTokenError):
        said(url, signed({**CLAIMS, "exp": NOW_S}), sasl_oauthbearer_clock_skew_seconds=0)


@pytest.mark.parametrize(
    "token",
    [
        signed(CLAIMS, FOREIGN),
        signed(CLAIMS, EC, "other"),
        signed(CLAIMS, EC, None),
        signed(CLAIMS, "a secret of thirty-two characters", "e", "HS256"),
        unsecured_token(CLAIMS),
        "a.b.c",
        "",
    ],
)
def test_what_no_key_of_the_set_has_signed_is_refused(url: str, token: str) -> None:
    with pytest.raises(InvalidTokenError):
        said(url, token)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"keys": []}', '{"keys": [1]}', '{"keys": [{}]}']
)
def test_a_file_without_keys_ends_the_start(tmp_path: Path, text: str) -> None:
    (tmp_path / "jwks.json").write_text(text)
    with pytest.raises(SecurityConfigError, match=r"jwks\.endpoint\.url: .* has no keys"):
        said((tmp_path / "jwks.json").as_uri(), signed(CLAIMS))
    with pytest.raises(SecurityConfigError, match="has no keys: expected file://"):
        said("ftp://x", signed(CLAIMS))


def test_old_keys_are_fetched_anew_beside_the_answer() -> None:
    answers = [json.dumps({"keys": key_set()["keys"][:1]}), json.dumps(key_set())]
    later: list[Callable[[], None]] = []
    jwks = Jwks("http://x", 0, lambda _: answers.pop(0).encode(), later.append)
    for _ in range(2):
        with pytest.raises(InvalidTokenError, match="none of the JWKS"):
            jwks.key("e")
    (fetch,) = later
    fetch()
    assert jwks.key("e").key_id == "e"


def test_keys_stay_where_nobody_answers_any_more(caplog: pytest.LogCaptureFixture) -> None:
    answers = [json.dumps(key_set()), "no keys"]
    jwks = Jwks("http://x", 0, lambda _: answers.pop(0).encode(), lambda work: work())
    assert jwks.key("e").key_id == "e"
    assert "stay as they were" in caplog.text
    answers.append("no keys")
    assert jwks.key("r").key_id == "r"


def test_a_large_answer_is_no_set_of_keys(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(bytes(2 << 20))
    with pytest.raises(ValueError, match="more than"):
        read_url((tmp_path / "large").as_uri())
