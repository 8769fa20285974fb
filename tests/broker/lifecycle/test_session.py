"""The session: register, heartbeat, carry failed log dirs at once, never give up."""

from __future__ import annotations

import asyncio

import pytest

from broker.lifecycle.controller_link import ControllerLink
from broker.lifecycle.session import (
    RegistrationRefusedError,
)
from protocol.errors import ErrorCode
from protocol.ids import ZERO_UUID, failure_id
from protocol.messages.lifecycle import BrokerHeartbeatRequest, BrokerRegistrationRequest
from protocol.metrics.rows import FailoverStep
from tests.broker.fake_controller import DEADLINE_S, FakeController
from tests.broker.lifecycle.session_lab import D1, D2, NEVER_MS, Lab, failed, identity
from tests.broker.log_watch import watching_for


async def test_it_registers_and_the_first_heartbeat_follows_at_once(
    controller: FakeController, link: ControllerLink
):
    lab = Lab(link, NEVER_MS)
    async with lab.running() as session:
        (beat,) = await controller.until_heartbeats(1)
        assert (beat.broker_id, beat.broker_epoch, list(beat.offline_log_dirs)) == (1, 7, [])
        assert list(map(bytes, beat.cordoned_log_dirs or ())) == [D2]
        assert session.broker_epoch == 7
        (registration,) = controller.of(BrokerRegistrationRequest)
        assert list(map(bytes, registration.log_dirs)) == [D1, D2]
        assert registration.previous_broker_epoch == -1


async def test_the_broker_epoch_is_waited_for_once(
    controller: FakeController, link: ControllerLink
):
    lab = Lab(link, NEVER_MS)
    async with asyncio.TaskGroup() as group:
        early = group.create_task(lab.session.until_epoch_known())
        await asyncio.sleep(0)
        assert not early.done()
        async with lab.running() as session:
            await early
            await session.until_epoch_known()
            assert session.broker_epoch == 7


async def test_heartbeats_go_on_at_their_interval(controller: FakeController, link: ControllerLink):
    lab = Lab(link, 5)
    async with lab.running() as session:
        await controller.until_heartbeats(4)
        assert session.is_connected
        assert not session.is_fenced
        assert lab.heard == ["registered", "unfenced"], "in this order, once"


async def test_a_failed_log_dir_is_told_at_once_and_in_every_later_heartbeat(
    controller: FakeController, link: ControllerLink
):
    lab = Lab(link, NEVER_MS)
    async with lab.running() as session:
        await controller.until_heartbeats(1)
        session.log_dir_failed(failed(D1))
        beats = await controller.until_heartbeats(2)
        assert list(map(bytes, beats[-1].offline_log_dirs)) == [D1]
        session.log_dir_failed(failed(D2))
        beats = await controller.until_heartbeats(3)
        assert list(map(bytes, beats[-1].offline_log_dirs)) == [D1, D2]


@pytest.mark.scenario(225)
async def test_heartbeats_carry_every_failure_so_far(
    controller: FakeController, link: ControllerLink
):
    third = bytes([3] * 16)
    lab = Lab(link, NEVER_MS)
    lab.online = [D1, D2, third]
    async with lab.running() as session:
        await controller.until_heartbeats(1)
        (registration,) = controller.of(BrokerRegistrationRequest)
        assert list(map(bytes, registration.log_dirs)) == [D1, D2, third]
        for count, directory_id in enumerate((D1, D2, third), start=1):
            session.log_dir_failed(failed(directory_id))
            await controller.until(
                lambda count=count: (
                    [len(beat.offline_log_dirs) for beat in controller.of(BrokerHeartbeatRequest)]
                    == list(range(count + 1))
                )
            )
        await controller.until(lambda: len(lab.rows) == 3)


async def test_the_news_does_not_wait_for_a_heartbeat_under_way(
    controller: FakeController, link: ControllerLink
):
    lab = Lab(link, NEVER_MS)
    gate = controller.held[BrokerHeartbeatRequest] = asyncio.Event()
    async with lab.running() as session:
        await controller.until_heartbeats(1)
        session.log_dir_failed(failed(D1))
        session.log_dir_failed(failed(D1))
        gate.set()
        beats = await controller.until_heartbeats(2)
        assert list(map(bytes, beats[1].offline_log_dirs)) == [D1]


async def test_news_after_its_end_is_told_to_nobody(
    controller: FakeController, link: ControllerLink
):
    lab = Lab(link, NEVER_MS)
    gate = controller.held[BrokerHeartbeatRequest] = asyncio.Event()
    async with lab.running() as session:
        await controller.until_heartbeats(1)
    session.log_dir_failed(failed(D1))
    gate.set()
    assert len(controller.of(BrokerHeartbeatRequest)) == 1


