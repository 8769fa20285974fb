"""The codec of one message at one version: construct objects compiled to Python functions.

Same bytes as construct, many times the speed. When a message is refused, construct reads it again
to say where it is broken. Compiled on first use, then kept.
"""
# construct has no type annotations.
# pyright: basic

from __future__ import annotations

import functools
import struct
from typing import Any, NoReturn

import construct as c

from protocol.errors import Malformed
from protocol.ports import Buffer
from protocol.wire.decode_source import decoder_for
from protocol.wire.encode_source import encoder_for
from protocol.wire.output import Output
from protocol.wire.record import UnsupportedFieldError
from protocol.wire.table import construct_for


class Codec:
    """Decodes and encodes one message class at one version."""

    __slots__ = ("_cls", "_decode", "_encode", "_version")

    def __init__(self, cls: type[Any], version: int) -> None:
        reference = construct_for(cls, version)
        self._cls, self._version = cls, version
        self._decode, self._encode = decoder_for(reference), encoder_for(reference)

    def decode(self, data: Buffer) -> Any:
        """Return the message in ``data``; its bytes and records fields are slices of ``data``.

        Raises:
            Malformed: ``data`` is not exactly one such message; says where.
        """
        view = memoryview(data)
        try:
            value, end = self._decode(view, 0)
        except (struct.error, IndexError, UnicodeDecodeError, Malformed) as exc:
            self._refuse(view, exc)
        if end != len(view):
            self._refuse(view, None)
        return value

    def decode_prefix(self, data: Buffer, position: int = 0) -> tuple[Any, int]:
        """Return the message that starts at ``position`` and the position behind it.

        Raises:
            Malformed: No such message starts there.
        """
        view = memoryview(data)
        try:
            value, end = self._decode(view, position)
        except (struct.error, IndexError, UnicodeDecodeError, Malformed) as exc:
            self._refuse(view[position:], exc)
        if end > len(view):
            self._refuse(view[position:], None)
        return value, end

    def encode(self, value: Any) -> bytearray:
        """Return the bytes of ``value``.

        Raises:
            UnsupportedFieldError: A field is set that the version lacks.
            ValueError: A field has a value that its type cannot hold; says where.
        """
        return self._write(Output(), value)

    def encode_parts(self, value: Any) -> list[Buffer]:
        """Return the bytes of ``value`` as buffers in order; large records are not copied."""
        return self._write(Output(keeps_blobs_apart=True), value).parts()

    def _write(self, out: Output, value: Any) -> Output:
        try:
            return self._encode(out, value)
        except UnsupportedFieldError:
            raise
        except (struct.error, AttributeError, TypeError, ValueError) as exc:
            self._explain(value, exc)

    def _refuse(self, view: memoryview, cause: Exception | None) -> NoReturn:
        name = f"{self._cls.__name__} v{self._version}"
        stream = c.io.BytesIO(view)
        try:
            construct_for(self._cls, self._version).parse_stream(stream)
        except c.ConstructError as exc:
            raise Malformed(f"{name}: {exc}") from cause
        left = len(view) - stream.tell()
        raise Malformed(f"{name}: {left} bytes left over") from cause

    def _explain(self, value: Any, cause: Exception) -> NoReturn:
        name = f"{self._cls.__name__} v{self._version}"
        try:
            construct_for(self._cls, self._version).build(value)
        except (c.ConstructError, AttributeError, TypeError) as exc:
            raise ValueError(f"{name}: {exc}") from cause
        raise ValueError(f"{name}: {cause}") from cause


@functools.cache
def codec(cls: type[Any], version: int) -> Codec:
    """Return the compiled codec of ``cls`` at ``version``.

    Raises:
        KeyError: The message has no such version.
    """
    return Codec(cls, version)
