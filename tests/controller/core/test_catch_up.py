"""What a journal that is behind learns from brokers."""

from __future__ import annotations

from random import Random

import pytest

from controller.core import catch_up
from controller.core.journal_records import DecisionsLost, JournalBegun
from controller.core.reassignment_records import RemovalsPending
from controller.core.records import BrokerFenced, ControllerStarted, DeletionQueued, Record
from controller.core.state import Partition
from controller.core.step import Step
from protocol.ids import NO_LEADER
from protocol.messages.journal import JournalReport, ReportedReplica, ReportedTopic
from tests.controller.core.cluster import Cluster, registered, topic_records, tp
from tests.controller.core.heard import cold, led, reported

JOURNAL = bytes([7]) * 16


def partition(
    leader: int, epochs: tuple[int, int], isr: tuple[int, ...], replicas: tuple[int, ...] = (1, 2)
) -> Partition:
    return Partition(
        replicas=replicas,
        leader=leader,
        leader_epoch=epochs[0],
        isr=isr,
        partition_epoch=epochs[1],
        controller_epoch=3,
    )


def cluster_of(*more: Record) -> Cluster:
    """Return a controller of epoch 4 over a journal that ended with decision 50 of epoch 3."""
    return Cluster(
        [
            JournalBegun(JOURNAL),
            ControllerStarted("cluster", 3, 20),
            ControllerStarted("cluster", 3, 50),
            *registered(1, 1),
            *registered(2, 2),
            *topic_records("orders", [partition(1, (4, 7), (1, 2))]),
            *more,
        ]
    )


def step_of(cluster: Cluster) -> Step:
    return Step(cluster.state, cluster.machine.run, cluster.config, Random(0), cluster.now_ms)


def told(cluster: Cluster, **replicas: ReportedReplica) -> list[str]:
    """Have brokers b1, b2, ... report their replica of orders-0; return what was learned."""
    reports = {
        int(name[1:]): JournalReport(journal_id=JOURNAL, topics=[reported("orders", replica)])
        for name, replica in replicas.items()
    }
    return learned(cluster, reports)


def learned(cluster: Cluster, reports: dict[int, JournalReport], *, lost: int = 0) -> list[str]:
    step = step_of(cluster)
    cluster.machine.run.hearing_is_over = False
    return list(map(str, catch_up.learn(step, reports, lost)))


@pytest.mark.parametrize(
    ("epoch", "number", "is_ahead"),
    [(3, 50, False), (3, 51, True), (4, 50, False), (5, 0, True), (2, 20, False), (4, 999, True)],
)
def test_a_journal_is_behind_when_a_broker_heard_more(
    epoch: int, number: int, is_ahead: bool
) -> None:
    state = cluster_of().state
    report = JournalReport(journal_id=JOURNAL, controller_epoch=epoch, journal_number=number)
    assert state.epoch_starts == {3: 20, 4: 50}

    assert catch_up.is_ahead(state, report) is is_ahead


def test_what_an_epoch_began_above_is_news_still_to_this_journal() -> None:
    """It ended with decision 20, another broker had heard of 50 (seed 785104)."""
    state = cluster_of().state
    late = JournalReport(journal_id=JOURNAL, controller_epoch=2, journal_number=50)
    assert catch_up.is_ahead(state, late)


@pytest.mark.parametrize(("heard", "lost_after"), [((3, 60), 50), ((2, 50), 20), ((3, 50), 0)])
def test_behind_which_decision_others_were_lost_is_remembered(
    heard: tuple[int, int], lost_after: int
) -> None:
    cluster = cluster_of()
    step = step_of(cluster)
    report = JournalReport(journal_id=JOURNAL, controller_epoch=heard[0], journal_number=heard[1])
    for _ in range(2):
        catch_up.go_above(step, catch_up.newer_reports(cluster.state, {1: report}))

    assert cluster.state.lost_after == lost_after
    assert [r.after for r in step.records if isinstance(r, DecisionsLost)] == (
        [lost_after] if lost_after else []
    )


