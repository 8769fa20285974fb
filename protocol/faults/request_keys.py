"""What the keys of a fault of requests must say beside their shape."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from protocol.document_shape import did_you_mean
from protocol.errors import ErrorCode
from protocol.faults.requests import RequestMode, Way

_OF_SLICES: Final = ("slice_bytes", "slice_jitter_bytes", "delay_ms")


def request_mistakes(
    values: Mapping[str, Any], words: Collection[str], mode: RequestMode
) -> Iterator[tuple[str, str]]:
    """Yield (key, what is wrong with it).

    Args:
        values: of the keys whose shape is right.
        words: all keys.
        mode: of the fault.
    """
    one_of = mode.row.needs_one_of
    if one_of and not any(word in words for word in one_of):
        yield one_of[0], f"mode {mode.value} needs one of {', '.join(one_of)}"
    yield from _api_mistakes(values, words)
    low, high = values.get("version_min"), values.get("version_max")
    if low is not None and high is not None and low > high:
        yield "version_min", f"must be at most version_max, {high}, is {low}"
    if "partition" in words and "topic" not in words:
        yield "partition", "is a partition of topic, which is missing"
    code = values.get("error_code")
    if code is not None and code not in _CODES:
        yield "error_code", f"must be a name of Kafka's, is {code!r}{did_you_mean(code, _CODES)}"
    if values.get("way") == Way.REQUESTS:
        yield from (
            (word, "is of answers; way requests takes bytes_per_second")
            for word in _OF_SLICES
            if word in words
        )
    elif mode is RequestMode.TRICKLE and "slice_bytes" not in words:
        for word in _OF_SLICES:
            if word in words:
                yield word, "goes with slice_bytes"


def _api_mistakes(values: Mapping[str, Any], words: Collection[str]) -> Iterator[tuple[str, str]]:
    if "apis" not in words:
        return
    from protocol.apis import APIS  # noqa: PLC0415 - most who read cluster files never need it

    known = [api.name for api in APIS.values()]
    for name in values.get("apis", ()):
        if name not in known:
            yield "apis", f"Kafka has no API {name!r}{did_you_mean(name, known)}"


_CODES: Final = [code.name for code in ErrorCode if code is not ErrorCode.NONE]
