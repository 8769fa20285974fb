"""Writes readers of structs in a row that are alike: the arrays of integers in them equally long.

Then all have the same layout, and one iteration of ``struct`` takes them apart. Healthy partitions
are such: as many replicas each, all of them in the Isr. What is not alike is left to the caller.
"""
# construct has no type annotations.
# pyright: basic

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Callable
from itertools import repeat
from operator import length_hint
from typing import Any, NamedTuple

import construct as c

from protocol.wire import types as t
from protocol.wire.record import Record
from protocol.wire.source import Source, code_of
from protocol.wire.varint import FEW_LENGTH_MAX

ALIKE_MIN = 6
"""From this many structs on, it pays to look whether they are alike."""
_SHAPES_MAX = 16
"""Of each array, for so many shapes readers are compiled; nobody can make us compile more."""
_NAMES = {"new": object.__new__, "repeat": repeat, "length_hint": length_hint}

Shape = tuple[int, ...]
"""The lengths of a struct's arrays as they are on the wire."""


class _Array(NamedTuple):
    """Where an array of integers is in a struct: so many bytes behind the one before it."""

    skipped_bytes: int
    length: Callable[[Any, int], tuple[int]]
    length_bytes: int
    item_bytes: int
    added: int


def may_be_alike(con: c.Construct) -> bool:
    """Tell whether ``con`` is a struct of nothing but fixed fields and arrays of them."""
    if not isinstance(con, Record) or not con.fields:
        return False
    return all(code_of(_unit(child)) is not None for _, child in con.fields)


def alike_reader(con: Record) -> Callable[[Any, int, int], tuple[list[Any], int]]:
    """Return ``read(buf, pos, count) -> (items, next position)`` of the first structs, as alike.

    It reads fewer than ``count`` when one has another shape, tagged fields, a null or long array,
    or is cut off. ``con`` is one that may be alike.
    """
    arrays = _arrays(con)
    if not arrays:
        return _reader_of(con, ())
    readers: dict[Shape, Any] = {}

    def read(buf: Any, pos: int, count: int) -> tuple[list[Any], int]:
        shape = _shape_at(arrays, buf, pos)
        if shape not in readers:
            if shape is None or len(readers) == _SHAPES_MAX:
                return [], pos
            readers[shape] = _reader_of(con, shape)
        return readers[shape](buf, pos, count)

    return read


def add_defaults(source: Source, con: Record, obj: str) -> None:
    """Write the fields that the version's plain fields do not fill: tagged, absent, unknown.

    A struct among them is one object, shared by all messages: making it is half of the cost of a
    partition in Fetch.
    """
    present = {name for name, _ in con.fields}
    for item in dataclasses.fields(con.cls):
        if item.name not in present:
            made = item.default_factory
            default = item.default if made is dataclasses.MISSING else made()
            plain = default is None or default == () or isinstance(default, bool | int | str)
            value = repr(default) if plain else source.bind("default", default)
            source.add(f"{obj}.{item.name} = {value}")


def _unit(con: c.Construct) -> c.Construct:
    return con.element if isinstance(con, t.Array) else con


def _length_code(con: t.Array) -> str:
    return "B" if con.length.compact else code_of(con.length.fixed) or ""


def _arrays(con: Record) -> list[_Array]:
    arrays: list[_Array] = []
    skipped = 0
    for _, child in con.fields:
        if not isinstance(child, t.Array):
            skipped += child.sizeof()
            continue
        length = struct.Struct(">" + _length_code(child))
        size = child.element.sizeof()
        added = int(child.length.compact)
        arrays.append(_Array(skipped, length.unpack_from, length.size, size, added))
        skipped = 0
    return arrays


def _shape_at(arrays: list[_Array], buf: Any, pos: int) -> Shape | None:
    """Return the shape of the struct at ``pos``, None when an array in it is null or long."""
    shape: list[int] = []
    for array in arrays:
        pos += array.skipped_bytes
        (length,) = array.length(buf, pos)
        if not array.added <= length <= FEW_LENGTH_MAX:
            return None
        shape.append(length)
        pos += array.length_bytes + array.item_bytes * (length - array.added)
    return tuple(shape)


def _reader_of(con: Record, shape: Shape) -> Any:
    """Return ``read(buf, pos, count)`` of structs of one shape; at the first other one it stops."""
    source = Source(_NAMES)
    targets, codes, odd, lists = _layout(con, shape)
    layout = struct.Struct(">" + codes)
    cls, unpack = source.bind("cls", con.cls), source.bind("i", layout.iter_unpack)
    source.add(f"end = pos + {layout.size} * count")
    with source.block("if end > len(buf):"):
        source.add(f"count = (len(buf) - pos) // {layout.size}")
        source.add(f"end = pos + {layout.size} * count")
    source.add(f"items = [*map(new, repeat({cls}, count))]", f"rows = {unpack}(buf[pos:end])")
    with source.block(f"for o, ({', '.join(targets)},) in zip(items, rows):"):
        source.add(*lists)
        add_defaults(source, con, "o")
        if odd:
            source.add(f"if {' or '.join(odd)}: break")
    with source.block("else:"):
        source.add("return items, end")
    source.add(
        "del items[~length_hint(rows):]  # the struct that is odd and all behind it",
        f"return items, pos + {layout.size} * len(items)",
    )
    return source.compile("def read(buf, pos, count):")


def _layout(con: Record, shape: Shape) -> tuple[list[str], str, list[str], list[str]]:
    """Return targets, their codes, what tells another shape, and the lines that make the arrays."""
    targets: list[str] = []
    codes = ""
    odd: list[str] = []
    lists: list[str] = []
    lengths = iter(shape)
    for name, child in con.fields:
        if not isinstance(child, t.Array):
            targets.append(f"o.{name}")
            codes += code_of(child) or ""
            continue
        length = next(lengths)
        count = length - child.length.compact
        items = [f"{name}_{index}" for index in range(count)]
        targets += [f"{name}_length", *items]
        codes += _length_code(child) + (code_of(child.element) or "") * count
        odd.append(f"{name}_length != {length}")
        lists.append(f"o.{name} = [{', '.join(items)}]" if items else f"o.{name} = ()")
    if con.flexible:
        targets.append("tags")
        codes += "B"
        odd.append("tags")
    return targets, codes, odd, lists
