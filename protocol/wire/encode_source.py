"""Writes the encoder of a construct object as one Python function, structs and loops inlined."""
# construct has no type annotations.
# pyright: basic

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any

import construct as c

from protocol.ports import Buffer
from protocol.wire import types as t
from protocol.wire.output import Output, put_bytes, put_records, put_tagged, size_of
from protocol.wire.record import EMPTY, Record, TaggedField, check_absent
from protocol.wire.source import Source, code_of, plain_length_code
from protocol.wire.steps import STEP_ITEMS, integers_out_in_steps, make_step
from protocol.wire.varint import integers_writer, write_varint

_NAMES = {
    "varint": write_varint,
    "put_bytes": put_bytes,
    "put_records": put_records,
    "size_of": size_of,
}


def encoder_for(con: c.Construct) -> Any:
    """Return ``encode(out, value)`` for any construct object of ours; ``out`` is an ``Output``."""
    source = Source(_NAMES)
    _value(source, con, "value")
    source.add("return out")
    return source.compile("def encode(out, value):")


def step_encoder_for(con: c.Construct) -> Any:
    """Return the same as a generator function; it yields after every ``STEP_ITEMS`` items.

    Tagged sections are written in one step: none holds an array that grows with what is asked.
    """
    source = _StepSource(_NAMES)
    source.add(f"due = {STEP_ITEMS}")
    _value(source, con, "value")
    source.add("return out", "yield")  # The last makes it a generator in any case.
    return source.compile("def encode(out, value):")


class _StepSource(Source):
    """The source of a generator."""


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
    in_steps = isinstance(source, _StepSource)
    if code is not None and len(code) == 1:
        if in_steps:
            write = partial(integers_out_in_steps, integers_writer(code))
            source.add(f"yield from {source.bind('ints', write)}(out, {items})")
        else:
            source.add(f"{source.bind('ints', integers_writer(code))}(out, {items})")
        return
    item = source.fresh("v")
    with source.block(f"for {item} in {items}:"):
        if in_steps:
            make_step(source)
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
    if con.flexible:
        _tagged(source, con.tagged, obj, run)
    else:
        _pack(source, run)


def _check_absent(source: Source, con: Record, obj: str) -> None:
    """Write the test for values in fields that the version lacks."""
    tests = [_differs(source, f"{obj}.{name}", default) for name, default in con.absent]
    check = source.bind("absent", partial(check_absent, con.cls, con.absent))
    with source.block(f"if {' or '.join(tests)}:"):
        source.add(f"{check}({obj}, {con.version})")


def _differs(source: Source, value: str, default: Any) -> str:
    """Return the expression of ``record.differs``; that of a struct asks for its fields."""
    if default is None:
        return f"{value} is not None"
    if default in EMPTY:
        return f"({value} is None or len({value}) > 0)"
    if isinstance(default, bool | int | float | str):
        return f"{value} != {default!r}"
    if dataclasses.is_dataclass(default):
        names = [item.name for item in dataclasses.fields(default)]
        tests = [_differs(source, f"{value}.{name}", getattr(default, name)) for name in names]
        return f"({' or '.join(tests)})"
    return f"{value} != {source.bind('default', default)}"


def _is_set(source: Source, field: TaggedField, value: str) -> str:
    """Return the expression of ``TaggedField.is_set``; null may stand for a struct, too."""
    test = _differs(source, value, field.default)
    may_be_null = isinstance(field.construct, t.Nullable) and field.default is not None
    return f"({value} is None or {test})" if may_be_null else test


def _tagged(
    source: Source, tagged: list[TaggedField], obj: str, run: list[tuple[str, str]]
) -> None:
    """Write the run of fixed-size fields so far and the tagged section, mostly a zero."""
    tests = [_is_set(source, field, f"{obj}.{field.name}") for field in tagged]
    with source.block(f"if {' or '.join([*tests, f'{obj}.unknown_tags'])}:"):
        _pack(source, run)
        source.add(f"{source.bind('tags', _tagged_writer(tagged))}(out, {obj})")
    with source.block("else:"):
        if run:
            _pack(source, [*run, ("0", "B")])
        else:
            source.add("out.append(0)")


def _tagged_writer(tagged: list[TaggedField]) -> Any:
    """Return ``write(out, obj)`` of a tagged section; it makes the encoders that it needs."""
    encoders: dict[int, Any] = {}

    def write_tagged(out: Output, obj: Any) -> None:
        known: list[tuple[int, Buffer]] = []
        for field in tagged:
            value = getattr(obj, field.name)
            if field.is_set(value):
                if field.tag not in encoders:
                    encoders[field.tag] = encoder_for(field.construct)
                known.append((field.tag, encoders[field.tag](Output(), value)))
        put_tagged(out, known, obj.unknown_tags)

    return write_tagged
