import struct

from protocol.wire import types as t
from protocol.wire.source import Source, code_of, plain_length_code


def test_lines_are_compiled_into_a_function_that_knows_the_bound_names() -> None:
    source = Source({"limit": 3})
    seven = source.bind("seven", 7)
    with source.block("if value > limit:"):
        source.add(f"return {seven}")
    source.add("return value")
    decide = source.compile("def decide(value):")
    assert [decide(2), decide(4)] == [2, 7]


def test_names_do_not_clash() -> None:
    source = Source({})
    assert source.fresh("n") != source.fresh("n")
    assert source.bind("x", 1) != source.bind("x", 1)


def test_equal_layouts_share_one_struct() -> None:
    source = Source({})
    assert source.unpacker("hi") == source.unpacker("hi")
    assert source.unpacker("hi")[1] == 6
    assert source.packer("hi") == source.packer("hi")
    assert source.names[source.packer("hi")](1, 2) == struct.pack(">hi", 1, 2)


def test_codes_are_those_of_fixed_types_and_plain_lengths() -> None:
    compact = t.Length(compact=True, fixed=t.INT16)
    plain = t.Length(compact=False, fixed=t.INT16)
    assert (code_of(t.INT32), code_of(t.UUID), code_of(compact)) == ("l", "16s", None)
    assert plain_length_code(t.Blob(plain, nullable=True, kind="string")) == "h"
    assert plain_length_code(t.Blob(compact, nullable=True, kind="string")) is None
    assert plain_length_code(t.INT32) is None
