"""Requests of a client, each about what its user may or may not do.

None changes what others are about: what is to be altered is validated only, or is not there.
"""

from __future__ import annotations

from typing import Any, Final, cast

from protocol.wire.fast import codec
from protocol.wire.record import UnsupportedFieldError
from tests.api_decisions import of_administrators, of_clients
from tests.api_decisions.names import Question

_OLDEST: Final = {"Produce": 3, "Fetch": 4, "ListOffsets": 1, "OffsetFetch": 1}
"""That has headers of transactions, or that a broker in KRaft mode serves."""


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
    made += [old for each in made if (old := _in_old_words(each)) is not None]
    # A new token is told only a moment later, so that nothing is asked behind it.
    made.sort(key=lambda each: each.name.startswith("CreateDelegationToken"))
    assert len({each.name for each in made}) == len(made)
    return made


def _in_old_words(question: Question) -> Question | None:
    """Return the same question in the oldest version that has words for it, if it is another."""
    for version in range(_OLDEST.get(question.name.partition(" ")[0], 0), question.version):
        try:
            kind = cast("type[Any]", type(question.request))
            codec(kind, version).encode(question.request)
        except (UnsupportedFieldError, ValueError):
            continue
        return question._replace(name=f"{question.name}, v{version}", version=version)
    return None
