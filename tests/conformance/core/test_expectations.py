from __future__ import annotations

import gzip

import pytest

from conformance.core.expectations import Expectations, pack, unpack


def test_what_is_packed_is_unpacked_and_always_the_same_bytes() -> None:
    made = Expectations("3.9.2", 3, {18: (0, 4), 0: (0, 11)}, {"b/c@v1": [], "a/b@v0": [{"x": 1}]})
    assert unpack(pack(made)) == made
    assert pack(unpack(pack(made))) == pack(made)


@pytest.mark.parametrize("content", [b"", b"no gzip", gzip.compress(b"{}\n")])
def test_another_file_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match="expectations"):
        unpack(content)
