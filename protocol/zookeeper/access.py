"""Who may do what with a znode, where brokers set ACLs.

Source: ZkData.defaultAcls and sensitivePath of Kafka 3.9.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Final

from protocol.zookeeper.paths import TOKENS

_OF_EVERYBODY: Final = "/consumers"
"""Old consumers write below it; what is below it is the makers' own."""
_SECRET: Final = ("/config/users", "/config/brokers", TOKENS)
"""Beginnings of paths: credentials, brokers' passwords, tokens."""


class Access(Enum):
    """The ACL of one znode."""

    OPEN = auto()
    """Everybody may do everything."""
    READABLE = auto()
    """Whoever made it may do everything, everybody may read."""
    SECRET = auto()
    """Whoever made it may do everything, others nothing."""


def access_to(path: str, *, sets_acl: bool) -> Access:
    """Return the ACL of a znode that a broker makes; ``path`` is below the chroot."""
    if not sets_acl or path == _OF_EVERYBODY:
        return Access.OPEN
    return Access.SECRET if path.startswith(_SECRET) else Access.READABLE