async def test_an_acknowledged_failure_leaves_one_row_with_the_shared_failure_id(
    controller: FakeController, link: ControllerLink
):
    lab = Lab(link, 5)
    async with lab.running() as session:
        await controller.until_heartbeats(1)
        session.log_dir_failed(failed(D1))
        count = len(controller.of(BrokerHeartbeatRequest))
        await controller.until_heartbeats(count + 4)
    (row,) = lab.rows
    assert row.step is FailoverStep.HEARTBEAT_SENT
    assert row.failure_id == failure_id(1, D1, 7)
    assert (row.node, row.at_ms) == ("broker-1", 123)


async def test_a_log_dir_without_an_id_is_no_news_for_the_controller(
    controller: FakeController, link: ControllerLink
):
    lab = Lab(link, 5)
    async with lab.running() as session:
        session.log_dir_failed(failed(ZERO_UUID))
        beats = await controller.until_heartbeats(2)
        assert all(list(beat.offline_log_dirs) == [] for beat in beats)


async def test_who_is_refused_asks_again_as_often_as_it_would_beat(
    controller: FakeController, link: ControllerLink
):
    """A controller that has just begun waits a session for it, not longer."""
    controller.registration_codes = [ErrorCode.NOT_CONTROLLER] * 40
    lab = Lab(link, 5)
    async with asyncio.timeout(20), lab.running():
        await controller.until(lambda: len(controller.of(BrokerRegistrationRequest)) == 41)


@pytest.mark.parametrize("code", [ErrorCode.STALE_BROKER_EPOCH, ErrorCode.BROKER_ID_NOT_REGISTERED])
async def test_a_lost_registration_is_renewed_and_carries_the_failures_again(
    controller: FakeController, link: ControllerLink, code: ErrorCode
):
    lab = Lab(link, 5)
    async with lab.running() as session:
        session.log_dir_failed(failed(D1))
        lab.online = [D2]
        await controller.until(lambda: len(lab.rows) == 1)
        controller.broker_epoch = 8
        controller.heartbeat_codes = [code]
        await controller.until(lambda: len(controller.of(BrokerRegistrationRequest)) == 2)
        again = controller.of(BrokerRegistrationRequest)[1]
        assert list(map(bytes, again.log_dirs)) == [D2]
        assert again.previous_broker_epoch == 7
        await controller.until(
            lambda: any(
                beat.broker_epoch == 8 and list(map(bytes, beat.offline_log_dirs)) == [D1]
                for beat in controller.of(BrokerHeartbeatRequest)
            )
        )
        assert session.broker_epoch == 8


async def test_a_controller_that_comes_later_is_waited_for_with_one_log_line(
    controller: FakeController, link: ControllerLink, caplog: pytest.LogCaptureFixture
):
    await controller.stop()
    lab = Lab(link, 5)
    with watching_for("does not answer") as line:
        async with lab.running() as session:
            await line.wait()
            assert not session.is_connected
            await controller.start()
            await controller.until_heartbeats(1)
    assert caplog.text.count("does not answer") == 1


async def test_a_controller_that_comes_back_is_told_what_failed_meanwhile(
    controller: FakeController, link: ControllerLink
):
    lab = Lab(link, 5)
    async with lab.running() as session:
        await controller.until_heartbeats(2)
        await controller.stop()
        session.log_dir_failed(failed(D2))
        controller.requests.clear()
        await controller.start()
        await controller.until(lambda: len(lab.rows) == 1)
        assert lab.rows[0].failure_id == failure_id(1, D2, 7)


async def test_a_registration_that_is_not_ready_yet_is_tried_again(
    controller: FakeController, link: ControllerLink
):
    controller.registration_codes = [ErrorCode.DUPLICATE_BROKER_REGISTRATION]
    async with Lab(link, NEVER_MS).running() as session:
        await controller.until_heartbeats(1)
        assert session.broker_epoch == 7


@pytest.mark.parametrize(
    "code", [ErrorCode.INCONSISTENT_CLUSTER_ID, ErrorCode.INVALID_REGISTRATION]
)
async def test_a_broker_that_can_never_join_is_told_so(
    controller: FakeController, link: ControllerLink, code: ErrorCode
):
    controller.registration_codes = [code]
    with pytest.raises(ExceptionGroup) as group:
        await Lab(link, NEVER_MS).session.run(identity())
    (error,) = group.value.exceptions
    assert isinstance(error, RegistrationRefusedError)
    assert error.error_code is code


async def test_leaving_is_asked_for_at_once_and_waits_for_the_leave(
    controller: FakeController, link: ControllerLink
):
    lab = Lab(link, NEVER_MS)
    async with lab.running() as session:
        await controller.until_heartbeats(1)
        async with asyncio.timeout(DEADLINE_S):
            await session.want_shut_down()
        beats = controller.of(BrokerHeartbeatRequest)
        assert [beat.want_shut_down for beat in beats] == [False, True]
    await session.say_goodbye()
    last = controller.of(BrokerHeartbeatRequest)[-1]
    assert (last.want_fence, last.want_shut_down) == (True, False)


