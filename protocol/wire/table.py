"""The field table: one dataclass per struct, one line per field, one version range per line.

``field(STRING, "1+", nullable="1+")`` is one row. ``construct_for(cls, version)`` reads the rows
and returns the construct object of that version; ``fast.codec`` compiles functions from it.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar, dataclass_transform

import construct as c  # pyright: ignore[reportMissingTypeStubs] - it has none

from protocol.ports import Buffer
from protocol.wire import types as t
from protocol.wire.late_dataclass import late_dataclass
from protocol.wire.record import AbsentField, Record, TaggedField

T = TypeVar("T")
_VERSION_MAX = 32767

Records: TypeAlias = Buffer | tuple[Buffer, ...]
"""Whole record batches; a tuple is sent as the concatenation of its buffers."""


@dataclass(frozen=True, slots=True)
class Versions:
    """A closed range of versions; empty when ``high < low``."""

    low: int
    high: int

    @classmethod
    def parse(cls, text: str) -> Versions:
        """Read "3+" (no upper bound), "2-4", "7" or "none"."""
        if text == "none":
            return cls(0, -1)
        if text.endswith("+"):
            return cls(int(text[:-1]), _VERSION_MAX)
        low, _, high = text.partition("-")
        return cls(int(low), int(high or low))

    def __contains__(self, version: int) -> bool:
        return self.low <= version <= self.high


@dataclass(frozen=True, slots=True)
class BlobType:
    """``kind`` is "string", "bytes" or "records"."""

    kind: str


@dataclass(frozen=True, slots=True)
class ArrayType:
    """An array of ``element``."""

    element: Any


STRING, BYTES, RECORDS = BlobType("string"), BlobType("bytes"), BlobType("records")
Wire: TypeAlias = "c.Construct | BlobType | ArrayType | type[Any]"


def array(element: Wire) -> ArrayType:
    """Return the wire type of an array."""
    return ArrayType(element)


@dataclass(frozen=True, slots=True)
class Row:
    """What one field of a struct is on the wire."""

    wire: Wire
    versions: Versions
    nullable: Versions
    tag: int | None
    tagged: Versions
    flexible: Versions | None
    ignorable: bool


def field(  # noqa: PLR0913 - the attributes of Kafka's schema language
    wire: Wire,
    versions: str = "0+",
    *,
    default: Any = dataclasses.MISSING,
    nullable: str = "none",
    tag: int | None = None,
    tagged: str | None = None,
    flexible: str | None = None,
    ignorable: bool = False,
) -> Any:
    """Declare one row. Without ``default`` the field takes the zero value of its wire type.

    ``tagged`` are the versions in which the field is a tagged one (all of its own, unless given);
    ``flexible`` overrides the message's flexible versions for this one field.
    """
    row = Row(
        wire,
        Versions.parse(versions),
        Versions.parse(nullable),
        tag,
        Versions.parse(tagged or versions if tag is not None else "none"),
        None if flexible is None else Versions.parse(flexible),
        ignorable,
    )
    metadata = {"row": row}
    if default is not dataclasses.MISSING:
        return dataclasses.field(default=default, metadata=metadata)
    if isinstance(wire, type):
        return dataclasses.field(default_factory=wire, metadata=metadata)
    return dataclasses.field(default=_zero(wire), metadata=metadata)


def _zero(wire: Wire) -> Any:
    if isinstance(wire, BlobType):
        return "" if wire.kind == "string" else b""
    if isinstance(wire, ArrayType):
        return ()
    if wire is t.UUID:
        return bytes(16)
    return False if wire is t.BOOL else 0


@dataclass_transform(kw_only_default=True)
def struct(cls: type[T]) -> type[T]:
    """Turn a table of rows into a slotted dataclass.

    Each has one field more, ``unknown_tags``: (tag, bytes) of tagged fields that the table lacks.
    """
    cls.__annotations__["unknown_tags"] = "tuple[tuple[int, Buffer], ...]"
    setattr(cls, "unknown_tags", dataclasses.field(default=(), repr=False))  # noqa: B010
    return late_dataclass(cls)


@dataclass(frozen=True, slots=True)
class Meta:
    """What a message is: its API key (None for a record or header), kind and version ranges."""

    api_key: int | None
    kind: str
    versions: Versions
    flexible: Versions


META: dict[type, Meta] = {}


@dataclass_transform(kw_only_default=True)
def message(
    api_key: int | None, kind: str, *, versions: str, flexible: str = "none"
) -> Callable[[type[T]], type[T]]:
    """Register a request, a response, a header or a stored record of the Kafka protocol."""

    def decorate(cls: type[T]) -> type[T]:
        made = struct(cls)
        META[made] = Meta(api_key, kind, Versions.parse(versions), Versions.parse(flexible))
        return made

    return decorate


@functools.cache
def construct_for(cls: type, version: int) -> Record:
    """Return the construct object of message ``cls`` at ``version``.

    Raises:
        KeyError: The message has no such version.
    """
    meta = META[cls]
    if version not in meta.versions:
        low, high = meta.versions.low, meta.versions.high
        raise KeyError(f"{cls.__name__} has versions {low} to {high}, not {version}")
    return _record(cls, version, flexible=version in meta.flexible)


def rows_of(cls: type) -> list[tuple[str, Row, Any]]:
    """Return (name, row, default) of each field of a struct, in wire order."""
    found: list[tuple[str, Row, Any]] = []
    for item in dataclasses.fields(cls):
        if "row" not in item.metadata:
            continue
        factory = item.default_factory
        default = item.default if factory is dataclasses.MISSING else factory()
        found.append((item.name, item.metadata["row"], default))
    return found


@functools.cache
def arrays_of(cls: type) -> tuple[str, ...]:
    """Return the names of a struct's fields that hold arrays; none for any other class."""
    if not dataclasses.is_dataclass(cls):
        return ()
    return tuple(name for name, row, _ in rows_of(cls) if isinstance(row.wire, ArrayType))


