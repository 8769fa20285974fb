"""Groups without members: who may commit, what may go."""

from __future__ import annotations

import pytest

from broker.core.groups.classic_groups import ClassicGroups
from broker.core.groups.membership import Committer, ExpiryRule
from protocol.configs.coordination import CoordinationConfig
from protocol.errors import KafkaError


def no_members() -> ClassicGroups:
    return ClassicGroups(CoordinationConfig(), lambda: 1_000_000)


def test_whoever_is_in_no_generation_may_commit():
    groups = no_members()
    groups.validate_commit("g", Committer(member_id="left-over", is_transactional=False), 0)
    assert list(groups.group_ids()) == []


def test_a_generation_of_a_group_without_members_is_illegal():
    with pytest.raises(KafkaError, match="ILLEGAL_GENERATION"):
        no_members().validate_commit("g", Committer(generation=0, is_transactional=False), 0)


def test_nothing_is_in_use_and_each_offset_expires_by_itself():
    groups = no_members()
    assert (list(groups.group_ids()), groups.knows("g")) == ([], False)
    assert (groups.topics_in_use("g"), groups.expiry("g")) == ((), ExpiryRule())
    assert list(groups.offsets_gone("g")) == []
