"""One partition's rules: roles, high watermark, Isr, epochs, truncation."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from broker.core.isr import IsrAnswer
from broker.core.leader_epochs import LeaderEpochs
from broker.core.partition import Partition
from broker.core.producer_entry import ProducerEntry
from broker.core.producers import ProducerStates
from protocol.errors import ErrorCode
from protocol.ids import BrokerId, TopicPartition
from protocol.messages.control import LeaderAndIsrPartitionState

LAG_MS = 10_000


def state(
    *,
    leader: int = 1,
    epoch: int = 0,
    isr: Sequence[int] = (1, 2, 3),
    replicas: Sequence[int] = (1, 2, 3),
    partition_epoch: int = 0,
) -> LeaderAndIsrPartitionState:
    return LeaderAndIsrPartitionState(
        partition_index=0,
        controller_epoch=1,
        leader=leader,
        leader_epoch=epoch,
        isr=isr,
        partition_epoch=partition_epoch,
        replicas=replicas,
    )


def partition(**role: object) -> Partition:
    """Broker 1's replica, leading unless said otherwise."""
    made = Partition(TopicPartition("orders", 0), BrokerId(1))
    told = state(**role)  # type: ignore[arg-type]
    if told.leader == 1:
        made.become_leader(told, now_ms=0)
    else:
        made.become_follower(told)
    return made


def append(led: Partition, end_offset: int, now_ms: int = 0) -> bool:
    led.assign_offsets(end_offset)
    return led.leader_appended(end_offset, now_ms=now_ms, lag_time_max_ms=LAG_MS)


def fetch(led: Partition, replica: int, offset: int, now_ms: int = 0) -> bool:
    return led.follower_fetched(
        BrokerId(replica),
        fetch_offset=offset,
        log_start_offset=0,
        now_ms=now_ms,
        lag_time_max_ms=LAG_MS,
    )


def accept(
    led: Partition, isr: Sequence[int], *, leader_epoch: int = 0, now_ms: int = 0
) -> tuple[IsrAnswer, bool]:
    return led.isr_accepted(
        isr=isr,
        leader_epoch=leader_epoch,
        partition_epoch=led.isr.partition_epoch + 1,
        now_ms=now_ms,
        lag_time_max_ms=LAG_MS,
    )


def test_the_high_watermark_waits_for_the_slowest_of_the_isr() -> None:
    led = partition()
    assert not append(led, 10)
    assert not fetch(led, 2, 10)
    assert led.high_watermark == 0
    assert fetch(led, 3, 7)
    assert led.high_watermark == 7


def test_alone_in_the_isr_a_leader_commits_what_it_writes() -> None:
    led = partition(isr=[1], replicas=[1])
    assert append(led, 3)
    assert led.high_watermark == 3


def test_below_the_minimum_isr_nothing_is_committed() -> None:
    led = partition(isr=[1])
    led.min_insync_replicas = 2
    assert not append(led, 3)
    assert led.check_append(-1) is ErrorCode.NOT_ENOUGH_REPLICAS
    assert led.check_append(1) is ErrorCode.NONE
    assert led.is_under_min_isr


def test_no_more_replicas_are_required_than_there_are() -> None:
    led = partition(isr=[1], replicas=[1])
    led.min_insync_replicas = 2
    assert led.check_append(-1) is ErrorCode.NONE


def test_a_produce_is_replicated_when_the_high_watermark_reaches_it() -> None:
    led = partition(isr=[1, 2], replicas=[1, 2])
    append(led, 5)
    assert led.replicated(5) is None
    fetch(led, 2, 5)
    assert led.replicated(5) is ErrorCode.NONE
    led.become_leader(state(epoch=1, isr=[1], replicas=[1, 2]), now_ms=0)
    led.min_insync_replicas = 2
    assert led.replicated(5) is ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND


def test_requests_of_other_leader_epochs_are_refused() -> None:
    led = partition(epoch=5)
    assert led.check_leader(4) is ErrorCode.FENCED_LEADER_EPOCH
    assert led.check_leader(6) is ErrorCode.UNKNOWN_LEADER_EPOCH
    assert led.check_leader(5) is led.check_leader(-1) is ErrorCode.NONE
    assert led.check_leader(-5) is ErrorCode.FENCED_LEADER_EPOCH
    led.become_follower(state(leader=2, epoch=6))
    assert led.check_leader(6) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert led.check_append(1) is ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_new_leader_epoch_begins_behind_appends_on_their_way() -> None:
    led = partition()
    led.assign_offsets(4)
    assert led.become_leader(state(epoch=1), now_ms=0)
    assert led.leader_epoch_start_offset == 4
    assert led.epochs.end_offset_for(0, 4).end_offset == 4


