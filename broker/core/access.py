"""What one client may do, as the authorizer decides; refusals are told to the authorizer's log.

It knows no API: ``broker.core.access_rules`` has what each of them needs. Source: AuthHelper.scala,
StandardAuthorizerData.java.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from broker.core.metadata_image import MetadataImage
from protocol.acls.authorizer import Authorizer
from protocol.acls.model import (
    CLUSTER_NAME,
    OPERATIONS,
    AclOperation,
    AclResourceType,
    operation_bits,
)

_CLUSTER: Final = AclResourceType.CLUSTER


class Asker(NamedTuple):
    """Who asks what."""

    principal: str
    """Such as ``User:alice``."""
    host: str
    """The address that it connected from."""
    api: str
    """Kafka's name of what it asks, for the log."""


class Access:
    """One client's, for one request."""

    __slots__ = ("_asker", "_authorizer", "_told", "creates_topics", "metadata")

    def __init__(
        self,
        authorizer: Authorizer,
        asker: Asker,
        *,
        metadata: MetadataImage,
        creates_topics: bool,
        told: Callable[[str], None],
    ) -> None:
        """Prepare.

        Args:
            authorizer: decides.
            asker: who asks what.
            metadata: tells topics from what does not exist, and names of topic ids.
            creates_topics: whether asking for the metadata of an unknown topic creates it.
            told: takes the line of each refusal.
        """
        self._authorizer = authorizer
        self._asker = asker
        self._told = told
        self.metadata = metadata
        self.creates_topics = creates_topics

    def may(
        self, operation: AclOperation, kind: AclResourceType, name: str, *, logs: bool = True
    ) -> bool:
        """Tell whether the client may do it; ``logs`` tells the log where it may not."""
        asker = self._asker
        rule = self._authorizer.rule(asker.principal, asker.host, operation, kind, name)
        if logs and not rule.is_allowed:
            self._told(
                f"Principal = {asker.principal} is Denied operation = {operation.name} "
                f"from host = {asker.host} on resource = {_type_name(kind)}:LITERAL:{name} "
                f"for request = {asker.api} with resourceRefCount = 1 based on rule {rule.reason}"
            )
        return rule.is_allowed

    def may_cluster(self, operation: AclOperation, *, logs: bool = True) -> bool:
        """Tell the same of the cluster."""
        return self.may(operation, _CLUSTER, CLUSTER_NAME, logs=logs)

    def may_somewhere(self, operation: AclOperation, kind: AclResourceType) -> bool:
        """Tell whether it may do it to any resource of the type."""
        asker = self._asker
        return self._authorizer.is_allowed_somewhere(asker.principal, asker.host, operation, kind)

    def may_topic_id(self, operation: AclOperation, topic_id: bytes) -> bool:
        """Tell the same of a topic by its id; an unknown id betrays nothing and is let through."""
        name = self.metadata.topic_name(topic_id)
        return name is None or self.may(operation, AclResourceType.TOPIC, name)

    def operations(self, kind: AclResourceType, name: str) -> int:
        """Return what the client may do to a resource, a bit for each operation."""
        return operation_bits(
            operation
            for operation in OPERATIONS[kind]
            if self.may(operation, kind, name, logs=False)
        )

    def cluster_operations(self) -> int:
        """Return the same of the cluster; nothing is told to who may not describe it."""
        if not self.may_cluster(AclOperation.DESCRIBE, logs=False):
            return 0
        return self.operations(_CLUSTER, CLUSTER_NAME)


def _type_name(kind: AclResourceType) -> str:
    """Return the name as Kafka's log has it, such as ``TransactionalId``."""
    return "".join(word.capitalize() for word in kind.name.split("_"))
