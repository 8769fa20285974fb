"""Faults as mappings, as ``cluster.yaml``, scenario files and the control endpoint write them.

The mode tells the kind of fault and which keys belong to it. It knows neither when a fault begins
and ends nor which nodes and log dirs there are: both are the business of who holds the document.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Mapping
from enum import Enum
from typing import Annotated, Any, Final, NamedTuple, TypeAlias, assert_never, cast

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from protocol.document_shape import Leaves, Path, did_you_mean, place, shape_mistakes
from protocol.faults.model import (
    ANY_NODE,
    DiskFault,
    DiskMode,
    Fault,
    FileClass,
    NetworkFault,
    NetworkMode,
    NodeFault,
    NodeMode,
    Operation,
    broker_node,
)
from protocol.faults.request_keys import request_mistakes
from protocol.faults.requests import (
    PROTOCOL_VERSION_MAX,
    RequestFault,
    RequestMode,
    Way,
    When,
)

_Name: TypeAlias = Annotated[str, Meta(min_length=1)]
_Node: TypeAlias = Annotated[str, Meta(pattern=r"^([*]|[a-z][a-z0-9-]*)$")]
DURATION_MS_MAX: Final = 24 * 60 * 60 * 1000
"""A day: nobody waits longer for an operation or a message, and timers stay exact."""
_SKEW_MS_MAX: Final = 100 * 365 * DURATION_MS_MAX
_BROKER_ID_MAX: Final = (1 << 31) - 1
_COUNT_MAX: Final = 1_000_000_000_000
"""Of matches, of operations and bytes a second, and of bytes: beyond what a run comes to."""
_FACTOR_MAX: Final = 1_000_000

_Count: TypeAlias = Annotated[int, Meta(ge=1, le=_COUNT_MAX)]
_Ms: TypeAlias = Annotated[int, Meta(ge=0, le=DURATION_MS_MAX)]
_PositiveMs: TypeAlias = Annotated[int, Meta(ge=1, le=DURATION_MS_MAX)]
_Probability: TypeAlias = Annotated[float, Meta(gt=0, le=1)]
_Version: TypeAlias = Annotated[int, Meta(ge=0, le=PROTOCOL_VERSION_MAX)]


class _Document(Struct, kw_only=True, omit_defaults=True):
    """A fault of any kind; which keys go together is checked by its mode."""

    mode: _Name
    node: _Node | UnsetType = UNSET
    broker: Annotated[int, Meta(ge=0, le=_BROKER_ID_MAX)] | UnsetType = UNSET
    """Another way to write ``node: broker-N``."""
    log_dir: _Name | UnsetType = UNSET
    operations: list[Operation] = []
    files: list[FileClass] = []
    name: _Name | UnsetType = UNSET
    nth: _Count | UnsetType = UNSET
    from_nth: _Count | UnsetType = UNSET
    times: _Count | UnsetType = UNSET
    probability: _Probability | UnsetType = UNSET
    delay_ms: _PositiveMs | UnsetType = UNSET
    operations_per_second: _Count | UnsetType = UNSET
    bytes_per_second: _Count | UnsetType = UNSET
    capacity_bytes: Annotated[int, Meta(ge=0, le=_COUNT_MAX)] | UnsetType = UNSET
    source: _Node | UnsetType = msgspec.field(name="from", default=UNSET)
    target: _Node | UnsetType = msgspec.field(name="to", default=UNSET)
    both_ways: bool | UnsetType = UNSET
    latency_ms: _Ms | UnsetType = UNSET
    jitter_ms: _Ms | UnsetType = UNSET
    retransmit_ms: _PositiveMs | UnsetType = UNSET
    factor: Annotated[float, Meta(gt=1, le=_FACTOR_MAX)] | UnsetType = UNSET
    skew_ms: Annotated[int, Meta(ge=-_SKEW_MS_MAX, le=_SKEW_MS_MAX)] | UnsetType = UNSET
    apis: list[_Name] = []
    version_min: _Version | UnsetType = UNSET
    version_max: _Version | UnsetType = UNSET
    topic: _Name | UnsetType = UNSET
    partition: Annotated[int, Meta(ge=0, le=_BROKER_ID_MAX)] | UnsetType = UNSET
    client_id: _Name | UnsetType = UNSET
    when: When | UnsetType = UNSET
    error_code: _Name | UnsetType = UNSET
    throttle_time_ms: _PositiveMs | UnsetType = UNSET
    slice_bytes: _Count | UnsetType = UNSET
    slice_jitter_bytes: Annotated[int, Meta(ge=0, le=_COUNT_MAX)] | UnsetType = UNSET
    way: Way | UnsetType = UNSET


_COUNT_KEYS: Final = ("nth", "from_nth", "times", "probability")
_MATCH_KEYS: Final = (
    *("node", "broker", "log_dir", "operations", "files", "name"),
    *_COUNT_KEYS,
)
REQUEST_MATCH_KEYS: Final = (
    *("node", "broker", "apis", "version_min", "version_max"),
    *("topic", "partition", "client_id"),
    *_COUNT_KEYS,
)
"""What every mode of requests takes beside its own keys."""
Mode: TypeAlias = DiskMode | NetworkMode | NodeMode | RequestMode
_KINDS: Final[dict[str, type[Mode]]] = {
    mode.value: kind for kind in (DiskMode, NetworkMode, NodeMode, RequestMode) for mode in kind
}
WORDS_OF_FIELDS: Final = {"source": "from", "target": "to"}
"""The words of those fields of faults that are not called so in a document."""
MODES: Final = tuple(_KINDS)
"""The words of all modes: of disks, of the network, of nodes, of requests."""


class Keys(NamedTuple):
    """Which keys a mapping of one mode may have beside ``mode``, and which it must have."""

    allowed: tuple[str, ...]
    needed: tuple[str, ...] = ()


def keys_of_mode(mode: Mode) -> Keys:
    """Return the keys that go with a mode."""
    match mode:
        case DiskMode():
            return Keys((*_MATCH_KEYS, *mode.row.keys))
        case NetworkMode():
            own, needed = _keys_of_network(mode)
            return Keys(("from", "to", *own), ("from", "to", *needed))
        case NodeMode():
            own, needed = _keys_of_node(mode)
            return Keys(("node", "broker", *own), needed)
        case RequestMode():
            return Keys((*REQUEST_MATCH_KEYS, *mode.row.keys), mode.row.needed)


def _keys_of_network(mode: NetworkMode) -> Keys:
    match mode:
        case NetworkMode.LATENCY:
            return Keys(("both_ways", "latency_ms", "jitter_ms"), ("latency_ms",))
        case NetworkMode.LOSS:
            return Keys(("both_ways", "probability", "retransmit_ms"), ("probability",))
        case NetworkMode.CUT:
            return Keys(("both_ways",))
        case NetworkMode.HALF_OPEN:
            return Keys(())
        case _:
            assert_never(mode)


def _keys_of_node(mode: NodeMode) -> Keys:
    match mode:
        case NodeMode.SLOW_CPU:
            return Keys(("factor",), ("factor",))
        case NodeMode.CLOCK_SKEW:
            return Keys(("skew_ms",), ("skew_ms",))
        case NodeMode.KILL | NodeMode.PAUSE | NodeMode.RESTART | NodeMode.POWER_CUT:
            return Keys(())
        case _:
            assert_never(mode)


class _Written(NamedTuple):
    """One fault as written."""

    path: Path
    words: list[str]
    """Every key, wrong ones included."""
    values: Mapping[str, Any]
    """What has the right shape."""
    empty: tuple[str, ...] = ()
    """Keys whose list has nothing in it, not even what is wrong."""

    def place(self, word: str) -> str:
        """Return where the value of a key stands, for a mistake."""
        return place((*self.path, word))


def read_fault(
    content: Any, *, path: Path = (), other_keys: Collection[str] = ()
) -> tuple[Fault | None, list[str]]:
    """Return the fault that a mapping describes, or None and every mistake with its path.

    Args:
        content: what a YAML or JSON reader returns.
        path: where the mapping stands in its document.
        other_keys: keys of the mapping that the caller reads, such as ``at_ms``.
    """
    if isinstance(content, Mapping):
        entries = cast("Mapping[Any, Any]", content)
        content = {name: entries[name] for name in entries if name not in other_keys}
    leaves: Leaves = {}
    mistakes = list(shape_mistakes(content, _Document, path, leaves))
    if isinstance(content, dict):
        entries = cast("dict[Any, Any]", content)
        empty = tuple(key for key in _LISTS if entries.get(key) == [])
        words = [str(name) for name in entries]
        mistakes += _mode_mistakes(_Written(path, words, _values(leaves, path), empty))
    if mistakes:
        return None, mistakes
    return _fault(msgspec.convert(content, _Document)), []


def fault_content(fault: Fault) -> dict[str, Any]:
    """Return the mapping that ``read_fault`` turns into ``fault``; defaults are left out."""
    content: dict[str, Any] = {}
    needed = keys_of_mode(fault.mode).needed
    for field in dataclasses.fields(fault):
        word = WORDS_OF_FIELDS.get(field.name, field.name)
        value = getattr(fault, field.name)
        if word in needed or value != field.default:
            content[word] = _plain(value)
    return content


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return [_plain(each) for each in cast("tuple[Any, ...]", value)]
    return value


def _values(leaves: Leaves, path: Path) -> dict[str, Any]:
    """Return the values by their keys; of a list its elements that have the right shape."""
    values: dict[str, Any] = {}
    for leaf, value in leaves.items():
        word = str(leaf[len(path)])
        if len(leaf) > len(path) + 1:
            values[word].append(value)
        else:
            values[word] = [] if word in _LISTS else value
    return values


def _mode_mistakes(written: _Written) -> Iterator[str]:
    word = written.values.get("mode")
    if word is None:
        return
    if word not in _KINDS:
        hint = did_you_mean(word, list(MODES))
        yield f"{written.place('mode')}: must be one of {', '.join(MODES)}, is {word!r}{hint}"
        return
    mode = _KINDS[word](word)
    yield from _key_mistakes(written, mode)
    match mode:
        case DiskMode():
            yield from _node_mistakes(written)
            yield from _match_mistakes(written, mode)
        case NetworkMode():
            yield from _way_mistakes(written)
        case NodeMode():
            yield from _node_mistakes(written)
        case RequestMode():
            yield from _node_mistakes(written)
            yield from _count_mistakes(written)
            for word, told in request_mistakes(written.values, written.words, mode):
                yield f"{written.place(word)}: {told}"


def _key_mistakes(written: _Written, mode: Mode) -> Iterator[str]:
    allowed, needed = keys_of_mode(mode)
    for word in written.words:
        if word in _ALL_WORDS and word not in ("mode", *allowed):
            yield f"{written.place(word)}: does not belong to mode {mode.value}"
    for word in needed:
        if word not in written.words:
            yield f"{written.place(word)}: is missing; mode {mode.value} needs it"
    for word in written.empty:
        if word in allowed:
            yield f"{written.place(word)}: must not be empty"


def _node_mistakes(written: _Written) -> Iterator[str]:
    named = [word for word in ("node", "broker") if word in written.words]
    if not named:
        yield f"{written.place('node')}: is missing; broker may stand for it"
    if len(named) == 2:
        yield f"{written.place('broker')}: is another way to write node, which is given too"
    if written.values.get("node") == ANY_NODE:
        yield f"{written.place('node')}: must be one node, is '*'"


def _way_mistakes(written: _Written) -> Iterator[str]:
    source, target = written.values.get("from"), written.values.get("to")
    if source is not None and source == target:
        yield f"{written.place('to')}: must be another node than from, is {target!r}"


def _count_mistakes(written: _Written) -> Iterator[str]:
    words = written.words
    if "nth" in words and ("from_nth" in words or "times" in words):
        yield f"{written.place('nth')}: is one match; from_nth and times are of many"


def _match_mistakes(written: _Written, mode: DiskMode) -> Iterator[str]:
    words, values = written.words, written.values
    keys = mode.row.keys
    if mode.row.needs_a_key and not any(key in words for key in keys):
        yield f"{written.place(keys[0])}: mode {mode.value} needs one of {', '.join(keys)}"
    yield from _count_mistakes(written)
    for operation in values.get("operations", ()):
        if operation not in mode.row.meets:
            yield f"{written.place('operations')}: mode {mode.value} never meets {operation.value}"


_LISTS: Final = ("operations", "files", "apis")
_ALL_WORDS: Final = frozenset(field.encode_name for field in msgspec.structs.fields(_Document))


def _fault(document: _Document) -> Fault:
    values = {
        field.name: value
        for field in msgspec.structs.fields(_Document)
        if (value := getattr(document, field.name)) is not UNSET
    }
    if "broker" in values:
        values["node"] = broker_node(values.pop("broker"))
    for key in _LISTS:
        if chosen := values.pop(key):
            values[key] = tuple(chosen)
    mode = _KINDS[document.mode](values.pop("mode"))
    match mode:
        case DiskMode():
            return DiskFault(mode=mode, **values)
        case NetworkMode():
            return NetworkFault(mode=mode, **values)
        case NodeMode():
            return NodeFault(mode=mode, **values)
        case RequestMode():
            return RequestFault(mode=mode, **values)
