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
from protocol.configs.names import CORDONED_LOG_DIRS
from protocol.errors import ErrorCode, Malformed
from protocol.ids import TopicPartition
from protocol.messages.offsets import EARLIEST
from simulation.core.checkers.table import check_all
from simulation.matrix.disks import log_of, place_of, strange_logs
from simulation.matrix.matrix_cluster import AFTER, BROKERS, SUBJECT, MatrixCluster
from simulation.matrix.outcome import CrashResult, Outcome
from simulation.matrix.partition_model import PartitionModel
from simulation.workload.questions import list_offsets
from simulation.world.journal_disk import JOURNAL_FILE

HEAL_S: Final = 60
"""Virtual seconds in which everything has to be well again."""
_LOOK_AGAIN_S: Final = 0.1


class _Refused(Exception):  # noqa: N818 -- a verdict
    """A node ended by itself."""


async def judge(cluster: MatrixCluster) -> CrashResult:
    """Wait until the cluster is well, have it go on, and hold it against its promises."""
    try:
        await _heal(cluster)
        victims = (cluster.victim, *cluster.companions)
        if cluster.sim.controller in victims and not await cluster.create(AFTER):
            return CrashResult(Outcome.OFFLINE, "no topic can be created")
        for tp, model in cluster.models.items():
            if model.is_created and not model.is_deleted:
                await cluster.produce(1, tp)
        await _heal(cluster)
        await _check(cluster)
    except _Refused as refused:
        return CrashResult(Outcome.REFUSED, str(refused))
    except TimeoutError:
        return CrashResult(Outcome.OFFLINE, await _ill(cluster) or "it took too long")
    except (AssertionError, Malformed) as complaint:
        return CrashResult(Outcome.LOST, str(complaint))
    return CrashResult(Outcome.RECOVERED)


# Healing.


async def _heal(cluster: MatrixCluster) -> None:
    """Wait until nothing is ill.

    Raises:
        TimeoutError: something is for ``HEAL_S``.
        _Refused: a node ended by itself.
    """
    async with asyncio.timeout(HEAL_S):
        while await _ill(cluster) is not None:
            _start_stopped(cluster)
            await asyncio.sleep(_LOOK_AGAIN_S)


def _start_stopped(cluster: MatrixCluster) -> None:
    """Start the node that a story had asked to end when another one crashed.

    Raises:
        _Refused: nobody had asked.
    """
    for node in cluster.sim.nodes.values():
        if not node.is_running:
            if node in (cluster.victim, *cluster.companions) or node.ended_with != 0:
                raise _Refused(f"{node.name} ended: {node.ended_with}")
            node.start()


async def _ill(cluster: MatrixCluster) -> str | None:
    """Return what is not well yet."""
    if not cluster.sim.is_up():
        return "a node is not up"
    try:
        views = [await cluster.client.view_of(broker) for broker in BROKERS]
    except (OSError, Malformed) as error:
        return str(error) or type(error).__name__
    for view in views:
        ill = _ill_view(cluster, view)
        if ill is not None:
            return f"broker {view.broker}: {ill}"
    partitions = views[0].by_partition
    if any(view.by_partition != partitions for view in views):
        return "the brokers' metadata differ"
    for broker in BROKERS:
        wanted = [str(tp) for tp, seen in partitions.items() if broker in seen.replicas]
        node = cluster.sim.brokers[broker]
        ill = strange_logs(node, wanted, may_have_strays=cluster.has_returned)
        if ill is not None:
            return ill
    return await _disagreement(cluster, partitions)


def _ill_view(cluster: MatrixCluster, view: ClusterView) -> str | None:
    for topic, topic_id in view.topic_ids.items():
        if topic_id in cluster.deleted:
            return f"{topic} is not deleted"
    for tp, seen in view.by_partition.items():
        if sorted(seen.isr) != sorted(seen.replicas) or seen.leader < 0 or seen.offline_replicas:
            return f"{tp}: replicas {seen.replicas}, isr {seen.isr}, leader {seen.leader}"
        model = cluster.models.get(tp)
        if model is not None and model.is_created and seen.replicas not in model.replicas:
            return f"{tp}: replicas {seen.replicas}, not {model.replicas}"
    return None


