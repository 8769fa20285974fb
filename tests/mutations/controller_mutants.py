"""Controllers that count, or tell, what they have not decided. Others are in ``mutants``."""

from __future__ import annotations

from controller.core.decision import Decision, Durable
from controller.core.effects import Send
from controller.core.events import Event
from controller.core.machine import Machine
from protocol.messages.control import StopReplicaRequest


class MisnumberingMachine(Machine):
    """Says of its decisions that they rest on the one before."""

    def step(self, event: Event, now_ms: int) -> Decision:
        decision = super().step(event, now_ms)
        decision.journal_number -= bool(decision.records)
        return decision


class KeepingMachine(Machine):
    """Tells nobody to delete a replica."""

    def step(self, event: Event, now_ms: int) -> Decision:
        decision = super().step(event, now_ms)
        for effect in decision.effects(Durable(decision.journal_number)):
            if isinstance(effect, Send) and isinstance(effect.request, StopReplicaRequest):
                for topic in effect.request.topic_states:
                    for each in topic.partition_states:
                        each.delete_partition = False
        return decision
