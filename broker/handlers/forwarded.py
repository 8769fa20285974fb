"""Serves: admin APIs that only the controller decides, by passing them on, as KRaft brokers do.

Differs from Kafka: no Envelope; the controller sees this broker as the client, so brokers count
what their clients' quotas of controller mutations are about. A change of ACLs, SCRAM credentials or
quotas is answered when the reachable brokers go by it. A value in a request about ACLs that nobody
knows is answered with INVALID_REQUEST; Kafka closes the connection.
Versions: as the table says; the controller is asked at the client's own.
"""

from __future__ import annotations

from typing import Any, Final

from broker.context import Context
from broker.core.client_quotas.mutations import Admission, Mutations
from broker.handlers import Client, PassedOn, handles, handles_client
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.acls import CreateAclsRequest, DeleteAclsRequest, DescribeAclsRequest
from protocol.messages.cluster import DescribeQuorumRequest
from protocol.messages.elections import ElectLeadersRequest
from protocol.messages.quotas import AlterClientQuotasRequest, DescribeClientQuotasRequest
from protocol.messages.reassignments import (
    AlterPartitionReassignmentsRequest,
    ListPartitionReassignmentsRequest,
)
from protocol.messages.scram import (
    AlterUserScramCredentialsRequest,
    DescribeUserScramCredentialsRequest,
)
from protocol.messages.topics import (
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
)
from protocol.pieces import put_together
from protocol.refusals import (
    refuse_alter_client_quotas,
    refuse_alter_scram_credentials,
    refuse_create_acls,
    refuse_create_partitions,
    refuse_create_topics,
    refuse_delete_acls,
    refuse_delete_topics,
    refuse_describe_acls,
    refuse_describe_client_quotas,
    refuse_describe_quorum,
    refuse_describe_scram_credentials,
    refuse_elect_leaders,
    refuse_list_reassignments,
    refuse_reassignments,
)

_TIMEOUT_MS: Final = 5_000
"""How long those clients wait whose requests do not say it in ``timeout_ms``."""


_MUTATIONS: Final = (
    PassedOn(CreateTopicsRequest, "0-7", refuse_create_topics),
    PassedOn(DeleteTopicsRequest, "0-6", refuse_delete_topics),
    PassedOn(CreatePartitionsRequest, "0-3", refuse_create_partitions),
)
_TABLE: Final = (
    PassedOn(ElectLeadersRequest, "0-2", refuse_elect_leaders),
    PassedOn(AlterPartitionReassignmentsRequest, "0-1", refuse_reassignments),
    PassedOn(ListPartitionReassignmentsRequest, "0", refuse_list_reassignments),
    PassedOn(DescribeQuorumRequest, "0-2", refuse_describe_quorum),
    PassedOn(DescribeAclsRequest, "0-3", refuse_describe_acls),
    PassedOn(CreateAclsRequest, "0-3", refuse_create_acls),
    PassedOn(DeleteAclsRequest, "0-3", refuse_delete_acls),
    PassedOn(DescribeUserScramCredentialsRequest, "0", refuse_describe_scram_credentials),
    PassedOn(AlterUserScramCredentialsRequest, "0", refuse_alter_scram_credentials),
    PassedOn(DescribeClientQuotasRequest, "0-1", refuse_describe_client_quotas),
    PassedOn(AlterClientQuotasRequest, "0-1", refuse_alter_client_quotas),
)


async def forward(context: Context, request: Any, version: int) -> Any:
    """Return the controller's answer."""
    timeout_ms = getattr(request, "timeout_ms", _TIMEOUT_MS)
    return await context.controller.forward(request, version, timeout_ms=timeout_ms)


async def forward_mutation(context: Context, request: Any, version: int, client: Client) -> Any:
    """Return the controller's answer about the topics that the client's quota lets through."""
    account = client.account
    if account is None:
        return await forward(context, request, version)
    quotas, asker = context.client_quotas, account.asker
    mutations = Mutations(quotas, context.metadata, context.config.num_partitions)
    admission = mutations.admit(request, version, asker, context.loop_ms())
    account.throttle(admission.throttle_ms)
    refused = _refused(admission, version)
    if not admission.counts and refused is not None:
        return refused
    response = await forward(context, admission.admitted, version)
    mutations.give_back(response, admission.counts, asker, context.loop_ms())
    if refused is not None:
        put_together(response, refused)
    return response


def _refused(admission: Admission, version: int) -> Any | None:
    if admission.refused is None:
        return None
    error = KafkaError(
        ErrorCode.THROTTLING_QUOTA_EXCEEDED, "The throttling quota has been exceeded."
    )
    handler = next(it for it in _MUTATIONS if isinstance(admission.refused, it.request))
    return handler.refuse(admission.refused, version, error)


for _api in _MUTATIONS:
    handles_client(_api.request, _api.versions, refuse=_api.refuse)(forward_mutation)
for _api in _TABLE:
    handles(_api.request, _api.versions, refuse=_api.refuse)(forward)
