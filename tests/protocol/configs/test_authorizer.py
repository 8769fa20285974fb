"""The keys of the authorizer."""

from __future__ import annotations

import pytest

from protocol.configs.authorizer import ACL_AUTHORIZER, STANDARD_AUTHORIZER
from protocol.configs.parsing import broker_config
from protocol.errors import KafkaError


def test_there_is_no_authorizer_unless_one_is_named() -> None:
    assert not broker_config({}).has_authorizer
    assert not broker_config({"authorizer.class.name": ""}).has_authorizer
    for name in (STANDARD_AUTHORIZER, ACL_AUTHORIZER):
        assert broker_config({"authorizer.class.name": name}).has_authorizer


def test_another_class_is_refused() -> None:
    with pytest.raises(KafkaError, match=r"authorizer\.class\.name"):
        broker_config({"authorizer.class.name": "com.example.Mine"})


def test_super_users_are_separated_by_semicolons_as_their_names_have_commas() -> None:
    config = broker_config({"super.users": "User:CN=a,O=b; User:admin;"})
    assert config.super_user_names == ("User:CN=a,O=b", "User:admin")
