"""CreateAcls, DescribeAcls, DeleteAcls: decides, journals, tells the brokers to ask for them again.

What ACLs allow is no affair of the controller: brokers decide that. The answer waits for the
brokers, which answer once they decide by the new ACLs. Source: AclControlManager.java,
AclApis.scala.
"""

from __future__ import annotations

from collections.abc import Sequence

from controller.core.acl_records import AclsCreated, AclsDeleted, AclsReplaced
from controller.core.events import RequestArrived
from controller.core.step import Step
from protocol.acls.model import AclBinding
from protocol.acls.requests import asked_filter, deleted, described, new_binding
from protocol.configs.messages import CHANGED_ACLS
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.acls import (
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
    DeleteAclsFilterResult,
    DeleteAclsRequest,
    DeleteAclsResponse,
    DescribeAclsRequest,
    DescribeAclsResponse,
)
from protocol.refusals import refuse_describe_acls


def create_acls(step: Step, event: RequestArrived) -> None:
    """Serve CreateAcls v0-3; one that is there already is no error."""
    request: CreateAclsRequest = event.request
    results: list[AclCreationResult] = []
    new: dict[AclBinding, None] = {}
    for creation in request.creations:
        try:
            _check_authorizer(step)
            acl = new_binding(creation)
        except KafkaError as error:
            results.append(AclCreationResult(error_code=error.code, error_message=error.message))
            continue
        if acl not in step.state.acls:
            new[acl] = None
        results.append(AclCreationResult(error_code=ErrorCode.NONE, error_message=""))
    if new:
        step.change(AclsCreated(tuple(new)))
        _tell(step, "created", list(new))
    step.answer_when_told(event.token, CreateAclsResponse(results=results))


def describe_acls(step: Step, event: RequestArrived) -> None:
    """Serve DescribeAcls v0-3, to brokers as well."""
    request: DescribeAclsRequest = event.request
    try:
        _check_authorizer(step)
        wanted = asked_filter(request)
    except KafkaError as error:
        step.answer(event.token, refuse_describe_acls(request, event.version, error))
        return
    found = described(acl for acl in step.state.acls if wanted.matches(acl))
    step.answer(
        event.token,
        DescribeAclsResponse(error_code=ErrorCode.NONE, error_message="", resources=found),
    )


def delete_acls(step: Step, event: RequestArrived) -> None:
    """Serve DeleteAcls v0-3: each filter tells all that it matched, whoever deleted it."""
    request: DeleteAclsRequest = event.request
    results: list[DeleteAclsFilterResult] = []
    gone: dict[AclBinding, None] = {}
    for asked in request.filters:
        try:
            _check_authorizer(step)
            wanted = asked_filter(asked)
        except KafkaError as error:
            results.append(
                DeleteAclsFilterResult(
                    error_code=error.code, error_message=error.message, matching_acls=[]
                )
            )
            continue
        matching = [acl for acl in step.state.acls if wanted.matches(acl)]
        gone.update(dict.fromkeys(matching))
        results.append(
            DeleteAclsFilterResult(
                error_code=ErrorCode.NONE,
                error_message=None,
                matching_acls=[deleted(acl) for acl in matching],
            )
        )
    if gone:
        step.change(AclsDeleted(tuple(gone)))
        _tell(step, "deleted", list(gone))
    step.answer_when_told(event.token, DeleteAclsResponse(filter_results=results))


def acls_read(step: Step, acls: tuple[AclBinding, ...]) -> None:
    """Go on with ACLs that others wrote into ZooKeeper, and have brokers ask for them again.

    They see there that some changed, too, and may have asked before this controller had read them.
    """
    if dict.fromkeys(acls) == step.state.acls:
        return
    step.change(AclsReplaced(acls))
    step.note(f"{len(acls)} ACLs read")
    batch = step.new_batch()
    batch.add_changed_configs(step.state.reachable_brokers(), (CHANGED_ACLS,))
    step.send_batch(batch)


def _check_authorizer(step: Step) -> None:
    if not step.settings.defaults.has_authorizer:
        raise KafkaError(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured.")


def _tell(step: Step, what: str, acls: Sequence[AclBinding]) -> None:
    step.tell_all(CHANGED_ACLS, f"{len(acls)} ACLs {what}, the first one of {acls[0].principal}")
