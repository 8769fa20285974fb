"""SCRAM at both ends, as pure state machines: SCRAM-SHA-256 and SCRAM-SHA-512.

Source: RFC 5802, RFC 7677; ScramSaslServer.java, ScramFormatter.java.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable
from typing import Final, NamedTuple

from protocol.security.sasl import Authenticated, InvalidTokenError

HASHES: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
"""By Kafka's names of the mechanisms."""
ITERATIONS_MIN: Final = 4096
ITERATIONS_MAX: Final = 16384
_GS2_HEADERS: Final = ("n,", "y,")
_CLIENT_KEY: Final = b"Client Key"
_SERVER_KEY: Final = b"Server Key"
_TOKEN_EXTENSION: Final = "tokenauth=true"
_KEPT_AS_BASE64: Final = ("salt", "stored_key", "server_key")


class ScramCredential(NamedTuple):
    """What a server keeps of a password."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    def __repr__(self) -> str:
        """Hide salt and keys from logs."""
        return f"ScramCredential(iterations={self.iterations})"


class TokenCredential(NamedTuple):
    """What a server keeps of a delegation token."""

    owner: str
    """As whom its clients authenticate."""
    lifetime_ms: int
    """For how long it still holds."""
    credential: ScramCredential


def credential_text(credential: ScramCredential) -> str:
    """Return the text that Kafka stores. Source: ScramCredentialUtils.credentialToString."""
    fields = {name: _base64(getattr(credential, name)) for name in _KEPT_AS_BASE64}
    written = ",".join(f"{name}={value}" for name, value in fields.items())
    return f"{written},iterations={credential.iterations}"


def credential_from_text(text: str) -> ScramCredential:
    """Read what ``credential_text`` wrote.

    Raises:
        InvalidTokenError: it is no such text.
    """
    parts = (part.partition("=") for part in text.split(","))
    fields = {name: value for name, _, value in parts}
    if set(fields) != {*_KEPT_AS_BASE64, "iterations"} or not fields["iterations"].isdecimal():
        raise InvalidTokenError("no text of a SCRAM credential")
    salt, stored_key, server_key = (_decoded(fields[name]) for name in _KEPT_AS_BASE64)
    return ScramCredential(salt, stored_key, server_key, int(fields["iterations"]))


def salted_password(mechanism: str, password: str, salt: bytes, iterations: int) -> bytes:
    """Return the hash of a password that both ends derive their keys from."""
    return hashlib.pbkdf2_hmac(HASHES[mechanism], password.encode(), salt, iterations)


def credential_of(mechanism: str, salted: bytes, salt: bytes, iterations: int) -> ScramCredential:
    """Return what a server keeps of a salted password."""
    stored = _hash(mechanism, _hmac(mechanism, salted, _CLIENT_KEY))
    return ScramCredential(salt, stored, _hmac(mechanism, salted, _SERVER_KEY), iterations)


class ScramServer:
    """The server's end of one exchange: two tokens in, two out."""

    def __init__(
        self,
        mechanism: str,
        credential: Callable[[str], ScramCredential | None],
        server_nonce: str,
        token: Callable[[str], TokenCredential | None] = lambda _token_id: None,
    ) -> None:
        """Expect the first token.

        Args:
            mechanism: one of ``HASHES``.
            credential: finds what is kept of a user's password.
            server_nonce: random, printable, without commas.
            token: finds what is kept of a delegation token, by its id.
        """
        self._mechanism = mechanism
        self._credential_of, self._token_of = credential, token
        self._server_nonce = server_nonce
        self._user = self._gs2 = self._nonce = ""
        self._messages = ""
        """Client-first-bare and server-first, separated by a comma."""
        self._credential: ScramCredential | None = None
        self._token: TokenCredential | None = None

    def evaluate(self, token: bytes) -> bytes | Authenticated:
        """Take the client's next token; return the answer, at the end with who it is.

        Raises:
            InvalidTokenError: it is none, or the client does not know the password.
        """
        text = _text(token)
        return self._first(text) if not self._messages else self._final(text)

    def _first(self, text: str) -> bytes:
        if text[:2] not in _GS2_HEADERS or "," not in text[2:]:
            raise InvalidTokenError("no first message of a client")
        authorization, _, bare = text[2:].partition(",")
        fields = _fields(bare)
        self._gs2 = text[: len(text) - len(bare)]
        self._user = fields.get("n", "").replace("=2C", ",").replace("=3D", "=")
        if not self._user or not fields.get("r"):
            raise InvalidTokenError("no user or no nonce in the first message of a client")
        if authorization not in ("", f"a={fields['n']}"):
            raise InvalidTokenError("the authorization id differs from the user")
        credential = self._credential = self._kept(_TOKEN_EXTENSION in bare.lower().split(","))
        self._nonce = fields["r"] + self._server_nonce
        salt = base64.b64encode(credential.salt).decode()
        answer = f"r={self._nonce},s={salt},i={credential.iterations}"
        self._messages = f"{bare},{answer}"
        return answer.encode()

    def _kept(self, is_token: bool) -> ScramCredential:  # noqa: FBT001 - what the client says
        if is_token:
            self._token = self._token_of(self._user)
            if self._token is None:
                raise InvalidTokenError(f"no delegation token {self._user}, or it is over")
            return self._token.credential
        credential = self._credential_of(self._user)
        if credential is None:
            raise InvalidTokenError("unknown user")
        return credential

    def _final(self, text: str) -> Authenticated:
        credential = self._credential
        assert credential is not None
        without_proof, _, proof = text.rpartition(",p=")
        fields = _fields(without_proof)
        if fields.get("r") != self._nonce or fields.get("c") != _base64(self._gs2.encode()):
            raise InvalidTokenError("another nonce or channel binding in the final message")
        message = f"{self._messages},{without_proof}".encode()
        signature = _hmac(self._mechanism, credential.stored_key, message)
        client_key = _xor(_decoded(proof), signature)
        if not hmac.compare_digest(_hash(self._mechanism, client_key), credential.stored_key):
            raise InvalidTokenError("wrong password")
        signed = _hmac(self._mechanism, credential.server_key, message)
        last = f"v={_base64(signed)}".encode()
        if self._token is None:
            return Authenticated(self._user, last)
        return Authenticated(self._token.owner, last, self._token.lifetime_ms, is_by_token=True)


