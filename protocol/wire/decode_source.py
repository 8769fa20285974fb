"""Writes the decoder of a construct object as one Python function, structs and loops inlined.

Bounds need no check per field: a slice past the end is short, the position runs past the end, and
the next read or ``fast``'s check of the final position refuses the message.
"""
# construct has no type annotations.
# pyright: basic

from __future__ import annotations

import dataclasses
from typing import Any

import construct as c

from protocol.wire import types as t
from protocol.wire.record import Record
from protocol.wire.source import Source, code_of, plain_length_code
from protocol.wire.varint import integers_reader, read_varint, refuse_null


def decoder_for(con: c.Construct) -> Any:
    """Return ``decode(buf, pos) -> (value, next position)`` for any construct object of ours."""
    names = {"new": object.__new__, "varint": read_varint, "refuse_null": refuse_null}
    source = Source(names)
    _value(source, con, "value")
    source.add("return value, pos")
    return source.compile("def decode(buf, pos):")


def _value(source: Source, con: c.Construct, target: str) -> None:
    """Write lines that read one value of ``con`` into ``target`` and move ``pos``."""
    code = code_of(con)
    if code is not None:
        unpack, size = source.unpacker(code)
        source.add(f"{target}, = {unpack}(buf, pos)", f"pos += {size}")
        return
    match con:
        case t.Blob() | t.Array():
            count = _length(source, con)
            _sized(source, con, target, count)
        case t.Nullable():
            _nullable(source, con, target)
        case Record():
            _record(source, con, target)
        case _:
            raise TypeError(f"no decoder for {con!r}")


def _length(source: Source, con: t.Blob | t.Array) -> str:
    """Write lines that read a length; return the variable: -1 or less for null."""
    count = source.fresh("n")
    code = plain_length_code(con)
    if code is not None:
        unpack, size = source.unpacker(code)
        source.add(f"{count}, = {unpack}(buf, pos)", f"pos += {size}")
        return count
    source.add(f"{count} = buf[pos] - 1", "pos += 1")
    with source.block(f"if {count} > 126:"):
        source.add(f"{count}, pos = varint(buf, pos - 1)", f"{count} -= 1")
    return count


def _sized(source: Source, con: t.Blob | t.Array, target: str, count: str) -> None:
    """Write lines that read what follows a length."""
    if isinstance(con, t.Array):
        _array(source, con, target, count)
        return
    end = source.fresh("e")
    with source.block(f"if {count} < 0:"):
        source.add(f"{target} = None" if con.nullable else "refuse_null()")
    with source.block("else:"):
        source.add(f"{end} = pos + {count}")
        cut = f"buf[pos:{end}]"
        source.add(
            f"{target} = str({cut}, 'utf-8')" if con.kind == "string" else f"{target} = {cut}"
        )
        source.add(f"pos = {end}")


def _array(source: Source, con: t.Array, target: str, count: str) -> None:
    if not con.nullable:
        source.add(f"if {count} < 0: refuse_null()")
    code = code_of(con.element)
    if code is not None and len(code) == 1:
        read = source.bind("ints", integers_reader(code))
        source.add(f"{target}, pos = {read}(buf, pos, {count})")
    else:
        items, item = source.fresh("a"), source.fresh("v")
        source.add(f"{items} = []")
        with source.block(f"for _ in range({count}):"):
            _value(source, con.element, item)
            source.add(f"{items}.append({item})")
        source.add(f"{target} = {items}")
    if con.nullable:
        source.add(f"if {count} < 0: {target} = None")


def _nullable(source: Source, con: t.Nullable, target: str) -> None:
    present = source.fresh("m")
    source.add(f"{present} = buf[pos]", "pos += 1")
    # The marker of a plain field is an int8, negative for null; of a tagged one a varint, 0.
    with source.block(f"if {present} == 0:" if con.tagged else f"if {present} > 127:"):
        source.add(f"{target} = None")
    with source.block("else:"):
        _value(source, con.struct, target)


def _record(source: Source, con: Record, target: str) -> None:
    cls, obj = source.bind("cls", con.cls), source.fresh("o")
    source.add(f"{obj} = new({cls})")
    _defaults(source, con, obj)
    run: list[tuple[str, str]] = []
    for name, child in con.fields:
        code = code_of(child)
        if code is not None:
            run.append((f"{obj}.{name}", code))
            continue
        length = plain_length_code(child)
        if length is None or not isinstance(child, t.Blob | t.Array):
            _flush(source, run)
            _value(source, child, f"{obj}.{name}")
            continue
        count = source.fresh("n")
        run.append((count, length))
        _flush(source, run)
        _sized(source, child, f"{obj}.{name}", count)
    _flush(source, run)
    if con.flexible:
        _tagged(source, con, obj)
    source.add(f"{target} = {obj}")


def _flush(source: Source, run: list[tuple[str, str]]) -> None:
    """Write one unpack for a run of fixed-size fields."""
    if run:
        unpack, size = source.unpacker("".join(code for _, code in run))
        source.add(f"{', '.join(name for name, _ in run)}, = {unpack}(buf, pos)", f"pos += {size}")
        run.clear()


def _defaults(source: Source, con: Record, obj: str) -> None:
    """Write what the version's plain fields do not fill: tagged and absent fields, unknown tags."""
    present = {name for name, _ in con.fields}
    for item in dataclasses.fields(con.cls):
        if item.name in present:
            continue
        if item.default_factory is not dataclasses.MISSING:
            made = source.bind("made", item.default_factory)
            source.add(f"{obj}.{item.name} = {made}()")
        else:
            source.add(f"{obj}.{item.name} = {source.bind('default', item.default)}")


def _tagged(source: Source, con: Record, obj: str) -> None:
    table = {field.tag: (field.name, decoder_for(field.construct)) for field in con.tagged}

    def read_tagged(buf: memoryview, pos: int, made: Any) -> int:
        count, pos = read_varint(buf, pos)
        unknown: list[tuple[int, memoryview]] = []
        for _ in range(count):
            tag, pos = read_varint(buf, pos)
            size, pos = read_varint(buf, pos)
            if tag in table:
                name, decode = table[tag]
                value, _ = decode(buf[pos : pos + size], 0)
                setattr(made, name, value)
            else:
                unknown.append((tag, buf[pos : pos + size]))
            pos += size
        made.unknown_tags = tuple(unknown)
        return pos

    read = source.bind("tags", read_tagged)
    with source.block("if buf[pos]:"):
        source.add(f"pos = {read}(buf, pos, {obj})")
    with source.block("else:"):
        source.add("pos += 1")
