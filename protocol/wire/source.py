"""What generated source is made of: names bound once, lines with an indent.

``decode_source`` and ``encode_source`` write functions with it; ``fast`` compiles them.
"""
# construct has no type annotations.
# pyright: basic

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import construct as c

from protocol.wire import types as t


class Source:
    """The text of one function and the objects that its names stand for."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.names = dict(names)
        self._lines: list[str] = []
        self._depth = 1
        self._bound: dict[Any, str] = {}
        self._count = 0

    def add(self, *lines: str) -> None:
        """Append lines at the present depth."""
        self._lines += ["    " * self._depth + line for line in lines]

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Append ``head`` and indent what follows."""
        self.add(head)
        self._depth += 1
        yield
        self._depth -= 1

    def fresh(self, stem: str) -> str:
        """Return a variable name that nothing else uses."""
        self._count += 1
        return f"{stem}{self._count}"

    def bind(self, stem: str, value: Any) -> str:
        """Return the name that stands for ``value``."""
        name = self.fresh("_" + stem)
        self.names[name] = value
        return name

    def unpacker(self, codes: str) -> tuple[str, int]:
        """Return the name of ``unpack_from`` of big-endian ``codes``, and the size in bytes."""
        packer = struct.Struct(">" + codes)
        key = ("unpack", codes)
        if key not in self._bound:
            self._bound[key] = self.bind("u", packer.unpack_from)
        return self._bound[key], packer.size

    def packer(self, codes: str) -> str:
        """Return the name of ``pack`` of big-endian ``codes``."""
        key = ("pack", codes)
        if key not in self._bound:
            self._bound[key] = self.bind("p", struct.Struct(">" + codes).pack)
        return self._bound[key]

    def compile(self, head: str) -> Any:
        """Compile the lines under ``head``, ``def name(...):``, and return the function."""
        text = "\n".join([head, *self._lines, ""])
        name = head.removeprefix("def ").partition("(")[0]
        exec(compile(text, f"<{name}>", "exec"), self.names)
        return self.names[name]


def code_of(con: c.Construct) -> str | None:
    """Return the struct code of a fixed-size type, None for any other."""
    return con.fmtstr[1:] if isinstance(con, c.FormatField) else None


def plain_length_code(con: c.Construct) -> str | None:
    """Return the struct code of the length of a string or array that is not compact."""
    if isinstance(con, t.Blob | t.Array) and not con.length.compact:
        return code_of(con.length.fixed)
    return None
