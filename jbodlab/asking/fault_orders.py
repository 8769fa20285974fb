"""Faults as people write them, made ready for the broker that carries them out.

It asks no broker anything.
"""

from __future__ import annotations

from typing import Any, assert_never

from jbodlab.asking.layout import Layout
from jbodlab.errors import ExitCode, LabError
from protocol.cluster_file.spec import BrokerSpec
from protocol.faults.document import fault_content, read_fault
from protocol.faults.model import (
    CLIENT_NODE,
    BrokerFault,
    NodeFault,
    NodeMode,
    broker_in_charge,
    unknown_nodes,
)
from protocol.faults.toxics import fault_of_toxic, is_toxic


def fault_order(layout: Layout, content: dict[str, Any]) -> tuple[BrokerSpec, dict[str, Any]]:
    """Return the broker in charge of a fault and what its control endpoint is to be told.

    Args:
        layout: whose log dirs and nodes the fault may name.
        content: the keys that ``faults:`` has in the cluster file; paths as people write them. Or
            a toxic in Toxiproxy's words, whose name becomes the ``id`` of the fault.

    Raises:
        LabError: FAILED, with what is wrong.
    """
    content, named = _in_our_words(content)
    fault = _fault(layout, content)
    broker = _in_charge(layout, fault)
    _check_nodes(layout, fault)
    return broker, {**fault_content(fault), **named}


def _in_our_words(content: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    if not is_toxic(content):
        return dict(content), {}
    fault, mistakes = fault_of_toxic(content)
    if mistakes:
        raise LabError(ExitCode.FAILED, "\n".join(mistakes))
    named = {"id": fault.pop("id")} if "id" in fault else {}
    return fault, named


def _fault(layout: Layout, content: dict[str, Any]) -> BrokerFault:
    log_dir = content.get("log_dir")
    if isinstance(log_dir, str):
        broker, content["log_dir"] = layout.log_dir(log_dir)
        if "broker" not in content and "node" not in content:
            content["broker"] = broker.id
    fault, mistakes = read_fault(content)
    if fault is None:
        raise LabError(ExitCode.FAILED, "\n".join(mistakes))
    if isinstance(fault, NodeFault):
        words = _done_otherwise(fault.mode)
        raise LabError(ExitCode.FAILED, f"mode {fault.mode.value} is not a broker's own: {words}")
    return fault


def _done_otherwise(mode: NodeMode) -> str:
    """Say who can do to a node what no broker does to itself."""
    match mode:
        case NodeMode.KILL:
            return "use `jbodlab brokers kill`"
        case NodeMode.PAUSE:
            return "use `jbodlab brokers pause`, `resume`"
        case NodeMode.RESTART:
            return "use `jbodlab brokers restart`"
        case NodeMode.POWER_CUT | NodeMode.SLOW_CPU | NodeMode.CLOCK_SKEW:
            return "only the simulation can do that"
        case _:
            assert_never(mode)


def _in_charge(layout: Layout, fault: BrokerFault) -> BrokerSpec:
    broker_id = broker_in_charge(fault)
    if broker_id is None:
        raise LabError(ExitCode.FAILED, "a broker must be concerned: as broker, node, from or to")
    return layout.broker(broker_id)


def _check_nodes(layout: Layout, fault: BrokerFault) -> None:
    """Refuse what could never meet anything."""
    unknown = unknown_nodes(fault, [broker.id for broker in layout.brokers])
    if unknown:
        known = ", ".join([*layout.names, CLIENT_NODE])
        raise LabError(
            ExitCode.FAILED,
            f"there is no node {unknown[0]} in {layout.config_path}; there are {known}",
        )
