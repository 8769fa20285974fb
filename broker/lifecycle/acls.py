"""The ACLs, fetched from the controller, by which this broker's authorizer decides."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from broker.lifecycle.controller_link import ControllerLink
from broker.lifecycle.fetched_configs import REFRESH_TIMEOUT_MS, FetchedConfigs
from protocol.acls.authorizer import Authorizer
from protocol.acls.requests import EVERY_ACL, bindings_of
from protocol.configs.broker import BrokerConfig
from protocol.errors import ErrorCode
from protocol.messages.acls import DescribeAclsResponse

DESCRIBE_ACLS_VERSION: Final = 3
logger = logging.getLogger(__name__)


def make_authorizer(config: BrokerConfig) -> Authorizer | None:
    """Return the authorizer that the configuration asks for, without ACLs yet."""
    if not config.has_authorizer:
        return None
    return Authorizer(
        super_users=config.super_user_names,
        allows_if_no_acl=config.allow_everyone_if_no_acl_found,
    )


class Acls(FetchedConfigs):
    """``run`` it once; ``refresh`` it when told that ACLs changed."""

    def __init__(self, link: ControllerLink, authorizer: Authorizer | None) -> None:
        """``authorizer`` is told; None: there is none, and nothing is asked."""
        super().__init__("ACLs")
        self._link = link
        self.authorizer = authorizer
        self._answered = asyncio.Event()

    async def until_answered(self) -> None:
        """Wait until the controller has answered once; ``run`` asks it again meanwhile.

        An authorizer without ACLs refuses the controller, too, which gives an order that was
        refused no second time. Source: StandardAuthorizer.start, for which KRaft's listeners wait.
        """
        if self.authorizer is not None:
            await self._answered.wait()

    async def _fetch(self) -> None:
        if self.authorizer is None:
            return
        response: DescribeAclsResponse = await self._link.request(
            EVERY_ACL, DESCRIBE_ACLS_VERSION, timeout_ms=REFRESH_TIMEOUT_MS
        )
        self._answered.set()
        if response.error_code != ErrorCode.NONE:
            logger.error("the controller does not tell its ACLs: %s", response.error_message)
            return
        self.authorizer.replace(bindings_of(response.resources))
