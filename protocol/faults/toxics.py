"""Toxiproxy's words for faults, turned into ours: what a toxic does to connections to one broker.

Where Toxiproxy has attributes in an object of their own, they may also stand beside the type. What
is mapped, and where it differs: docs/faults.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from protocol.document_shape import did_you_mean
from protocol.faults.model import CLIENT_NODE, broker_node

_OWN: Final = ("type", "attributes", "stream", "toxicity", "broker", "id", "name")
_STREAMS: Final = ("downstream", "upstream")


class _Toxic:
    """One toxic as written: its attributes are taken one by one."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        given = content.get("attributes")
        beside = {key: value for key, value in content.items() if key not in _OWN}
        inside = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
        self._left = {**beside, **inside}
        self.is_upstream = content.get("stream") == "upstream"
        self.mistakes: list[str] = []
        if given is not None and not isinstance(given, dict):
            self.mistakes.append(f"attributes: must be a mapping of keys, is {given!r}")

    def whole(self, key: str) -> int:
        """Take a number; 0 without one, as in Toxiproxy."""
        value = self._left.pop(key, 0)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            self.mistakes.append(f"{key}: must be a whole number >= 0, is {value!r}")
            return 0
        return value

    def unknown(self) -> list[str]:
        """Return the keys that were not taken."""
        return list(self._left)


def is_toxic(content: Mapping[str, Any]) -> bool:
    """Tell whether a fault is written in Toxiproxy's words."""
    return "type" in content and "mode" not in content


def fault_of_toxic(content: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the mapping that means the same in our words, and every mistake.

    Args:
        content: ``type``, ``broker`` (whose connections to clients are concerned), and perhaps
            ``attributes``, ``stream``, ``toxicity``, ``name``.
    """
    word = content.get("type")
    make = _MAKERS.get(word) if isinstance(word, str) else None
    if make is None:
        hint = did_you_mean(str(word), list(_MAKERS))
        return {}, [f"type: must be one of {', '.join(_MAKERS)}, is {word!r}{hint}"]
    toxic = _Toxic(content)
    broker = content.get("broker")
    if isinstance(broker, bool) or not isinstance(broker, int):
        toxic.mistakes.append("broker: is missing; it stands for Toxiproxy's proxy")
    if content.get("stream", _STREAMS[0]) not in _STREAMS:
        toxic.mistakes.append(f"stream: must be one of {', '.join(_STREAMS)}")
    fault = make(toxic, broker if isinstance(broker, int) else 0)
    toxic.mistakes += [f"{key}: is no attribute of a toxic {word}" for key in toxic.unknown()]
    if (toxicity := content.get("toxicity", 1)) != 1:
        if fault["mode"] == "latency":
            toxic.mistakes.append("toxicity: must be 1 for latency; mode delay takes a probability")
        fault["probability"] = toxicity
    if (name := content.get("id", content.get("name"))) is not None:
        fault["id"] = name
    return fault, toxic.mistakes


def _latency(toxic: _Toxic, broker: int) -> dict[str, Any]:
    ends = (broker_node(broker), CLIENT_NODE)
    source, target = ends[::-1] if toxic.is_upstream else ends
    return {
        "mode": "latency",
        "from": source,
        "to": target,
        "both_ways": False,
        "latency_ms": toxic.whole("latency"),
        "jitter_ms": toxic.whole("jitter"),
    }


def _bandwidth(toxic: _Toxic, broker: int) -> dict[str, Any]:
    way = {"way": "requests"} if toxic.is_upstream else {}
    rate = toxic.whole("rate") * 1000
    return {"mode": "trickle", "broker": broker, "bytes_per_second": rate, **way}


def _slow_close(toxic: _Toxic, broker: int) -> dict[str, Any]:
    return _ends("close", broker, toxic.whole("delay")) | {"when": "after"}


def _timeout(toxic: _Toxic, broker: int) -> dict[str, Any]:
    after_ms = toxic.whole("timeout")
    return _ends("close", broker, after_ms) if after_ms else {"mode": "drop", "broker": broker}


def _reset_peer(toxic: _Toxic, broker: int) -> dict[str, Any]:
    return _ends("reset", broker, toxic.whole("timeout"))


def _ends(mode: str, broker: int, delay_ms: int) -> dict[str, Any]:
    late = {"delay_ms": delay_ms} if delay_ms else {}
    return {"mode": mode, "broker": broker, **late}


def _slicer(toxic: _Toxic, broker: int) -> dict[str, Any]:
    delay_ms = -(-toxic.whole("delay") // 1000)
    late = {"delay_ms": delay_ms} if delay_ms else {}
    return {
        "mode": "trickle",
        "broker": broker,
        "slice_bytes": toxic.whole("average_size"),
        "slice_jitter_bytes": toxic.whole("size_variation"),
        **late,
    }


def _limit_data(toxic: _Toxic, broker: int) -> dict[str, Any]:
    return {"mode": "truncate", "broker": broker, "capacity_bytes": toxic.whole("bytes")}


_MAKERS: Final[dict[str, Callable[[_Toxic, int], dict[str, Any]]]] = {
    "latency": _latency,
    "bandwidth": _bandwidth,
    "slow_close": _slow_close,
    "timeout": _timeout,
    "reset_peer": _reset_peer,
    "slicer": _slicer,
    "limit_data": _limit_data,
}
TOXICS: Final = tuple(_MAKERS)
"""Toxiproxy's words for what a toxic does."""