def test_a_broker_of_another_journal_is_never_ahead_of_this_one() -> None:
    report = JournalReport(journal_id=bytes([8]) * 16, controller_epoch=99, journal_number=99)
    assert not catch_up.is_ahead(cluster_of().state, report)


def test_the_leader_knows_the_isr_and_everybody_gets_a_new_epoch() -> None:
    cluster = cluster_of()
    assert told(cluster, b1=led(1, (4, 9), (1,)), b2=led(1, (4, 7), (1, 2))) == ["orders-0"]
    after = cluster.partition("orders-0")
    assert (after.leader, after.leader_epoch, after.isr, after.partition_epoch) == (1, 5, (1,), 10)


def test_a_leader_of_a_newer_epoch_is_taken_over() -> None:
    cluster = cluster_of()
    told(cluster, b1=led(2, (6, 12), (1, 2)), b2=led(2, (6, 13), (2,)))
    after = cluster.partition("orders-0")
    assert (after.leader, after.leader_epoch, after.isr) == (2, 7, (2,))


@pytest.mark.parametrize("is_late", [False, True])
def test_who_leads_what_brokers_know_no_better_goes_on_above_what_clients_heard(
    is_late: bool,
) -> None:
    """Its only broker was away when others told of it: readers waited for ever (seed 1051610)."""
    cluster = cluster_of()
    cluster.machine.run.hearing_is_over = is_late
    report = JournalReport(journal_id=JOURNAL, topics=[reported("orders", led(1, (4, 6), (1,)))])
    assert list(map(str, catch_up.learn(step_of(cluster), {1: report}, lost=3))) == ["orders-0"]
    after = cluster.partition("orders-0")
    assert (after.leader, after.isr, after.leader_epoch) == (1, (1, 2), 4 + 3 * 4)


def test_what_is_being_deleted_stays_in_its_epoch() -> None:
    """Its replicas would be taken for such as are to stay (seed 1060019)."""
    cluster = cluster_of(DeletionQueued("orders"))
    assert learned(cluster, {1: JournalReport(journal_id=JOURNAL)}, lost=3) == []


def test_what_the_journal_knows_better_stays() -> None:
    cluster = cluster_of()
    assert told(cluster, b1=led(1, (4, 6), (1,)), b2=led(1, (4, 6), (1,))) == []


def test_without_a_leader_that_remembers_the_longest_log_is_the_isr() -> None:
    """The Isr was shrunk to broker 1, and all processes have begun anew since."""
    cluster = cluster_of()
    assert told(cluster, b1=cold(6, 90), b2=cold(6, 80)) == ["orders-0"]
    after = cluster.partition("orders-0")
    assert (after.leader_epoch, after.isr) == (7, (1,))


def test_logs_of_one_length_in_the_epoch_of_the_journal_change_nothing() -> None:
    assert told(cluster_of(), b1=cold(4, 90), b2=cold(4, 90)) == []


def test_a_leader_of_the_journal_without_the_longest_log_leads_no_more() -> None:
    """Another one led since; the controller could not even begin."""
    cluster = cluster_of()
    assert told(cluster, b1=cold(6, 80), b2=cold(6, 90)) == ["orders-0"]
    after = cluster.partition("orders-0")
    assert (after.leader, after.leader_epoch, after.isr) == (NO_LEADER, 7, (2,))


def test_a_follower_that_runs_does_not_speak_for_a_leader_that_began_anew() -> None:
    cluster = cluster_of()
    told(cluster, b1=cold(4, 90), b2=led(1, (4, 7), (1, 2)))
    assert cluster.partition("orders-0").isr == (1,)


