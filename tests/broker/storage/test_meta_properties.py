"""meta.properties of both versions."""

from __future__ import annotations

import pytest

from broker.storage.meta_properties import (
    CorruptMetaProperties,
    MetaProperties,
    is_usable_directory_id,
    parse_meta_properties,
    render_meta_properties,
)

DIRECTORY_ID = bytes(range(16))


@pytest.mark.parametrize("version", [0, 1])
def test_both_versions_are_read_back(version: int) -> None:
    properties = MetaProperties(version, 3, "jbod-demo", DIRECTORY_ID)
    assert parse_meta_properties(render_meta_properties(properties)) == properties


def test_a_file_of_kafka_is_read() -> None:
    content = b"#\n#Sat Nov 21 09:12:11 UTC 2026\nbroker.id=1\nversion=0\ncluster.id=518In-_g\n"
    assert parse_meta_properties(content) == MetaProperties(0, 1, "518In-_g", None)


def test_separators_and_escapes_of_java_properties_are_understood() -> None:
    content = b"! a comment\n\nbroker.id : 7\ncluster.id = a\\:b\\=c\nextra\n"
    assert parse_meta_properties(content) == MetaProperties(0, 7, "a:b=c", None)


def test_what_is_not_known_is_left_out() -> None:
    assert render_meta_properties(MetaProperties()) == b"#\nversion=0\n"
    assert parse_meta_properties(b"") == MetaProperties()


@pytest.mark.scenario(28)
@pytest.mark.parametrize(
    "content",
    [
        b"version=2\n",
        b"version=x\n",
        b"version=1\nnode.id=1\n",
        b"broker.id=one\n",
        b"directory.id=short\n",
    ],
)
def test_an_unreadable_file_is_an_io_error(content: bytes) -> None:
    with pytest.raises(CorruptMetaProperties) as caught:
        parse_meta_properties(content)
    assert isinstance(caught.value, OSError)


@pytest.mark.scenario(29)
def test_reserved_ids_and_those_that_look_like_an_option_are_not_used() -> None:
    assert is_usable_directory_id(DIRECTORY_ID)
    assert not is_usable_directory_id(bytes(16))
    assert not is_usable_directory_id((99).to_bytes(16))
    assert is_usable_directory_id((100).to_bytes(16))
    assert not is_usable_directory_id(b"\xfb" + bytes(15))
