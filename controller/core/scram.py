"""AlterUserScramCredentials, DescribeUserScramCredentials: decides, journals, tells the brokers.

The answer to a change waits for the brokers, which answer once they authenticate by it.
Source: ScramControlManager.java, ScramImage.java.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from controller.core.cluster_action import only_nodes
from controller.core.events import RequestArrived
from controller.core.scram_records import ScramCredentialDeleted, ScramCredentialStored
from controller.core.step import Step
from protocol.configs.messages import CHANGED_SCRAM_CREDENTIALS, SCRAM_CREDENTIALS, not_described
from protocol.configs.types import ConfigSource, ConfigType
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.configs import (
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResult,
)
from protocol.messages.scram import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from protocol.security.scram import (
    ITERATIONS_MAX,
    ITERATIONS_MIN,
    ScramCredential,
    credential_of,
    credential_text,
)

MECHANISMS: Final = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}
"""By their numbers on the wire. Source: ScramMechanism."""
_NUMBERS: Final = {name: number for number, name in MECHANISMS.items()}
_Credentials = Mapping[str, Mapping[str, ScramCredential]]
_Change = ScramCredentialDeletion | ScramCredentialUpsertion


def alter_credentials(step: Step, event: RequestArrived) -> None:
    """Serve AlterUserScramCredentials v0; one alteration per user, deletions first."""
    request: AlterUserScramCredentialsRequest = event.request
    done, errors = _checked(step.state.scram_credentials, request)
    for change in done.values():
        step.change(_record_of(change))
    if done:
        text = f"SCRAM credentials of {len(done)} users changed, the first one {min(done)}"
        step.tell_all(CHANGED_SCRAM_CREDENTIALS, text)
    results = [
        AlterUserScramCredentialsResult(user=user, error_code=ErrorCode.NONE, error_message=None)
        for user in done
    ] + [
        AlterUserScramCredentialsResult(
            user=user, error_code=error.code, error_message=error.message
        )
        for user, error in errors.items()
    ]
    step.answer_when_told(event.token, AlterUserScramCredentialsResponse(results=results))


def describe_credentials(step: Step, event: RequestArrived) -> None:
    """Serve DescribeUserScramCredentials v0: mechanisms and iterations, never a key."""
    request: DescribeUserScramCredentialsRequest = event.request
    stored = step.state.scram_credentials
    asked = Counter(user.name for user in request.users or ()) or Counter(sorted(stored))
    step.answer(
        event.token,
        DescribeUserScramCredentialsResponse(
            error_code=ErrorCode.NONE,
            error_message="",  # Kafka's answer has no null here
            results=[_described(stored, user, times) for user, times in asked.items()],
        ),
    )


def described_to_brokers(step: Step, asked: DescribeConfigsResource) -> DescribeConfigsResult:
    """Tell a broker what it authenticates one user by, as configs named by the mechanisms."""
    if not step.settings.tells_nodes_apart:
        return not_described(asked, only_nodes())
    found = step.state.scram_credentials.get(asked.resource_name, {})
    return DescribeConfigsResult(
        error_message="",
        resource_type=SCRAM_CREDENTIALS,
        resource_name=asked.resource_name,
        configs=[
            DescribeConfigsResourceResult(
                name=mechanism,
                value=credential_text(credential),
                config_source=ConfigSource.UNKNOWN,
                is_sensitive=True,
                config_type=ConfigType.PASSWORD,
                documentation=None,
            )
            for mechanism, credential in found.items()
        ],
    )


def _checked(
    stored: _Credentials, request: AlterUserScramCredentialsRequest
) -> tuple[dict[str, _Change], dict[str, KafkaError]]:
    """Return by user what is to be done, and why something is not."""
    done: dict[str, _Change] = {}
    errors: dict[str, KafkaError] = {}
    for change in (*request.deletions, *request.upsertions):
        if change.name in errors:
            continue
        try:
            _check(stored, change, done.pop(change.name, None))
        except KafkaError as error:
            errors[change.name] = error
            continue
        done[change.name] = change
    return done, errors


def _check(stored: _Credentials, change: _Change, before: _Change | None) -> None:
    if before is not None:
        raise KafkaError(
            ErrorCode.DUPLICATE_RESOURCE,
            "A user credential cannot be altered twice in the same request",
        )
    if not change.name:
        raise KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    mechanism = MECHANISMS.get(change.mechanism)
    if mechanism is None:
        raise KafkaError(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
    if isinstance(change, ScramCredentialUpsertion):
        if change.iterations < ITERATIONS_MIN:
            raise KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
        if change.iterations > ITERATIONS_MAX:
            raise KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations")
    elif mechanism not in stored.get(change.name, {}):
        raise KafkaError(
            ErrorCode.RESOURCE_NOT_FOUND,
            "Attempt to delete a user credential that does not exist",
        )


def _record_of(change: _Change) -> ScramCredentialStored | ScramCredentialDeleted:
    mechanism = MECHANISMS[change.mechanism]
    if isinstance(change, ScramCredentialDeletion):
        return ScramCredentialDeleted(change.name, mechanism)
    salted, salt = bytes(change.salted_password), bytes(change.salt)
    credential = credential_of(mechanism, salted, salt, change.iterations)
    return ScramCredentialStored(change.name, mechanism, credential)


def _described(stored: _Credentials, user: str, times: int) -> DescribeUserScramCredentialsResult:
    code, message = ErrorCode.NONE, ""
    if times > 1:
        code = ErrorCode.DUPLICATE_RESOURCE
        message = (
            f"Cannot describe SCRAM credentials for the same user twice in a single request: {user}"
        )
    elif user not in stored:
        code = ErrorCode.RESOURCE_NOT_FOUND
        message = f"Attempt to describe a user credential that does not exist: {user}"
    found: Mapping[str, ScramCredential] = {} if message else stored[user]
    return DescribeUserScramCredentialsResult(
        user=user,
        error_code=code,
        error_message=message,
        credential_infos=[
            CredentialInfo(mechanism=_NUMBERS[name], iterations=credential.iterations)
            for name, credential in sorted(found.items())
        ],
    )
