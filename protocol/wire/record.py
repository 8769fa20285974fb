"""The construct object of one struct at one version: fields in order, then tagged fields."""
# construct has no type annotations.
# pyright: basic

from __future__ import annotations

from typing import Any, NamedTuple

import construct as c

from protocol.wire.types import VARINT

EMPTY = ((), b"")
"""The defaults of arrays and of bytes and records."""


class TaggedField(NamedTuple):
    """One tagged field that the version knows."""

    tag: int
    name: str
    construct: c.Construct
    default: Any

    def is_set(self, value: Any) -> bool:
        """Tell whether the value goes on the wire."""
        return differs(value, self.default)


class AbsentField(NamedTuple):
    """A field that the version lacks and that must not be dropped silently."""

    name: str
    default: Any


class UnsupportedFieldError(ValueError):
    """A field is set that the version does not have. Kafka's UnsupportedVersionException."""


def differs(value: Any, default: Any) -> bool:
    """Tell whether a value is not its default; an array or buffer without content is the empty one.

    Source: MessageDataGenerator's conditions for tagged and for absent fields.
    """
    if default is None:
        return value is not None
    if default in EMPTY:
        return value is None or len(value) > 0
    return value != default


def check_absent(cls: type, absent: list[AbsentField], obj: Any, version: int) -> None:
    """Refuse an object that has a value in a field that ``version`` lacks.

    Raises:
        UnsupportedFieldError: It names the field, its value and the version.
    """
    for name, default in absent:
        value = getattr(obj, name)
        if differs(value, default):
            raise UnsupportedFieldError(
                f"{cls.__name__}.{name} is {value!r}, but version {version} has no such field"
            )


class Record(c.Construct):
    """The fields of one struct at one version, parsed into its dataclass."""

    def __init__(
        self,
        cls: type,
        version: int,
        fields: list[tuple[str, c.Construct]],
        tagged: list[TaggedField],
        absent: list[AbsentField],
        *,
        flexible: bool,
    ) -> None:
        super().__init__()
        self.cls, self.version, self.fields = cls, version, fields
        self.tagged, self.absent, self.flexible = tagged, absent, flexible

    def _parse(self, stream: Any, context: Any, path: str) -> Any:
        values = {n: con._parse(stream, context, f"{path} -> {n}") for n, con in self.fields}
        unknown: list[tuple[int, bytes]] = []
        if self.flexible:
            known = {field.tag: field for field in self.tagged}
            for _ in range(VARINT._parse(stream, context, path)):
                tag = VARINT._parse(stream, context, path)
                data = c.stream_read(stream, VARINT._parse(stream, context, path), path)
                if tag in known:
                    field = known[tag]
                    values[field.name] = field.construct.parse(data)
                else:
                    unknown.append((tag, data))
        made = self.cls(**values)
        made.unknown_tags = tuple(unknown)
        return made

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        check_absent(self.cls, self.absent, obj, self.version)
        for name, con in self.fields:
            con._build(getattr(obj, name), stream, context, f"{path} -> {name}")
        if self.flexible:
            self._build_tagged(obj, stream, context, path)
        return obj

    def _build_tagged(self, obj: Any, stream: Any, context: Any, path: str) -> None:
        present = [
            (field.tag, field.construct.build(getattr(obj, field.name)))
            for field in self.tagged
            if field.is_set(getattr(obj, field.name))
        ]
        present = sorted([*present, *obj.unknown_tags], key=lambda pair: pair[0])
        VARINT._build(len(present), stream, context, path)
        for tag, data in present:
            VARINT._build(tag, stream, context, path)
            VARINT._build(len(data), stream, context, path)
            c.stream_write(stream, bytes(data), len(data), path)
