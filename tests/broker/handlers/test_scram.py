"""SCRAM credentials are the controller's; where it is silent, each user is refused once."""

from __future__ import annotations

from dataclasses import replace

from protocol.errors import ErrorCode, KafkaError
from protocol.messages.scram import (
    AlterUserScramCredentialsRequest,
    DescribeUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from protocol.refusals import refuse_alter_scram_credentials, refuse_describe_scram_credentials

ERROR = KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed.")


def test_a_refused_change_names_each_user_once_sorted() -> None:
    put = ScramCredentialUpsertion(
        name="b", mechanism=1, iterations=4096, salt=b"", salted_password=b""
    )
    request = AlterUserScramCredentialsRequest(
        deletions=[ScramCredentialDeletion(name=name, mechanism=1) for name in ("c", "b")],
        upsertions=[put, replace(put, name="a")],
    )
    results = refuse_alter_scram_credentials(request, 0, ERROR).results
    assert [(each.user, each.error_code) for each in results] == [
        (name, ErrorCode.CLUSTER_AUTHORIZATION_FAILED) for name in ("a", "b", "c")
    ]


def test_a_refused_question_has_the_error_at_the_top() -> None:
    answer = refuse_describe_scram_credentials(DescribeUserScramCredentialsRequest(), 0, ERROR)
    assert (answer.error_code, list(answer.results)) == (ERROR.code, [])
