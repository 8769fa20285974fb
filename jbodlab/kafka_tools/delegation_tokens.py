"""``kafka-delegation-tokens``: creates, renews, expires and describes delegation tokens.

HMACs are printed as Kafka's tool does, and never with ``--json``. Source:
DelegationTokenCommand.java.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from jbodlab.kafka_tools.client import ClusterClient
from jbodlab.kafka_tools.command import Tool, ToolCommand, connect
from jbodlab.kafka_tools.core.failures import ToolFailure, executed, told
from jbodlab.kafka_tools.core.options import Words
from jbodlab.kafka_tools.core.token_report import (
    TokenView,
    principals_text,
    token_document,
    token_lines,
)
from jbodlab.kafka_tools.core.token_words import OPTIONS, check_words, hmac_bytes, principals
from jbodlab.kafka_tools.questions import raise_for
from jbodlab.kafka_tools.report import Report
from protocol.errors import KafkaError
from protocol.messages.delegation_tokens import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
    DescribedDelegationToken,
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
    ExpireDelegationTokenRequest,
    RenewDelegationTokenRequest,
)
from protocol.principal import Principal

_LONG_BITS: Final = 64


def _run(words: Words, report: Report) -> None:
    action = check_words(words)
    with connect(TOOL, words) as client:
        try:
            _ACTIONS[action](client, words, report)
        except KafkaError as error:
            raise executed(error) from error


def _create(client: ClusterClient, words: Words, report: Report) -> None:
    renewers = principals(words, "renewer-principal")
    lifetime_ms = words.number("max-life-time-period", -1, _LONG_BITS)
    report.say(
        f"Calling create token operation with renewers :{principals_text(renewers)} , "
        f"max-life-time-period :{lifetime_ms}"
    )
    owners = principals(words, "owner-principal")
    answer: CreateDelegationTokenResponse = client.ask(
        CreateDelegationTokenRequest(
            owner_principal_type=owners[0].kind if owners else None,
            owner_principal_name=owners[0].name if owners else None,
            renewers=[
                CreatableRenewers(principal_type=each.kind, principal_name=each.name)
                for each in renewers
            ],
            max_lifetime_ms=lifetime_ms,
        )
    )
    raise_for(answer.error_code, None)
    token = _created(answer, renewers)
    report.say(f"Created delegation token with tokenId : {token.token_id}")
    _say_all([token], report)
    report.note("created", token_document(token))


def _renew(client: ClusterClient, words: Words, report: Report) -> None:
    period_ms = words.number("renew-time-period", -1, _LONG_BITS)
    report.say(
        f"Calling renew token operation with hmac :{words.value('hmac')} , "
        f"renew-time-period :{period_ms}"
    )
    request = RenewDelegationTokenRequest(hmac=hmac_bytes(words), renew_period_ms=period_ms)
    report.note("renewed", _completed(client, request, "renew", report))


def _expire(client: ClusterClient, words: Words, report: Report) -> None:
    period_ms = words.number("expiry-time-period", -1, _LONG_BITS)
    report.say(
        f"Calling expire token operation with hmac :{words.value('hmac')} , "
        f"expire-time-period :{period_ms}"
    )
    request = ExpireDelegationTokenRequest(hmac=hmac_bytes(words), expiry_time_period_ms=period_ms)
    report.note("expired", _completed(client, request, "expire", report))


def _completed(
    client: ClusterClient,
    request: RenewDelegationTokenRequest | ExpireDelegationTokenRequest,
    operation: str,
    report: Report,
) -> dict[str, int]:
    """Move when a token expires, and say when that is now."""
    answer = client.ask(request)
    raise_for(answer.error_code, None)
    date = _date(answer.expiry_timestamp_ms)
    report.say(f"Completed {operation} operation. New expiry date : {date}", end="")
    return {"expires_ms": answer.expiry_timestamp_ms}


def _describe(client: ClusterClient, words: Words, report: Report) -> None:
    owners = principals(words, "owner-principal")
    whose = f"owners: {principals_text(owners)}" if owners else "current user."
    report.say(f"Calling describe token operation for {whose}")
    asked = [
        DescribeDelegationTokenOwner(principal_type=each.kind, principal_name=each.name)
        for each in owners
    ]
    # Without owners Kafka's tool asks for those of nobody, whatever it says.
    answer = client.ask(DescribeDelegationTokenRequest(owners=asked))
    raise_for(answer.error_code, None)
    found = [_described(each) for each in answer.tokens]
    report.say(f"Total number of tokens : {len(found)}", end="")
    _say_all(found, report)
    report.note("tokens", [token_document(each) for each in found])


def _created(answer: CreateDelegationTokenResponse, renewers: list[Principal]) -> TokenView:
    owner, requester = _owner_and_requester(answer)
    return TokenView(
        answer.token_id,
        bytes(answer.hmac),
        owner,
        requester,
        tuple(renewers),
        answer.issue_timestamp_ms,
        answer.expiry_timestamp_ms,
        answer.max_timestamp_ms,
    )


def _described(token: DescribedDelegationToken) -> TokenView:
    owner, requester = _owner_and_requester(token)
    return TokenView(
        token.token_id,
        bytes(token.hmac),
        owner,
        requester,
        tuple(Principal(each.principal_name, each.principal_type) for each in token.renewers),
        token.issue_timestamp,
        token.expiry_timestamp,
        token.max_timestamp,
    )


def _owner_and_requester(
    token: CreateDelegationTokenResponse | DescribedDelegationToken,
) -> tuple[Principal, Principal]:
    """Return whose it is and who asked for it, the owner where nobody else is named."""
    owner = Principal(token.principal_name, token.principal_type)
    requester = Principal(
        token.token_requester_principal_name, token.token_requester_principal_type
    )
    return owner, requester if requester.name else owner


def _say_all(found: list[TokenView], report: Report) -> None:
    for line in token_lines(found, _date):
        report.say(line)


def _date(at_ms: int) -> str:
    """Return a time as Kafka's tool shows it, in the zone of this machine."""
    return datetime.fromtimestamp(at_ms / 1000).astimezone().strftime("%Y-%m-%dT%H:%M")


def _show(failure: ToolFailure, report: Report) -> None:
    report.complain(told([failure.message]))


def _show_bad_words(failure: ToolFailure, report: Report) -> None:
    report.complain(failure.message)


_ACTIONS: Final = {"create": _create, "renew": _renew, "expire": _expire, "describe": _describe}
TOOL: Final = Tool(
    name="kafka-delegation-tokens",
    client_id="delegation-tokens-tool",
    summary="Create, renew, expire, describe tokens.",
    options=OPTIONS,
    run=_run,
    show_bad_words=_show_bad_words,
    show_failure=_show,
)
kafka_delegation_tokens: Final = ToolCommand(TOOL)
