"""Requests of a client, each about what its user may or may not do.

None changes what others are about: what is to be altered is validated only, or is not there.
"""

from __future__ import annotations

from tests.api_decisions import of_administrators, of_clients
from tests.api_decisions.names import Question


def questions(topic_id: bytes) -> list[Question]:
    """Return all; ``topic_id`` is that of the first topic."""
    made = [
        *of_clients.of_records(),
        *of_administrators.of_metadata(topic_id),
        *of_clients.of_offsets(),
        *of_clients.of_members(),
        *of_clients.of_groups(),
        *of_clients.of_transactional_ids(),
        *of_clients.of_transactions(),
        *of_administrators.of_topics(),
        *of_administrators.of_configs(),
        *of_administrators.of_the_cluster(),
        *of_administrators.of_tokens(),
    ]
    assert len({each.name for each in made}) == len(made)
    return made
