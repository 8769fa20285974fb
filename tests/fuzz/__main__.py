"""Fuzzes the decoders for as long as it is left to: ``python -m tests.fuzz [CORPUS] [-runs=N]``.

The arguments are libFuzzer's. Coverage of the generated decoders counts too: each is instrumented
when it is first used.
"""

from __future__ import annotations

import functools
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any

atheris: Any = import_module("atheris")  # it has no types

with atheris.instrument_imports(include=["protocol"]):
    from protocol.wire.fast import Codec, codec
    from tests.fuzz.decoding import TARGETS, check_body


@functools.cache
def instrumented(cls: type[Any], version: int) -> Codec:
    found = codec(cls, version)
    with suppress(ValueError):
        found.decode(b"")  # compiles it
    compiled = found._decode  # pyright: ignore[reportPrivateUsage] - nobody else needs it
    found._decode = atheris.instrument_func(compiled)  # pyright: ignore[reportPrivateUsage]
    return found


def check(data: bytes) -> None:
    if len(data) >= 2:
        cls, version = TARGETS[int.from_bytes(data[:2], "big") % len(TARGETS)]
        check_body(instrumented(cls, version), cls, version, data[2:])


if __name__ == "__main__":
    atheris.Setup(sys.argv, check)
    atheris.Fuzz()
