"""The checks on ``faults[]`` of ``cluster.yaml``. Puts no fault in force."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, TypeAlias

from msgspec import Meta, Struct

from protocol.document_shape import Leaves, Path, place, shape_mistakes
from protocol.faults.document import read_fault
from protocol.faults.model import (
    ANY_NODE,
    CLIENT_NODE,
    CONTROLLER_NODE,
    Fault,
    NodeFault,
    broker_id_of,
    broker_in_charge,
)

Ms: TypeAlias = Annotated[int, Meta(ge=0)]
_OTHER_NODES: Final = (CONTROLLER_NODE, CLIENT_NODE, ANY_NODE)
"""That a fault may be about, beside brokers."""
FAULT_TIMES: Final = ("at_ms", "until_ms")
"""Keys of ``faults[]`` beside those of the fault."""


class FaultTimes(Struct, kw_only=True):
    """When a fault of ``faults[]`` begins and ends; its other keys are the fault's."""

    at_ms: Ms
    until_ms: Ms | None = None


def fault_mistakes(leaves: Leaves, dirs_of: Mapping[Any, list[str]]) -> Iterator[str]:
    """Check every fault; ``dirs_of`` has the log dirs by broker, as ``normal_path`` names them."""
    for path, content in leaves.items():
        if path[0] == "faults" and len(path) == 2:
            yield from _fault_times_mistakes(content, path)
            fault, mistakes = read_fault(content, path=path, other_keys=FAULT_TIMES)
            yield from mistakes
            yield from _unknown_node_mistakes(content, path, list(dirs_of))
            yield from _unknown_log_dir_mistakes(content, path, dirs_of)
            if fault is not None:
                yield from _foreign_mistakes(fault, path)


def _fault_times_mistakes(content: Mapping[str, Any], path: Path) -> Iterator[str]:
    leaves: Leaves = {}
    times = {key: content[key] for key in FAULT_TIMES if key in content}
    yield from shape_mistakes(times, FaultTimes, path, leaves)
    at_ms, until_ms = leaves.get((*path, "at_ms")), leaves.get((*path, "until_ms"))
    if at_ms is not None and until_ms is not None and until_ms <= at_ms:
        yield f"{place((*path, 'until_ms'))}: must be > at_ms ({at_ms}), is {until_ms}"


def _unknown_node_mistakes(
    content: Mapping[str, Any], path: Path, broker_ids: list[Any]
) -> Iterator[str]:
    if "broker" in content and content["broker"] not in broker_ids:
        yield f"{place((*path, 'broker'))}: there is no broker {content['broker']}"
    for key in ("node", "from", "to"):
        node = content.get(key, ANY_NODE)
        if node not in _OTHER_NODES and broker_id_of(str(node)) not in broker_ids:
            yield f"{place((*path, key))}: there is no node {node}"


def _unknown_log_dir_mistakes(
    content: Mapping[str, Any], path: Path, dirs_of: Mapping[Any, list[str]]
) -> Iterator[str]:
    broker_id = content.get("broker", broker_id_of(str(content.get("node"))))
    log_dir = content.get("log_dir")
    known = dirs_of.get(broker_id)
    if isinstance(log_dir, str) and known is not None and normal_path(log_dir) not in known:
        yield f"{place((*path, 'log_dir'))}: broker {broker_id} has no log dir {log_dir}"


def _foreign_mistakes(fault: Fault, path: Path) -> Iterator[str]:
    """Refuse what a broker cannot do to itself."""
    if isinstance(fault, NodeFault):
        outside = "is done from outside: by `jbodlab brokers` or by a scenario"
        yield f"{place((*path, 'mode'))}: {fault.mode.value} {outside}"
    elif broker_in_charge(fault) is None:
        yield f"{place(path)}: names no broker"


def normal_path(path: str) -> str:
    """Return a path of the file as it is compared with others."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    return ("/" if path.startswith("/") else "") + "/".join(parts)