@functools.cache
def struct_arrays_of(cls: type) -> tuple[tuple[str, type[Any]], ...]:
    """Return those that hold arrays of structs, each with the class of its elements."""
    return tuple(
        (name, row.wire.element)
        for name, row, _ in rows_of(cls)
        if isinstance(row.wire, ArrayType) and isinstance(row.wire.element, type)
    )


def _record(cls: type, version: int, *, flexible: bool) -> Record:
    fields: list[tuple[str, c.Construct]] = []
    tagged: list[TaggedField] = []
    absent: list[AbsentField] = []
    for name, row, default in rows_of(cls):
        if version not in row.versions:
            if not row.ignorable:
                absent.append(AbsentField(name, default))
            continue
        is_tagged = flexible and version in row.tagged
        con = _field(row, version, flexible=flexible, tagged=is_tagged)
        if is_tagged:
            assert row.tag is not None
            tagged.append(TaggedField(row.tag, name, con, default))
        else:
            fields.append((name, con))
    tagged.sort(key=lambda item: item.tag)
    return Record(cls, version, fields, tagged, absent, flexible=flexible)


def _field(row: Row, version: int, *, flexible: bool, tagged: bool) -> c.Construct:
    compact = flexible and (row.flexible is None or version in row.flexible)
    nullable = version in row.nullable
    con = _construct(row.wire, version, flexible=compact, nullable=nullable)
    if nullable and isinstance(row.wire, type):
        return t.Nullable(con, tagged=tagged)
    return con


def _construct(wire: Wire, version: int, *, flexible: bool, nullable: bool) -> c.Construct:
    match wire:
        case BlobType(kind):
            fixed = t.INT16 if kind == "string" else t.INT32
            return t.Blob(t.Length(compact=flexible, fixed=fixed), nullable=nullable, kind=kind)
        case ArrayType(element):
            inner = _construct(element, version, flexible=flexible, nullable=False)
            length = t.Length(compact=flexible, fixed=t.INT32)
            return t.Array(length, nullable=nullable, element=inner)
        case c.Construct():
            return wire
        case _:
            return _record(wire, version, flexible=flexible)
