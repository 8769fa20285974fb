"""Writes ACLs to which brokers write as well: by the version of their znode, read anew when lost.

Source: AclAuthorizer.updateResourceAcls.
"""

from __future__ import annotations

from typing import Final

from controller.core.znode_writes import ReviseAcls
from controller.zookeeper.term import Term, check_of
from protocol.zookeeper import paths
from protocol.zookeeper.acls import revised_acls
from protocol.zookeeper.operations import Create, Delete, Operation, Set
from protocol.zookeeper.znodes import AclsZnode, decode, encode
from protocol.zookeeper_client.port import Found, NotCommittedError, ZookeeperPort

_TRIES_MAX: Final = 100
"""Kafka gives up after 10; here that would cost the term."""


async def revise_acls(zookeeper: ZookeeperPort, term: Term, write: ReviseAcls) -> None:
    """Change what is there now; nothing is written where nothing is to be changed.

    Raises:
        NotCommittedError: another one is the controller.
        ConnectionError: ZooKeeper does not answer.
        MalformedZnode: what is there is not Kafka's.
    """
    for tries_left in reversed(range(_TRIES_MAX)):
        operations = await _operations(zookeeper, write)
        if not operations:
            return
        try:
            await zookeeper.commit([check_of(zookeeper, term), *operations])
        except NotCommittedError:
            # Either another one wrote there, or another one is the controller.
            epoch = await zookeeper.find(paths.CONTROLLER_EPOCH)
            if epoch is None or epoch.version != term.epoch_version or not tries_left:
                raise
        else:
            return


async def _operations(zookeeper: ZookeeperPort, write: ReviseAcls) -> list[Operation]:
    found = await zookeeper.find(write.path)
    before = None if found is None else decode(found.data, AclsZnode, write.path)
    after = revised_acls(before, write.added, write.removed)
    if after == before:
        return []
    missing: list[Operation] = [
        Create(folder) for folder in write.folders if await zookeeper.find(folder) is None
    ]
    return [*missing, _change(write.path, found, after), write.notice]


def _change(path: str, found: Found | None, after: AclsZnode | None) -> Operation:
    if found is None:
        assert after is not None
        return Create(path, encode(after))
    return Delete(path, found.version) if after is None else Set(path, encode(after), found.version)
