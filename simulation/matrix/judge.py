"""Whether a cluster heals after a crash, and whether it kept its promises.

Logs are read from the disks as they are, whatever the brokers say of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from broker.storage.memory_disk import MemoryDisk
from protocol.errors import ErrorCode, Malformed
from protocol.ids import TopicPartition
from protocol.records.batch import iterate_batches
from protocol.records.records import iterate_records
from simulation.matrix.outcome import Outcome, Verdict
from simulation.matrix.scene import BROKERS, Scene
from simulation.workload.clients import PartitionView
from simulation.workload.questions import EARLIEST, list_offsets
from simulation.world.node import BrokerNode

HEAL_S: Final = 60
"""Virtual seconds in which everything has to be well again."""
_LOOK_AGAIN_S: Final = 0.1


class _Refused(Exception):  # noqa: N818 -- a verdict
    """The broker ended by itself."""


async def judge(scene: Scene) -> Verdict:
    """Wait until the cluster is well, have it go on, and hold it against its promises."""
    try:
        await _heal(scene)
        for tp, promise in scene.promises.items():
            if promise.is_created and not promise.is_deleted:
                await scene.produce(1, tp)
        await _heal(scene)
        await _check(scene)
    except _Refused as refused:
        return Verdict(Outcome.REFUSED, str(refused))
    except TimeoutError:
        return Verdict(Outcome.OFFLINE, await _ill(scene) or "it took too long")
    except (AssertionError, Malformed) as complaint:
        return Verdict(Outcome.LOST, str(complaint))
    return Verdict(Outcome.RECOVERED)


# Healing.


async def _heal(scene: Scene) -> None:
    """Wait until nothing is ill.

    Raises:
        TimeoutError: something is for ``HEAL_S``.
        _Refused: the broker ended by itself.
    """
    async with asyncio.timeout(HEAL_S):
        while await _ill(scene) is not None:
            if not scene.victim.is_running:
                raise _Refused(f"the broker ended: {scene.victim.ended_with}")
            await asyncio.sleep(_LOOK_AGAIN_S)


async def _ill(scene: Scene) -> str | None:
    """Return what is not well yet."""
    if not scene.cluster.is_up():
        return "a broker is not up"
    try:
        view = await scene.client.view()
    except OSError as error:
        return str(error)
    for tp, seen in view.partitions.items():
        if sorted(seen.isr) != sorted(seen.replicas) or seen.leader < 0 or seen.offline_replicas:
            return f"{tp}: replicas {seen.replicas}, isr {seen.isr}, leader {seen.leader}"
    for broker in BROKERS:
        ill = _ill_disks(scene.cluster.brokers[broker], view.partitions)
        if ill is not None:
            return ill
    return await _disagreement(scene, view.partitions)


def _ill_disks(node: BrokerNode, partitions: Mapping[TopicPartition, PartitionView]) -> str | None:
    """Exactly one current log of each replica, none of others, and no future log."""
    wanted = {str(tp) for tp, seen in partitions.items() if node.id in seen.replicas}
    places: dict[str, str] = {}
    for path, drive in node.drives.items():
        memory = drive.disk.memory
        for name in memory.list_dir(""):
            if not memory.is_dir(name) or name.endswith("-delete"):
                continue
            if name in places:
                return f"{name} is in {places[name]} and in {path}"
            if name not in wanted:
                return f"{path}/{name} is nobody's"
            places[name] = path
    missing = sorted(wanted - places.keys())
    return f"{node.name} has no {', '.join(missing)}" if missing else None


async def _disagreement(
    scene: Scene, partitions: Mapping[TopicPartition, PartitionView]
) -> str | None:
    """Tell which logs are not equal; compacted ones end alike, each is compacted for itself."""
    for tp, seen in partitions.items():
        start = await _log_start(scene, tp, seen.leader)
        if start is None:
            return f"{tp}: broker {seen.leader} does not say where it starts"
        logs = [_log(scene.cluster.brokers[broker], tp, start) for broker in seen.replicas]
        ends = sorted({max(log, default=-1) for log in logs})
        if len(ends) > 1:
            return f"{tp}: logs end at {ends}"
        promise = scene.promises.get(tp)
        is_compacted = promise is not None and promise.is_compacted
        if not is_compacted and any(log != logs[0] for log in logs):
            return f"{tp}: replicas {seen.replicas} hold different records"
    return None


# Promises.


async def _check(scene: Scene) -> None:
    """Hold every replica against what was promised.

    Raises:
        AssertionError: the text says what is lost.
    """
    view = await scene.client.view()
    for tp, promise in scene.promises.items():
        seen = view.partitions.get(tp)
        if seen is None:
            assert promise.is_deleted or not promise.is_created, f"{tp} is gone"
            continue
        start = await _log_start(scene, tp, seen.leader)
        assert start is not None, f"{tp}: its leader does not say where it starts"
        for broker in seen.replicas:
            try:
                promise.check(_log(scene.cluster.brokers[broker], tp, start))
            except AssertionError as complaint:
                raise AssertionError(f"{tp} on broker {broker}: {complaint}") from complaint
    errors = [str(one.get("exception") or one["message"]) for one in scene.loop.unhandled]
    assert not errors, f"nobody caught {errors[0]}"


async def _log_start(scene: Scene, tp: TopicPartition, leader: int) -> int | None:
    try:
        offset = (await list_offsets(scene.client, leader, [tp], EARLIEST))[tp]
    except (OSError, Malformed):
        return None
    return None if isinstance(offset, ErrorCode) else offset


def _log(node: BrokerNode, tp: TopicPartition, start: int) -> dict[int, bytes]:
    """Return the values in a replica's current log by offset, from ``start`` on."""
    for drive in node.drives.values():
        memory = drive.disk.memory
        if memory.exists(str(tp)):
            values = _values(memory, str(tp))
            return {offset: values[offset] for offset in values if offset >= start}
    return {}


def _values(memory: MemoryDisk, name: str) -> dict[int, bytes]:
    values: dict[int, bytes] = {}
    for file in memory.list_dir(name):
        if file.endswith(".log"):
            data = memory.read_file(f"{name}/{file}")
            for position, header in iterate_batches(data):
                for record in iterate_records(data, position, header):
                    values[record.offset] = bytes(record.value or b"")
    return values