class ScramClient:
    """The client's end of one exchange."""

    def __init__(
        self, mechanism: str, user: str, password: str, nonce: str, *, is_token: bool = False
    ) -> None:
        """``is_token``: the user is a delegation token's id, the password its HMAC as base64."""
        self._mechanism, self._password = mechanism, password
        name = user.replace("=", "=3D").replace(",", "=2C")
        self._bare = f"n={name},r={nonce}" + (f",{_TOKEN_EXTENSION}" if is_token else "")
        self._nonce = nonce
        self._expected = b""

    def first(self) -> bytes:
        """Return the first token."""
        return f"n,,{self._bare}".encode()

    def evaluate(self, token: bytes) -> bytes | None:
        """Take the server's next token; return the answer, None once the server has proved itself.

        Raises:
            InvalidTokenError: it is none, or the server does not know the password either.
        """
        if self._expected:
            if not hmac.compare_digest(token, self._expected):
                raise InvalidTokenError("the server does not know the password")
            return None
        text = _text(token)
        fields = _fields(text)
        iterations = fields.get("i", "")
        is_new = fields.get("r", "").startswith(self._nonce) and fields["r"] != self._nonce
        if not is_new or not iterations.isdecimal() or int(iterations) < ITERATIONS_MIN:
            raise InvalidTokenError("no first message of a server")
        salt = _decoded(fields.get("s", ""))
        salted = salted_password(self._mechanism, self._password, salt, int(iterations))
        final = f"c=biws,r={fields['r']}"
        message = f"{self._bare},{text},{final}".encode()
        client_key = _hmac(self._mechanism, salted, _CLIENT_KEY)
        signature = _hmac(self._mechanism, _hash(self._mechanism, client_key), message)
        server_key = _hmac(self._mechanism, salted, _SERVER_KEY)
        self._expected = b"v=" + _base64(_hmac(self._mechanism, server_key, message)).encode()
        return f"{final},p={_base64(_xor(client_key, signature))}".encode()


def _fields(text: str) -> dict[str, str]:
    return {part[:1]: part[2:] for part in text.split(",") if part[1:2] == "="}


def _text(token: bytes) -> str:
    try:
        return token.decode()
    except UnicodeDecodeError:
        raise InvalidTokenError("no text of SCRAM") from None


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidTokenError("no base64 where SCRAM has it") from None


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _hmac(mechanism: str, key: bytes, data: bytes) -> bytes:
    return hmac.digest(key, data, HASHES[mechanism])


def _hash(mechanism: str, data: bytes) -> bytes:
    return hashlib.new(HASHES[mechanism], data).digest()


def _xor(one: bytes, other: bytes) -> bytes:
    if len(one) != len(other):
        raise InvalidTokenError("a proof of another length")
    return bytes(a ^ b for a, b in zip(one, other, strict=True))
