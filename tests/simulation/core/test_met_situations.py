"""What runs came to, by what was seen of them."""

from __future__ import annotations

import pytest

from protocol.ids import TopicPartition
from simulation.core.features import Situation
from simulation.core.history import Commit, Function, Order, Txn
from simulation.core.met_situations import met_situations
from simulation.core.plan import Plan
from simulation.core.plan_document import parse_plan
from simulation.core.samples import LogDirSample, NodeSample, Role, TopicSample
from tests.simulation.core.checkers.build import SECOND_US, TP, Story, batch

NOTHING = Plan(name="p", shows="x.")
CLIENTS = """
name: p
shows: x.
cluster: {topics: [{name: orders}]}
workloads:
  - {name: writer, topic: orders, compression: gzip}
  - {name: reader, topic: orders, kind: consume, message_format: 1}
steps:
  - {fault: {id: journal, node: controller, mode: eio}}
  - {fault: {id: late, broker: 1, mode: delay, delay_ms: 5}}
"""

EXAMINED = """
name: p
shows: x.
cluster:
  configs: {authorizer.class.name: org.apache.kafka.metadata.authorizer.StandardAuthorizer}
workloads: [{name: examiner, kind: examine}]
"""
LATE = """
name: p
shows: x.
cluster: {topics: [{name: orders}]}
steps:
  - {fault: {id: late, mode: latency, from: ENDS, both_ways: false, latency_ms: 1000}}
"""

LATE_WORDS = """
name: p
shows: x.
cluster: {topics: [{name: orders}]}
steps:
  - fault: {id: l, mode: latency, from: broker-1, to: broker-2, both_ways: false, latency_ms: 500}
"""


def met(story: Story, plan: Plan = NOTHING) -> tuple[Situation, ...]:
    return met_situations(plan, story.evidence, {}, {})


def test_a_run_in_which_nothing_happened_came_to_nothing() -> None:
    assert met(Story()) == ()


def test_clients_and_faults_count_where_they_did_something() -> None:
    plan = parse_plan(CLIENTS, source="p")
    evidence = Story().evidence
    assert (
        met_situations(plan, evidence, {"writer": 0, "reader": 0}, {"journal": 0, "late": 0}) == ()
    )
    hits = {"journal": 1, "late": 1}
    assert met_situations(plan, evidence, {"writer": 1, "reader": 1}, hits) == (
        Situation.COMPRESSION,
        Situation.OLD_CLIENTS,
        Situation.CONTROLLER_DISK,
        Situation.REQUEST_FAULTS,
    )


@pytest.mark.parametrize(("kind", "written"), [("LogAppendTime", 1), ("LogAppendTime", 0)])
def test_brokers_stamp_what_is_written_to_a_topic_with_append_times(
    kind: str, written: int
) -> None:
    topic = f"{{name: orders, configs: {{message.timestamp.type: {kind}}}}}"
    text = f"""
name: p
shows: x.
cluster: {{topics: [{topic}]}}
workloads: [{{name: writer, topic: orders}}]
"""
    found = met_situations(parse_plan(text, source="p"), Story().evidence, {"writer": written}, {})
    assert (Situation.STAMPED_RECORDS in found) is bool(written)


def test_compaction_leaves_a_hole_in_the_log_of_a_compacted_topic() -> None:
    story = Story()
    story.log(1, is_leader=True)
    story.samples.logs[0] = story.samples.logs[0]._replace(batches=(batch(0, 7), batch(2, 9)))
    assert met(story) == ()
    story.samples.topics.append(TopicSample(0, TP.topic, {"cleanup.policy": "compact"}))
    assert met(story) == (Situation.KEYED_RECORDS,)


def test_retention_has_cut_a_log_that_begins_later_though_nobody_asked() -> None:
    story = Story()
    story.log(1, 5, start=3, is_leader=True)
    assert met(story) == (Situation.SHORT_RETENTION,)
    story.order(Function.DELETE_RECORDS, Order(*TP, offset=3))
    assert met(story) == ()


def test_a_leader_from_outside_of_the_isr_is_an_unclean_election() -> None:
    story = Story()
    story.partition(isr=(1,), leader=1)
    story.partition(isr=(1,), leader=-1)
    assert met(story) == ()
    story.partition(isr=(2,), leader=2)
    assert met(story) == (Situation.UNCLEAN_ELECTION,)


def test_replicas_are_throttled_where_both_lists_and_rates_were_set() -> None:
    story = Story()
    lists = Order("orders", configs=(("leader.replication.throttled.replicas", "*"),))
    story.order(Function.ALTER_CONFIGS, lists)
    assert met(story) == ()
    rates = Order(configs=(("leader.replication.throttled.rate", "1000"),))
    story.order(Function.ALTER_CONFIGS, rates)
    assert met(story) == (Situation.THROTTLED_REPLICAS,)


def test_many_moves_close_to_each_other_are_a_rebalance() -> None:
    story = Story()
    for second in (1, 2, 5, 6):
        story.at(second).order(Function.MOVE, Order(*TP, broker=1, log_dir="d1"))
    assert met(story) == ()
    for _ in range(2):
        story.order(Function.REASSIGN, Order(*TP))
    assert met(story) == (Situation.REBALANCE,)


