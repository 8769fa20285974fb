"""Topics that clients mention and nobody created: asks the controller for them, once at a time.

Clients meanwhile get LEADER_NOT_AVAILABLE and ask again. Source: AutoTopicCreationManager.scala.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Final

from broker.lifecycle.controller_link import ControllerLink
from protocol.admin.topics import NewTopic, create_topics_request
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.topics import CreateTopicsResponse

CREATE_TOPICS_VERSION: Final = 7
WAITING_MAX: Final = 1_000
"""Names beyond this are left to the client's next question."""
_TIMEOUT_MS: Final = 30_000
logger = logging.getLogger(__name__)


class AutoTopics:
    """Names to create; ``run`` it once."""

    def __init__(self, link: ControllerLink, new_topic: Callable[[str], NewTopic]) -> None:
        """``new_topic`` says how a topic is created."""
        self._link = link
        self._new_topic = new_topic
        self._told: dict[str, str] = {}
        """What was logged last of a name that could not be created."""
        self._waiting: dict[str, None] = {}
        self._wake = asyncio.Event()

    def create(self, names: Iterable[str]) -> None:
        """Ask for these in the background, with the cluster's default partitions and replicas."""
        for name in names:
            if len(self._waiting) < WAITING_MAX:
                self._waiting[name] = None
        self._wake.set()

    async def run(self) -> None:
        """Send what is asked for until cancelled; clients ask again for what failed."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            names = list(self._waiting)
            if names:
                await self._send(names)
            for name in names:
                self._waiting.pop(name, None)

    async def _send(self, names: list[str]) -> None:
        wanted = [self._new_topic(name) for name in names]
        request = create_topics_request(wanted, timeout_ms=_TIMEOUT_MS)
        try:
            response: CreateTopicsResponse = await self._link.forward(
                request, CREATE_TOPICS_VERSION, timeout_ms=_TIMEOUT_MS
            )
        except KafkaError as error:
            logger.warning("automatic creation of %s failed: %s", ", ".join(names), error)
            return
        for topic in response.topics:
            code = ErrorCode(topic.error_code)
            if code in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
                self._told.pop(topic.name, None)
            else:
                self._tell(topic.name, f"{code.name}: {topic.error_message}")

    def _tell(self, name: str, cause: str) -> None:
        """Log why a topic is not there; clients that ask for it again change nothing about it."""
        if self._told.get(name) == cause:
            return
        if len(self._told) >= WAITING_MAX:
            self._told.clear()
        self._told[name] = cause
        logger.warning("automatic creation of %s failed: %s", name, cause)
