"""Whether a cluster heals after a crash, and whether it kept its promises.

Logs are read from the disks as they are, decisions from the controller's state and journal,
whatever the brokers say of them; what clients are told is asked of every broker.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from controller.core.state import ClusterState
from controller.journal import replay
from protocol.admin.cluster import ClusterView, PartitionView
from protocol.admin.offsets import EARLIEST
from protocol.errors import ErrorCode, Malformed
from protocol.ids import TopicPartition
from simulation.core.checkers.table import check_all
from simulation.matrix.disks import log_of, place_of, strange_logs
from simulation.matrix.outcome import Outcome, Verdict
from simulation.matrix.promise import Promise
from simulation.matrix.scene import AFTER, BROKERS, CORDONED, SUBJECT, Scene
from simulation.workload.questions import list_offsets
from simulation.world.journal_disk import JOURNAL_FILE

HEAL_S: Final = 60
"""Virtual seconds in which everything has to be well again."""
_LOOK_AGAIN_S: Final = 0.1


class _Refused(Exception):  # noqa: N818 -- a verdict
    """A node ended by itself."""


async def judge(scene: Scene) -> Verdict:
    """Wait until the cluster is well, have it go on, and hold it against its promises."""
    try:
        await _heal(scene)
        if scene.victim is scene.cluster.controller and not await scene.create(AFTER):
            return Verdict(Outcome.OFFLINE, "no topic can be created")
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
        _Refused: a node ended by itself.
    """
    async with asyncio.timeout(HEAL_S):
        while await _ill(scene) is not None:
            _start_stopped(scene)
            await asyncio.sleep(_LOOK_AGAIN_S)


def _start_stopped(scene: Scene) -> None:
    """Start the node that a story had asked to end when another one crashed.

    Raises:
        _Refused: nobody had asked.
    """
    for node in scene.cluster.nodes.values():
        if not node.is_running:
            if node is scene.victim or node.ended_with != 0:
                raise _Refused(f"{node.name} ended: {node.ended_with}")
            node.start()


async def _ill(scene: Scene) -> str | None:
    """Return what is not well yet."""
    if not scene.cluster.is_up():
        return "a node is not up"
    try:
        views = [await scene.client.view_of(broker) for broker in BROKERS]
    except (OSError, Malformed) as error:
        return str(error) or type(error).__name__
    for view in views:
        ill = _ill_view(scene, view)
        if ill is not None:
            return f"broker {view.broker}: {ill}"
    partitions = views[0].by_partition
    if any(view.by_partition != partitions for view in views):
        return "the brokers' metadata differ"
    for broker in BROKERS:
        wanted = [str(tp) for tp, seen in partitions.items() if broker in seen.replicas]
        node = scene.cluster.brokers[broker]
        ill = strange_logs(node, wanted, may_have_strays=scene.has_returned)
        if ill is not None:
            return ill
    return await _disagreement(scene, partitions)


def _ill_view(scene: Scene, view: ClusterView) -> str | None:
    for topic, topic_id in view.topic_ids.items():
        if topic_id in scene.deleted:
            return f"{topic} is not deleted"
    for tp, seen in view.by_partition.items():
        if sorted(seen.isr) != sorted(seen.replicas) or seen.leader < 0 or seen.offline_replicas:
            return f"{tp}: replicas {seen.replicas}, isr {seen.isr}, leader {seen.leader}"
        promise = scene.promises.get(tp)
        if promise is not None and promise.is_created and seen.replicas not in promise.replicas:
            return f"{tp}: replicas {seen.replicas}, not {promise.replicas}"
    return None


async def _disagreement(
    scene: Scene, partitions: Mapping[TopicPartition, PartitionView]
) -> str | None:
    """Tell which logs are not equal; compacted ones end alike, each is compacted for itself."""
    for tp, seen in partitions.items():
        start = await _log_start(scene, tp, seen.leader)
        if start is None:
            return f"{tp}: broker {seen.leader} does not say where it starts"
        logs = [log_of(scene.cluster.brokers[broker], tp, start) for broker in seen.replicas]
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
    """Hold every replica and every decision against what was promised.

    Raises:
        AssertionError: the text says what is lost.
    """
    partitions = (await scene.client.view()).by_partition
    for tp, promise in scene.promises.items():
        seen = partitions.get(tp)
        if seen is None:
            assert promise.is_deleted or not promise.is_created, f"{tp} is gone"
            continue
        start = await _log_start(scene, tp, seen.leader)
        assert start is not None, f"{tp}: its leader does not say where it starts"
        for broker in seen.replicas:
            try:
                promise.check(log_of(scene.cluster.brokers[broker], tp, start))
            except AssertionError as complaint:
                raise AssertionError(f"{tp} on broker {broker}: {complaint}") from complaint
        _check_place(scene, tp, promise)
    _check_decisions(scene)
    errors = [str(one.get("exception") or one["message"]) for one in scene.loop.unhandled]
    assert not errors, f"nobody caught {errors[0]}"


def _check_place(scene: Scene, tp: TopicPartition, promise: Promise) -> None:
    """See that a replica was not put where none should be, as long as that holds."""
    if promise.shuns and promise.shuns == scene.settings.get(CORDONED):
        place = place_of(scene.subject, tp)
        assert place != promise.shuns, f"{tp} is in {place}, which is cordoned"


def _check_decisions(scene: Scene) -> None:
    """Hold what the controller knows, and what its journal would give, against its answers."""
    controller = scene.cluster.controller.controller
    assert controller is not None, "there is no controller"
    state = controller.state
    for tp, promise in scene.promises.items():
        topic = state.topics.get(tp.topic)
        if topic is not None and promise.is_created:
            assert topic.configs == promise.configs, f"{tp.topic} has configs {topic.configs}"
    configs = state.dynamic_configs.get(str(SUBJECT), {})
    for name, value in scene.settings.items():
        assert configs.get(name) == value, f"{name} is {configs.get(name)}, not {value}"
    replayed = _replayed(scene)
    for violation in check_all(scene.evidence.finish(state, replayed)):
        raise AssertionError(f"{violation.checker}: {violation.text}")


def _replayed(scene: Scene) -> ClusterState:
    (drive,) = scene.cluster.controller.drives.values()
    data = drive.disk.memory.read_file(JOURNAL_FILE)
    return replay(data, Path(drive.disk.root) / JOURNAL_FILE).state


async def _log_start(scene: Scene, tp: TopicPartition, leader: int) -> int | None:
    try:
        offset = (await list_offsets(scene.client, leader, [tp], EARLIEST))[tp]
    except (OSError, Malformed):
        return None
    return None if isinstance(offset, ErrorCode) else offset
