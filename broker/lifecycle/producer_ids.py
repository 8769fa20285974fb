"""Producer ids out of blocks that the controller hands out. One request for a block at a time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from broker.lifecycle.controller_link import ControllerLink
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse

ALLOCATE_VERSION: Final = 0
logger = logging.getLogger(__name__)


class ProducerIds:
    """The producer ids that this broker may still give away.

    Source: RPCProducerIdManager.
    """

    def __init__(
        self,
        link: ControllerLink,
        *,
        broker_id: int,
        broker_epoch: Callable[[], int],
        keep: Callable[[int], Awaitable[None]],
    ) -> None:
        """Have none yet.

        Args:
            link: to the controller.
            broker_id: of this broker.
            broker_epoch: of its registration.
            keep: given the end of a block, returns once it is durable that the block was given.
        """
        self._link = link
        self._keep = keep
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch
        self._next = 0
        self._left_count = 0
        self._turn = asyncio.Lock()

    async def next_producer_id(self) -> int:
        """Return an id that no producer of the cluster has had.

        Raises:
            KafkaError: COORDINATOR_LOAD_IN_PROGRESS, when the controller gives no block.
        """
        async with self._turn:
            if self._left_count == 0:
                await self._allocate()
            producer_id = self._next
            self._next += 1
            self._left_count -= 1
        return producer_id

    async def _allocate(self) -> None:
        request = AllocateProducerIdsRequest(
            broker_id=self._broker_id, broker_epoch=self._broker_epoch()
        )
        try:
            response: AllocateProducerIdsResponse = await self._link.request(
                request, ALLOCATE_VERSION
            )
        except (ConnectionError, TimeoutError) as exc:
            raise _unavailable("the controller does not answer") from exc
        if response.error_code != ErrorCode.NONE or response.producer_id_len <= 0:
            raise _unavailable(ErrorCode(response.error_code).name)
        await self._keep(response.producer_id_start + response.producer_id_len)
        self._next = response.producer_id_start
        self._left_count = response.producer_id_len
        logger.info("got producer ids %d to %d", self._next, self._next + self._left_count - 1)


def _unavailable(reason: str) -> KafkaError:
    return KafkaError(
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, f"No block of producer ids: {reason}."
    )
