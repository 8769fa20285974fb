"""What those are promised who wait until brokers are told: they go on then, and not before.

Source: ZkAdminManager.scala topicPurgatory, KafkaController.scala for elections.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Generator, Iterable

from controller.core.decision import Decision, Durable
from controller.core.effects import Effect
from controller.core.events import Event
from controller.core.machine import Machine
from controller.core.run_state import RunState, Waiting
from controller.core.step import Step
from simulation.contracts.contract import Broken, of_method


@of_method(Step, "when_told")
def when_told(
    step: Step, done: Effect, *, late: Effect | None = None, deadline_ms: int | None = None
) -> Generator[None, None, Broken]:
    """Who waits for brokers to be told waits for each that has yet to answer what it was sent."""
    behind = {
        broker_id: (progress.broker_epoch, progress.metadata_sent)
        for broker_id, progress in step.run.channels.items()
        if progress.metadata_sent > progress.answered
    }
    held = list(step.run.waiting)
    yield
    if not behind:
        is_done = _is_among(done, step.effects) and len(step.run.waiting) == len(held)
        return None if is_done else f"nobody is to be told, and {done} waits"
    new = [each for each in step.run.waiting if not _is_among(each, held)]
    wanted = [Waiting(behind, deadline_ms, done, late)]
    return None if new == wanted else f"{new} waits, not {wanted}"


@of_method(Machine, "step")
def goes_on(machine: Machine, _: Event, now_ms: int) -> Generator[None, Decision, Broken]:
    """Whoever waits goes on once all that it waits for is answered, or at its time; not before."""
    before = list(machine.run.waiting)
    decision = yield
    run = machine.run
    if run.hearing is not None or not (before or run.waiting):
        return None
    for each in run.waiting:
        if _is_told(run, each) or _is_over(each, now_ms):
            return f"{each} waits at {now_ms}, answered is {run.channels}"
    effects = decision.effects(Durable(decision.journal_number))
    for each in before:
        if _is_among(each, run.waiting):
            continue
        is_told = _is_told(run, each)
        if not is_told and not _is_over(each, now_ms):
            return f"{each} goes on at {now_ms}, answered is {run.channels}"
        wanted = each.done if is_told else each.late
        if wanted is not None and not _is_among(wanted, effects):
            return f"{each} ends, and {wanted} is not done"
    return None


def _is_told(run: RunState, waiting: Waiting) -> bool:
    """Tell whether nobody is left who has yet to answer: a broker's next life is not waited for."""
    lives = {each: progress.broker_epoch for each, progress in run.channels.items()}
    return not any(
        lives.get(broker_id) == epoch and run.channels[broker_id].answered < sequence
        for broker_id, (epoch, sequence) in waiting.told.items()
    )


def _is_over(waiting: Waiting, now_ms: int) -> bool:
    return waiting.deadline_ms is not None and now_ms >= waiting.deadline_ms


def _is_among(one: object, others: Iterable[object]) -> bool:
    return any(each is one for each in others)


@of_method(Machine, "next_deadline_ms")
def next_deadline_ms(machine: Machine) -> Generator[None, int | None, Broken]:
    """A controller looks again when the first time comes at which something is due."""
    run, session_ms = machine.run, machine._settings.session_timeout_ms  # noqa: SLF001 -- as above
    due_ms = yield
    times = [seen_ms + session_ms for seen_ms in run.last_seen_ms.values()]
    times += [each.deadline_ms for each in run.waiting if each.deadline_ms is not None]
    times += [each for each in (run.balance_at_ms, run.reassignments_due_ms) if each is not None]
    if run.hearing is not None:
        times.append(run.hearing.deadline_ms)
    if run.wanted_topics and run.wanted_since_ms is not None:
        times.append(run.wanted_since_ms + session_ms)
    return None if due_ms == min(times, default=None) else f"it looks at {due_ms}, due are {times}"