async def test_a_change_of_cordons_is_told_without_waiting_for_the_interval(
    controller: FakeController, link: ControllerLink
):
    async with Lab(link, NEVER_MS).running() as session:
        await controller.until_heartbeats(1)
        await asyncio.sleep(0)
        session.log_dirs_cordoned()
        beats = await controller.until_heartbeats(2)
        assert list(map(bytes, beats[-1].cordoned_log_dirs or ())) == [D2]


@pytest.mark.kafka_bug("KAFKA-16757")
async def test_log_dirs_that_came_back_are_registered_by_the_same_process(
    controller: FakeController, link: ControllerLink
):
    lab = Lab(link, NEVER_MS)
    async with lab.running() as session:
        await controller.until_heartbeats(1)
        lab.online = [D2]
        session.log_dir_failed(failed(D1))
        await controller.until_heartbeats(2)
        new = bytes([3] * 16)
        lab.online = [new, D2]
        await session.log_dirs_returned([D1])
        first, second = controller.of(BrokerRegistrationRequest)
        assert first.incarnation_id == second.incarnation_id
        assert list(map(bytes, second.log_dirs)) == [new, D2]
        beats = await controller.until_heartbeats(3)
        assert list(beats[-1].offline_log_dirs) == []


async def test_what_came_back_before_its_failure_was_told_is_registered_as_gone_first(
    controller: FakeController, link: ControllerLink
):
    """Else the controller asks for none of its replicas: it takes them for online all the time."""
    lab = Lab(link, NEVER_MS)
    async with lab.running() as session, asyncio.TaskGroup() as group:
        await controller.until_heartbeats(1)
        answered = controller.held[BrokerHeartbeatRequest] = asyncio.Event()
        session.log_dir_failed(failed(D1))
        await controller.until_heartbeats(2)
        returned = group.create_task(session.log_dirs_returned([D1]))
        await asyncio.sleep(0)
        answered.set()
        await returned
        gone, back = controller.of(BrokerRegistrationRequest)[1:]
        assert list(map(bytes, gone.log_dirs)) == [D2]
        assert list(map(bytes, back.log_dirs)) == [D1, D2]


async def test_a_disk_that_came_back_at_the_path_of_another_one_may_fail_again(
    controller: FakeController, link: ControllerLink
):
    lab = Lab(link, NEVER_MS)
    async with lab.running() as session:
        session.log_dir_failed(failed(D2))
        await controller.until(lambda: len(lab.rows) == 1)
        await session.log_dirs_returned([D1])
        session.log_dir_failed(failed(D2))
        await controller.until(lambda: len(lab.rows) == 2)
        assert list(controller.of(BrokerHeartbeatRequest)[-1].offline_log_dirs) == [D2]


async def test_what_came_back_while_a_registration_was_under_way_is_registered_after_it(
    controller: FakeController, link: ControllerLink
):
    lab = Lab(link, NEVER_MS)
    lab.online = [D2]
    answered = controller.held[BrokerRegistrationRequest] = asyncio.Event()
    async with lab.running() as session, asyncio.TaskGroup() as group:
        await controller.until(lambda: len(controller.of(BrokerRegistrationRequest)) == 1)
        lab.online = [D1, D2]
        returned = group.create_task(session.log_dirs_returned([]))
        await asyncio.sleep(0)
        answered.set()
        await returned
        assert list(controller.of(BrokerRegistrationRequest)[-1].log_dirs) == [D1, D2]


async def test_a_failure_that_cannot_be_told_in_time_ends_the_wait(
    controller: FakeController, link: ControllerLink, caplog: pytest.LogCaptureFixture
):
    lab = Lab(link, NEVER_MS, failure_timeout_ms=100)
    async with lab.running() as session:
        await controller.until_heartbeats(1)
        await controller.stop()
        session.log_dir_failed(failed(D1))
        async with asyncio.timeout(DEADLINE_S):
            await lab.gave_up.wait()
    assert "was not told within 100 ms that log dir /d is offline" in caplog.text


@pytest.mark.scenario(225)
async def test_a_failure_that_was_told_has_no_deadline_any_more(
    controller: FakeController, link: ControllerLink, caplog: pytest.LogCaptureFixture
):
    caplog.set_level("INFO")
    lab = Lab(link, NEVER_MS, failure_timeout_ms=100)
    async with lab.running() as session:
        await controller.until_heartbeats(1)
        with watching_for("the controller knows that log dir") as line:
            session.log_dir_failed(failed(D1))
            await line.wait()
        assert session._deadlines == {}  # pyright: ignore[reportPrivateUsage] - no wait in a test