def test_a_follower_that_comes_back_joins_when_it_has_everything_committed() -> None:
    led = partition(isr=[1, 2])
    append(led, 10)
    fetch(led, 2, 10)
    assert led.high_watermark == 10
    fetch(led, 3, 9)
    assert not led.propose_join(BrokerId(3))
    fetch(led, 3, 10)
    assert led.propose_join(BrokerId(3))
    assert led.isr.proposed == (1, 2, 3)
    assert not led.propose_join(BrokerId(3)), "one change at a time"


def test_a_change_is_proposed_for_the_lives_of_the_time_in_which_it_is_proposed() -> None:
    """The next life of a broker may have lost what the one before had fetched (KIP-903)."""
    led = partition(isr=[1])

    def fetch_in_life(broker_epoch: int, offset: int) -> None:
        led.follower_fetched(
            BrokerId(2),
            fetch_offset=offset,
            log_start_offset=0,
            broker_epoch=broker_epoch,
            now_ms=0,
            lag_time_max_ms=LAG_MS,
        )

    append(led, 10)
    fetch_in_life(7, 10)
    assert led.propose_join(BrokerId(2))
    assert led.proposed_lives == {2: 7}
    fetch_in_life(8, 0)
    assert not led.propose_join(BrokerId(2))
    assert not led.propose_shrink(now_ms=99_999, lag_time_max_ms=LAG_MS)
    assert led.proposed_lives == {2: 7}


def test_a_follower_about_to_join_holds_the_high_watermark_back() -> None:
    led = partition(isr=[1, 2])
    append(led, 10)
    fetch(led, 2, 10)
    fetch(led, 3, 10)
    led.propose_join(BrokerId(3))
    append(led, 20)
    fetch(led, 2, 20)
    assert led.high_watermark == 10
    fetch(led, 3, 15)
    assert led.high_watermark == 15


def test_the_high_watermark_waits_for_no_replica_whose_broker_left() -> None:
    """Broker 3 stopped cleanly: it left, fetched once more with everything, and died."""
    alive = {2: True, 3: True}
    led = partition(isr=[1, 2])
    led.is_alive = alive.__getitem__
    append(led, 10)
    fetch(led, 2, 10)
    fetch(led, 3, 10)
    assert led.propose_join(BrokerId(3))
    assert led.isr_refused(ErrorCode.INELIGIBLE_REPLICA) is IsrAnswer.ROLLED_BACK
    append(led, 20)
    fetch(led, 2, 20)
    assert led.high_watermark == 10, "it may still join"
    alive[3] = False
    assert led.brokers_changed(now_ms=0, lag_time_max_ms=LAG_MS)
    assert led.high_watermark == 20
    assert not led.propose_join(BrokerId(3))


def test_the_high_watermark_is_looked_at_again_when_a_caught_up_follower_fetches_again() -> None:
    led = partition(isr=[1, 2])
    fetch(led, 3, 0)
    append(led, 10)
    assert not fetch(led, 2, 10), "3 had everything a moment ago"
    assert fetch(led, 2, 10, now_ms=LAG_MS + 1)
    assert led.high_watermark == 10


def test_a_follower_that_lags_too_long_is_proposed_to_leave_once() -> None:
    led = partition()
    append(led, 10, now_ms=0)
    fetch(led, 2, 10, now_ms=LAG_MS)
    assert not led.propose_shrink(now_ms=LAG_MS, lag_time_max_ms=LAG_MS)
    assert led.propose_shrink(now_ms=LAG_MS + 1, lag_time_max_ms=LAG_MS)
    assert led.isr.proposed == (1, 2)
    assert not led.propose_shrink(now_ms=LAG_MS * 9, lag_time_max_ms=LAG_MS)


def test_an_accepted_isr_may_raise_the_high_watermark() -> None:
    led = partition()
    append(led, 10)
    fetch(led, 2, 10)
    led.propose_shrink(now_ms=LAG_MS + 1, lag_time_max_ms=LAG_MS)
    assert accept(led, [1, 2], now_ms=LAG_MS * 3) == (IsrAnswer.COMMITTED, True)
    assert led.high_watermark == 10


def test_an_accepted_isr_leaves_nobody_behind_who_is_about_to_join() -> None:
    led = partition(isr=[1, 2, 3], replicas=[1, 2, 3, 4])
    append(led, 20)
    fetch(led, 2, 20, now_ms=LAG_MS)
    fetch(led, 4, 20, now_ms=LAG_MS)
    append(led, 30, now_ms=LAG_MS)
    fetch(led, 2, 30, now_ms=LAG_MS)
    assert led.propose_shrink(now_ms=LAG_MS + 1, lag_time_max_ms=LAG_MS), "3 is late"

    assert accept(led, [1, 2], now_ms=LAG_MS * 2) == (IsrAnswer.COMMITTED, True)

    assert led.high_watermark == 20
    assert led.propose_join(BrokerId(4))


