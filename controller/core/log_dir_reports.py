"""What brokers tell of their log dirs, as they register and by their heartbeats.

Source: KIP-112; of returns within the same process Kafka hears nothing, see KIP-18.
"""

from __future__ import annotations

from controller.core import failures, removals
from controller.core.records import LogDirsCordoned, LogDirsReturned
from controller.core.state import Broker
from controller.core.step import Step
from protocol.messages.lifecycle import BrokerHeartbeatRequest, BrokerRegistrationRequest


def log_dirs_registered(step: Step, request: BrokerRegistrationRequest, known: Broker) -> None:
    """Notice log dirs, or single replicas, that the same process brought back.

    One that is gone without a word was replaced before its failure could be told.
    """
    online = tuple(map(bytes, request.log_dirs))
    gone = tuple(d for d in known.log_dirs if d not in online and d not in known.offline_log_dirs)
    if gone and step.state.is_reachable(known.broker_id):
        failures.log_dirs_failed(step, known.broker_id, gone)
    returned = [d for d in online if d not in known.log_dirs or d in known.offline_log_dirs]
    if returned:
        step.note(f"{len(returned)} log dirs of broker {known.broker_id} are back")
        step.change(LogDirsReturned(known.broker_id, online))
    if step.state.is_reachable(known.broker_id):
        if returned:
            failures.ask_online_replicas(step, known.broker_id)
        sent = step.run.channels[known.broker_id].sent
        step.run.asked_before_return[known.broker_id] = sent
        failures.ask_offline_replicas(step, known.broker_id)
        removals.tell_again(step, (known.broker_id,))


def log_dirs_told(step: Step, request: BrokerHeartbeatRequest) -> None:
    """Notice failures of log dirs, and which of them are cordoned; null leaves the cordons."""
    broker = step.state.brokers[request.broker_id]
    reported = dict.fromkeys(map(bytes, request.offline_log_dirs))
    news = tuple(d for d in broker.log_dirs if d in reported and d not in broker.offline_log_dirs)
    if news and not broker.is_fenced:
        failures.log_dirs_failed(step, broker.broker_id, news)
    if request.cordoned_log_dirs is not None:
        cordoned = tuple(sorted(map(bytes, request.cordoned_log_dirs)))
        if cordoned != broker.cordoned_log_dirs:
            step.change(LogDirsCordoned(broker.broker_id, cordoned))
