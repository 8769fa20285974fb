"""Questions to a cluster that change nothing: log dirs, reassignments, configurations, offsets.

Nothing of it is written down in the history. It retries nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from protocol.admin.configs import config_views, describe_configs_request
from protocol.admin.log_dirs import LogDirView, describe_log_dirs_request, log_dir_views
from protocol.admin.offsets import (
    EpochEnd,
    WantedEpoch,
    epoch_ends,
    epoch_ends_request,
    found_offsets,
    list_offsets_request,
)
from protocol.admin.outcomes import Outcome
from protocol.admin.reassignments import (
    ReassignmentView,
    list_reassignments_request,
    reassignment_views,
)
from protocol.configs.types import ResourceType
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import NO_EPOCH, NO_OFFSET, TopicPartition
from simulation.workload.clients import ClusterClient

_UNKNOWN_EPOCH: Final = EpochEnd(NO_EPOCH, NO_OFFSET)


async def log_dirs(client: ClusterClient, broker: int) -> list[LogDirView]:
    """Describe every log dir of one broker.

    Raises:
        OSError, Malformed: as ``ClusterClient.ask``.
    """
    answer = await client.ask(broker, describe_log_dirs_request(), 5)
    return log_dir_views(answer, broker=broker)


async def reassignments(client: ClusterClient) -> list[ReassignmentView]:
    """List what is under way.

    Raises:
        ConnectionError: no broker answers.
        KafkaError: the controller's answer.
    """
    answer = await client.ask_any(list_reassignments_request(), 0)
    Outcome.of(answer).check()
    return reassignment_views(answer)


async def configs(
    client: ClusterClient, resource: ResourceType, name: str
) -> dict[str, str | None]:
    """Return all configurations of a topic or a broker as they hold.

    Raises:
        OSError, Malformed: no broker answers that can.
        KafkaError: the answer.
    """
    request = describe_configs_request(resource, [name])
    if resource is ResourceType.BROKER and name:
        answer = await client.ask(int(name), request, 4)
    else:
        answer = await client.ask_any(request, 4)
    (result,) = answer.results
    Outcome.of(result).check()
    return {each.name: each.value for each in config_views(result)}


async def list_offsets(
    client: ClusterClient, broker: int, tps: Sequence[TopicPartition], timestamp: int
) -> dict[TopicPartition, int | ErrorCode]:
    """Ask a leader for the offsets at ``EARLIEST`` or ``LATEST`` or a time; or why it has none.

    Raises:
        OSError, Malformed: as ``ClusterClient.ask``.
    """
    request = list_offsets_request(dict.fromkeys(tps, timestamp))
    return found_offsets(await client.ask(broker, request, 6))


async def end_of_epoch(
    client: ClusterClient, broker: int, tp: TopicPartition, leader_epoch: int, current: int
) -> EpochEnd:
    """Ask a leader, at its epoch ``current``, where ``leader_epoch`` ends in its log.

    Raises:
        OSError, Malformed: as ``ClusterClient.ask``.
        KafkaError: the answer.
    """
    request = epoch_ends_request({tp: WantedEpoch(leader_epoch, current)})
    end = epoch_ends(await client.ask(broker, request, 4)).get(tp, _UNKNOWN_EPOCH)
    if isinstance(end, ErrorCode):
        raise KafkaError(end, str(tp))
    return end
