"""VirtualLoop: virtual time on which several processes run side by side.

Time is counted in whole microseconds and moves only when nobody can run. Each process runs its own
callbacks in their order, as asyncio promises; whose turn it is, chance decides. It knows neither
network nor disks.
"""

# It replaces what asyncio's loop does per turn, which has no public place for that.
# pyright: reportPrivateUsage=false, reportAttributeAccessIssue=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportIncompatibleMethodOverride=false

from __future__ import annotations

import asyncio
import gc
import heapq
from collections.abc import Callable, Coroutine
from contextvars import Context, copy_context
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from simulation.world.handles import SimHandle, SimTimerHandle
from simulation.world.process import CURRENT, Process
from simulation.world.random_streams import RandomStreams
from simulation.world.tasks import SimTask, close_abandoned, describe_tasks
from simulation.world.trace import Trace

T = TypeVar("T")

STEPS_MAX: Final = 200_000_000
_STEPS_PER_COLLECTION: Final = 100_000
_CANCELLED_TIMERS_MIN: Final = 256
"""So many cancelled timers are not worth sweeping out."""


_Timer: TypeAlias = "tuple[int, int, SimTimerHandle]"

_new: Final = object.__new__


class DeadlockError(AssertionError):
    """Every task waits and no timer is set: nothing can ever happen again."""


class StepLimitError(AssertionError):
    """The world took more steps than it was given."""


class Unhandled(NamedTuple):
    """What asyncio told an exception handler."""

    at_us: int
    context: dict[str, Any]
    """``BaseEventLoop.call_exception_handler`` names its entries."""


