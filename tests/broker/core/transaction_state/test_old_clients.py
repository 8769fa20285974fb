from __future__ import annotations

import pytest

from broker.core.transaction_state.old_clients import client_transaction_version, fenced_code
from protocol.errors import ErrorCode


@pytest.mark.parametrize(
    ("api", "since"),
    [("InitProducerId", 4), ("AddPartitionsToTxn", 2), ("AddOffsetsToTxn", 2), ("EndTxn", 2)],
)
def test_clients_that_do_not_know_of_fencing_are_told_of_their_epoch(api: str, since: int) -> None:
    fenced = ErrorCode.PRODUCER_FENCED
    assert fenced_code(api, since - 1, fenced) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert fenced_code(api, since, fenced) is fenced
    assert fenced_code(api, 0, ErrorCode.INVALID_TXN_STATE) is ErrorCode.INVALID_TXN_STATE


@pytest.mark.parametrize(("api", "since"), [("AddPartitionsToTxn", 4), ("EndTxn", 5)])
def test_clients_of_the_second_protocol_have_an_epoch_for_each_transaction(
    api: str, since: int
) -> None:
    versions = (since - 1, since)
    assert [client_transaction_version(api, version) for version in versions] == [0, 2]
