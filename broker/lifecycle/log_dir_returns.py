"""Brings log dirs back while the broker runs: a repaired one with its data, or an empty disk.

One wish at a time. What becomes of the replicas is the engine's, who leads them the controller's.
Kafka needs a new process for this; the wish for it is KIP-18.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, NamedTuple

from broker.core.hosted import Loss, ReturnRule
from broker.core.log_dirs import LogDirFailed
from broker.core.replication_quota import UNLIMITED
from broker.engine.engine import Engine
from broker.lifecycle.session import ControllerSession
from broker.storage.journal_checkpoint import JournalCheckpoint
from broker.storage.log_dir import LogDir
from broker.storage.recovery import LoadedLogDir, StartupRefused
from broker.storage.startup import (
    LoadOptions,
    Owner,
    load_log_dirs,
    open_log_dirs,
    refuse_same_ids,
)
from protocol.ids import ZERO_UUID, TopicPartition, listed

RELEASE_TIMEOUT_MS: Final = 5_000
"""How long the thread of a failed log dir may take to let go of it."""
ASK_AGAIN_MS: Final = 500
ASK_AGAIN_MS_MAX: Final = 30_000
"""How often, at least, the controller is asked again for replicas that could not begin empty."""
NAMED_MAX: Final = 5
"""So many partitions are named where some would be lost."""
logger = logging.getLogger(__name__)


class ReturnRefusedError(Exception):
    """A log dir cannot come back as asked; the text says why and what to do."""


class ReturnState(Enum):
    """How far a wish is."""

    WAITING = "waiting"
    LOADING = "loading"
    REGISTERING = "registering"
    DONE = "done"
    REFUSED = "refused"


class ReturnRequest(NamedTuple):
    """What an operator asked for."""

    path: str
    is_replaced: bool = False
    """An empty disk takes the place of what is there."""
    accepts_loss: bool = False
    """Replicas that no other broker has in full may begin empty."""
    is_forced: bool = False
    """An empty disk takes the place of one that works, too."""
    only: TopicPartition | None = None
    """This partition alone; None for all of the log dir."""
    rate_bytes_per_second: int = UNLIMITED
    """How fast replicas made anew are copied, all together."""


@dataclass(slots=True)
class Return:
    """A wish on its way."""

    request: ReturnRequest
    state: ReturnState = ReturnState.WAITING
    detail: str = ""
    found_count: int = 0
    lost_count: int = 0
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    """Set with DONE and REFUSED."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnPorts:
    """The doors of the returns."""

    log_dirs: Callable[[], list[LogDir]]
    """The present ones, offline ones included."""
    open_anew: Callable[[str, bool], LogDir]
    """(path, is_empty) -> a log dir with no fault laid over it."""
    adopt: Callable[[LogDir], None]
    """Put it in the place of the old one, for everyone but the engine."""
    owner: Callable[[], Owner]
    load_options: Callable[[], LoadOptions]
    journal_found: Callable[[JournalCheckpoint], None]
    """Take what it kept of the controller's journal."""


