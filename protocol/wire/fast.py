"""The codec of one message at one version: construct objects compiled to Python functions.

Same bytes as construct, many times the speed. When a message is refused, construct reads it again
to say where it is broken. Each direction is compiled on first use, then kept.
"""
# construct has no type annotations.
# pyright: basic

from __future__ import annotations

import functools
import struct
from collections.abc import Generator
from typing import Any, NoReturn

import construct as c

from protocol.errors import Malformed
from protocol.ports import Buffer
from protocol.wire.decode_source import decoder_for, has_blobs, step_decoder_for
from protocol.wire.encode_source import encoder_for, step_encoder_for
from protocol.wire.output import Output
from protocol.wire.record import UnsupportedFieldError
from protocol.wire.steps import STEP_ITEMS
from protocol.wire.table import construct_for

ITEMS_MAX = 500_000
"""The items of all arrays of one message that is decoded in steps; each takes some 200 bytes."""
_EXPLAINED_BYTES_MAX = 16384
"""Larger messages are refused without saying where: construct would take too long to find it."""


class Codec:
    """Decodes and encodes one message class at one version."""

    __slots__ = ("_cls", "_decode", "_encode", "_step_decode", "_step_encode", "_version")

    def __init__(self, cls: type[Any], version: int) -> None:
        construct_for(cls, version)  # the error for a version that is not there
        self._cls, self._version = cls, version
        self._decode, self._encode = self._first_decode, self._first_encode
        self._step_decode: Any = None
        self._step_encode: Any = None

    def decode(self, data: Buffer) -> Any:
        """Return the message in ``data``; its bytes and records fields are slices of ``data``.

        Structs that are not on the wire are at their defaults and shared by all messages: assign a
        new one instead of changing them.

        Raises:
            Malformed: ``data`` is not exactly one such message; says where.
        """
        try:
            value, end = self._decode(data, 0)
        except (struct.error, IndexError, UnicodeDecodeError, Malformed) as exc:
            self._refuse(data, exc)
        if end != len(data):
            self._refuse(data, None)
        return value

    def decode_prefix(self, data: Buffer, position: int = 0) -> tuple[Any, int]:
        """Return the message that starts at ``position`` and the position behind it.

        Raises:
            Malformed: No such message starts there.
        """
        try:
            value, end = self._decode(data, position)
        except (struct.error, IndexError, UnicodeDecodeError, Malformed) as exc:
            self._refuse(memoryview(data)[position:], exc)
        if end > len(data):
            self._refuse(memoryview(data)[position:], None)
        return value, end

    def decode_leading(self, data: Buffer) -> Any:
        """Return the message at the start of ``data``, whatever follows it.

        Servers read requests so, as Kafka does: librdkafka leaves stray bytes behind Metadata v12.

        Raises:
            Malformed: No such message starts there.
        """
        return self.decode_prefix(data)[0]

    def decode_in_steps(
        self, data: Buffer, made: list[Any] | None = None
    ) -> Generator[None, None, Any]:
        """Do as ``decode_leading`` in steps; a generator that yields between two of them.

        Args:
            data: the message, perhaps with more behind it.
            made: has the message in it from the first step on, as far as it was read.

        Raises:
            Malformed: No such message starts there, or it has more than ``ITEMS_MAX`` items.
        """
        if self._step_decode is None:
            self._step_decode = step_decoder_for(construct_for(self._cls, self._version))
        try:
            value, end = yield from _bounded(
                self._step_decode(data, 0, [] if made is None else made)
            )
        except (struct.error, IndexError, UnicodeDecodeError, Malformed) as exc:
            self._refuse(data, exc)
        if end > len(data):
            self._refuse(data, None)
        return value

    def encode_parts_in_steps(self, value: Any) -> Generator[None, None, list[Buffer]]:
        """Do as ``encode_parts`` in steps; a generator that yields between two of them."""
        if self._step_encode is None:
            self._step_encode = step_encoder_for(construct_for(self._cls, self._version))
        out = Output(keeps_blobs_apart=True)
        try:
            yield from self._step_encode(out, value)
        except UnsupportedFieldError:
            raise
        except (struct.error, AttributeError, TypeError, ValueError) as exc:
            self._explain(value, exc)
        return out.parts()

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

    def _first_decode(self, data: Buffer, pos: int) -> tuple[Any, int]:
        reference = construct_for(self._cls, self._version)
        self._decode = decoder_for(reference, blobs=has_blobs(reference))
        return self._decode(data, pos)

    def _first_encode(self, out: Output, value: Any) -> Output:
        self._encode = encoder_for(construct_for(self._cls, self._version))
        return self._encode(out, value)

    def _refuse(self, data: Buffer, cause: Exception | None) -> NoReturn:
        name = f"{self._cls.__name__} v{self._version}"
        if len(data) > _EXPLAINED_BYTES_MAX:
            raise Malformed(f"{name}: {cause or 'does not end where it should'}") from cause
        stream = c.io.BytesIO(data)
        try:
            construct_for(self._cls, self._version).parse_stream(stream)
        except c.ConstructError as exc:
            raise Malformed(f"{name}: {exc}") from cause
        raise Malformed(f"{name}: {len(data) - stream.tell()} bytes left over") from cause

    def _explain(self, value: Any, cause: Exception) -> NoReturn:
        name = f"{self._cls.__name__} v{self._version}"
        try:
            construct_for(self._cls, self._version).build(value)
        except (c.ConstructError, AttributeError, TypeError) as exc:
            raise ValueError(f"{name}: {exc}") from cause
        raise ValueError(f"{name}: {cause}") from cause


def _bounded(steps: Generator[None, None, Any]) -> Generator[None, None, Any]:
    """Go through ``steps`` and refuse what takes too many."""
    for _ in range(ITEMS_MAX // STEP_ITEMS):
        try:
            next(steps)
        except StopIteration as end:
            return end.value
        yield
    raise Malformed(f"more than {ITEMS_MAX} items in all arrays together")


@functools.cache
def codec(cls: type[Any], version: int) -> Codec:
    """Return the compiled codec of ``cls`` at ``version``.

    Raises:
        KeyError: The message has no such version.
    """
    return Codec(cls, version)
