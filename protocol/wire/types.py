"""Kafka's wire types as construct subclasses: the readable, checked definition of every encoding.

They are the reference; ``fast`` compiles them. No message is known here.
"""
# construct has no type annotations.
# pyright: basic

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import construct as c

INT8, INT16 = c.FormatField(">", "b"), c.FormatField(">", "h")
INT32, INT64 = c.FormatField(">", "l"), c.FormatField(">", "q")
UINT16, UINT32 = c.FormatField(">", "H"), c.FormatField(">", "L")
FLOAT64 = c.FormatField(">", "d")
BOOL = c.FormatField(">", "?")


class _Uuid(c.FormatField):
    """16 raw bytes, most significant half first; all zero stands for none."""

    def __init__(self) -> None:
        super().__init__(">", "q")
        self.fmtstr, self.length = ">16s", 16


UUID = _Uuid()


class UnsignedVarint(c.Construct):
    """Little-endian base-128, at most five bytes. Source: Kafka ByteUtils.readUnsignedVarint."""

    def _parse(self, stream: Any, context: Any, path: str) -> int:
        value = 0
        for shift in range(0, 35, 7):
            byte = c.stream_read(stream, 1, path)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise c.IntegerError("varint longer than five bytes", path=path)

    def _build(self, obj: int, stream: Any, context: Any, path: str) -> int:
        rest = obj
        while rest >= 0x80:
            c.stream_write(stream, bytes([rest & 0x7F | 0x80]), 1, path)
            rest >>= 7
        c.stream_write(stream, bytes([rest]), 1, path)
        return obj


VARINT = UnsignedVarint()


class Length(c.Construct):
    """A length, -1 for null: compact (varint of n + 1) in flexible versions, else ``fixed``."""

    def __init__(self, *, compact: bool, fixed: c.FormatField) -> None:
        super().__init__()
        self.compact, self.fixed = compact, fixed

    def _parse(self, stream: Any, context: Any, path: str) -> int:
        if self.compact:
            return VARINT._parse(stream, context, path) - 1
        return self.fixed._parse(stream, context, path)

    def _build(self, obj: int, stream: Any, context: Any, path: str) -> int:
        if self.compact:
            VARINT._build(obj + 1, stream, context, path)
        else:
            self.fixed._build(obj, stream, context, path)
        return obj


def _left(stream: Any) -> int:
    position = stream.tell()
    end = stream.seek(0, 2)
    stream.seek(position)
    return end - position


class Blob(c.Construct):
    """STRING, BYTES and RECORDS: a Length, then that many bytes.

    ``kind`` is "string", "bytes" or "records"; records may be built from a tuple of buffers.
    """

    def __init__(self, length: Length, *, nullable: bool, kind: str) -> None:
        super().__init__()
        self.length, self.nullable, self.kind = length, nullable, kind

    def _parse(self, stream: Any, context: Any, path: str) -> str | bytes | None:
        size = self.length._parse(stream, context, path)
        if size < 0:
            if not self.nullable:
                raise c.StringError("null where the field is not nullable", path=path)
            return None
        if size > _left(stream):
            raise c.StreamError(f"{size} bytes announced, {_left(stream)} left", path=path)
        data = c.stream_read(stream, size, path)
        if self.kind != "string":
            return data
        try:
            return data.decode()
        except UnicodeDecodeError as exc:
            raise c.StringError(f"not UTF-8: {exc}", path=path) from exc

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        if obj is None:
            if not self.nullable:
                raise c.StringError("null where the field is not nullable", path=path)
            self.length._build(-1, stream, context, path)
            return obj
        if isinstance(obj, str):
            data = obj.encode()
        elif isinstance(obj, (tuple, list)):
            data = b"".join(obj)
        else:
            data = bytes(obj)
        if self.kind == "string" and len(data) > STRING_BYTES_MAX:
            raise c.StringError(f"a string of {len(data)} bytes, at most 32767", path=path)
        self.length._build(len(data), stream, context, path)
        c.stream_write(stream, data, len(data), path)
        return obj


STRING_BYTES_MAX = 32767


class Array(c.Construct):
    """A Length, then that many elements: a list, () when empty, as a default array is."""

    def __init__(self, length: Length, *, nullable: bool, element: c.Construct) -> None:
        super().__init__()
        self.length, self.nullable, self.element = length, nullable, element

    def _parse(self, stream: Any, context: Any, path: str) -> Sequence[Any] | None:
        count = self.length._parse(stream, context, path)
        if count < 0:
            if not self.nullable:
                raise c.RangeError("null array where the field is not nullable", path=path)
            return None
        if count > _left(stream):
            raise c.RangeError(f"array of {count} in {_left(stream)} bytes", path=path)
        items = [self.element._parse(stream, context, f"{path}[{i}]") for i in range(count)]
        return items or ()

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        if obj is None:
            if not self.nullable:
                raise c.RangeError("null array where the field is not nullable", path=path)
            self.length._build(-1, stream, context, path)
            return obj
        self.length._build(len(obj), stream, context, path)
        for i, item in enumerate(obj):
            self.element._build(item, stream, context, f"{path}[{i}]")
        return obj


class Nullable(c.Construct):
    """A struct that may be null: a marker, then the struct.

    The marker is an int8 (-1 null, 1 present); of a tagged field a varint (0 null, 1 present).
    """

    def __init__(self, struct: c.Construct, *, tagged: bool) -> None:
        super().__init__()
        self.struct, self.tagged = struct, tagged

    def _parse(self, stream: Any, context: Any, path: str) -> Any:
        if self.tagged:
            present = VARINT._parse(stream, context, path) > 0
        else:
            present = INT8._parse(stream, context, path) >= 0
        return self.struct._parse(stream, context, path) if present else None

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        if self.tagged:
            VARINT._build(0 if obj is None else 1, stream, context, path)
        else:
            INT8._build(-1 if obj is None else 1, stream, context, path)
        if obj is not None:
            self.struct._build(obj, stream, context, path)
        return obj
