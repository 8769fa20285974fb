"""One request of a client, counted against its quotas while and after it is answered.

What is too much is decided in ``broker.core.client_quotas``; this measures and tells the client.
Source: KafkaApis.scala, RequestHandlerHelper.scala, ClientRequestQuotaManager.scala.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Coroutine, Generator, Sequence
from typing import Any, Final, TypeVar

from broker.core.client_quotas.client_quotas import ClientQuotas
from broker.core.client_quotas.limits import Asker
from broker.engine.types import FetchResult
from broker.metrics import Counters
from broker.muted_connections import MutedConnections
from protocol.client_quotas.entities import (
    CONSUMER_BYTE_RATE,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
)
from protocol.connection import Peer, RequestReceived

ResultT = TypeVar("ResultT")
_PRODUCE: Final = 0
_EXEMPT: Final = (4, 5, 6, 27)
"""LeaderAndIsr, StopReplica, UpdateMetadata, WriteTxnMarkers."""
_PERCENT_PER_US: Final = 100 / 1_000_000
"""A second of the loop's thread is 100 %."""


class ClientAccounts:
    """Opens the accounts of a broker's requests."""

    def __init__(
        self,
        quotas: ClientQuotas,
        counters: Counters,
        *,
        loop_ms: Callable[[], int],
        elapsed_us: Callable[[], int],
    ) -> None:
        self.quotas = quotas
        self.muted = MutedConnections()
        self.counters = counters
        self.loop_ms = loop_ms
        self.elapsed_us = elapsed_us

    def open(self, received: RequestReceived, peer: Peer) -> ClientAccount | None:
        """Begin to count a request, a produce with all its bytes at once.

        None: it is a controller's or a coordinator's. Only while ``quotas`` limit anybody.
        """
        if received.api_key in _EXEMPT:
            return None
        account = ClientAccount(self, Asker(peer.principal.name, received.client_id or ""), peer)
        if received.api_key == _PRODUCE:
            account.produced(len(received.body))
        return account


class ClientAccount:
    """What one request costs its client. ``settle`` it once, with the response or without."""

    def __init__(self, accounts: ClientAccounts, asker: Asker, peer: Peer) -> None:
        self._accounts, self._quotas = accounts, accounts.quotas
        self.asker, self._peer = asker, peer
        self._throttle_ms = 0
        self._spent_us = 0
        self._began_us: int | None = None
        self._is_exempt = False

    @property
    def now_ms(self) -> int:
        """The loop's time."""
        return self._accounts.loop_ms()

    def exempt(self) -> None:
        """Count it no further: it is a broker's."""
        self._is_exempt = True

    def throttle(self, throttle_ms: int) -> None:
        """Have the client wait so long at least."""
        self._throttle_ms = max(self._throttle_ms, throttle_ms)

    def produced(self, size_bytes: int) -> None:
        """Count what a producer sent."""
        self.throttle(self._quotas.record(PRODUCER_BYTE_RATE, self.asker, size_bytes, self.now_ms))

    def fetch_bytes_max(self, asked_bytes: int) -> int:
        """Return how much may be read: more could not go out without a throttled answer."""
        most = self._quotas.most_at_once(CONSUMER_BYTE_RATE, self.asker)
        return asked_bytes if most >= asked_bytes else int(most)

    def is_fetch_throttled(self, results: Sequence[FetchResult]) -> bool:
        """Count what a consumer is to get; tell whether it is too much and it gets nothing yet."""
        quotas, now_ms = self._quotas, self.now_ms
        size_bytes = sum(result.records_size_bytes for result in results)
        self._count_time()
        self.throttle(quotas.record(CONSUMER_BYTE_RATE, self.asker, size_bytes, now_ms))
        if self._throttle_ms:
            quotas.record(CONSUMER_BYTE_RATE, self.asker, -size_bytes, now_ms)
        return self._throttle_ms > 0

    @types.coroutine
    def timed(self, work: Coroutine[Any, Any, ResultT]) -> Generator[Any, Any, ResultT]:
        """Do ``work``; its time on the loop's thread counts, its waits do not."""
        clock_us, resume = self._accounts.elapsed_us, work.send
        told: Any = None
        while True:
            self._began_us = clock_us()
            try:
                awaited = resume(told)
            except StopIteration as end:
                return end.value
            finally:
                self._stop_clock()
            try:
                resume, told = work.send, (yield awaited)
            except BaseException as error:  # noqa: BLE001 -- it is the work's
                resume, told = work.throw, error

    def settle(self, response: Any) -> None:
        """Count the time, tell the client how long it is to wait, and mute it for so long.

        ``response``: None when there is none.
        """
        if self._is_exempt:
            return
        if response is not None:
            self._count_time()
        if not self._throttle_ms:
            return
        self._accounts.counters.throttled_requests.add()
        self._accounts.counters.throttled_ms.add(self._throttle_ms)
        self._accounts.muted.mute(self._peer, self._throttle_ms)
        if response is not None and hasattr(response, "throttle_time_ms"):
            response.throttle_time_ms = max(response.throttle_time_ms, self._throttle_ms)

    def _stop_clock(self) -> None:
        if self._began_us is not None:
            self._spent_us += self._accounts.elapsed_us() - self._began_us
            self._began_us = None

    def _count_time(self) -> None:
        """Count what was spent since it was last counted."""
        is_running = self._began_us is not None
        self._stop_clock()
        percent, self._spent_us = self._spent_us * _PERCENT_PER_US, 0
        if is_running:
            self._began_us = self._accounts.elapsed_us()
        self.throttle(self._quotas.record(REQUEST_PERCENTAGE, self.asker, percent, self.now_ms))
