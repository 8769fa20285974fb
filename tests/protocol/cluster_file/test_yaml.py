"""YAML becomes plain values; what its reader would pass over is told."""

from __future__ import annotations

import pytest

from protocol.cluster_file.yaml import read_yaml


def test_a_text_becomes_plain_values() -> None:
    assert read_yaml("a: [1, {b: x}]") == ({"a": [1, {"b": "x"}]}, [])
    assert read_yaml("") == (None, [])


def test_every_key_that_is_given_twice_is_told_with_its_lines() -> None:
    text = "a: 1\nb:\n- {c: 1,\n   c: 2}\na: 3"
    assert read_yaml(text)[1] == [
        "b[0].c: is given twice, in lines 3 and 4",
        "a: is given twice, in lines 1 and 5",
    ]


def test_a_key_that_replaces_a_merged_one_is_no_mistake() -> None:
    text = "base: &base {x: 1}\nown: {<<: *base, x: 2}"
    assert read_yaml(text) == ({"base": {"x": 1}, "own": {"x": 2}}, [])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [", "is no YAML: "),
        ("&a [*a]", "an alias in it refers to itself"),
        ("[" * 5000, "is nested too deeply|is no YAML"),
        ("a: \x00", "is no YAML: "),
        ("? [1]\n: 2\n? {a: b}\n: 3", "is no YAML: "),
    ],
)
def test_what_is_no_yaml_is_one_sentence(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read_yaml(text)
