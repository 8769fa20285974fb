"""What brokers are promised that miss a change of configs: they hear of it when they are back.

A broker that was only stopped for a while keeps what it read before; what is kept in ZooKeeper it
sees there.
"""

from __future__ import annotations

from collections.abc import Collection, Generator
from typing import Final

from controller.core import failures
from controller.core.effects import Effect, Send
from controller.core.run_state import NOT_SENT, RunState
from controller.core.step import Step
from protocol.messages.control import UpdateMetadataRequest
from simulation.contracts.contract import Broken, of_function, of_method
from simulation.contracts.controller.cluster_facts import alive

Check = Generator[None, None, Broken]
_NOBODY: Final[dict[str, int]] = {}


@of_method(Step, "send_changed_configs")
def missed(step: Step, broker_ids: Collection[int], names: Collection[str]) -> Check:
    """Who is to know of a change is told at once, and known not to have heard of it yet."""
    yield
    if step.settings.has_zookeeper:
        return None
    able = alive(step.state)
    for broker_id in broker_ids:
        noted = step.run.unheard_configs.get(broker_id, _NOBODY)
        sent = _rows(step.effects, broker_id)
        for name in names:
            if broker_id in able and name not in sent:
                return f"broker {broker_id} is not told of {name!r}"
            due = sent[name] if broker_id in able else NOT_SENT
            is_noted = name in noted and (noted[name] == due or noted[name] > due > NOT_SENT)
            if not is_noted:
                return f"broker {broker_id} was told of {name!r} by {due}: {noted}"
    return None


@of_method(RunState, "note_heard")
def heard(run: RunState, broker_id: int, sequence: int) -> Check:
    """Who answers has heard what it was sent up to then, and nothing else."""
    before = run.unheard_configs.get(broker_id)
    if not before:
        return None
    before = dict(before)
    yield
    left = run.unheard_configs.get(broker_id, _NOBODY)
    due = {name: sent for name, sent in before.items() if sent == NOT_SENT or sent > sequence}
    return None if left == due else f"broker {broker_id} answers {sequence}: {left}, not {due}"


@of_function(failures.broker_started)
def caught_up(step: Step, broker_id: int) -> Check:
    """Who comes in hears of each config that changed while it did not listen."""
    due = list(step.run.unheard_configs.get(broker_id, ()))
    if not due:
        return None
    count = len(step.effects)
    yield
    sent = _rows(step.effects[count:], broker_id)
    untold = [name for name in due if name not in sent]
    return f"broker {broker_id} is not told of {untold}" if untold else None


def _rows(effects: Collection[Effect], broker_id: int) -> dict[str, int]:
    """Return the names of which a broker is told that they changed, and by which request."""
    return {
        topic.topic_name: each.sequence
        for each in effects
        if isinstance(each, Send) and each.broker_id == broker_id
        if isinstance(each.request, UpdateMetadataRequest)
        for topic in each.request.topic_states
        if not topic.partition_states
    }
