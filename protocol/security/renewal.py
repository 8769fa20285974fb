"""TLS contexts that follow their files: certificates are exchanged without a restart.

Connections that are open stay as they are, as in Kafka. Source: SslFactory.java.
"""

from __future__ import annotations

import logging
import os
import ssl
import time
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from protocol.configs.security import SecurityConfig
from protocol.security.tls import SecurityConfigError

LOOK_INTERVAL_MS: Final = 1_000
"""Between two looks at the files: a look keeps the loop for as long as the file system takes."""
logger = logging.getLogger(__name__)
_Stamps: TypeAlias = tuple[tuple[int, int, int] | None, ...]


class RenewedContext(ssl.SSLContext):
    """Stands for a context that is made anew once a file of it changed.

    Handshakes look at the files, but not more often than told.
    """

    _make: Callable[[], ssl.SSLContext]
    _files: tuple[str, ...]
    _made: ssl.SSLContext
    _stamps: _Stamps
    look_interval_ms: int
    _looked_s: float

    def follow(
        self,
        make: Callable[[], ssl.SSLContext],
        files: tuple[str, ...],
        made: ssl.SSLContext,
        stamps: _Stamps,
        look_interval_ms: int,
    ) -> None:
        """Begin, or go on by other files: a context is made with no arguments of its own."""
        self.look_interval_ms, self._looked_s = look_interval_ms, time.monotonic()
        self._make, self._files = make, files
        self._made, self._stamps = made, stamps
        # What others read of a context; the order is OpenSSL's.
        self.check_hostname = False
        self.verify_mode, self.check_hostname = made.verify_mode, made.check_hostname

    # Any: what event loops give, passed on.
    def wrap_bio(self, *args: Any, **kwargs: Any) -> ssl.SSLObject:
        """Begin a handshake."""
        return self._current().wrap_bio(*args, **kwargs)

    def _current(self) -> ssl.SSLContext:
        now_s = time.monotonic()
        if (now_s - self._looked_s) * 1000 < self.look_interval_ms:
            return self._made
        self._looked_s = now_s
        stamps = _stamps_of(self._files)
        if stamps != self._stamps:
            self._stamps = stamps
            try:
                self._made = self._make()
            except SecurityConfigError as error:
                logger.error("certificates stay as they were: %s", error)  # noqa: TRY400 - expected
            else:
                logger.info("certificates are read anew from %s", " and ".join(self._files))
        return self._made


def renewed(
    make: Callable[[], ssl.SSLContext],
    config: SecurityConfig,
    *,
    look_interval_ms: int = LOOK_INTERVAL_MS,
) -> RenewedContext:
    """Return what ``make`` makes, and follow the files that ``config`` names.

    Raises:
        SecurityConfigError: it makes nothing now.
    """
    stamps, made = _stamps_of(_files_of(config)), make()
    following = RenewedContext(made.protocol)
    following.follow(make, _files_of(config), made, stamps, look_interval_ms)
    return following


def renew(
    context: ssl.SSLContext | None, make: Callable[[], ssl.SSLContext], config: SecurityConfig
) -> None:
    """Have a context that ``renewed`` returned be what ``make`` makes from now on.

    Raises:
        SecurityConfigError: it makes nothing now; all stays as it was.
    """
    assert isinstance(context, RenewedContext)
    stamps, made = _stamps_of(_files_of(config)), make()
    context.follow(make, _files_of(config), made, stamps, context.look_interval_ms)


def _files_of(config: SecurityConfig) -> tuple[str, ...]:
    named = (config.ssl_keystore_location, config.ssl_truststore_location)
    return tuple(each for each in named if each)


def _stamps_of(files: tuple[str, ...]) -> _Stamps:
    return tuple(map(_stamp, files))


def _stamp(file: str) -> tuple[int, int, int] | None:
    try:
        told = os.stat(file)
    except OSError:
        return None
    return told.st_ino, told.st_mtime_ns, told.st_size
