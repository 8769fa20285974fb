"""What ``kafka-reassign-partitions`` does: generate, execute, verify, cancel, list.

Reads no command line. Source: ReassignPartitionsCommand.java.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Final

from controller.core.placement import UsableBroker
from jbodlab.kafka_tools.client import ClusterClient
from jbodlab.kafka_tools.core.failures import TerseFailure
from jbodlab.kafka_tools.core.log_dirs_json import compact_json
from jbodlab.kafka_tools.core.reassignment_file import (
    ANY,
    Assignment,
    ProposedReassignment,
    ReplicaOn,
    check_plan,
    plan_document,
)
from jbodlab.kafka_tools.core.reassignment_start import (
    IN_PROGRESS,
    cancellable,
    check_brokers,
    check_racks,
    check_topics,
    current_replicas,
    moves_started,
    plural,
    propose,
    refused,
    sort_answers,
    timed_out,
)
from jbodlab.kafka_tools.core.reassignment_states import (
    Placement,
    describe_moves,
    describe_partitions,
    describe_reassignments,
    is_done,
    move_states,
    partition_states,
    placements,
)
from jbodlab.kafka_tools.core.reassignment_throttles import moves_of
from jbodlab.kafka_tools.orders import move_replicas, reassign
from jbodlab.kafka_tools.questions import describe_log_dirs, describe_topics, list_reassignments
from jbodlab.kafka_tools.reassignment_throttling import clear_throttles, set_throttles
from jbodlab.kafka_tools.report import Report
from protocol.ids import TopicPartition

_RETRY_S: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class HowToExecute:
    """The options of ``--execute``."""

    is_additional: bool
    rate: int
    """Bytes per second between brokers; -1 sets none."""
    log_dir_rate: int
    """Bytes per second between log dirs; -1 sets none."""
    timeout_ms: int
    """For the moves between log dirs to begin."""


@dataclass(frozen=True, slots=True)
class Reassigner:
    """The actions on one cluster."""

    client: ClusterClient
    report: Report

    def generate(self, topics: list[str], brokers: list[int], *, is_rack_aware: bool) -> None:
        """Propose replicas for topics on some brokers; those not in the cluster are left out.

        Raises:
            ToolFailure: a topic is not there, or only some brokers have a rack.
            KafkaError: INVALID_REPLICATION_FACTOR.
        """
        found = describe_topics(self.client, topics)
        check_topics(topics, found)
        nodes = self.client.nodes()
        candidates = [
            UsableBroker(broker, nodes[broker].rack if is_rack_aware else None)
            for broker in sorted(brokers)
            if broker in nodes
        ]
        check_racks(candidates)
        proposed = propose(found, candidates, random.Random())
        current = {
            TopicPartition(topic.name, each.partition): each.replicas
            for topic in found.values()
            for each in topic.partitions
        }
        before = plan_document(current, self._log_dirs_of(current))
        after = plan_document(proposed, {})
        self.report.say(f"Current partition replica assignment\n{compact_json(before)}\n")
        self.report.say(f"Proposed partition reassignment configuration\n{compact_json(after)}")
        self.report.note("current", before)
        self.report.note("proposed", after)

    def execute(self, plan: ProposedReassignment, how: HowToExecute) -> None:
        """Start a plan.

        Raises:
            TerseFailure: another reassignment is under way, partitions were refused, or moves
                could not be started in time.
            ToolFailure, KafkaError: the plan or a setting makes no sense, or a move was refused.
        """
        check_plan(plan)
        under_way = list_reassignments(self.client)
        if under_way and not how.is_additional:
            raise TerseFailure(IN_PROGRESS)
        check_brokers(plan, self.client.nodes())
        topics = dict.fromkeys(partition.topic for partition, _ in plan.partitions)
        current = current_replicas(plan, describe_topics(self.client, list(topics)))
        self._show_rollback(current)
        moves = moves_of(under_way, plan.assignment, current)
        rates = (how.rate, how.log_dir_rate)
        set_throttles(self.client, plan, moves, rates, self.report)
        errors = reassign(self.client, plan.assignment)
        if errors:
            raise TerseFailure(refused(errors, "Error reassigning partition(s):"))
        listed = [str(partition) for partition in sorted(plan.assignment)]
        self.report.say(
            f"Successfully started partition reassignment{plural(len(listed))} for "
            f"{','.join(listed)}"
        )
        self.report.note("started", listed)
        if plan.log_dirs:
            self._start_moves(plan.log_dirs, how.timeout_ms)

    def verify(self, plan: ProposedReassignment, *, keeps_throttles: bool) -> None:
        """Tell how far a plan is; when nothing is under way take throttles off.

        Raises:
            ToolFailure, KafkaError: a broker does not answer, or a setting was refused.
        """
        under_way = list_reassignments(self.client)
        topics = dict.fromkeys(partition.topic for partition, _ in plan.partitions)
        partitions = partition_states(plan, under_way, describe_topics(self.client, list(topics)))
        self.report.say(describe_partitions(partitions))
        moves = move_states(plan.log_dirs, self._placements(plan.log_dirs))
        self.report.say(describe_moves(moves))
        states = {str(each): asdict(state) for each, state in partitions.items()}
        self.report.note("partitions", states)
        words = {str(each): type(state).__name__.lower() for each, state in moves.items()}
        self.report.note("moves", words)
        is_over = not under_way and all(is_done(state) for state in moves.values())
        if is_over and not keeps_throttles:
            clear_throttles(self.client, plan, self.report)

    def cancel(self, plan: ProposedReassignment, *, keeps_throttles: bool, timeout_ms: int) -> None:
        """Take a plan's reassignments and moves back.

        Raises:
            TerseFailure: partitions were refused, or moves could not be turned in time.
            ToolFailure, KafkaError: a broker does not answer, or a setting was refused.
        """
        self._cancel_reassignments(plan)
        found = self._placements(plan.log_dirs)
        back = {
            replica: placement.current
            for replica, placement in found.items()
            if placement.future is not None and placement.current is not None
        }
        if back:
            self._start_moves(back, timeout_ms)
        else:
            self.report.say("None of the specified partition moves are active.")
        if not keeps_throttles:
            clear_throttles(self.client, plan, self.report)

    def list(self) -> None:
        """Show all reassignments under way."""
        under_way = list_reassignments(self.client)
        self.report.say(describe_reassignments(under_way))
        listed = {
            str(partition): {
                "replicas": each.replicas,
                "adding": each.adding,
                "removing": each.removing,
            }
            for partition, each in sorted(under_way.items())
        }
        self.report.note("reassignments", listed)

    def _cancel_reassignments(self, plan: ProposedReassignment) -> None:
        wanted = [partition for partition, _ in plan.partitions]
        partitions = cancellable(wanted, list_reassignments(self.client, wanted) if wanted else {})
        self.report.note("cancelled", [str(each) for each in partitions])
        if not partitions:
            self.report.say("None of the specified partition reassignments are active.")
            return
        errors = reassign(self.client, dict.fromkeys(partitions))
        what = f"partition reassignment{plural(len(partitions))} for:"
        if errors:
            raise TerseFailure(refused(errors, f"Error cancelling {what}"))
        listed = ",".join(map(str, partitions))
        self.report.say(f"Successfully cancelled {what} {listed}")

    def _show_rollback(self, current: Assignment) -> None:
        document = plan_document(current, self._log_dirs_of(current))
        self.report.say(f"Current partition replica assignment\n\n{compact_json(document)}\n")
        self.report.say("Save this to use as the --reassignment-json-file option during rollback")
        self.report.note("rollback", document)

    def _start_moves(self, wanted: Mapping[ReplicaOn, str], timeout_ms: int) -> None:
        """Ask until every broker has the replica that it is to move."""
        deadline = time.monotonic() + timeout_ms / 1000
        pending = list(wanted)
        moved: dict[str, str] = {}
        while True:
            answers = move_replicas(self.client, {replica: wanted[replica] for replica in pending})
            started, pending = sort_answers(answers)
            if started:
                self.report.say(moves_started(started, wanted))
            moved.update({str(replica): wanted[replica] for replica in started})
            self.report.note("moves", moved)
            if not pending:
                return
            if time.monotonic() >= deadline:
                raise TerseFailure(timed_out(pending))
            time.sleep(_RETRY_S)

    def _log_dirs_of(self, assignment: Assignment) -> dict[ReplicaOn, str]:
        """Return where replicas are, as far as live brokers tell (KAFKA-19582)."""
        nodes = self.client.nodes()
        replicas = [
            ReplicaOn(broker, partition)
            for partition, brokers in assignment.items()
            for broker in brokers
            if broker in nodes
        ]
        found = self._placements(replicas)
        return {each: found[each].current or ANY for each in replicas}

    def _placements(self, replicas: Iterable[ReplicaOn]) -> dict[ReplicaOn, Placement]:
        listed = list(replicas)
        brokers = sorted({replica.broker for replica in listed})
        dirs = {broker: describe_log_dirs(self.client, broker) for broker in brokers}
        return placements(listed, dirs)