@pytest.mark.parametrize(("leader", "isr"), [(1, (1,)), (NO_LEADER, (1, 2))])
def test_a_follower_that_was_told_of_no_isr_speaks_for_its_leader_alone(
    leader: int, isr: tuple[int, ...]
) -> None:
    """A controller that had lost the topic told it so; the next one did not begin (seed 760158)."""
    cluster = cluster_of()
    assert told(cluster, b2=led(leader, (6, 12), ())) == ["orders-0"]
    after = cluster.partition("orders-0")
    assert (after.leader, after.leader_epoch, after.isr) == (leader, 7, isr)


def test_who_tells_of_no_log_is_not_in_the_isr_of_who_has_not_been_heard() -> None:
    """It is a replica no more, and was elected with an empty log (seed 785104)."""
    cluster = cluster_of()
    assert learned(cluster, {2: JournalReport(journal_id=JOURNAL, topics=[])}) == ["orders-0"]
    after = cluster.partition("orders-0")
    assert (after.leader, after.leader_epoch, after.isr) == (1, 5, (1,))


def test_a_leader_that_tells_of_no_log_leads_no_more() -> None:
    cluster = cluster_of()
    learned(cluster, {1: JournalReport(journal_id=JOURNAL, topics=[])})
    after = cluster.partition("orders-0")
    assert (after.leader, after.leader_epoch, after.isr) == (NO_LEADER, 5, (2,))


def test_who_did_not_say_which_replicas_it_has_stays() -> None:
    silent = JournalReport(journal_id=JOURNAL, topics=None)
    assert learned(cluster_of(), {1: silent, 2: silent}) == []


def test_an_isr_is_never_empty() -> None:
    cluster = cluster_of()
    nothing = JournalReport(journal_id=JOURNAL, topics=[])
    learned(cluster, {1: nothing, 2: nothing})
    assert cluster.partition("orders-0").isr == (1, 2)


def test_logs_say_nothing_of_the_isr_while_one_of_them_was_not_heard_of() -> None:
    """But the next epoch is above theirs."""
    cluster = cluster_of()
    assert told(cluster, b2=cold(6, 80)) == ["orders-0"]
    after = cluster.partition("orders-0")
    assert (after.leader, after.leader_epoch, after.isr) == (1, 7, (1, 2))
    assert told(cluster_of(), b2=cold(4, 80)) == []


def test_who_has_no_log_any_more_has_told_so() -> None:
    """It is a replica no more; epoch 6 began again, by another leader."""
    cluster = cluster_of(*registered(3, 3), *topic_records("clicks", [_of_three()]))
    reports = {
        1: JournalReport(journal_id=JOURNAL, topics=[reported("clicks", cold(4, 80))]),
        2: JournalReport(journal_id=JOURNAL, topics=[]),
        3: JournalReport(journal_id=JOURNAL, topics=[reported("clicks", cold(6, 90))]),
    }
    learned(cluster, reports)
    after = cluster.partition("clicks-0")
    assert (after.leader, after.leader_epoch, after.isr) == (NO_LEADER, 7, (3,))


@pytest.mark.parametrize("is_told", [True, False])
def test_what_lies_in_a_log_dir_that_is_offline_nobody_tells(*, is_told: bool) -> None:
    """Broker 1 was alone in the Isr: without its log what it had acknowledged would be gone."""
    cluster = cluster_of(*topic_records("clicks", [partition(1, (4, 7), (1,))]))
    if not is_told:
        cluster.machine.run.untold[1] = None
    reports = {
        1: JournalReport(journal_id=JOURNAL, topics=[]),
        2: JournalReport(journal_id=JOURNAL, topics=[reported("clicks", cold(4, 80))]),
    }
    learned(cluster, reports)
    assert cluster.partition("clicks-0").isr == ((2,) if is_told else (1,))


def _of_three() -> Partition:
    return partition(1, (4, 7), (1, 2, 3), replicas=(1, 2, 3))