class VirtualLoop(asyncio.BaseEventLoop):
    """The turns of one world. ``close`` it last: then what is left of the processes is let go."""

    def __init__(self, seed: int = 0, *, steps_max: int = STEPS_MAX) -> None:
        super().__init__()
        self.chance = RandomStreams(seed)
        self.trace = Trace()
        self.steps = 0
        """Callbacks and steps of tasks run so far."""
        self.unhandled: list[Unhandled] = []
        """Errors that no code of a living process caught."""
        self.world = Process("world")
        """Whose code belongs to no process of the cluster."""
        self._steps_max = steps_max
        self._break_at_steps = min(_STEPS_PER_COLLECTION, steps_max)
        self.now_us = 0
        """Microseconds since the world began; only the loop changes it."""
        self._timers: list[_Timer] = []
        self._timers_made = 0
        self.timers_cancelled = 0
        """How many of the timers that are kept were cancelled; they count themselves."""
        self._tasks_made = 0
        self._runnable: list[Process] = []
        self._draw = self.chance.stream("schedule").random
        self._dead_tasks: list[SimTask[Any]] = []
        self._is_ending = False
        self.at_end: dict[object, Callable[[], None]] = {}
        """What is called when the world ends, by what it closes."""

    def time(self) -> float:
        """Return seconds since the world began."""
        return self.now_us / 1_000_000

    @property
    def timers_count(self) -> int:
        """How many timers are kept, those that were cancelled lately included."""
        return len(self._timers)

    def call_soon(
        self, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """Run ``callback`` behind all that its process runs before; never when that is dead."""
        handle = _new(SimHandle)
        handle._context = copy_context() if context is None else context
        handle._loop = self
        handle._callback = callback
        handle._args = args
        handle._cancelled = False
        process = (CURRENT.get() if context is None else context.get(CURRENT)) or self.world
        if process.is_dead or self._is_ending:
            handle.cancel()
            return handle
        ready = process.ready
        if not ready and not process.is_paused:
            self._runnable.append(process)
        ready.append(handle)
        return handle

    def call_later(
        self, delay: float, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Run ``callback`` in ``delay`` seconds, rounded up to whole microseconds."""
        at_us = _rounded_up_us(self.now_us / 1_000_000 + delay)
        return self.call_at_us(at_us, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Run ``callback`` at the first microsecond that is not before ``when``."""
        return self.call_at_us(_rounded_up_us(when), callback, *args, context=context)

    def call_at_us(
        self, at_us: int, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Run ``callback`` at a microsecond since the world began."""
        handle = _new(SimTimerHandle)
        handle._context = copy_context() if context is None else context
        handle._loop = self
        handle._callback = callback
        handle._args = args
        handle._cancelled = False
        handle._scheduled = True
        handle.at_us = at_us
        process = (CURRENT.get() if context is None else context.get(CURRENT)) or self.world
        if process.is_dead or self._is_ending:
            handle.cancel()
            return handle
        handle.process = process
        self._timers_made += 1
        heapq.heappush(self._timers, (at_us, self._timers_made, handle))
        return handle

    def create_task(
        self,
        coro: Coroutine[Any, Any, T],
        *,
        name: str | None = None,
        context: Context | None = None,
    ) -> SimTask[T]:
        """Make a task of the process it is made by; a dead process makes none that runs."""
        process = (CURRENT.get() if context is None else context.get(CURRENT)) or self.world
        self._tasks_made += 1
        task: SimTask[T] = SimTask(self._tasks_made, process, coro, self, name, context)
        if process.is_dead or self._is_ending:
            close_abandoned(task)
        return task

    def pause(self, process: Process) -> None:
        """Hold back all that a process would run, until ``resume``."""
        process.is_paused = True
        self._forget(process)

    def resume(self, process: Process) -> None:
        """Let a paused process go on with all that was held back; nothing for any other."""
        if not process.is_paused:
            return
        process.is_paused = False
        if process.ready and not process.is_dead:
            self._runnable.append(process)

    def kill(self, process: Process) -> None:
        """Run nothing of a process any more, not even what its code would do at its end."""
        process.is_dead = True
        # They are kept until the world ends: their end would run code, whenever it came. What one
        # that has not begun is held by alone is its first step, which is about to go.
        for task in self._tasks_of(process):
            asyncio.tasks._unregister_task(task)
            self._dead_tasks.append(task)
        process.ready.clear()
        self._forget(process)

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Note an error that nobody caught, and log it; the dead have none."""
        process = CURRENT.get()
        if self._is_ending or (process is not None and process.is_dead):
            return
        self.unhandled.append(Unhandled(self.now_us, context))
        super().call_exception_handler(context)

    def close(self) -> None:
        """Let go of all that is left; no code of it has an effect."""
        self._is_ending = True
        self._timers.clear()
        self._runnable.clear()
        for end in list(self.at_end.values()):
            end()
        for task in [*self._dead_tasks, *self._tasks_of(None)]:
            close_abandoned(task)
        self._dead_tasks.clear()
        super().close()

    def _run_once(self) -> None:
        """Run until somebody stops the loop: asyncio would call it again and again."""
        timers, runnable = self._timers, self._runnable
        while not self._stopping:
            if len(runnable) == 1:  # As most often.
                process = runnable[0]
                at_us = process.free_at_us
                if at_us > self.now_us:
                    if self.steps >= self._break_at_steps or (timers and timers[0][0] <= at_us):
                        self._advance_to(at_us)
                        continue
                    self.now_us = at_us
            else:
                drawn = self._draw_process() if runnable else None
                if drawn is None:
                    self._advance()
                    continue
                process = drawn
            ready = process.ready
            handle = ready.popleft()
            if not ready:
                runnable.remove(process)
            if not handle._cancelled:
                self.steps += 1
                process.steps += 1
                process.free_at_us = self.now_us + process.step_us
                # What Handle._run does, which would be one more call.
                try:
                    handle._context.run(handle._callback, *handle._args)
                except (SystemExit, KeyboardInterrupt):
                    raise
                except BaseException as error:  # noqa: BLE001 -- as asyncio
                    self._report(handle, error)

    def _report(self, handle: asyncio.Handle, error: BaseException) -> None:
        message = f"Exception in callback {handle!r}"
        context = {"message": message, "exception": error, "handle": handle}
        self.call_exception_handler(context)

    def _draw_process(self) -> Process | None:
        """Draw one of those that can run now."""
        now_us = self.now_us
        free = [process for process in self._runnable if process.free_at_us <= now_us]
        if len(free) < 2:
            return free[0] if free else None
        return free[int(self._draw() * len(free))]

    def _advance(self) -> None:
        """Let time pass until something can happen."""
        timers = self._timers
        while timers and timers[0][2]._cancelled:
            heapq.heappop(timers)[2]._scheduled = False
            self.timers_cancelled -= 1
        if self._runnable:
            self._advance_to(min([process.free_at_us for process in self._runnable]))
        elif timers:
            self._advance_to(max(timers[0][0], self.now_us))
        else:
            raise DeadlockError(
                f"nothing can happen any more at {self.time():.6f} s\n{describe_tasks(self)}"
            )
        if self.timers_cancelled > _CANCELLED_TIMERS_MIN:
            self._sweep_timers()

    def _advance_to(self, at_us: int) -> None:
        """Let time pass until then, or until the next timer before; hand over what is due."""
        if self.steps >= self._break_at_steps:
            self._take_a_break()
        timers, runnable = self._timers, self._runnable
        if timers and timers[0][0] < at_us:
            at_us = max(timers[0][0], self.now_us)
        self.now_us = at_us
        while timers and timers[0][0] <= at_us:
            handle = heapq.heappop(timers)[2]
            handle._scheduled = False
            process = handle.process
            if handle._cancelled:
                self.timers_cancelled -= 1
            elif not process.is_dead:
                if not process.ready and not process.is_paused:
                    runnable.append(process)
                process.ready.append(handle)

    def collect_garbage(self) -> None:
        """Have finalizers tell what nobody looked at; always at the same step of a run."""
        gc.collect()

    def limit_steps(self, count: int) -> None:
        """Let the world take at most ``count`` steps more; then it raises StepLimitError."""
        self._steps_max = min(self._steps_max, self.steps + count)
        self._break_at_steps = min(self._break_at_steps, self._steps_max)

    def _take_a_break(self) -> None:
        """Collect garbage: finalizers run code, so that must be at the same step in every run."""
        if self.steps >= self._steps_max:
            raise StepLimitError(
                f"{self.steps} steps taken, {self._steps_max} given, at {self.time():.6f} s\n"
                f"{describe_tasks(self)}"
            )
        self.collect_garbage()
        self._break_at_steps = min(self.steps + _STEPS_PER_COLLECTION, self._steps_max)

    def _sweep_timers(self) -> None:
        """Drop cancelled timers when most are; the order of the others depends on none of them."""
        if self.timers_cancelled < len(self._timers) // 2:
            return
        for timer in self._timers:
            if timer[2]._cancelled:
                timer[2]._scheduled = False
        self._timers[:] = [timer for timer in self._timers if not timer[2]._cancelled]
        heapq.heapify(self._timers)
        self.timers_cancelled = 0

    def _forget(self, process: Process) -> None:
        if process in self._runnable:
            self._runnable.remove(process)

    def _tasks_of(self, process: Process | None) -> list[SimTask[Any]]:
        """Return the unfinished tasks of one process, or of all."""
        return [
            task
            for task in sorted(asyncio.all_tasks(self), key=hash)
            if isinstance(task, SimTask) and process in (None, task.process)
        ]


def _rounded_up_us(when_s: float) -> int:
    at_us = int(when_s * 1_000_000)
    return at_us if at_us / 1_000_000 >= when_s else at_us + 1