@pytest.mark.parametrize(
    ("code", "answer", "stays_proposed"),
    [
        (ErrorCode.FENCED_LEADER_EPOCH, IsrAnswer.WAIT, True),
        (ErrorCode.INVALID_UPDATE_VERSION, IsrAnswer.WAIT, True),
        (ErrorCode.INELIGIBLE_REPLICA, IsrAnswer.ROLLED_BACK, False),
        (ErrorCode.UNKNOWN_SERVER_ERROR, IsrAnswer.RETRY, True),
    ],
)
def test_a_refused_isr_waits_rolls_back_or_is_sent_again(
    code: ErrorCode, answer: IsrAnswer, stays_proposed: bool
) -> None:
    led = partition(isr=[1, 2])
    fetch(led, 3, 0)
    assert led.propose_join(BrokerId(3))
    assert led.isr_refused(code) is answer
    assert (led.isr.proposed is not None) is stays_proposed


def test_an_answer_of_a_newer_leader_epoch_waits_for_its_leader_and_isr() -> None:
    led = partition(isr=[1, 2])
    fetch(led, 3, 0)
    led.propose_join(BrokerId(3))
    assert accept(led, [2], leader_epoch=1) == (IsrAnswer.WAIT, False)
    assert led.isr.isr == (1, 2)
    led.become_follower(state(leader=2, epoch=1))
    assert led.isr.proposed is None


def test_what_a_leader_fetched_before_its_election_is_committed_when_it_is_written() -> None:
    """Nobody may write again: the only member of the Isr has nobody to wait for."""
    replica = partition(leader=2)
    replica.assign_offsets(10)
    replica.follower_appended(10, 9, now_ms=0, lag_time_max_ms=0)
    replica.assign_offsets(11)
    replica.become_leader(state(leader=1, epoch=1, isr=[1]), now_ms=0)
    assert replica.high_watermark == 10
    assert replica.follower_appended(11, 9, now_ms=0, lag_time_max_ms=0)
    assert replica.high_watermark == 11


def test_a_follower_knows_what_the_leader_committed_as_far_as_its_log_goes() -> None:
    follower = partition(leader=2)
    follower.assign_offsets(10)
    follower.follower_appended(10, 25, now_ms=0, lag_time_max_ms=0)
    assert follower.high_watermark == 10
    follower.follow_high_watermark(8)
    assert follower.high_watermark == 8
    follower.follow_high_watermark(-1)
    assert follower.high_watermark == 8


def test_truncating_takes_offsets_epochs_and_producers_back() -> None:
    follower = partition(leader=2)
    follower.load(
        log_start_offset=0,
        log_end_offset=10,
        high_watermark=9,
        epochs=LeaderEpochs([(0, 0), (3, 6)]),
        producers=ProducerStates([ProducerEntry(7, 3, 0, 0, 0, 1000, 0, -1)]),
    )
    assert follower.truncated(5)
    assert (follower.next_offset, follower.log_end_offset, follower.high_watermark) == (5, 5, 5)
    assert follower.epochs.entries == [(0, 0)]
    follower.log_start_offset = 4
    follower.truncated(2)
    assert follower.log_start_offset == 2
    assert len(follower.producers.states) == 1
    follower.restarted_at(40)
    assert (follower.log_start_offset, follower.next_offset, follower.high_watermark) == (
        40,
        40,
        40,
    )
    assert follower.epochs.entries == []
    assert len(follower.producers.states) == 0


def test_loading_keeps_the_high_watermark_within_the_log() -> None:
    made = Partition(TopicPartition("orders", 0), BrokerId(1))
    for checkpointed, known in ((0, 5), (7, 7), (99, 10)):
        made.load(
            log_start_offset=5,
            log_end_offset=10,
            high_watermark=checkpointed,
            epochs=LeaderEpochs(),
            producers=ProducerStates(),
        )
        assert made.high_watermark == known


def test_replicas_that_left_are_forgotten_and_new_ones_start_unknown() -> None:
    led = partition()
    append(led, 5)
    fetch(led, 2, 5)
    led.become_leader(state(epoch=1, isr=[1, 2], replicas=[1, 2, 4]), now_ms=0)
    assert list(led.followers) == [2, 4]
    assert led.followers[BrokerId(4)].log_end_offset == -1
    assert led.is_under_replicated
