"""Writes the decoder of a construct object as one Python function, structs and loops inlined.

Neighbours of fixed size, the length of what follows them and the first byte of a tagged section are
read by one unpack. Bounds need no check per field: a slice past the end is short, the position runs
past the end, and the next read or the caller's check of the final position refuses the message.

The same lines also make a generator, which reads large messages in steps.
"""
# construct has no type annotations.
# pyright: basic

from __future__ import annotations

from functools import cache, partial
from itertools import repeat
from typing import Any

import construct as c

from protocol.errors import Malformed
from protocol.wire import types as t
from protocol.wire.alike_source import ALIKE_MIN, add_defaults, alike_reader, may_be_alike
from protocol.wire.record import Record
from protocol.wire.source import Source, code_of
from protocol.wire.steps import STEP_ITEMS, alike_in_steps, integers_in_steps, make_step
from protocol.wire.varint import (
    FEW_LENGTH_MAX,
    few_integers_readers,
    integers_reader,
    read_length,
    read_varint,
    refuse_long,
    refuse_null,
)


def _text_of_view(view: memoryview) -> str:
    return view.tobytes().decode()


_NAMES = {
    "new": object.__new__,
    "text_of_bytes": bytes.decode,
    "text_of_view": _text_of_view,
    "repeat": repeat,
    "varint": read_varint,
    "length": read_length,
    "refuse_long": refuse_long,
    "refuse_null": refuse_null,
}
_FEW_ITEMS = 64
"""Longer arrays are refused at once where they cannot fit, before anything is made of them."""
_BLOB_BUFFERS = (
    "view = memoryview(data)",
    "buf = data if data.__class__ is bytes else bytes(data) if len(data) <= 2048 else view",
    "text = text_of_view if buf is view else text_of_bytes",
)


def step_decoder_for(con: c.Construct) -> Any:
    """Return a generator function ``decode(data, pos, made)`` of what ``decoder_for``'s returns.

    Into the list ``made`` it puts the message before anything of it is read: who stops in the
    middle finds there what was made so far, to let go of it in steps. It yields after every
    ``STEP_ITEMS`` items of arrays, whatever array they are in. Bytes and records are slices of
    ``data``; nothing is copied but text.
    """
    writer = _DecoderWriter(blobs=True, in_steps=True)
    writer.source.add("buf = view = memoryview(data)", "text = text_of_view", f"due = {STEP_ITEMS}")
    if isinstance(con, Record):
        writer.source.add(f"value = {writer.record(con, into='made')}")
    else:
        writer.value(con, "value")
    writer.flush()
    writer.source.add("return value, pos", "yield")  # The last makes it a generator in any case.
    return writer.source.compile("def decode(data, pos, made):")


def decoder_for(con: c.Construct, *, blobs: bool) -> Any:
    """Return ``decode(data, pos) -> (value, next position)`` for any construct object of ours.

    ``blobs`` is what ``has_blobs`` says of the whole message. With blobs, bytes and records are cut
    from a memoryview of ``data``, without copying; all else is cut from bytes where that costs no
    large copy, because they are quicker to take apart.
    """
    writer = _DecoderWriter(blobs=blobs)
    writer.source.add(*(_BLOB_BUFFERS if blobs else ("buf = bytes(data)",)))
    writer.value(con, "value")
    writer.flush()
    writer.source.add("return value, pos")
    return writer.source.compile("def decode(data, pos):")


def has_blobs(con: c.Construct) -> bool:
    """Tell whether there are bytes or records anywhere in ``con``."""
    match con:
        case t.Blob():
            return con.kind != "string"
        case t.Array():
            return has_blobs(con.element)
        case t.Nullable():
            return has_blobs(con.struct)
        case Record():
            children = [child for _, child in con.fields]
            return any(map(has_blobs, children + [field.construct for field in con.tagged]))
        case _:
            return False


def least_bytes(con: c.Construct) -> int:
    """Return the size of the smallest value of ``con``: what is empty or null where it may be."""
    match con:
        case t.Blob() | t.Array():
            return 1 if con.length.compact else con.length.fixed.sizeof()
        case t.Nullable():
            return 1
        case Record():
            return sum(least_bytes(child) for _, child in con.fields) + int(con.flexible)
        case _:
            return con.sizeof()


