"""What copies would make at its first use is there before the first copy."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

from simulation.matrix.judge import judge
from simulation.matrix.outcome import Outcome
from simulation.matrix.rehearsal import rehearse
from simulation.matrix.scene import Scene
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


async def crashed(scene: Scene) -> Outcome:
    await scene.cluster.start()
    await scene.create()
    await scene.produce(2)
    scene.victim.kill()
    await scene.repair()
    outcome = (await judge(scene)).outcome
    scene.client.close()
    await scene.cluster.stop()
    return outcome


def test_a_rehearsal_leaves_no_codec_to_compile() -> None:
    rehearse()
    loop = SimLoop(7)
    scene = Scene(loop)
    with compiled() as seen:
        assert loop.run_until_complete(crashed(scene)) is Outcome.RECOVERED
    loop.close()
    assert seen == []
