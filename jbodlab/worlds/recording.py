"""A simulated run as the console plays it: what every node held at each moment of virtual time.

The frames have the shape of the HTTP API's snapshots, so that one page shows both. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from protocol.cluster_file.spec import BrokerSpec, ClusterSpec
from protocol.faults.model import CONTROLLER_NODE, broker_node
from protocol.ids import TopicPartition
from simulation.core.samples import (
    FaultSample,
    LogDirSample,
    NodeSample,
    PartitionSample,
    ReplicaSample,
    Role,
    Samples,
)
from simulation.core.verdict import StoryLine

FRAMES_MAX: Final = 400
"""A page holds all of them; of a run with more moments those of replicas that grow are thinned."""
GROWTH_EVERY_US: Final = 250_000
_HOSTED: Final = (Role.LEADER, Role.FOLLOWER)


@dataclass(slots=True)
class Recorded:
    """What a run leaves to be played."""

    samples: Samples
    spec: ClusterSpec
    story: Sequence[tuple[int, StoryLine]]
    """Each line with when it was told, on the clock of the samples (microseconds)."""


@dataclass(slots=True)
class _Moment:
    """All that holds at a time."""

    replicas: dict[tuple[int, TopicPartition], ReplicaSample] = field(
        default_factory=dict[tuple[int, TopicPartition], ReplicaSample]
    )
    partitions: dict[TopicPartition, PartitionSample] = field(
        default_factory=dict[TopicPartition, PartitionSample]
    )
    log_dirs: dict[tuple[int, str], LogDirSample] = field(
        default_factory=dict[tuple[int, str], LogDirSample]
    )
    nodes: dict[str, NodeSample] = field(default_factory=dict[str, NodeSample])

    def take(self, sample: ReplicaSample | PartitionSample | LogDirSample | NodeSample) -> None:
        """Let a sample hold from now on."""
        match sample:
            case ReplicaSample():
                self.replicas[sample.broker, sample.tp] = self._held(sample)
            case PartitionSample():
                self.partitions[sample.tp] = sample
            case LogDirSample():
                self.log_dirs[sample.broker, sample.path] = sample
            case NodeSample():
                self.nodes[sample.node] = sample

    def _held(self, sample: ReplicaSample) -> ReplicaSample:
        """Return a replica with what its broker held of it when it last ran, if it is down now."""
        before = self.replicas.get((sample.broker, sample.tp))
        if sample.role is not Role.GONE or before is None or self._is_up(sample.broker):
            return sample
        return before._replace(at_us=sample.at_us, role=Role.OFFLINE)

    def _is_up(self, broker: int) -> bool:
        node = self.nodes.get(broker_node(broker))
        return node is None or node.is_up


def recording(run: Recorded, *, name: str, seed: int, replay: str, is_ok: bool) -> dict[str, Any]:
    """Return the document that the page plays; times are milliseconds of virtual time.

    Args:
        run: what the run left.
        name: of its plan.
        seed: of its world.
        replay: the command that does the same again.
        is_ok: whether the checkers found nothing.
    """
    begin_us, zero_us = 0, 0
    if run.story:
        begin_us = run.story[0][0]
        last_us, last = run.story[-1]
        zero_us = last_us - last.at_ms * 1000
    return {
        "name": name,
        "seed": seed,
        "replay": replay,
        "is_ok": is_ok,
        "frames": [
            {"at_ms": (at_us - zero_us) / 1000, "snapshot": _snapshot(run, moment, at_us)}
            for at_us, moment in _moments(run, begin_us)
        ],
        "story": [
            {"at_ms": (at_us - zero_us) / 1000, "text": line.text} for at_us, line in run.story
        ],
    }


def _moments(run: Recorded, begin_us: int) -> Iterator[tuple[int, _Moment]]:
    """Yield what holds at each time at which a frame is wanted, in order."""
    moment = _Moment()
    samples = run.samples
    pending = sorted(
        # Nodes first: what a broker that is down held is still on its disks.
        (*samples.nodes, *samples.replicas, *samples.partitions, *samples.log_dirs),
        key=lambda sample: sample.at_us,
    )
    taken = 0
    for at_us in _times(run, begin_us):
        while taken < len(pending) and pending[taken].at_us <= at_us:
            moment.take(pending[taken])
            taken += 1
        yield at_us, moment


def _times(run: Recorded, begin_us: int) -> list[int]:
    """Return when something changed that people look for, and now and then what grew."""
    samples = run.samples
    changes = {each.at_us for each in (*samples.partitions, *samples.log_dirs, *samples.nodes)} | {
        at for each in samples.faults for at in (each.begin_us, each.end_us) if at is not None
    }
    changes |= {at_us for at_us, _ in run.story}
    grown = {each.at_us // GROWTH_EVERY_US * GROWTH_EVERY_US for each in samples.replicas}
    times = sorted({begin_us, *(at for at in changes | grown if at > begin_us)})
    step = -(-len(times) // FRAMES_MAX)
    return sorted({*times[::step], times[-1]})


def _snapshot(run: Recorded, moment: _Moment, at_us: int) -> dict[str, Any]:
    spec = run.spec
    controller = moment.nodes.get(CONTROLLER_NODE)
    partitions = [each for each in moment.partitions.values() if not each.is_deleted]
    faults = [each for each in run.samples.faults if _is_in_force(each, at_us)]
    return {
        "cluster_id": spec.cluster_id,
        "bootstrap_servers": [f"{each.advertised_host}:{each.port}" for each in spec.brokers],
        "controller": _state(controller),
        "brokers": [_broker(broker, moment, faults) for broker in spec.brokers],
        "partitions": [
            {
                "topic": each.tp.topic,
                "partition": each.tp.partition,
                "leader": each.leader,
                "leader_epoch": each.leader_epoch,
                "replicas": list(each.replicas),
                "isr": list(each.isr),
                "offline_replicas": list(each.offline),
            }
            for each in partitions
        ],
        "faults": [_fault(number, each) for number, each in enumerate(faults)],
    }


def _is_in_force(fault: FaultSample, at_us: int) -> bool:
    return fault.begin_us <= at_us and (fault.end_us is None or at_us < fault.end_us)


def _state(node: NodeSample | None) -> str:
    return "running" if node is None or node.is_up else "down"


def _broker(broker: BrokerSpec, moment: _Moment, faults: Sequence[FaultSample]) -> dict[str, Any]:
    name = broker_node(broker.id)
    return {
        "id": broker.id,
        "address": f"{broker.advertised_host}:{broker.port}",
        "rack": broker.rack,
        "state": _state(moment.nodes.get(name)),
        "pid": None,
        "troubles": [],
        "log_dirs": [
            _log_dir(broker, number, log_dir.path, moment, faults)
            for number, log_dir in enumerate(broker.log_dirs, start=1)
        ],
    }


def _log_dir(
    broker: BrokerSpec, number: int, path: str, moment: _Moment, faults: Sequence[FaultSample]
) -> dict[str, Any]:
    sample = moment.log_dirs.get((broker.id, path))
    is_online = sample is None or sample.is_online
    own = [
        each
        for each in faults
        if each.node == broker_node(broker.id) and each.log_dir in ("", path)
    ]
    return {
        "number": number,
        "path": _short(path),
        "is_online": is_online,
        "cause": "" if is_online else "it failed",
        "is_cordoned": sample is not None and sample.is_cordoned,
        "total_bytes": -1,
        "usable_bytes": -1,
        "queue_depth": 0,
        "signs": [each.what for each in own],
        "faults": [{"mode": each.what, "hits": 0} for each in own],
        "return_state": "",
        "replicas": [
            _replica(each, moment)
            for (owner, _), each in sorted(moment.replicas.items())
            if owner == broker.id and each.log_dir == path and each.role in (*_HOSTED, Role.OFFLINE)
        ],
    }


def _replica(replica: ReplicaSample, moment: _Moment) -> dict[str, Any]:
    partition = moment.partitions.get(replica.tp)
    is_in_sync = partition is not None and replica.broker in partition.isr
    return {
        "topic": replica.tp.topic,
        "partition": replica.tp.partition,
        "size_bytes": max(0, replica.size_bytes),
        "offset_lag": 0,
        "is_future": False,
        "is_leader": replica.role is Role.LEADER,
        "is_in_sync": is_in_sync and replica.role in _HOSTED,
    }


def _fault(number: int, fault: FaultSample) -> dict[str, Any]:
    broker = fault.node.removeprefix("broker-")
    return {
        "broker": int(broker) if broker.isdecimal() else 0,
        "id": f"{number}-{fault.begin_us}",
        "is_in_force": True,
        "matches": 0,
        "hits": 0,
        "fault": {"mode": fault.what, "node": fault.node, "log_dir": _short(fault.log_dir)},
    }


def _short(path: str) -> str:
    """Return a log dir as plans name it, with its broker: ``b1/d1``."""
    return "/".join(path.split("/")[-2:])
