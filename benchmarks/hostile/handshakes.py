"""What strangers do before they have authenticated, at listeners of SSL and SASL.

Each attack is a function of a port that returns what became of its connections: "closed" when the
node ended them all, "open" when one was left after ``PATIENCE_S``. It measures nothing.
"""

from __future__ import annotations

import random
import socket
import ssl
import warnings
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from struct import pack
from typing import Any, Final, NamedTuple

from benchmarks.hostile.memory import frame
from jbodlab.processes.free_ports import LOOPBACK
from protocol.messages.control import LeaderAndIsrRequest
from protocol.messages.metadata import MetadataRequest
from protocol.messages.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

PATIENCE_S: Final = 30.0
"""Three times as long as a TLS handshake may take."""
CLOSED: Final = "closed"
OPEN: Final = "open"
STORM: Final = 200
_GARBAGE: Final = random.Random(22).randbytes(65_536)
_READ_BYTES: Final = 65_536
_HELLO_BEGIN: Final = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"
"""The first bytes of a ClientHello of 512."""
_TOKEN_BYTES: Final = 600_000
"""More than sasl.server.max.receive.size."""

Strike = Callable[[int], str]


class Attack(NamedTuple):
    """One attack, and the listener that it is for."""

    name: str
    listener: str
    strike: Strike


def attacks() -> list[Attack]:
    """Return all of them."""
    scram = SaslHandshakeRequest(mechanism="SCRAM-SHA-512")
    first = b"n,,n=alice,r=0123456789"
    plain, tls = "SASL_PLAINTEXT", "SASL_SSL"
    long = SaslAuthenticateRequest(auth_bytes=bytes(_TOKEN_BYTES))
    again = [(SaslAuthenticateRequest(auth_bytes=first), 2)] * 100
    return [
        Attack("64 KiB of garbage", "SSL", partial(_send, (_GARBAGE,))),
        Attack("a request without TLS", "SSL", partial(_send, (frame(MetadataRequest(), 9),))),
        Attack("TLS 1.1", "SSL", _by_old_tls),
        Attack("half a ClientHello, gone", "SSL", partial(_send_and_go, _HELLO_BEGIN)),
        Attack("half a ClientHello, waiting", tls, partial(_send, (_HELLO_BEGIN,), count=STORM)),
        Attack("a storm of TLS handshakes", tls, _storm),
        Attack("a ClientHello without TLS", plain, partial(_send, (_HELLO_BEGIN + bytes(512),))),
        Attack("2 GiB announced", plain, partial(_send, (pack(">i", 2**31 - 1),))),
        Attack("a negative size", plain, partial(_send, (pack(">i", -1),))),
        Attack("Metadata", plain, partial(_ask, ((MetadataRequest(), 9),))),
        Attack("LeaderAndIsr", plain, partial(_ask, ((LeaderAndIsrRequest(), 7),))),
        Attack("SaslHandshake without end", plain, partial(_ask, [(scram, 1)] * 100)),
        Attack("a token of 600 KB", plain, partial(_ask, ((scram, 1), (long, 2)))),
        Attack("tokens without end", plain, partial(_ask, [(scram, 1), *again])),
        Attack("bare tokens without end", plain, _by_bare_tokens),
    ]


def _ask(requests: Sequence[tuple[Any, int]], port: int) -> str:
    return _send([frame(*each) for each in requests], port)


def _by_bare_tokens(port: int) -> str:
    """SaslHandshake v0, behind which tokens have no header."""
    token = pack(">i", 50_000) + bytes(50_000)
    handshake = frame(SaslHandshakeRequest(mechanism="PLAIN"), 0)
    return _send([handshake, *[token] * 20], port)


def _send(parts: Sequence[bytes], port: int, *, count: int = 1) -> str:
    """Send it on some connections at once, then read until each is closed."""
    with ExitStack() as stack:
        streams = [stack.enter_context(_connected(port)) for _ in range(count)]
        for stream in streams:
            with suppress(ConnectionError):
                for part in parts:
                    stream.sendall(part)
        return _ended(streams)


def _send_and_go(part: bytes, port: int) -> str:
    for _ in range(STORM):
        with _connected(port) as stream:
            stream.sendall(part)
    return CLOSED


def _by_old_tls(port: int) -> str:
    """Offer nothing newer than TLS 1.1."""
    context = _context()
    context.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    try:
        with _connected(port) as stream, context.wrap_socket(stream):
            return OPEN
    except (ssl.SSLError, ConnectionError):
        return CLOSED


def _storm(port: int) -> str:
    """Make whole TLS handshakes and leave, one after the other."""
    context = _context()
    for _ in range(STORM):
        with _connected(port) as stream, context.wrap_socket(stream):
            pass
    return CLOSED


def _context() -> ssl.SSLContext:
    """Trust everybody: who the node is does not matter to an attacker."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _connected(port: int) -> socket.socket:
    return socket.create_connection((LOOPBACK, port), timeout=PATIENCE_S)


def _ended(streams: Sequence[socket.socket]) -> str:
    """Read what there is until the node has closed all; a reset is an end, too."""
    for stream in streams:
        try:
            while stream.recv(_READ_BYTES):
                pass
        except ConnectionError:
            continue
        except TimeoutError:
            return OPEN
    return CLOSED
