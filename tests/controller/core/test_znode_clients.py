"""What ZooKeeper has of clients, as decisions; tests of the store write and read it."""

from __future__ import annotations

from controller.core.quota_records import ClientQuotaRemoved, ClientQuotaSet
from controller.core.scram_records import ScramCredentialStored
from controller.core.state import ClusterState
from controller.core.znode_clients import entity_of, folders_of, replaced, written
from protocol.security.scram import credential_of, credential_text

CREDENTIAL = credential_of("SCRAM-SHA-256", b"salted", b"salt", 4096)
ALICE = (("user", "alice"),)
APP_OF_ALICE = (("client-id", "app"), ("user", "alice"))


def test_what_is_read_is_what_was_written() -> None:
    state = ClusterState()
    for record in (
        ScramCredentialStored("alice", "SCRAM-SHA-256", CREDENTIAL),
        ClientQuotaSet(ALICE, "request_percentage", 50.0),
    ):
        assert entity_of(record) == ALICE
        record.apply(state)
    configs = written(state, ALICE)
    assert configs == {
        "request_percentage": "50.0",
        "SCRAM-SHA-256": credential_text(CREDENTIAL),
    }
    other = ClusterState()
    found = replaced("users/alice", configs)
    assert found is not None
    found.apply(other)
    assert (other.client_quotas, other.scram_credentials) == (
        state.client_quotas,
        state.scram_credentials,
    )


def test_the_client_of_a_user_has_no_credentials_and_a_user_above_it() -> None:
    state = ClusterState()
    found = replaced("users/alice/clients/app", {"SCRAM-SHA-256": credential_text(CREDENTIAL)})
    assert found is not None
    found.apply(state)
    assert state.scram_credentials == {}
    above = [("users/alice", ALICE), ("users/alice/clients", None)]
    assert list(folders_of(APP_OF_ALICE)) == above


def test_a_limit_that_an_entity_cannot_have_is_passed_over() -> None:
    found = replaced("ips/10.0.0.1", {"producer_byte_rate": "5", "connection_creation_rate": "3"})
    assert found is not None
    assert found.limits == {"connection_creation_rate": 3.0}


def test_two_states_that_take_the_same_decision_share_nothing() -> None:
    """The controller's own, and that of what ZooKeeper is about to have."""
    found = replaced("users/alice", {"producer_byte_rate": "5"})
    assert found is not None
    states = [ClusterState(), ClusterState()]
    for record in (found, ClientQuotaRemoved(ALICE, "producer_byte_rate")):
        for state in states:
            record.apply(state)
    assert [state.client_quotas for state in states] == [{}, {}]