class _DecoderWriter:
    """Writes lines that read values in order; ``run`` is what the next unpack will read."""

    def __init__(self, *, blobs: bool, in_steps: bool = False) -> None:
        self.source = Source(_NAMES)
        self.blobs = blobs
        self.in_steps = in_steps
        self.run: list[tuple[str, str]] = []

    def flush(self, *, kept_bytes: int = 0) -> None:
        """Write one unpack of the run so far; the position stops short by ``kept_bytes``."""
        match self.run:
            case []:
                return
            case [(target, "B")]:
                self.source.add(f"{target} = buf[pos]")
                step = 1 - kept_bytes
            case run:
                unpack, size = self.source.unpacker("".join(code for _, code in run))
                targets = "".join(f"{target}, " for target, _ in run)
                self.source.add(f"{targets}= {unpack}(buf, pos)")
                step = size - kept_bytes
        self.run.clear()
        if step:
            self.source.add(f"pos += {step}")

    def value(self, con: c.Construct, target: str) -> None:
        """Write lines that read one value of ``con`` into ``target``; a fixed one joins the run."""
        code = code_of(con)
        if code is not None:
            self.run.append((target, code))
            return
        match con:
            case t.Blob():
                self._blob(con, target)
            case t.Array():
                self._array(con, target)
            case t.Nullable():
                self._nullable(con, target)
            case Record():
                self.source.add(f"{target} = {self.record(con)}")
            case _:
                raise TypeError(f"no decoder for {con!r}")

    def _read_length(self, con: t.Blob | t.Array) -> str:
        """Write lines that read a length's fixed integer or first byte; return its variable.

        The position is behind it, but for compact blobs on it: their length is one more than
        their size, so that their end is the position plus the length.
        """
        length = self.source.fresh("n")
        code = "B" if con.length.compact else code_of(con.length.fixed)
        self.run.append((length, code or ""))
        self.flush(kept_bytes=int(con.length.compact and isinstance(con, t.Blob)))
        return length

    def _check_length(self, con: t.Blob | t.Array, length: str) -> None:
        """Write lines that read the rest of a long length and refuse a null that must not be."""
        if con.length.compact:
            long = f"{length} > 127" if con.nullable else f"not 0 < {length} < 128"
            read = f"{length}, pos = {'varint' if con.nullable else 'length'}"
            if isinstance(con, t.Blob):
                self.source.add(f"if {long}: {read}(buf, pos); pos -= 1")
            else:
                self.source.add(f"if {long}: {read}(buf, pos - 1)")
        elif not con.nullable:
            self.source.add(f"if {length} < 0: refuse_null()")

    def _blob(self, con: t.Blob, target: str) -> None:
        length = self._read_length(con)
        self._check_length(con, length)
        if not con.nullable:
            self._content(con, target, length)
            return
        with self.source.block(f"if {_is_null(con, length)}:"):
            self.source.add(f"{target} = None", *["pos += 1"] * con.length.compact)
        with self.source.block("else:"):
            self._content(con, target, length)

    def _content(self, con: t.Blob, target: str, length: str) -> None:
        end = self.source.fresh("e")
        start = "pos + 1" if con.length.compact else "pos"
        self.source.add(f"{end} = pos + {length}")
        if con.kind != "string":
            cut = f"view[{start}:{end}]"
        else:
            cut = f"text(buf[{start}:{end}])" if self.blobs else f"buf[{start}:{end}].decode()"
        self.source.add(f"{target} = {cut}", f"pos = {end}")

    def _array(self, con: t.Array, target: str) -> None:
        length = self._read_length(con)
        code = code_of(con.element)
        if code is not None and len(code) == 1:
            self._integers(con, target, length, code)
            return
        self._check_length(con, length)
        count = f"{length} - 1" if con.length.compact else length
        if not con.nullable:
            self._items(con.element, target, count)
            return
        with self.source.block(f"if {_is_null(con, length)}:"):
            self.source.add(f"{target} = None")
        with self.source.block("else:"):
            self._items(con.element, target, count)

    def _integers(self, con: t.Array, target: str, length: str, code: str) -> None:
        """Write lines that read integers: few by an unpack of their own, none, or by a call."""
        source, size, added = self.source, con.element.sizeof(), int(con.length.compact)
        few = source.bind("few", few_integers_readers(code, added))
        read = source.bind("many", integers_reader(code))
        if self.in_steps:
            steps = source.bind("steps", partial(integers_in_steps, integers_reader(code), size))
            read = f"yield from {steps}"
        with source.block(f"if {added} < {length} <= {FEW_LENGTH_MAX}:"):
            source.add(f"{target} = [*{few}[{length}](buf, pos)]")
            source.add(f"pos += {size} * {length}" + f" - {size}" * added)
        source.add(f"elif {length} == {added}: {target} = ()")
        with source.block("else:"):
            self._check_length(con, length)
            if con.nullable:
                source.add(f"if {_is_null(con, length)}: {target} = None")
            other = "else: " * con.nullable
            source.add(f"{other}{target}, pos = {read}(buf, pos, {length} - {added})")

    def _items(self, element: c.Construct, target: str, count: str) -> None:
        """Write lines that read what is alike together and the rest one by one."""
        source, items, left = self.source, self.source.fresh("a"), count
        few = _FEW_ITEMS + int(count.endswith(" - 1"))
        with source.block(f"if {count.removesuffix(' - 1')} > {few}:"):
            source.add(f"refuse_long({count}, {least_bytes(element)}, len(buf) - pos)")
        source.add(f"{items} = []")
        if self.in_steps:
            source.add(f"{target} = {items}")
        if isinstance(element, Record) and may_be_alike(element):
            left = source.fresh("c")
            read = source.bind("alike", alike_reader(element))
            source.add(f"{left} = {count}")
            with source.block(f"if {left} >= {ALIKE_MIN}:"):
                self._alike(read, items, left)
        with source.block(f"for _ in repeat(None, {left}):"):
            if self.in_steps:
                make_step(source)
            early = items if isinstance(element, Record) and self.in_steps else ""
            if isinstance(element, Record):
                item = self.record(element, into=early)
            else:
                item = source.fresh("v")
                self.value(element, item)
            self.flush()
            if not early:
                source.add(f"{items}.append({item})")
        source.add(f"{target} = {items} or ()")

    def _alike(self, read: str, items: str, left: str) -> None:
        """Write lines that read what is alike of the items that are left."""
        if self.in_steps:
            steps = self.source.bind("steps", alike_in_steps)
            self.source.add(f"pos = yield from {steps}({read}, buf, pos, {left}, {items})")
        else:
            self.source.add(f"{items}, pos = {read}(buf, pos, {left})")
        self.source.add(f"{left} -= len({items})")

    def _nullable(self, con: t.Nullable, target: str) -> None:
        """The marker of null is a negative int8 in a plain field, a varint 0 in a tagged one."""
        marker = self.source.fresh("m")
        self.run.append((marker, "B" if con.tagged else "b"))
        self.flush()
        with self.source.block(f"if {marker} == 0:" if con.tagged else f"if {marker} < 0:"):
            self.source.add(f"{target} = None")
        with self.source.block("else:"):
            self.value(con.struct, target)
            self.flush()

    def record(self, con: Record, into: str = "") -> str:
        """Write lines that read a struct; return the variable that holds it.

        It is appended to the list ``into``, if that is named, before its fields are read.
        """
        obj = self.source.fresh("o")
        self.source.add(f"{obj} = new({self.source.bind('cls', con.cls)})")
        add_defaults(self.source, con, obj)
        if into:
            self.source.add(f"{into}.append({obj})")
        for name, child in con.fields:
            self.value(child, f"{obj}.{name}")
        if con.flexible:
            tags = self.source.fresh("t")
            self.run.append((tags, "B"))
            self.flush()
            whole = "view" if self.blobs else "buf"
            reader = _tagged_reader(con, blobs=self.blobs, in_steps=self.in_steps)
            read = "yield from " * self.in_steps + self.source.bind("tags", reader)
            self.source.add(f"if {tags}: pos = {read}({whole}, pos - 1, {obj})")
        return obj