async def _disagreement(
    cluster: MatrixCluster, partitions: Mapping[TopicPartition, PartitionView]
) -> str | None:
    """Tell which logs are not equal; compacted ones end alike, each is compacted for itself."""
    for tp, seen in partitions.items():
        start = await _log_start(cluster, tp, seen.leader)
        if start is None:
            return f"{tp}: broker {seen.leader} does not say where it starts"
        logs = [log_of(cluster.sim.brokers[broker], tp, start) for broker in seen.replicas]
        ends = sorted({max(log, default=-1) for log in logs})
        if len(ends) > 1:
            return f"{tp}: logs end at {ends}"
        model = cluster.models.get(tp)
        is_compacted = model is not None and model.is_compacted
        if not is_compacted and any(log != logs[0] for log in logs):
            return f"{tp}: replicas {seen.replicas} hold different records"
    return None


# Promises.


async def _check(cluster: MatrixCluster) -> None:
    """Hold every replica and every decision against what was promised.

    Raises:
        AssertionError: the text says what is lost.
    """
    partitions = (await cluster.client.view()).by_partition
    for tp, model in cluster.models.items():
        seen = partitions.get(tp)
        if seen is None:
            assert model.is_deleted or not model.is_created, f"{tp} is gone"
            continue
        start = await _log_start(cluster, tp, seen.leader)
        assert start is not None, f"{tp}: its leader does not say where it starts"
        for broker in seen.replicas:
            try:
                model.check(log_of(cluster.sim.brokers[broker], tp, start))
            except AssertionError as complaint:
                raise AssertionError(f"{tp} on broker {broker}: {complaint}") from complaint
        _check_place(cluster, tp, model)
    _check_decisions(cluster)
    errors = [str(one.get("exception") or one["message"]) for one in cluster.loop.unhandled]
    assert not errors, f"nobody caught {errors[0]}"


def _check_place(cluster: MatrixCluster, tp: TopicPartition, model: PartitionModel) -> None:
    """Check that a replica was not put where none should be, as long as that holds."""
    if model.shuns and model.shuns == cluster.settings.get(CORDONED_LOG_DIRS):
        place = place_of(cluster.subject, tp)
        assert place != model.shuns, f"{tp} is in {place}, which is cordoned"


def _check_decisions(cluster: MatrixCluster) -> None:
    """Hold what the controller knows, and what its journal would give, against its answers."""
    controller = cluster.sim.controller.controller
    assert controller is not None, "there is no controller"
    state = controller.state
    for tp, model in cluster.models.items():
        topic = state.topics.get(tp.topic)
        if topic is not None and model.is_created:
            assert topic.configs == model.configs, f"{tp.topic} has configs {topic.configs}"
    configs = state.dynamic_configs.get(str(SUBJECT), {})
    for name, value in cluster.settings.items():
        assert configs.get(name) == value, f"{name} is {configs.get(name)}, not {value}"
    replayed = _replayed(cluster)
    for violation in check_all(cluster.evidence.finish(state, replayed)):
        raise AssertionError(f"{violation.checker}: {violation.text}")


def _replayed(cluster: MatrixCluster) -> ClusterState:
    (drive,) = cluster.sim.controller.drives.values()
    data = drive.disk.memory.read_file(JOURNAL_FILE)
    return replay(data, Path(drive.disk.root) / JOURNAL_FILE).state


async def _log_start(cluster: MatrixCluster, tp: TopicPartition, leader: int) -> int | None:
    try:
        offset = (await list_offsets(cluster.client, leader, [tp], EARLIEST))[tp]
    except (OSError, Malformed):
        return None
    return None if isinstance(offset, ErrorCode) else offset
