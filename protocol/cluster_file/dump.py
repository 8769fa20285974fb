"""A ClusterSpec to a text of ``cluster.yaml``. Reads none."""

from __future__ import annotations

import dataclasses
from typing import Any

from protocol.cluster_file.spec import MIB, BesideSpec, ClusterSpec, FaultSpec
from protocol.faults.document import fault_content


def dump_cluster_spec(spec: ClusterSpec) -> str:
    """Return a text of ``cluster.yaml`` that loads to the same spec, wherever it lies."""
    import yaml  # noqa: PLC0415 - kept out of the start of processes that never dump

    return yaml.safe_dump(_document(spec), sort_keys=False)


def _document(spec: ClusterSpec) -> dict[str, Any]:
    document = dataclasses.asdict(spec)
    document["beside"] = _beside_document(spec.beside)
    for broker in document["brokers"]:
        for log_dir in broker["log_dirs"]:
            capacity_bytes = log_dir.pop("capacity_bytes")
            log_dir["capacity_mib"] = None if capacity_bytes is None else capacity_bytes / MIB
        broker["log_dirs"] = list(broker["log_dirs"])
    for name in ("brokers", "topics"):
        document[name] = list(document[name])
    for name in ("zookeeper", "beside"):
        if document[name] is None:
            del document[name]
    document["faults"] = [_fault_document(fault) for fault in spec.faults]
    return document


# Any: what a YAML file is to hold.
def _beside_document(beside: BesideSpec | None) -> dict[str, Any] | None:
    if beside is None:
        return None
    brokers = [
        {
            "id": each.id,
            "port": each.port,
            "rack": each.rack,
            "log_dirs": [{"path": one.path} for one in each.log_dirs],
            "configs": dict(each.configs),
        }
        for each in beside.brokers
    ]
    return {"kafka": beside.kafka, "brokers": brokers}


def _fault_document(spec: FaultSpec) -> dict[str, Any]:
    times = {"at_ms": spec.at_ms, "until_ms": spec.until_ms}
    return {**times, **fault_content(spec.fault)}