def _is_null(con: t.Blob | t.Array, length: str) -> str:
    """Return the expression that tells whether a length on the wire stands for null."""
    return f"not {length}" if con.length.compact else f"{length} < 0"


def _tagged_reader(con: Record, *, blobs: bool, in_steps: bool) -> Any:
    """Return ``read(buf, pos, obj)`` of a tagged section; it makes decoders when needed.

    In steps it is a generator function, as the decoders of its fields are.
    """
    fields = {field.tag: field for field in con.tagged}

    @cache
    def decoder(tag: int) -> Any:
        child = fields[tag].construct
        return step_decoder_for(child) if in_steps else decoder_for(child, blobs=blobs)

    return partial(_read_tagged(in_steps=in_steps), fields, decoder)


@cache
def _read_tagged(*, in_steps: bool) -> Any:
    """Return ``read(fields, decoder, buf, pos, obj)``, the same for all structs."""
    source = Source({**_NAMES, "refuse": _refuse_tagged})
    source.add("count, pos = varint(buf, pos)", "unknown = []", f"due = {STEP_ITEMS}")
    with source.block("for _ in repeat(None, count):"):
        if in_steps:
            make_step(source)
        source.add("tag, pos = varint(buf, pos)", "size, pos = varint(buf, pos)")
        source.add("end = pos + size")
        with source.block("if tag in fields:"):
            made = "yield from decoder(tag)(buf[pos:end], 0, [])"
            source.add(f"value, read = {made if in_steps else 'decoder(tag)(buf[pos:end], 0)'}")
            source.add("if read > size or end > len(buf): refuse(read, tag, size)")
            source.add("setattr(obj, fields[tag].name, value)")
        source.add("else: unknown.append((tag, buf[pos:end]))", "pos = end")
    source.add("obj.unknown_tags = tuple(unknown)", "return pos")
    return source.compile("def read_tagged(fields, decoder, buf, pos, obj):")


def _refuse_tagged(read_bytes: int, tag: int, size_bytes: int) -> None:
    raise Malformed(f"{read_bytes} bytes read in tagged field {tag} of {size_bytes}")
