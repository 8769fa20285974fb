"""Offset and epoch checkpoints in Kafka's text format."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.storage.checkpoints import (
    CorruptCheckpoint,
    parse_leader_epochs,
    parse_offsets,
    render_leader_epochs,
    render_offsets,
)
from protocol.ids import TopicPartition

NAMES = st.from_regex(r"[a-zA-Z0-9._-]{1,30}", fullmatch=True)
OFFSETS = st.dictionaries(
    st.builds(TopicPartition, NAMES, st.integers(0, 99)), st.integers(0, 2**63 - 1)
)


@pytest.mark.scenario(215)
@given(OFFSETS)
def test_offsets_are_read_back(offsets: dict[TopicPartition, int]) -> None:
    assert parse_offsets(render_offsets(offsets)) == offsets


def test_the_layout_is_version_count_and_lines() -> None:
    offsets = {TopicPartition("orders", 1): 42, TopicPartition("a", 0): 7}
    assert render_offsets(offsets) == b"0\n2\norders 1 42\na 0 7\n"
    assert render_offsets({}) == b"0\n0\n"
    assert parse_offsets(b"") == {}


@pytest.mark.scenario(215)
@pytest.mark.parametrize(
    "content",
    [b"1\n0\n", b"0\n", b"0\n1\n", b"0\n1\na 0\n", b"0\n1\na x 1\n", b"0\n0\na 0 1\n", b"\0\0"],
)
def test_a_malformed_offset_checkpoint_is_an_io_error(content: bytes) -> None:
    with pytest.raises(CorruptCheckpoint) as caught:
        parse_offsets(content)
    assert isinstance(caught.value, OSError)


def test_leader_epochs_are_read_back() -> None:
    entries = [(0, 0), (3, 10), (4, 10)]
    assert render_leader_epochs(entries) == b"0\n3\n0 0\n3 10\n4 10\n"
    assert parse_leader_epochs(render_leader_epochs(entries)) == entries


@pytest.mark.parametrize("content", [b"0\n2\n1 0\n1 5\n", b"0\n2\n1 5\n2 4\n", b"0\n1\n1 2 3\n"])
def test_epochs_that_do_not_ascend_are_malformed(content: bytes) -> None:
    with pytest.raises(CorruptCheckpoint):
        parse_leader_epochs(content)


def test_a_file_that_was_cut_within_its_last_number_is_malformed() -> None:
    content = render_leader_epochs([(0, 0), (1, 24)])
    for length in range(1, len(content)):
        with pytest.raises(CorruptCheckpoint):
            parse_leader_epochs(content[:length])
