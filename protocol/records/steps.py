"""Long work on records as generators, which yield where others may have a turn.

What a codec does cannot be cut: a generator yields it as ``CodecWork`` and is sent the result, so
that whoever drives it decides where that is done. Nothing here knows of loops or threads.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from protocol.errors import Malformed
from protocol.ports import Buffer
from protocol.records.batch import MAGIC, Compression
from protocol.records.compression import OUTPUT_BYTES_MAX, compress, decompress

T = TypeVar("T")

RECORDS_OF_A_STEP: Final = 256
"""That are written anew: about a millisecond."""
BYTES_OF_A_STEP: Final = 1024 * 1024
"""The same, of large records."""
COPIED_OF_A_STEP_BYTES: Final = 4 * 1024 * 1024
"""Bytes that are copied in one step."""
INPUT_BYTES_SHORT: Final = 128 * 1024
"""Compressed bytes that are unpacked in the step that wants them, if they are no more than ..."""
OUTPUT_BYTES_SHORT: Final = 512 * 1024
"""... this without compression: a few milliseconds."""
OUTPUT_BYTES_MEDIUM: Final = 8 * 1024 * 1024
"""Without compression: what is no more than this does not wait for what is."""
PACKED_BYTES_SHORT: Final = 8 * 1024
"""Bytes that are packed in the step that wants it, at whatever level."""


class CodecWork(NamedTuple):
    """A call that takes long, and leaves the interpreter to other threads most of that time."""

    call: Callable[[], Any]
    is_large: bool
    """Whether what it returns may be so much that there should not be two of it at a time."""
    output_bytes_max: int = OUTPUT_BYTES_MAX
    """What it returns has no more, if it is large."""


Steps: TypeAlias = Generator[CodecWork | None, Any, T]
"""Yields None where a step is over. Is sent what a ``CodecWork`` returned, or thrown its error."""


def at_once(steps: Steps[T]) -> T:
    """Go through ``steps`` without a pause: for tools, tests, and threads where nobody waits."""
    try:
        work = next(steps)
        while True:
            result: Any = None
            if work is not None:
                try:
                    result = work.call()
                except Malformed as error:
                    work = steps.throw(error)
                    continue
            work = steps.send(result)
    except StopIteration as end:
        return end.value


def append_in_steps(output: bytearray, data: Buffer) -> Steps[None]:
    """Copy ``data`` behind ``output``, some megabytes at a time."""
    if len(data) <= COPIED_OF_A_STEP_BYTES:
        output += data
        return
    view = memoryview(data)
    for start in range(0, len(view), COPIED_OF_A_STEP_BYTES):
        output += view[start : start + COPIED_OF_A_STEP_BYTES]
        yield


def decompress_in_steps(
    codec: Compression, data: Buffer, *, magic: int = MAGIC, output_bytes_max: int
) -> Steps[Buffer]:
    """Do as ``decompress``: at once what is short, and anything else elsewhere.

    Raises:
        Malformed: as ``decompress``.
    """
    if codec is Compression.NONE:
        return data
    if len(data) <= INPUT_BYTES_SHORT:
        short_max = min(OUTPUT_BYTES_SHORT, output_bytes_max)
        try:
            return decompress(codec, data, magic=magic, output_bytes_max=short_max)
        except Malformed:
            pass  # Damaged, or more than that: the same call without the bound tells.

    def work(most: int) -> CodecWork:
        call = partial(decompress, codec, data, magic=magic, output_bytes_max=most)
        return CodecWork(call, is_large=True, output_bytes_max=most)

    if output_bytes_max > OUTPUT_BYTES_MEDIUM:
        try:
            return (yield work(OUTPUT_BYTES_MEDIUM))
        except Malformed:
            pass  # As above.
    return (yield work(output_bytes_max))


def compress_in_steps(
    codec: Compression, data: Buffer, *, magic: int = MAGIC, level: int | None = None
) -> Steps[Buffer]:
    """Do as ``compress``: at once what is short, and anything else elsewhere."""
    if codec is Compression.NONE or len(data) <= PACKED_BYTES_SHORT:
        return compress(codec, data, magic=magic, level=level)

    def call() -> Buffer:
        return compress(codec, data, magic=magic, level=level)

    return (yield CodecWork(call, is_large=False))
