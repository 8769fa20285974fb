"""What topics are promised that are made, grow, or are deleted.

Source: AdminUtils.scala, ZkAdminManager.scala, TopicDeletionManager.scala; KIP-599, KIP-1066.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Sequence
from string import ascii_letters, digits
from typing import Final

from controller.core import deletion, placement, topic_rules, topics
from controller.core.create_partitions import create_partitions
from controller.core.create_topics import create_topics
from controller.core.delete_topics import delete_topics
from controller.core.events import RequestAnswered, RequestArrived
from controller.core.machine import Machine
from controller.core.phases import ReplicaPhase
from controller.core.placement import Start, UsableBroker
from controller.core.records import TopicCreated
from controller.core.state import ClusterState, Topic
from controller.core.step import Step
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import ZERO_UUID, TopicPartition
from simulation.contracts.contract import Broken, of_function
from simulation.contracts.controller.cluster_facts import leaves, live, partitions, working
from simulation.contracts.controller.decided import once_decided
from simulation.contracts.controller.told import answer_of

Check = Generator[None, None, Broken]
_LETTERS: Final = frozenset(ascii_letters + digits + "._-")


@of_function(placement.place)
def place(
    candidates: Sequence[UsableBroker], partitions: int, replication_factor: int, start: Start
) -> Generator[None, list[tuple[int, ...]], Broken]:
    """Replicas are on different brokers; leaders are spread, and replicas over racks if known.

    Leaders go round from where it begins.
    """
    assignment = yield
    ids = frozenset(each.broker_id for each in candidates)
    racks = {each.broker_id: each.rack for each in candidates}
    is_racked = any(each is not None for each in racks.values())
    if len(assignment) != partitions:
        return f"{len(assignment)} of {partitions} partitions are placed"
    for replicas in assignment:
        own = frozenset(replicas)
        if len(replicas) != replication_factor or len(own) != len(replicas) or not own <= ids:
            return f"{replicas} of {sorted(ids)}, {replication_factor} are wanted"
        used = {racks[each] for each in replicas}
        if is_racked and len(used) != min(len(set(racks.values())), len(replicas)):
            return f"{replicas} are in {used} of {racks}"
    leaders = [replicas[0] for replicas in assignment]
    if not is_racked:
        order = [each.broker_id for each in candidates]
        first = start.index + start.partition
        wanted = [order[(first + number) % len(order)] for number in range(partitions)]
        if leaders != wanted:
            return f"leaders {leaders}, not {wanted}: {start}"
    counts = Counter(leaders)
    counted = [counts[each] for each in ids]
    return f"leaders are not spread: {counts}" if max(counted) - min(counted) > 1 else None


@of_function(placement.start_for_growth)
def start_for_growth(
    candidates: Sequence[UsableBroker], first_leader: int, partition: int
) -> Generator[None, Start, Broken]:
    """A topic grows as if it had been made as large."""
    start = yield
    ids = [each.broker_id for each in candidates]
    index = min((i for i, each in enumerate(ids) if each >= first_leader), default=0)
    return None if start == Start(index, index, partition) else f"{start} of {ids}: {first_leader}"


@of_function(placement.check_counts)
def check_counts(partitions: int, replication_factor: int, candidate_count: int) -> Check:
    """No topic without partitions, none with more replicas than brokers, nor without any."""
    wanted = None
    if not 0 < replication_factor <= candidate_count:
        wanted = ErrorCode.INVALID_REPLICATION_FACTOR
    if partitions < 1:
        wanted = ErrorCode.INVALID_PARTITIONS
    numbers = (partitions, replication_factor, candidate_count)
    try:
        yield
    except KafkaError as error:
        return None if error.code == wanted else f"{error.code} for {numbers}"
    return f"{numbers} are taken" if wanted is not None else None


@of_function(placement.check_room)
def check_room(state: ClusterState, broker_ids: Iterable[int]) -> Check:
    """Nothing is placed by hand where all log dirs are cordoned or offline."""
    if not isinstance(broker_ids, Sequence | dict):
        return None
    full = [each for each in broker_ids if not _has_room(state, each)]
    try:
        yield
    except KafkaError as error:
        is_so = bool(full) and error.code == ErrorCode.INVALID_REPLICA_ASSIGNMENT
        return None if is_so else f"{error.code}, full are {full}"
    return f"{full} have no room" if full else None


def _has_room(state: ClusterState, broker_id: int) -> bool:
    broker = state.brokers[broker_id]
    refused = frozenset(broker.offline_log_dirs).union(broker.cordoned_log_dirs or ())
    return not broker.log_dirs or not refused.issuperset(broker.log_dirs)


@of_function(topics.usable_brokers)
def usable_brokers(step: Step) -> Generator[None, list[UsableBroker], Broken]:
    """New replicas go to live brokers with a log dir that is neither cordoned nor offline."""
    found = yield
    state = step.state
    wanted = [(each, state.brokers[each].rack) for each in live(state) if _has_room(state, each)]
    return None if found == wanted else f"{found}, not {wanted}"


@of_function(topic_rules.check_name)
def check_name(name: str, existing: Iterable[str]) -> Check:
    """Two topics whose names differ by dots and underlines would have one metric: no second one."""
    alike = [each for each in existing if _folded(each) == _folded(name)]
    is_bad = not 0 < len(name) < 250 or name in {".", ".."}
    is_bad = is_bad or not all(
        each.isascii() and (each.isalnum() or each in "._-") for each in name
    )
    collides = bool(alike) and ("." in name or "_" in name)
    try:
        yield
    except KafkaError as error:
        is_so = (is_bad or collides) and error.code == ErrorCode.INVALID_TOPIC_EXCEPTION
        return None if is_so else f"{name} is refused beside {alike}: {error.code}"
    return f"{name} is taken beside {alike}" if is_bad or collides else None


def _folded(name: str) -> str:
    return name.translate({ord("."): "_"})


@of_function(topics.start_partitions)
def start_partitions(step: Step, tps: Sequence[TopicPartition]) -> Check:
    """A new partition is led at once by its first online replica, with all online ones in sync."""
    yield
    for tp in tps:
        one, able = step.state.partition(tp), working(step.state, tp)
        told = (one.leader, list(one.isr)) if able else (one.leader_epoch, one.isr)
        if told != ((able[0], able) if able else (-1, ())):
            return f"{tp}: {one}, online are {able}"
        phases = step.run.replica_phases.get(tp, {})
        wanted = dict.fromkeys(one.replicas, ReplicaPhase.ONLINE)
        if phases != wanted:
            return f"{tp}: {phases}"
    return None


@of_function(create_topics)
def created(step: Step, event: RequestArrived) -> Check:
    """Each topic is made as it was asked for, or refused and not made; validating makes none."""
    request, before = event.request, dict(step.state.topics)
    names = Counter(topic.name for topic in request.topics)
    count = len(step.records)
    yield
    answer = answer_of(step, event.token)
    made = [each for each in step.records[count:] if isinstance(each, TopicCreated)]
    taken = [each.name for each in answer.topics if each.error_code == ErrorCode.NONE]
    if len(answer.topics) != len(request.topics):
        return f"{request} is answered {answer}"
    wanted = [] if request.validate_only else taken
    timed_out = [
        each.name for each in answer.topics if each.error_code == ErrorCode.REQUEST_TIMED_OUT
    ]
    if [each.name for each in made] != (timed_out or wanted):
        return f"{[each.name for each in made]} are made, answered is {answer}"
    wrong = [name for name in taken if name in before or names[name] > 1]
    if wrong:
        return f"{wrong} are made again"
    asked = {topic.name: topic for topic in request.topics}
    for record in made:
        broken = _badly_made(step, record, asked[record.name])
        if broken is not None:
            return f"{record}: {broken}"
    return None


# Any: what is asked for is one of Kafka's classes.
def _badly_made(step: Step, record: TopicCreated, asked: object) -> Broken:
    topic = step.state.topics[record.name]
    manual = {
        each.partition_index: tuple(each.broker_ids) for each in getattr(asked, "assignments", ())
    }
    found = dict(enumerate(record.assignment))
    number, factor = getattr(asked, "num_partitions", -1), getattr(asked, "replication_factor", -1)
    defaults = step.defaults
    full = [b for replicas in manual.values() for b in replicas if not _has_room(step.state, b)]
    if manual and (found != manual or full):
        return f"asked for {manual}, no room have {full}"
    if not manual:
        number = defaults.num_partitions if number == -1 else number
        factor = defaults.default_replication_factor if factor == -1 else factor
        if len(found) != number or {len(each) for each in found.values()} != {factor}:
            return f"asked for {number} partitions of {factor} replicas"
        stray = {each for replicas in found.values() for each in replicas}
        stray = {each for each in stray if each not in live(step.state)}
        if stray or any(not _has_room(step.state, b) for each in found.values() for b in each):
            return f"it is placed on {sorted(stray)}, or where no room is"
    configs = {each.name: each.value for each in getattr(asked, "configs", ())}
    return None if topic.configs == configs else f"its configs are {topic.configs}, not {configs}"


@of_function(create_partitions)
def grown(step: Step, event: RequestArrived) -> Check:
    """A topic has as many partitions as were asked for, or is refused and has as many as before.

    None of them is where no room is.
    """
    request, state = event.request, step.state
    before = {name: len(topic.partitions) for name, topic in state.topics.items()}
    names = Counter(topic.name for topic in request.topics)
    busy = {name for name, topic in state.topics.items() if topic.is_deleting or _moves(topic)}
    yield
    answer = answer_of(step, event.token)
    codes = {each.name: each.error_code for each in answer.results}
    for topic in request.topics:
        had, code = before.get(topic.name, 0), codes.get(topic.name)
        may = topic.count > had > 0 and names[topic.name] == 1 and topic.name not in busy
        if code == ErrorCode.NONE and not may:
            return f"{topic} is taken, it has {had}, under way: {sorted(busy)}"
        placed = [b for each in topic.assignments or () for b in each.broker_ids]
        if code == ErrorCode.NONE and not all(_has_room(state, b) for b in placed):
            return f"{topic} is taken, and there is no room"
        is_taken = code in {ErrorCode.NONE, ErrorCode.REQUEST_TIMED_OUT}
        wanted = topic.count if is_taken and not request.validate_only else had
        if topic.name in state.topics and len(state.topics[topic.name].partitions) != wanted:
            return f"{topic} is answered {code}, had {had}: {state.topics[topic.name]}"
    return None


def _moves(topic: Topic) -> bool:
    return any(one.adding_replicas or one.removing_replicas for one in topic.partitions)


@of_function(delete_topics)
def deleted(step: Step, event: RequestArrived) -> Check:
    """A topic that is there and named is on its way out, and no other one."""
    request, state = event.request, step.state
    before = {name: (topic.topic_id, topic.is_deleting) for name, topic in state.topics.items()}
    ids = {topic_id: name for name, (topic_id, _) in before.items()}
    asked = (
        [(each.name, bytes(each.topic_id)) for each in request.topics]
        if event.version >= 6
        else [(name, ZERO_UUID) for name in request.topic_names]
    )
    is_unclear = any(name is not None and topic_id != ZERO_UUID for name, topic_id in asked)
    is_taken = step.defaults.delete_topic_enable and not is_unclear
    named = {name if name is not None else ids.get(topic_id) for name, topic_id in asked}
    wanted = {name for name in named if is_taken and name in before}
    yield
    kept = {name for name, topic in state.topics.items() if not topic.is_deleting}
    if kept != {name for name, (_, going) in before.items() if not going} - wanted:
        return f"{request}: kept are {sorted(kept)} of {sorted(before)}"
    answer = answer_of(step, event.token)
    done = {ErrorCode.NONE, ErrorCode.REQUEST_TIMED_OUT}
    said = {each.name for each in answer.responses if each.error_code in done}
    return None if said == wanted else f"{request} is answered {answer}, deleted are {wanted}"


@of_function(deletion.stop_replica_answered)
def deletion_answered(step: Step, event: RequestAnswered) -> Check:
    """A replica is deleted when its broker says so; one that failed is waited for."""
    state, broker_id = step.state, event.broker_id
    codes = {
        TopicPartition(each.topic_name, each.partition_index): each.error_code
        for each in event.response.partition_errors
    }
    asked = [
        TopicPartition(topic.topic_name, each.partition_index)
        for topic in event.request.topic_states
        for each in topic.partition_states
        if each.delete_partition
    ]
    started = [
        tp
        for tp in asked
        if step.run.replica_phases.get(tp, {}).get(broker_id) is ReplicaPhase.DELETION_STARTED
    ]
    yield
    is_refused = event.response.error_code != ErrorCode.NONE
    for tp in started:
        phase = step.run.replica_phases.get(tp, {}).get(broker_id)
        is_done = not is_refused and codes.get(tp) == ErrorCode.NONE
        gone = {None, ReplicaPhase.DELETION_SUCCESSFUL}
        if is_done is not (phase in gone) and state.find(tp) is not None:
            return f"{tp} on broker {broker_id} is {phase} after code {codes.get(tp)}"
        if state.find(tp) is None and not is_done:
            return f"{tp} is gone, and broker {broker_id} has answered {codes.get(tp)}"
    return None


@once_decided
def deletions(machine: Machine) -> Broken:
    """A topic is gone once all its replicas are, and nobody leads what is being deleted.

    What can be deleted is: a topic that leaves has been begun with, or waits for somebody.
    """
    run, state = machine.run, machine.state
    for name, topic in state.topics.items():
        if not leaves(topic, state):
            continue
        phases = [
            (tp, each, run.replica_phases.get(tp, {}).get(each))
            for tp in topic.keys
            for each in state.partition(tp).replicas
        ]
        if all(phase is ReplicaPhase.DELETION_SUCCESSFUL for _, _, phase in phases):
            return f"{name} is not gone, and all its replicas are"
        waits = {ReplicaPhase.DELETION_STARTED, ReplicaPhase.DELETION_SUCCESSFUL}
        able = live(state)
        idle = [
            (tp, each, phase)
            for tp, each, phase in phases
            if phase not in waits
            and each in able
            and not state.brokers[each].offline_log_dirs
            and tp not in state.offline.get(each, ())
        ]
        if len(idle) == len(phases) and name not in run.deletion_ineligible:
            return f"nothing of {name} is being deleted: {phases}"
    stale = [name for name in run.deletion_begun if name not in state.topics]
    return f"{stale} are gone and being deleted" if stale else None


@once_decided
def ids_are_theirs(machine: Machine) -> Broken:
    """Each topic has an id of its own, and brokers host what is assigned to them."""
    state = machine.state
    ids = {topic.topic_id: name for name, topic in state.topics.items()}
    if ids != state.topic_names or len(ids) != len(state.topics) or ZERO_UUID in ids:
        return f"ids {ids} of {sorted(state.topics)}, known as {state.topic_names}"
    hosted = {(each, tp) for tp, one, _ in partitions(state) for each in one.replicas}
    if hosted != {(each, tp) for each, own in state.hosted.items() for tp in own}:
        return f"assigned are {sorted(hosted)}, hosted are {state.hosted}"
    strays = {(each, tp) for each, own in state.offline.items() for tp in own} - hosted
    return f"offline are {sorted(strays)}, which are no replicas" if strays else None
