"""The lowest and the highest request of an API at a version, made from its field table alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from protocol.apis import BY_NAME
from protocol.json_form import json_name
from protocol.wire import types as t
from protocol.wire.table import ArrayType, BlobType, Row, rows_of

_BITS: Final = {t.INT8: 8, t.INT16: 16, t.INT32: 32, t.INT64: 64}
_ZERO_ID: Final = "AAAAAAAAAAAAAAAAAAAAAA"
_LAST_ID: Final = "_____________________w"
"""All bits of it are set."""


@dataclass(frozen=True, slots=True)
class Extreme:
    """How a request is filled: every number at one end of its range, every array with one entry."""

    is_high: bool
    name: str
    """Every string, except those that may be null in the lowest request: those are."""
    fixed: Mapping[str, Any]
    """Fields by their JSON names that are not to be at an end, wherever they are."""

    def request(self, api: str, version: int) -> dict[str, Any]:
        """Return the request in Kafka's JSON form."""
        return self._struct(BY_NAME[api].request, version)

    def _struct(self, cls: type[Any], version: int) -> dict[str, Any]:
        return {
            json_name(name): self.fixed.get(json_name(name), self._value(row, version))
            for name, row, _ in rows_of(cls)
            if version in row.versions
        }

    def _value(self, row: Row, version: int) -> Any:
        if version in row.nullable and not self.is_high:
            return None
        return self._of(row.wire, version)

    def _of(self, wire: Any, version: int) -> Any:
        if isinstance(wire, ArrayType):
            return [self._of(wire.element, version)]
        if isinstance(wire, BlobType):
            return self.name if wire.kind == "string" else ""
        if isinstance(wire, type):
            return self._struct(wire, version)
        if wire in _BITS:
            half = 1 << (_BITS[wire] - 1)
            return half - 1 if self.is_high else -half
        return self._other(wire)

    def _other(self, wire: Any) -> Any:
        if wire is t.UUID:
            return _LAST_ID if self.is_high else _ZERO_ID
        if wire is t.FLOAT64:
            return 1.7e308 if self.is_high else -1.7e308
        if wire is t.BOOL:
            return self.is_high
        return (1 << 16) - 1 if self.is_high else 0