def test_a_partition_that_nobody_led_by_the_journal_is_led_above_its_logs() -> None:
    """All brokers were down as the copy was made."""
    made, _ = topic_records("clicks", [partition(3, (0, 0), (3,), replicas=(3, 4))])
    for replica in (led(4, (0, 1), (4,)), cold(0, 10)):
        cluster = cluster_of(made)
        assert not cluster.partition("clicks-0").has_leadership
        report = JournalReport(journal_id=JOURNAL, topics=[reported("clicks", replica)])
        learned(cluster, {3: JournalReport(journal_id=JOURNAL, topics=[]), 4: report})
        after = cluster.partition("clicks-0")
        assert (after.leader_epoch, after.isr) == (1, (4,))


def test_a_reassignment_that_would_leave_the_isr_without_a_replica_is_not_taken_over() -> None:
    """Who leads stays while it is live, whoever comes late."""
    cluster = cluster_of(*registered(3, 3))
    cluster.take()
    late = reported("orders", led(3, (6, 12), (3,), replicas=(3, 2)))
    late.topic_id = cluster.state.topics["orders"].topic_id
    report = JournalReport(journal_id=JOURNAL, topics=[late])
    assert list(map(str, catch_up.learn(step_of(cluster), {3: report}, lost=0))) == ["orders-0"]
    after = cluster.partition("orders-0")
    assert (after.leader, after.leader_epoch, after.isr) == (1, 7, (1, 2))
    assert after.replicas == (1, 2)


@pytest.mark.parametrize("isr", [(3, 1), (3, 2, 1)])  # Whom its last step takes out: seed 1150825.
def test_a_reassignment_since_is_taken_over_and_nothing_is_deleted_for_it(isr: tuple[int]) -> None:
    cluster = cluster_of(*registered(3, 3))
    told(cluster, b3=led(3, (6, 12), isr, replicas=(3, 1)))
    after = cluster.partition("orders-0")
    assert (after.replicas, after.isr) == ((3, 1), (3, 1))
    assert cluster.state.removed == {}


def test_an_old_order_to_delete_a_replica_that_is_one_again_is_taken_back() -> None:
    cluster = cluster_of(RemovalsPending(2, (tp("orders-0"),)))
    told(cluster, b2=led(1, (6, 12), (1, 2)))
    assert cluster.state.removed == {}


def test_a_topic_that_was_made_anew_since_is_forgotten_and_not_deleted() -> None:
    cluster = cluster_of(DeletionQueued("orders"))
    cluster.take()
    anew = ReportedTopic(name="orders", topic_id=bytes([5]) * 16, replicas=[led(1, (0, 0), (1, 2))])
    learned(cluster, {1: JournalReport(journal_id=JOURNAL, topics=[anew])})
    assert "orders" not in cluster.state.topics
    assert cluster.take() == {}


def test_who_knows_no_topic_ids_says_nothing_of_whose_name_it_is() -> None:
    """A log of before KIP-516 has none."""
    cluster = cluster_of()
    nameless = ReportedTopic(name="orders", topic_id=bytes(16), replicas=[led(1, (4, 7), (1, 2))])
    learned(cluster, {1: JournalReport(journal_id=JOURNAL, topics=[nameless])})
    assert "orders" in cluster.state.topics


def test_topics_made_since_are_said_and_left_alone() -> None:
    cluster = cluster_of()
    step = step_of(cluster)
    other = reported("later", led(1, (0, 0), (1, 2)))
    catch_up.learn(step, {1: JournalReport(journal_id=JOURNAL, topics=[other])}, lost=1)
    assert [n.text for n in step.notes if "later-0" in n.text and "stays where it is" in n.text]
    assert "later" not in cluster.state.topics


def test_partitions_added_since_are_said_and_left_alone() -> None:
    cluster = cluster_of()
    step = step_of(cluster)
    replica = led(1, (0, 0), (1, 2))
    replica.partition = 1
    topic = reported("orders", led(1, (4, 7), (1, 2)), replica)
    catch_up.learn(step, {1: JournalReport(journal_id=JOURNAL, topics=[topic])}, lost=1)
    (said,) = [n.text for n in step.notes if "stays where it is" in n.text]
    assert "does not know: orders-1;" in said
    assert len(cluster.state.topics["orders"].partitions) == 1


