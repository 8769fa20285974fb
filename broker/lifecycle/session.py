"""The broker's session with the controller: registration, heartbeats, news of failed log dirs.

A controller that is away is waited for, and the broker serves meanwhile; only when it has a failed
log dir to tell of, it waits no longer than ``log.dir.failure.timeout.ms``. What a failed log dir
means is the controller's to decide.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from broker.engine.types import FailedLogDir
from broker.lifecycle.controller_link import ControllerLink
from broker.lifecycle.identity import Identity
from protocol.errors import ErrorCode
from protocol.ids import NO_EPOCH, ZERO_UUID, failure_id, uuid_text
from protocol.messages.journal import JournalReport, asks_for_replicas, put_report
from protocol.messages.lifecycle import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationResponse,
)
from protocol.metrics.rows import FailoverEventRow, FailoverStep
from protocol.ports import WallClock

REGISTRATION_VERSION: Final = 4
HEARTBEAT_VERSION: Final = 2
"""Carries cordoned log dirs (KIP-1066)."""

_BACKOFF_MS_MIN: Final = 50
_BACKOFF_MS_MAX: Final = 1_000
_URGENT_RETRY_MS: Final = 50
logger = logging.getLogger(__name__)

_REFUSED_FOR_GOOD: Final = (
    ErrorCode.INCONSISTENT_CLUSTER_ID,
    ErrorCode.INVALID_REGISTRATION,
    ErrorCode.UNSUPPORTED_VERSION,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
)
_REGISTER_AGAIN: Final = (
    ErrorCode.STALE_BROKER_EPOCH,
    ErrorCode.BROKER_ID_NOT_REGISTERED,
    ErrorCode.BROKER_NOT_AVAILABLE,
)


class RegistrationRefusedError(Exception):
    """The controller will never accept this broker as it is."""

    def __init__(self, error_code: ErrorCode) -> None:
        super().__init__(f"the controller refused the registration: {error_code.name}")
        self.error_code = error_code


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPorts:
    """The doors of a session."""

    clock: WallClock
    random: Random
    emit: Callable[[FailoverEventRow], None]
    online_directory_ids: Callable[[], list[bytes]]
    cordoned_directory_ids: Callable[[], list[bytes]]
    registered: Callable[[], Awaitable[None]]
    """Awaited after every accepted registration, before the heartbeat that unfences."""
    unfenced: Callable[[], None]
    """Called when the controller tells this broker anything again."""
    unreported: Callable[[], None]
    """Called when a failed log dir could not be told within its time: others wait for leaders."""
    journal_report: Callable[[bool], JournalReport]
    """Gives what every registration and heartbeat reports; with the replicas, or without."""


class ControllerSession:
    """One broker's registration and heartbeats. ``run`` it once; call the rest at any time."""

    def __init__(
        self,
        link: ControllerLink,
        ports: SessionPorts,
        *,
        broker_id: int,
        heartbeat_interval_ms: int,
        failure_timeout_ms: int,
    ) -> None:
        self._link = link
        self._broker_id = broker_id
        self._ports = ports
        self._interval_ms = heartbeat_interval_ms
        self._timeout_ms = max(4 * heartbeat_interval_ms, 1_000)
        self._failure_timeout_ms = failure_timeout_ms
        self._offline: dict[bytes, bool] = {}
        """Directory id -> whether the controller acknowledged it."""
        self._deadlines: dict[bytes, asyncio.TimerHandle] = {}
        """By when it has to."""
        self._wake = asyncio.Event()
        self._alarm: asyncio.TimerHandle | None = None
        """Sets ``_wake``."""
        self._registered = asyncio.Event()
        self._is_outdated = False
        """Whether log dirs came back since the last registration was sent."""
        self._unheard: dict[bytes, None] = {}
        """Ids of those that came back before the controller heard of their failure."""
        self._is_beating = False
        """Whether the regular heartbeat waits for its answer."""
        self._further_beats: asyncio.TaskGroup
        self._further_count = 0
        self._want_shut_down = False
        self._want_fence = False
        self._tells_replicas = False
        """Whether the controller asked for them."""
        self._connected: bool | None = None
        self.broker_epoch = NO_EPOCH
        """-1 until the first registration; the last known one while registering again."""
        self.is_fenced = True
        self._may_stop = asyncio.Event()

    @property
    def is_connected(self) -> bool:
        """Whether the last request to the controller was answered."""
        return bool(self._connected)

    async def until_epoch_known(self) -> None:
        """Wait for the first accepted registration."""
        if self.broker_epoch == NO_EPOCH:
            await self._registered.wait()

    def log_dir_failed(self, failed: FailedLogDir) -> None:
        """Tell the controller at once, without waiting for a heartbeat that is under way."""
        if failed.directory_id == ZERO_UUID or failed.directory_id in self._offline:
            return
        self._offline[failed.directory_id] = False
        self._deadlines[failed.directory_id] = asyncio.get_running_loop().call_later(
            self._failure_timeout_ms / 1000, self._on_deadline, failed
        )
        self._tell_news()

    def _on_deadline(self, failed: FailedLogDir) -> None:
        """Give up, unless the controller never knew this broker with that log dir.

        Source: BrokerLifecycleManager.OfflineDirBrokerFailureEvent.
        """
        if self.broker_epoch == NO_EPOCH:
            return
        logger.error(
            "the controller was not told within %d ms that log dir %s is offline: this broker ends",
            self._failure_timeout_ms,
            failed.path,
        )
        self._ports.unreported()

    def _reported(self, directory_id: bytes) -> None:
        deadline = self._deadlines.pop(directory_id, None)
        if deadline is not None:
            deadline.cancel()

    def log_dirs_cordoned(self) -> None:
        """Heartbeat soon: which log dirs are cordoned has changed."""
        self._wake.set()

    async def log_dirs_returned(self, old_directory_ids: Sequence[bytes]) -> None:
        """Register the log dirs that are online now, and wait until the controller knows them.

        Same process, same broker epoch: the controller then asks for the replicas that were
        offline. The old ids are reported as failed no more, nor is one that is online now: its disk
        may have come back at the path of another one. What the controller never heard of it takes
        for online all the time: such a log dir is registered as gone first.
        """
        untold = [each for each in old_directory_ids if self._offline.get(each) is False]
        self._unheard.update(dict.fromkeys(untold))
        for directory_id in [*old_directory_ids, *self._ports.online_directory_ids()]:
            self._offline.pop(directory_id, None)
            self._reported(directory_id)
        self._is_outdated = True
        self._registered.clear()
        self._wake.set()
        await self._registered.wait()

    async def want_shut_down(self) -> None:
        """Say in every heartbeat that this broker is leaving, and wait for the leave to go."""
        self._want_shut_down = True
        self._tell_news()
        await self._may_stop.wait()

    async def say_goodbye(self) -> None:
        """Ask to be fenced: this broker does not serve any more. Call it after ``run`` ended."""
        self._want_fence = True
        self._want_shut_down = False
        await self._beat()

    async def run(self, identity: Identity) -> None:
        """Register as ``identity`` and heartbeat until cancelled.

        Raises:
            RegistrationRefusedError: within an ExceptionGroup, when trying again is of no use.
        """
        try:
            async with asyncio.TaskGroup() as self._further_beats:
                await self._keep_alive(identity)
        except asyncio.CancelledError:
            for directory_id in list(self._deadlines):
                self._reported(directory_id)
            raise
        finally:
            self._drop_alarm()

    async def _keep_alive(self, identity: Identity) -> None:
        while True:
            if not self._registered.is_set():
                await self._register(identity)
                await self._ports.registered()
            self._wake.clear()
            self._set_alarm()
            self._is_beating = True
            try:
                await self._beat()
            finally:
                self._is_beating = False
            await self._wake.wait()

    def _tell_news(self) -> None:
        """Heartbeat now, also beside one that is under way: one more for each piece of news."""
        if not self._is_beating:
            self._wake.set()
            return
        self._set_alarm()
        news = sum(not told for told in self._offline.values()) + self._want_shut_down
        if self._further_count < news:
            self._further_count += 1
            self._further_beats.create_task(self._beat_further())

    def _set_alarm(self) -> None:
        """Have the next heartbeat begin after the pause; sooner with news that was not told."""
        pause_ms = self._interval_ms
        if not all(self._offline.values()):
            pause_ms = min(pause_ms, _URGENT_RETRY_MS)
        self._drop_alarm()
        loop = asyncio.get_running_loop()
        self._alarm = loop.call_later(pause_ms / 1000, self._wake.set)

    def _drop_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()

    async def _register(self, identity: Identity) -> None:
        backoff_ms = _BACKOFF_MS_MIN
        while True:
            error_code = await self._try_register(identity)
            if self._registered.is_set():
                return
            if error_code in _REFUSED_FOR_GOOD:
                logger.error(
                    "the controller refused this broker for good: %s; its log has the reason",
                    error_code.name,
                )
                raise RegistrationRefusedError(error_code)
            jitter = 0.8 + 0.4 * self._ports.random.random()
            await asyncio.sleep(backoff_ms * jitter / 1000)
            # A controller that begins waits a session for who registers, as for who beats.
            backoff_ms = min(backoff_ms * 2, _BACKOFF_MS_MAX, self._interval_ms)

    async def _try_register(self, identity: Identity) -> ErrorCode:
        self._is_outdated = False
        online = self._ports.online_directory_ids()
        unheard = list(self._unheard)
        heard = [each for each in online if each not in unheard]
        is_partial = 0 < len(heard) < len(online)
        request = identity.registration(
            directory_ids=heard if is_partial else online,
            previous_broker_epoch=self.broker_epoch,
        )
        put_report(request, self._ports.journal_report(True))  # noqa: FBT003 - a port
        response: BrokerRegistrationResponse | None
        response = await self._ask(request, REGISTRATION_VERSION)
        if response is None:
            return ErrorCode.BROKER_NOT_AVAILABLE
        error_code = ErrorCode(response.error_code)
        if error_code is ErrorCode.NONE:
            logger.info(
                "registered at the controller: broker epoch %d -> %d",
                self.broker_epoch,
                response.broker_epoch,
            )
            self.broker_epoch = response.broker_epoch
            for directory_id in unheard:
                self._unheard.pop(directory_id, None)
            if not self._is_outdated and not is_partial:
                self._registered.set()
            for directory_id in self._offline:
                self._offline[directory_id] = False
        else:
            logger.warning("registration not accepted yet: %s", error_code.name)
        return error_code

    async def _beat_further(self) -> None:
        try:
            await self._beat()
        finally:
            self._further_count -= 1

    async def _beat(self) -> None:
        offline = list(self._offline)
        epoch = self.broker_epoch
        sent_at_ms = self._ports.clock.now_ms()
        request = BrokerHeartbeatRequest(
            broker_id=self._broker_id,
            broker_epoch=epoch,
            current_metadata_offset=0,
            want_fence=self._want_fence,
            want_shut_down=self._want_shut_down,
            offline_log_dirs=offline,
            cordoned_log_dirs=self._ports.cordoned_directory_ids(),
        )
        put_report(request, self._ports.journal_report(self._tells_replicas))
        self._tells_replicas = False
        response: BrokerHeartbeatResponse | None = await self._ask(request, HEARTBEAT_VERSION)
        if response is None or epoch != self.broker_epoch:
            return
        error_code = ErrorCode(response.error_code)
        if error_code in _REGISTER_AGAIN:
            self._lose_registration(error_code)
        elif error_code is ErrorCode.NONE:
            self._acknowledged(offline, epoch, sent_at_ms)
            self._follow(response)
        else:
            logger.warning("heartbeat refused: %s", error_code.name)

    def _lose_registration(self, error_code: ErrorCode) -> None:
        if self._registered.is_set():
            logger.warning(
                "broker epoch %d is no longer valid (%s): registering again",
                self.broker_epoch,
                error_code.name,
            )
            self._registered.clear()
            self._wake.set()

    def _acknowledged(self, offline: list[bytes], epoch: int, sent_at_ms: int) -> None:
        for directory_id in offline:
            self._reported(directory_id)
            if self._offline.get(directory_id, True):
                continue
            self._offline[directory_id] = True
            name = uuid_text(directory_id)
            logger.info("the controller knows that log dir %s is offline", name)
            self._ports.emit(
                FailoverEventRow(
                    at_ms=sent_at_ms,
                    node=f"broker-{self._broker_id}",
                    failure_id=failure_id(self._broker_id, directory_id, epoch),
                    step=FailoverStep.HEARTBEAT_SENT,
                    topic_count=-1,
                    partition_count=-1,
                    detail="",
                )
            )

    def _follow(self, response: BrokerHeartbeatResponse) -> None:
        if asks_for_replicas(response):
            self._tells_replicas = True
            self._wake.set()
        if response.should_shut_down:
            self._may_stop.set()
        if response.is_fenced != self.is_fenced:
            self.is_fenced = response.is_fenced
            logger.info("the controller %s this broker", "fenced" if self.is_fenced else "unfenced")
            if not self.is_fenced:
                self._ports.unfenced()

    async def _ask(self, request: Any, version: int) -> Any:
        """Return the answer, or None when there is none; one log line per change of the link."""
        try:
            response = await self._link.session_request(
                request, version, timeout_ms=self._timeout_ms
            )
        except (ConnectionError, TimeoutError) as exc:
            if self._connected is not False:
                self._connected = False
                logger.warning("the controller does not answer, trying again: %s", exc)
            return None
        if not self._connected:
            self._connected = True
            logger.info("connected to the controller")
        return response