class LogDirReturns:
    """``run`` it once; ``ask`` at any time."""

    def __init__(
        self,
        ports: ReturnPorts,
        engine: Callable[[], Engine],
        session: ControllerSession,
        *,
        ask_again_ms: int = ASK_AGAIN_MS,
    ) -> None:
        self._ports = ports
        self._engine = engine
        self._session = session
        self._requests: asyncio.Queue[Return] = asyncio.Queue()
        self._first_ask_again_ms = self._ask_again_ms = ask_again_ms
        self._last: dict[str, Return] = {}

    def last(self, path: str) -> Return | None:
        """Return the last wish about a log dir and how far it is."""
        return self._last.get(path)

    def is_loading(self, path: str) -> bool:
        """Tell whether what lies in a log dir is being looked through for its return."""
        last = self._last.get(path)
        return last is not None and last.state is ReturnState.LOADING

    def ask(self, request: ReturnRequest) -> Return:
        """Take a wish; it is served behind the earlier ones.

        Raises:
            ReturnRefusedError: it makes no sense now.
        """
        self._check(request)
        begun = Return(request)
        self._last[request.path] = begun
        self._requests.put_nowait(begun)
        return begun

    async def run(self) -> None:
        """Serve wishes until cancelled.

        A lost replica begins empty only when it is out of the Isr, which the controller decides
        when it hears of the loss. So it is asked again and again while replicas wait for that.
        """
        while True:
            wait_s = self._ask_again_ms / 1000 if self._has_lost_replicas() else None
            try:
                async with asyncio.timeout(wait_s):
                    asked = await self._requests.get()
            except TimeoutError:
                self._ask_again_ms = min(2 * self._ask_again_ms, ASK_AGAIN_MS_MAX)
                await self._session.log_dirs_returned([])
            else:
                self._ask_again_ms = self._first_ask_again_ms
                await self._serve(asked)

    def _has_lost_replicas(self) -> bool:
        """Tell whether a log is known to be gone and was not made anew."""
        offline = self._engine().state.hosted.iterate_offline()
        return any(replica.loss is not None for _, replica in offline)

    def _check(self, request: ReturnRequest) -> None:
        present = {log_dir.path: log_dir for log_dir in self._ports.log_dirs()}
        if request.path not in present:
            raise ReturnRefusedError(f"path: {request.path!r} is none of {', '.join(present)}")
        pending = self._last.get(request.path)
        if pending is not None and not pending.ended.is_set():
            raise ReturnRefusedError(f"{request.path} is already on its way: {pending.state.value}")
        if not present[request.path].is_online:
            return
        if not request.is_replaced and request.only is None:
            raise ReturnRefusedError(f"{request.path} is online: there is nothing to bring back")
        if request.is_replaced and sum(log_dir.is_online for log_dir in present.values()) == 1:
            raise ReturnRefusedError(
                f"{request.path} is the last log dir that works: without it the broker ends; "
                "bring another one back first"
            )
        if request.is_replaced and not request.is_forced:
            raise ReturnRefusedError(self._why_it_should_stay(request.path))

    def _why_it_should_stay(self, path: str) -> str:
        last = self._engine().describe.last_copies(path)
        lone = f" and nobody else has {listed(last, NAMED_MAX)} in sync" if last else ""
        return f"{path} works{lone}; only by force (--force) is a log dir replaced that works"

    async def _serve(self, asked: Return) -> None:
        request = asked.request
        try:
            present = {log_dir.path: log_dir for log_dir in self._ports.log_dirs()}
            old = present[request.path]
            if old.is_online and request.only is not None:
                returned = await self._engine().loaded_log_dirs.release(
                    [request.only], accepts_loss=request.accepts_loss
                )
                asked.found_count, asked.lost_count = len(returned.found), len(returned.lost)
            else:
                await self._bring_back(asked, old)
            asked.state = ReturnState.REGISTERING
            await self._session.log_dirs_returned([old.directory_id])
        except (ReturnRefusedError, StartupRefused, LogDirFailed) as error:
            asked.state, asked.detail = ReturnState.REFUSED, str(error)
            logger.warning("%s does not come back: %s", request.path, error)
        else:
            asked.state = ReturnState.DONE
        asked.ended.set()

    async def _bring_back(self, asked: Return, old: LogDir) -> None:
        request = asked.request
        if old.is_online:
            old.fail("replace", RuntimeError("taken out by its operator"))
        if not request.is_replaced:
            await _released(old)
        asked.state = ReturnState.LOADING
        log_dir = self._ports.open_anew(request.path, request.is_replaced)
        try:
            found = await self._load(log_dir)
        except StartupRefused as error:
            log_dir.fail("open", error)
            raise
        self._ports.adopt(log_dir)
        self._ports.journal_found(found.journal)
        rule = ReturnRule(
            loss=Loss.ACCEPTED if request.accepts_loss else Loss.REBUILD,
            only=request.only,
            rate_bytes_per_second=request.rate_bytes_per_second,
        )
        returned = await self._engine().bring_back(log_dir, found, rule)
        asked.found_count, asked.lost_count = len(returned.found), len(returned.lost)

    async def _load(self, log_dir: LogDir) -> LoadedLogDir:
        """Open and load one log dir.

        Raises:
            StartupRefused: it belongs to another broker, or is a copy of another one.
            ReturnRefusedError: it does not work.
        """
        await open_log_dirs([log_dir], self._ports.owner())
        others = [one for one in self._ports.log_dirs() if one.path != log_dir.path]
        refuse_same_ids([*others, log_dir])
        loaded = {}
        if log_dir.is_online:
            loaded = await load_log_dirs([log_dir], self._ports.load_options())
        if log_dir.path not in loaded:
            assert log_dir.directory_id is not ZERO_UUID or log_dir.failure is not None
            raise ReturnRefusedError(
                f"{log_dir.failure}; repair it, or put an empty disk there and replace it"
            )
        return loaded[log_dir.path]


async def _released(old: LogDir) -> None:
    """Wait for the thread of the failed log dir to drop the lock.

    Raises:
        ReturnRefusedError: its disk still hangs.
    """
    try:
        async with asyncio.timeout(RELEASE_TIMEOUT_MS / 1000):
            await old.released.wait()
    except TimeoutError as error:
        raise ReturnRefusedError(
            f"{old.path}: what its disk was doing when it failed has not ended; repair it, or put "
            "an empty disk there and replace it"
        ) from error