@pytest.mark.parametrize(("journal", "lost"), [(JOURNAL, 30), (bytes([8]) * 16, 1)])
def test_decisions_are_lost_up_to_the_last_that_a_broker_of_this_journal_heard_of(
    journal: bytes, lost: int
) -> None:
    cluster = cluster_of()
    number = cluster.state.journal_number + 30
    report = JournalReport(journal_id=journal, controller_epoch=9, journal_number=number)
    assert catch_up.begin_epoch_above(step_of(cluster), {1: report}) == lost


def test_producer_ids_and_epochs_go_on_above_what_brokers_heard() -> None:
    cluster = cluster_of()
    step = step_of(cluster)
    report = JournalReport(
        journal_id=JOURNAL, controller_epoch=9, journal_number=400, producer_ids_end=7000
    )
    catch_up.raise_above(step, [report])
    state, next_broker_epoch = cluster.state, cluster.state.next_broker_epoch
    lost = catch_up.begin_epoch_above(step, {1: report})
    assert lost > 100
    assert state.next_broker_epoch > next_broker_epoch + lost, "each may be a registration"
    for known in (900, 5):
        catch_up.raise_broker_epochs(step, known)
    assert (state.next_producer_id, state.controller_epoch, state.journal_number) == (7000, 10, 400)
    assert state.next_broker_epoch == 901


@pytest.mark.parametrize(("more", "raised"), [(-1, 0), (0, 1), (1, 2)])
def test_the_next_registration_has_a_higher_epoch_than_the_broker_had_before(
    more: int, raised: int
) -> None:
    cluster = cluster_of()
    step, next_epoch = step_of(cluster), cluster.state.next_broker_epoch
    catch_up.raise_broker_epochs(step, next_epoch + more)
    assert cluster.state.next_broker_epoch == next_epoch + raised
    assert len(step.records) == bool(raised), "what the journal knows is not written again"


@pytest.mark.parametrize(("heard", "after"), [(3, 4), (4, 5), (6, 7)])
def test_a_leader_that_is_live_leads_on_above_every_epoch_that_a_late_broker_knows(
    heard: int, after: int
) -> None:
    cluster = cluster_of()
    assert cluster.machine.run.hearing_is_over
    late = JournalReport(journal_id=JOURNAL, topics=[reported("orders", cold(heard, 80))])
    catch_up.learn(step_of(cluster), {2: late}, lost=0)
    partition = cluster.partition("orders-0")
    assert (partition.leader, partition.leader_epoch, partition.isr) == (1, after, (1, 2))


def test_who_alone_has_a_log_becomes_the_only_replica() -> None:
    cluster = cluster_of(*registered(3, 3))
    untold = JournalReport(journal_id=JOURNAL, topics=[])
    stray = JournalReport(journal_id=JOURNAL, topics=[reported("orders", cold(3, 90))])
    learned(cluster, {1: untold, 2: untold, 3: stray})
    after = cluster.partition("orders-0")
    assert (after.replicas, after.leader, after.isr) == ((3,), NO_LEADER, (3,))
    assert after.leader_epoch == 5


def test_who_leads_by_what_comes_late_and_is_not_live_is_elected_when_it_is() -> None:
    cluster = cluster_of()
    BrokerFenced(1).apply(cluster.state)
    late = JournalReport(journal_id=JOURNAL, topics=[reported("orders", led(1, (6, 12), (1, 2)))])
    catch_up.learn(step_of(cluster), {2: late}, lost=0)
    after = cluster.partition("orders-0")
    assert (after.leader, after.leader_epoch, after.isr) == (NO_LEADER, 7, (1, 2))
