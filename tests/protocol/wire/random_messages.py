"""Messages with random contents for any class at any version, sizes at their corners among them."""

# construct has no type annotations.
# pyright: basic

from __future__ import annotations

import random
from typing import Any

import construct as c

from protocol.wire import types as t
from protocol.wire.table import META, ArrayType, BlobType, Row, Wire, rows_of

_INTEGERS = {
    code: (-(1 << bits - 1), (1 << bits - 1) - 1)
    for code, bits in (("b", 8), ("h", 16), ("l", 32), ("q", 64))
} | {"H": (0, 65535), "L": (0, 2**32 - 1)}
_COUNTS = (0, 1, 1, 2, 3)
_INTEGER_COUNTS = (0, 1, 3, 7, 8, 9, 70, 130)
_TEXTS = ("", "a", "topic-7", "größe", "\u0000\U0001f4be", "x" * 126, "y" * 127, "z" * 300)
_UNKNOWN_TAGS = ((), (), (), ((90, b""),), ((77, b"seven"), (200, b"x" * 130)))


def random_message(cls: type[Any], version: int, chance: random.Random) -> Any:
    """Return a message whose fields of ``version`` are random and whose others are defaults."""
    return _struct(cls, version, chance, flexible=version in META[cls].flexible)


def _struct(cls: type[Any], version: int, chance: random.Random, *, flexible: bool) -> Any:
    values: dict[str, Any] = {}
    for name, row, _ in rows_of(cls):
        tagged = flexible and version in row.tagged
        if version in row.versions and not (tagged and chance.random() < 0.5):
            values[name] = _field(row, version, chance, flexible=flexible)
    if flexible:
        values["unknown_tags"] = chance.choice(_UNKNOWN_TAGS)
    return cls(**values)


def _field(row: Row, version: int, chance: random.Random, *, flexible: bool) -> Any:
    if version in row.nullable and chance.random() < 0.2:
        return None
    return _value(row.wire, version, chance, flexible=flexible)


def _value(wire: Wire, version: int, chance: random.Random, *, flexible: bool) -> Any:
    match wire:
        case BlobType("string"):
            return chance.choice(_TEXTS)
        case BlobType():
            return chance.randbytes(chance.choice((0, 1, 126, 127, 128, 5000)))
        case ArrayType(element):
            counts = _INTEGER_COUNTS if isinstance(element, c.FormatField) else _COUNTS
            if chance.random() < 0.1:
                counts = (5,)  # enough structs to be read together
            count = chance.choice(counts)
            return [_value(element, version, chance, flexible=flexible) for _ in range(count)] or ()
        case c.FormatField():
            return _fixed(wire, chance)
        case type():
            return _struct(wire, version, chance, flexible=flexible)
        case _:
            raise TypeError(f"no random value for {wire!r}")


def _fixed(wire: c.FormatField, chance: random.Random) -> Any:
    if wire is t.UUID:
        return chance.randbytes(16)
    code = wire.fmtstr[1:]
    if code == "?":
        return chance.random() < 0.5
    if code == "d":
        return chance.uniform(-1e6, 1e6)
    low, high = _INTEGERS[code]
    return chance.choice((low, high, 0, 1, chance.randint(low, high)))
