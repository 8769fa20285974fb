"""The time during which one broker is the controller, and the end of it."""

from __future__ import annotations

from typing import NamedTuple

from protocol.zookeeper.operations import Check
from protocol.zookeeper.paths import CONTROLLER_EPOCH
from protocol.zookeeper_client.port import ZookeeperPort


class Term(NamedTuple):
    """Won by ``Election``."""

    controller_epoch: int
    epoch_version: int
    """Of ``/controller_epoch``: whoever is elected next raises it, and nothing is written then."""
    session: int
    """In which ``/controller`` was made."""


class TermEndedError(Exception):
    """Another one is the controller, or may be by now. A new term begins with an election."""


def check_of(zookeeper: ZookeeperPort, term: Term) -> Check:
    """Return what each transaction of a term begins with.

    Raises:
        ConnectionError: the session in which the term was won is over.
    """
    if zookeeper.session != term.session:
        raise ConnectionError("the session of this term is over")
    return Check(CONTROLLER_EPOCH, term.epoch_version)
