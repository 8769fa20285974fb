"""Writes the encoder of a construct object as one Python function, structs and loops inlined."""
# construct has no type annotations.
# pyright: basic

from __future__ import annotations

from typing import Any

import construct as c

from protocol.wire import types as t
from protocol.wire.output import Output, put_bytes, put_records, put_tagged, size_of
from protocol.wire.record import AbsentField, Record, TaggedField, check_absent
from protocol.wire.source import Source, code_of, plain_length_code
from protocol.wire.varint import integers_writer, write_varint

_NAMES = {
    "varint": write_varint,
    "put_bytes": put_bytes,
    "put_records": put_records,
    "put_tagged": put_tagged,
    "size_of": size_of,
}


def encoder_for(con: c.Construct) -> Any:
    """Return ``encode(out, value)`` for any construct object of ours; ``out`` is an ``Output``."""
    source = Source(_NAMES)
    _value(source, con, "value")
    source.add("return out")
    return source.compile("def encode(out, value):")


def _value(source: Source, con: c.Construct, value: str) -> None:
    """Write lines that append ``value`` to ``out``."""
    code = code_of(con)
    if code is not None:
        source.add(f"out += {source.packer(code)}({value})")
        return
    match con:
        case t.Blob() | t.Array():
            _sized(source, con, value, [])
        case t.Nullable():
            _nullable(source, con, value)
        case Record():
            _record(source, con, value)
        case _:
            raise TypeError(f"no encoder for {con!r}")


def _sized(source: Source, con: t.Blob | t.Array, value: str, run: list[tuple[str, str]]) -> None:
    """Write the run of fixed-size fields so far, a length and the content behind it."""
    item = source.fresh("v")
    source.add(f"{item} = {value}")
    if not con.nullable:
        _present(source, con, item, run)
        return
    with source.block(f"if {item} is None:"):
        _write_length(source, con, "-1", run)
    with source.block("else:"):
        _present(source, con, item, run)


def _present(source: Source, con: t.Blob | t.Array, item: str, run: list[tuple[str, str]]) -> None:
    if isinstance(con, t.Array):
        _write_length(source, con, f"len({item})", run)
        _items(source, con.element, item)
        return
    if con.kind == "string":
        source.add(f"{item} = {item}.encode()")
        _write_length(source, con, f"len({item})", run)
        source.add(f"out += {item}")
        return
    _write_length(source, con, f"size_of({item})", run)
    source.add(f"put_{con.kind}(out, {item})")


def _write_length(
    source: Source, con: t.Blob | t.Array, length: str, run: list[tuple[str, str]]
) -> None:
    code = plain_length_code(con)
    if code is not None:
        _pack(source, [*run, (length, code)])
        return
    _pack(source, run)
    if length == "-1":
        source.add("out.append(0)")
        return
    size = source.fresh("n")
    source.add(f"{size} = {length} + 1")
    with source.block(f"if {size} < 128:"):
        source.add(f"out.append({size})")
    with source.block("else:"):
        if isinstance(con, t.Blob) and con.kind == "string":
            limit = t.STRING_BYTES_MAX
            with source.block(f"if {size} > {limit + 1}:"):
                source.add(
                    f"raise ValueError(f'a string of {{{size} - 1}} bytes, at most {limit}')"
                )
        source.add(f"varint(out, {size})")


def _items(source: Source, element: c.Construct, items: str) -> None:
    code = code_of(element)
    if code is not None and len(code) == 1:
        source.add(f"{source.bind('ints', integers_writer(code))}(out, {items})")
        return
    item = source.fresh("v")
    with source.block(f"for {item} in {items}:"):
        _value(source, element, item)


def _nullable(source: Source, con: t.Nullable, value: str) -> None:
    item = source.fresh("v")
    source.add(f"{item} = {value}")
    with source.block(f"if {item} is None:"):
        source.add("out.append(0)" if con.tagged else "out.append(255)")
    with source.block("else:"):
        source.add("out.append(1)")
        _value(source, con.struct, item)


def _pack(source: Source, run: list[tuple[str, str]]) -> None:
    """Write one pack for a run of fixed-size fields."""
    if run:
        pack = source.packer("".join(code for _, code in run))
        source.add(f"out += {pack}({', '.join(value for value, _ in run)})")


def _record(source: Source, con: Record, value: str) -> None:
    obj = source.fresh("o")
    source.add(f"{obj} = {value}")
    if con.absent:
        _check_absent(source, con, obj)
    run: list[tuple[str, str]] = []
    for name, child in con.fields:
        code = code_of(child)
        if code is not None:
            run.append((f"{obj}.{name}", code))
        elif isinstance(child, t.Blob | t.Array):
            _sized(source, child, f"{obj}.{name}", run)
            run = []
        else:
            _pack(source, run)
            run = []
            _value(source, child, f"{obj}.{name}")
    _pack(source, run)
    if con.flexible:
        _tagged(source, con.tagged, obj)


def _check_absent(source: Source, con: Record, obj: str) -> None:
    """Write the test for values in fields that the version lacks; empty counts as unset."""
    tests = [_is_set(source, field, obj) for field in con.absent]
    check = source.bind("absent", _absent_checker(con.cls, con.absent, con.version))
    with source.block(f"if {' or '.join(tests)}:"):
        source.add(f"{check}({obj})")


def _is_set(source: Source, field: AbsentField, obj: str) -> str:
    name = f"{obj}.{field.name}"
    if not field.default and not isinstance(field.default, bytes):
        return name
    return f"{name} != {source.bind('default', field.default)}"


def _absent_checker(cls: type, absent: list[AbsentField], version: int) -> Any:
    def check(obj: Any) -> None:
        check_absent(cls, absent, obj, version)

    return check


def _tagged(source: Source, tagged: list[TaggedField], obj: str) -> None:
    if not tagged:
        with source.block(f"if {obj}.unknown_tags:"):
            source.add(f"put_tagged(out, [], {obj}.unknown_tags)")
        source.add("else: out.append(0)")
        return
    present = source.fresh("t")
    source.add(f"{present} = []")
    for field in tagged:
        is_set = source.bind("is_set", field.is_set)
        encode = source.bind("encode", _body_encoder(field.construct))
        with source.block(f"if {is_set}({obj}.{field.name}):"):
            source.add(f"{present}.append(({field.tag}, {encode}({obj}.{field.name})))")
    with source.block(f"if {present} or {obj}.unknown_tags:"):
        source.add(f"put_tagged(out, {present}, {obj}.unknown_tags)")
    source.add("else: out.append(0)")


def _body_encoder(con: c.Construct) -> Any:
    encode = encoder_for(con)

    def encode_body(value: Any) -> bytearray:
        return encode(Output(), value)

    return encode_body
