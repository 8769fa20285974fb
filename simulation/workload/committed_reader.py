"""A consumer of committed records alone, which belongs to no group, as the Java client has them.

Where it begins is in the history, so that a checker can follow it from record to record.
"""

from __future__ import annotations

from simulation.core.history import NO_GENERATION, Assignment, Function
from simulation.workload.consumer import ConsumerWorkload, Position


class CommittedReader(ConsumerWorkload):
    """One consumer. ``run`` it once; ``stop`` ends it after the fetches under way."""

    async def run(self) -> None:
        """Read from the beginning until stopped."""
        self._write_down()
        await super().run()

    async def _start_anew(self, broker: int, position: Position) -> None:
        await super()._start_anew(broker, position)
        self._write_down()

    async def _go_back(self, broker: int, position: Position, current: int) -> None:
        offset = position.offset
        await super()._go_back(broker, position, current)
        if position.offset < offset:
            self._write_down()

    def _write_down(self) -> None:
        """Note that it may be given again what it was given."""
        told = Assignment("", NO_GENERATION, ())
        with self._history.begin(self._client.client_id, Function.ASSIGN, told) as assigning:
            assigning.ok(told)
