"""What copies would make at its first use is there before the first copy."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

from simulation.matrix.judge import judge
from simulation.matrix.matrix_cluster import MatrixCluster
from simulation.matrix.outcome import Outcome
from simulation.matrix.warm_up import warm_up
from simulation.world.loop import SimLoop


@contextmanager
def compiled() -> Generator[list[str]]:
    """Give who compiles code meanwhile."""
    seen: list[str] = []

    def note(frame: FrameType, event: str, arg: object) -> None:
        if event == "c_call" and arg is compile:
            seen.append(f"{frame.f_code.co_qualname} for {frame.f_back}")

    sys.setprofile(note)
    try:
        yield seen
    finally:
        sys.setprofile(None)


async def crashed(cluster: MatrixCluster) -> Outcome:
    await cluster.sim.start()
    await cluster.create()
    await cluster.produce(2)
    cluster.victim.kill()
    await cluster.repair()
    outcome = (await judge(cluster)).outcome
    cluster.client.close()
    await cluster.sim.stop()
    return outcome


def test_a_rehearsal_leaves_no_codec_to_compile() -> None:
    warm_up()
    loop = SimLoop(7)
    cluster = MatrixCluster(loop)
    with compiled() as seen:
        assert loop.run_until_complete(crashed(cluster)) is Outcome.RECOVERED
    loop.close()
    assert seen == []