def test_orders_of_two_kinds_that_overlap_come_at_once() -> None:
    story = Story()
    first = story.history.begin("admin", Function.DELETE_TOPIC, Order("orders"))
    story.at(1).order(Function.REASSIGN, Order(*TP))
    story.at(2)
    first.ok(first.value)
    assert met(story) == (Situation.ORDERS_AT_ONCE,)


@pytest.mark.parametrize(
    ("order_s", "is_online", "is_met"), [(4, False, True), (1, False, False), (4, True, False)]
)
def test_a_controller_ends_right_after_an_order_beside_a_dead_log_dir(
    order_s: float, is_online: bool, is_met: bool
) -> None:
    story = Story().at(order_s)
    story.order(Function.DELETE_TOPIC, Order("orders"))
    story.samples.log_dirs.append(LogDirSample(0, 1, "d1", is_online))
    story.samples.nodes += [
        NodeSample(0, "controller", is_up=True, boot=1),
        NodeSample(5 * SECOND_US, "controller", is_up=False, boot=1),
        NodeSample(6 * SECOND_US, "controller", is_up=True, boot=2),
    ]
    assert (Situation.CONTROLLER_ENDS in met(story)) == is_met


@pytest.mark.parametrize(
    ("topic", "function", "asked", "situation"),
    [
        ("__consumer_offsets", Function.COMMIT, Commit("g", ()), Situation.GROUPS),
        ("__transaction_state", Function.TXN, Txn("pay", ()), Situation.TRANSACTIONS),
    ],
)
@pytest.mark.parametrize(("failed_s", "is_met"), [(5.5, True), (9.0, False)])
def test_a_coordinators_log_dir_failed_while_somebody_asked_for_something(
    topic: str,
    function: Function,
    asked: Commit | Txn,
    situation: Situation,
    failed_s: float,
    is_met: bool,
) -> None:
    story = Story()
    story.replica(1, Role.LEADER, tp=TopicPartition(topic, 0))
    story.at(4)
    asking = story.history.begin("one", function, asked)
    story.at(5)
    asking.ok(asked)
    story.at(failed_s)
    story.samples.log_dirs.append(LogDirSample(story.now_us, 1, "d1", is_online=False))
    assert met(story) == ((situation,) if is_met else ())


@pytest.mark.parametrize(
    ("hits", "is_online", "is_met"), [(1, False, True), (0, False, False), (1, True, False)]
)
def test_news_of_a_failure_were_late_where_the_link_was_slow_for_somebody(
    hits: int, is_online: bool, is_met: bool
) -> None:
    plan = parse_plan(LATE.replace("ENDS", "broker-1, to: controller"), source="p")
    story = Story()
    story.samples.log_dirs.append(LogDirSample(SECOND_US, 1, "d1", is_online))
    found = met_situations(plan, story.evidence, {}, {"late": hits})
    assert (Situation.LATE_FAILURE in found) == is_met


@pytest.mark.parametrize("hits", [0, 1])
def test_requests_were_late_where_the_link_was_slow_and_orders_were_given(hits: int) -> None:
    plan = parse_plan(LATE.replace("ENDS", "controller, to: broker-1"), source="p")
    story = Story().at(1)
    story.order(Function.DELETE_TOPIC, Order("orders"))
    found = met_situations(plan, story.evidence, {}, {"late": hits})
    assert (Situation.LATE_REQUESTS in found) == bool(hits)


def test_an_examiner_counts_where_it_carried_cases_out_and_so_does_the_authorizer() -> None:
    plan = parse_plan(EXAMINED, source="p")
    evidence = Story().evidence
    assert met_situations(plan, evidence, {"examiner": 0}, {}) == ()
    found = met_situations(plan, evidence, {"examiner": 1}, {})
    assert found == (Situation.EXAMINED, Situation.AUTHORIZER)


def test_contenders_count_where_they_were_answered() -> None:
    text = EXAMINED.replace("kind: examine", "kind: contend, topic: orders, group: notes")
    text = text.replace("cluster:\n", "cluster:\n  topics: [{name: orders}]\n")
    plan = parse_plan(text, source="p")
    assert Situation.CONTENDERS not in met_situations(plan, Story().evidence, {"examiner": 0}, {})
    assert Situation.CONTENDERS in met_situations(plan, Story().evidence, {"examiner": 1}, {})


def _changed_isr(topic_id: bytes = b"a") -> Story:
    story = Story().at(1)
    story.partition(leader=1, isr=(1, 2), topic_id=b"a")
    story.at(5).partition(leader=1, isr=(1,), topic_id=topic_id)
    return story


@pytest.mark.parametrize(("hits", "topic_id"), [(1, b"a"), (0, b"a"), (1, b"b")])
def test_an_isr_changed_beside_words_that_were_late(hits: int, topic_id: bytes) -> None:
    plan = parse_plan(LATE_WORDS, source="p")
    found = met_situations(plan, _changed_isr(topic_id).evidence, {}, {"l": hits})
    assert (Situation.ISR_CHANGES in found) == (hits == 1 and topic_id == b"a")


@pytest.mark.parametrize(("begun_s", "is_met"), [(4, True), (2, False), (6, False)])
def test_an_isr_changed_soon_after_another_controller_began(begun_s: int, *, is_met: bool) -> None:
    story = _changed_isr()
    begun = NodeSample(begun_s * SECOND_US, "controller", is_up=True, boot=2)
    story.samples.nodes.append(begun)
    assert (Situation.ISR_CHANGES in met(story)) is is_met
