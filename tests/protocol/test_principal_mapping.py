"""Rules from a certificate's name to a principal's, as Kafka's SslPrincipalMapper has them."""

from __future__ import annotations

import pytest

from protocol.principal_mapping import MappingRulesError, PrincipalMapping

RULES = r"RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/L , RULE:^CN=(.*?), *O=(\w+)$/$2@$1/U,DEFAULT"


@pytest.mark.parametrize(
    ("distinguished_name", "name"),
    [
        ("CN=Duke,OU=ServiceUsers,O=Lab", "duke"),
        ("CN=alice,O=lab", "LAB@ALICE"),
        ("CN=bob,L=Rome", "CN=bob,L=Rome"),
    ],
)
def test_the_first_rule_that_matches_makes_the_name(distinguished_name: str, name: str) -> None:
    assert PrincipalMapping(RULES).name_of(distinguished_name) == name


def test_a_name_that_no_rule_matches_has_no_principal() -> None:
    assert PrincipalMapping("RULE:^CN=(.*)$/$1/").name_of("O=lab") is None


def test_a_name_stays_as_it_is_by_default() -> None:
    assert PrincipalMapping("").name_of("CN=a") == "CN=a"


@pytest.mark.parametrize("rules", ["RULE:abc", "OTHER", "DEFAULT,,", "RULE:(/x/", "RULE:a/b/Q"])
def test_rules_that_cannot_be_read_are_refused(rules: str) -> None:
    with pytest.raises(MappingRulesError):
        PrincipalMapping(rules)
