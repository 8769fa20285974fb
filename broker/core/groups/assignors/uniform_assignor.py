"""The ``uniform`` assignor: as many partitions for everybody, and as few as can be change hands.

Source: UniformAssignor.java.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from broker.core.groups.assignors import uniform_heterogeneous, uniform_homogeneous
from broker.core.groups.assignors.assignment import (
    AssignedPartitions,
    MemberSubscription,
    SubscriptionType,
    check_topics,
    subscription_type,
)

NAME: Final = "uniform"


def assign(
    members: Mapping[str, MemberSubscription],
    topics: Mapping[bytes, int],
    type_told: SubscriptionType | None = None,
    /,
) -> dict[str, AssignedPartitions]:
    """Balance first, then let members keep what they have.

    Raises:
        PartitionAssignorError: a member is subscribed to a topic that is not in ``topics``.
    """
    check_topics(members, topics)
    if not members:
        return {}
    if (type_told or subscription_type(members)) is SubscriptionType.HOMOGENEOUS:
        return uniform_homogeneous.assign(members, topics)
    return uniform_heterogeneous.assign(members, topics)
