"""Controlled shutdown: until nothing is led here, or nothing moves any more."""

from __future__ import annotations

import pytest

from broker.lifecycle.controlled_shutdown import hand_over
from broker.lifecycle.controller_link import ControllerLink
from protocol.messages.lifecycle import ControlledShutdownRequest, RemainingPartition
from tests.broker.fake_controller import FakeController


def left(count: int) -> list[RemainingPartition]:
    return [RemainingPartition(topic_name="t", partition_index=n) for n in range(count)]


async def leave(link: ControllerLink, attempts_max: int = 3) -> bool:
    return await hand_over(
        link, broker_id=1, broker_epoch=7, attempts_max=attempts_max, backoff_ms=1
    )


@pytest.mark.parametrize(
    ("remaining", "is_done", "attempts"),
    [([], True, 1), ([2, 0], True, 2), ([2, 2, 0], False, 2), ([3, 2, 1, 0], False, 3)],
)
async def test_it_tries_while_something_moves(
    controller: FakeController,
    link: ControllerLink,
    remaining: list[int],
    *,
    is_done: bool,
    attempts: int,
):
    controller.remaining = [left(count) for count in remaining]
    assert await leave(link) == is_done
    requests = controller.of(ControlledShutdownRequest)
    assert len(requests) == attempts
    assert (requests[0].broker_id, requests[0].broker_epoch) == (1, 7)


async def test_without_a_controller_it_ends_after_its_attempts(
    controller: FakeController, link: ControllerLink
):
    await controller.stop()
    assert not await leave(link)
