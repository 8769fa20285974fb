"""A rehearsal: what is made at its first use is made before the world is copied, not in each copy.

Codecs are compiled when a message first travels: without this, a third of a copy's time. Nothing is
judged and nothing of it stays but what the modules keep.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from simulation.matrix.judge import judge
from simulation.matrix.scene import Scene
from simulation.world.loop import SimLoop

_STEPS_MAX: Final = 1_000_000


@cache
def rehearse() -> None:
    """Let every node crash and be repaired once, and be judged; once per process."""
    loop = SimLoop(steps_max=_STEPS_MAX)
    loop.run_until_complete(_tell(Scene(loop)))
    loop.close()


async def _tell(scene: Scene) -> None:
    await scene.cluster.start()
    await scene.create()
    await scene.produce(8)
    await scene.slow_moves()
    path = scene.path_of()
    await scene.move(scene.other_path())
    await scene.rest(500)
    await scene.moves_end()
    await scene.fail(path)
    await scene.bring_back(path)
    await scene.delete_records(2)
    for node in scene.cluster.nodes.values():
        scene.victim = node
        node.power_cut()
        await scene.repair()
        await judge(scene)
    await scene.reassign((1, 2))
    await scene.reassigned((1, 2))
    await scene.delete()
    scene.client.close()
    await scene.cluster.stop()
