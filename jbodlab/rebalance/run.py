"""Carries a plan out: looks, orders what is next, waits, until all is in place or it is stopped.

It keeps no state of its own, so that a run that ended anywhere is gone on with by running again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from jbodlab.asking.admin import ClusterAdmin
from jbodlab.errors import ExitCode, LabError
from jbodlab.rebalance.core.plan_file import Wanted
from jbodlab.rebalance.core.steps import (
    DirMove,
    Host,
    Orders,
    Seen,
    decide,
    is_done,
    remaining_bytes,
    under_way,
)
from jbodlab.rebalance.core.throttles import Throttles, throttles_now, throttles_of
from jbodlab.rebalance.look import look_at_plan
from jbodlab.rebalance.throttling import put_on, take_off
from protocol.admin.log_dirs import move_errors, move_requests
from protocol.errors import ErrorCode, KafkaError

POLL_MS: Final = 200
STALL_MS: Final = 120_000
AT_ONCE: Final = 10
_STOP_LOOKS: Final = 10
_PASSING: Final = (
    # The controller or a leader is away for a moment.
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.NOT_CONTROLLER,
    ErrorCode.LEADER_NOT_AVAILABLE,
)
_RESUME: Final = "run it again to go on from here, or `jbodlab rebalance undo` to go back"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunProgress:
    """How far a run is."""

    copied_bytes: int
    total_bytes: int
    left_count: int
    """Replicas that are not in place."""
    replica_count: int
    """Replicas that were not in place when the run began."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How a plan is carried out."""

    throttle: int | None = None
    """Bytes per second for each broker and way; None: as fast as it goes."""
    at_once: int = AT_ONCE
    """Reassignments, and moves per broker, that are under way together."""
    stall_ms: int = STALL_MS
    """How long nothing may change before the run is given up."""


class Run:
    """One run of one plan.

    ``pause`` waits for so many seconds at most and tells whether the run shall stop.
    """

    def __init__(
        self,
        admin: ClusterAdmin,
        plan: Sequence[Wanted],
        options: RunOptions,
        pause: Callable[[float], bool],
    ) -> None:
        self._admin = admin
        self._plan = plan
        self._options = options
        self._pause = pause
        self._throttles = Throttles(lists={}, rates={})
        self._has_looked = False

    def progress(self) -> Iterator[RunProgress]:
        """Carry the plan out; yield how far it is after each look.

        Throttles are off at the end, however it ends.

        Raises:
            LabError: STOPPED after ``pause`` said so and what was under way was taken back;
                TIMED_OUT when nothing changes; FAILED when the cluster refuses.
            OSError: no broker answers in the beginning.
        """
        seen = self._first_look()
        self._throttles = throttles_of(self._plan, seen)
        try:
            yield from self._until_done(seen)
        finally:
            if self._options.throttle is not None:
                take_off(self._admin, self._throttles)

    def _first_look(self) -> Seen:
        seen = look_at_plan(self._admin, self._plan)
        missing = [str(each.tp) for each in self._plan if each.tp not in seen.replicas]
        if missing:
            raise LabError(
                ExitCode.FAILED, f"the cluster has no {', '.join(missing)}: make a new plan"
            )
        return seen

    def _until_done(self, seen: Seen) -> Iterator[RunProgress]:
        begun = remaining_bytes(self._plan, seen)
        last, deadline = None, self._new_deadline()
        while not is_done(self._plan, seen):
            progress = _progress(begun, remaining_bytes(self._plan, seen))
            if progress != last:
                last, deadline = progress, self._new_deadline()
            yield progress
            self._try(lambda current=seen: self._order(current))
            if self._pause(POLL_MS / 1000):
                self._stop()
            if time.monotonic() > deadline:
                raise LabError(
                    ExitCode.TIMED_OUT,
                    f"nothing changed for {self._options.stall_ms} ms: {_RESUME}",
                )
            seen = self._try(self._first_look) or seen
        yield _progress(begun, {})

    def _new_deadline(self) -> float:
        return time.monotonic() + self._options.stall_ms / 1000

    def _try(self, step: Callable[[], Seen | None]) -> Seen | None:
        """Do one step; None when the cluster is busy with itself for a moment."""
        try:
            return step()
        except OSError:
            return None
        except KafkaError as error:
            if error.code in _PASSING:
                return None
            raise LabError(
                ExitCode.FAILED, f"the cluster answers {error}; the run ends here: {_RESUME}"
            ) from error

    def _order(self, seen: Seen) -> None:
        orders = decide(self._plan, seen, self._options.at_once)
        self._throttle(seen, orders)
        self._carry_out(orders)
        if seen.targets or orders.moves:
            # What was under way may have ended in between, and taken its throttles with it.
            self._throttle(seen, orders)

    def _throttle(self, seen: Seen, orders: Orders) -> None:
        """Put throttles on for what is ordered, and once for what was under way before the run."""
        rate = self._options.throttle
        if rate is not None and (orders != Orders() or not self._has_looked):
            put_on(self._admin, throttles_now(self._plan, seen, orders), rate)
        self._has_looked = True

    def _carry_out(self, orders: Orders) -> None:
        order_moves(self._admin, orders.chosen)
        if orders.reassign:
            self._admin.reassign(
                {(tp.topic, tp.partition): to for tp, to in orders.reassign.items()}
            )
        order_moves(self._admin, orders.moves)

    def _stop(self) -> None:
        """Take back what is under way; what is complete stays."""
        for _ in range(_STOP_LOOKS):
            # What ended between the look and the order is met by the next look.
            orders = under_way(self._plan, look_at_plan(self._admin, self._plan))
            if orders == Orders():
                break
            self._cancel(orders)
            order_moves(self._admin, orders.moves)
        raise LabError(ExitCode.STOPPED, f"stopped; what was under way is taken back: {_RESUME}")

    def _cancel(self, orders: Orders) -> None:
        for tp in orders.reassign:
            try:
                self._admin.reassign({tp: None})
            except KafkaError as error:
                if error.code != ErrorCode.NO_REASSIGNMENT_IN_PROGRESS:
                    raise


def order_moves(admin: ClusterAdmin, moves: Iterable[DirMove]) -> None:
    """Order brokers to have replicas in log dirs; a replica still to come is remembered by them.

    Raises:
        KafkaError: the first refusal.
        OSError: a broker does not answer.
    """
    requests = move_requests((at.broker, tp, at.path) for at, tp in moves)
    for broker, request in requests.items():
        for tp, code in move_errors(admin.ask(request, 2, broker)).items():
            if code not in (ErrorCode.NONE, ErrorCode.REPLICA_NOT_AVAILABLE):
                raise KafkaError(code, f"{tp} of broker {broker}")


def _progress(begun: Mapping[Host, int], left: Mapping[Host, int]) -> RunProgress:
    """A partition that grows meanwhile leaves more to copy than there was; that does not count."""
    remaining = sum(min(left.get(host, 0), size_bytes) for host, size_bytes in begun.items())
    total = sum(begun.values())
    return RunProgress(
        copied_bytes=total - remaining,
        total_bytes=total,
        left_count=sum(host in left for host in begun),
        replica_count=len(begun),
    )
