"""Has kazoo speak TLS by contexts that are given; kazoo's own are made of PEM files alone."""

from __future__ import annotations

import errno
import socket
import ssl
from collections.abc import Callable, Sequence
from typing import Any, Final

from kazoo.handlers.threading import (  # pyright: ignore[reportMissingTypeStubs] - it has none
    SequentialThreadingHandler,
)

_OF_HOSTS: Final = {62, 64}
"""OpenSSL's X509_V_ERR_HOSTNAME_MISMATCH and X509_V_ERR_IP_ADDRESS_MISMATCH."""
_HINTS: Final = (
    ("WRONG_VERSION_NUMBER", "zookeeper.connect"),
    ("UNEXPECTED_EOF", "zookeeper.connect"),
    ("PROTOCOL", "zookeeper.ssl.enabled.protocols"),
    ("CERTIFICATE", "zookeeper.ssl.keystore.location"),
    ("UNKNOWN_CA", "zookeeper.ssl.keystore.location"),
    ("HANDSHAKE_FAILURE", "zookeeper.ssl.keystore.location"),
)
"""Words of the reason for which ZooKeeper, or OpenSSL here, gave a handshake up."""


# Any: kazoo has no types.
class TlsHandler(SequentialThreadingHandler):
    """Of one client of ZooKeeper. Its threads call it, never the loop."""

    def __init__(self, make_context: Callable[[], ssl.SSLContext]) -> None:
        """``make_context`` is asked at each connection; it may raise a ValueError that says why."""
        super().__init__()
        self._make_context = make_context

    def create_connection(
        self, address: tuple[str, int], hostname: str, timeout: float, **_: Any
    ) -> ssl.SSLSocket:
        """Connect and shake hands within ``timeout`` seconds each.

        Raises:
            OSError: says what is wrong and, where it is a setting, which.
        """
        base: Any = super()
        connected: socket.socket = base.create_connection(address, timeout=timeout)
        try:
            context = self._make_context()
            context.sslsocket_class = _ToldSocket
            return context.wrap_socket(connected, server_hostname=hostname)
        except (OSError, ValueError) as error:
            connected.close()
            text = f"TLS with ZooKeeper at {hostname}:{address[1]}: {_said(error)}"
            raise OSError(errno.EPROTO, text) from error

    def select(
        self, rlist: Sequence[Any], wlist: Sequence[Any], xlist: Sequence[Any], timeout: Any = None
    ) -> tuple[list[Any], list[Any], list[Any]]:
        """Wait for sockets; one whose bytes OpenSSL has already taken is ready at once."""
        held = [each for each in rlist if isinstance(each, ssl.SSLSocket) and each.pending()]
        base: Any = super()
        readable, writable, failed = base.select(rlist, wlist, xlist, 0 if held else timeout)
        return [*held, *(each for each in readable if each not in held)], writable, failed


class _ToldSocket(ssl.SSLSocket):
    """Tells what TLS 1.3 tells after the handshake: that a certificate was missed or not taken."""

    def recv(self, buflen: int = 1024, flags: int = 0) -> bytes:
        """Receive; an alert is an OSError that says which setting to look at."""
        try:
            return super().recv(buflen, flags)
        except ssl.SSLError as error:
            if "ALERT" not in str(error.reason):
                raise
            raise OSError(errno.EPROTO, f"TLS with ZooKeeper: {_said(error)}") from error


def _said(error: Exception) -> str:
    """Return what went wrong, with the setting to look at."""
    if isinstance(error, ssl.SSLCertVerificationError):
        is_host = error.verify_code in _OF_HOSTS
        key = "endpoint.identification.algorithm" if is_host else "truststore.location"
        words = error.verify_message.rstrip(".")
        return f"its certificate is not taken, {words}: see zookeeper.ssl.{key}"
    reason: str | None = getattr(error, "reason", None)
    if isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError):
        reason = "UNEXPECTED_EOF"  # Python before 3.11.4 gives none.
    if not reason:
        return str(error)
    words = reason.lower().replace("_", " ")
    hint = next((key for word, key in _HINTS if word in reason), "")
    return f"{words}: see {hint}" if hint else words
