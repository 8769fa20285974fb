"""Warming up: what is made at its first use is made before the world is copied, not in each copy.

Codecs are compiled when a message first travels: without this, a third of a copy's time. Nothing is
judged and nothing of it stays but what the modules keep.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from simulation.matrix.judge import judge
from simulation.matrix.matrix_cluster import MatrixCluster
from simulation.world.loop import SimLoop

_STEPS_MAX: Final = 1_000_000


@cache
def warm_up() -> None:
    """Let every node crash and be repaired once, and be judged; once per process."""
    loop = SimLoop(steps_max=_STEPS_MAX)
    loop.run_until_complete(_tell(MatrixCluster(loop)))
    loop.close()


async def _tell(cluster: MatrixCluster) -> None:
    await cluster.sim.start()
    await cluster.create()
    await cluster.produce(8)
    await cluster.slow_moves()
    path = cluster.path_of()
    await cluster.move(cluster.other_path())
    await cluster.rest(500)
    await cluster.moves_end()
    await cluster.fail(path)
    await cluster.bring_back(path)
    await cluster.delete_records(2)
    for node in cluster.sim.nodes.values():
        cluster.victim = node
        node.power_cut()
        await cluster.repair()
        await judge(cluster)
    await cluster.reassign((1, 2))
    await cluster.reassigned((1, 2))
    await cluster.delete()
    cluster.client.close()
    await cluster.sim.stop()
