"""Which of its own decisions a controller may not find yet in what it reads out of ZooKeeper.

Others write there as well, so settings, quotas, credentials and ACLs are read anew when a notice
comes; a read that began before an own decision was written must not take that back. Whoever reads
looks again once the decision is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from controller.core.acl_records import ACL_RECORDS
from controller.core.config_records import BrokerConfigsChanged, TopicConfigsChanged
from controller.core.events import AclsRead, ClientConfigsRead, ConfigsRead
from controller.core.records import Record
from controller.core.run_state import RunState
from controller.core.znode_clients import CLIENT_RECORDS, entity_of
from protocol.configs.types import ResourceType
from protocol.zookeeper.client_entities import client_entity, client_entity_path
from protocol.zookeeper.paths import entity_path

ACLS: Final = "acls"
"""All of them: they are read together. Other subjects are paths below ``/config``."""


def subjects_of(records: Iterable[Record]) -> Iterator[str]:
    """Give what decisions change that others may write as well."""
    for record in records:
        match record:
            case TopicConfigsChanged(name):
                yield entity_path(ResourceType.TOPIC, name)
            case BrokerConfigsChanged(name):
                yield entity_path(ResourceType.BROKER, name)
            case _ if isinstance(record, ACL_RECORDS):
                yield ACLS
            case _ if isinstance(record, CLIENT_RECORDS):
                yield client_entity_path(entity_of(record))
            case _:
                continue


def note_own_writes(run: RunState, records: Iterable[Record], journal_number: int) -> None:
    """Remember what this decision changes."""
    run.own_writes.update(dict.fromkeys(subjects_of(records), journal_number))


def misses_own_write(run: RunState, event: AclsRead | ConfigsRead | ClientConfigsRead) -> bool:
    """Tell whether an own decision may be missing in what was read; forget it if it is not."""
    subject = _subject_of_read(event)
    if run.own_writes.get(subject, 0) > event.own_up_to:
        return True
    run.own_writes.pop(subject, None)
    return False


def _subject_of_read(event: AclsRead | ConfigsRead | ClientConfigsRead) -> str:
    match event:
        case AclsRead():
            return ACLS
        case ConfigsRead(kind, name):
            return entity_path(kind, name)
        case ClientConfigsRead(path):
            # Others may write the same name with other escapes.
            entity = client_entity(path)
            return path if entity is None else client_entity_path(entity)
