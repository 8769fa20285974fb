"""What goes to brokers says which decision is behind it; what goes to clients does not."""

from __future__ import annotations

from controller.core.effects import Answer, Note, Send
from controller.core.state import ClusterState
from controller.stamps import put_stamp_on
from protocol.messages.control import LeaderAndIsrRequest
from protocol.messages.journal import stamp_of
from protocol.messages.lifecycle import BrokerHeartbeatResponse
from protocol.messages.topics import CreateTopicsResponse

STATE = ClusterState(journal_id=bytes([7]) * 16, controller_epoch=3)


def test_requests_and_answers_to_brokers_are_stamped() -> None:
    request, answer = LeaderAndIsrRequest(), BrokerHeartbeatResponse()
    put_stamp_on(Send(1, 1, request), STATE, 41)
    put_stamp_on(Answer(1, answer), STATE, 42)
    first, second = stamp_of(request), stamp_of(answer)
    assert first is not None
    assert second is not None
    assert (first.journal_number, second.journal_number) == (41, 42)
    assert (bytes(first.journal_id), first.controller_epoch) == (STATE.journal_id, 3)


def test_what_clients_see_is_kafkas() -> None:
    answer = CreateTopicsResponse()
    put_stamp_on(Answer(1, answer), STATE, 42)
    put_stamp_on(Note("text"), STATE, 42)
    assert stamp_of(answer) is None
