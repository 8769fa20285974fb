"""Lines of JAAS are read as Java reads them."""

from __future__ import annotations

import pytest

from protocol.configs.jaas import JaasModule, jaas_module

MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("", {}),
        (' username="a;b" password="p\\"q"', {"username": "a;b", "password": 'p"q'}),
        ("\n  user_a-b='p q'\n  user_c=d\n", {"user_a-b": "p q", "user_c": "d"}),
        (' user_a = "" password= p', {"user_a": "", "password": "p"}),
    ],
)
def test_a_module_has_its_options(options: str, expected: dict[str, str]) -> None:
    assert jaas_module(f" {MODULE} Required{options};\n") == JaasModule(MODULE, expected)


@pytest.mark.parametrize(
    "text",
    [
        "",
        f"{MODULE} required",
        f"{MODULE};",
        f"{MODULE} perhaps;",
        f"{MODULE} required username;",
        f'{MODULE} required username="a;',
        f"{MODULE} required; {MODULE} required;",
        "a=b " * 5_000,
    ],
)
def test_what_is_no_single_module_is_none(text: str) -> None:
    assert jaas_module(text) is None
