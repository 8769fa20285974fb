"""Properties files."""

from __future__ import annotations

from jbodlab.asking.java_properties import parse_properties


def test_a_properties_file_is_read_as_java_does():
    text = "# no\n! no\na=1\n b : 2 \nc 3\nd=x\\\n   y\ne\\=f=a\\tb\n\nempty\na=4\nlist=[1,2]=3\n"
    assert parse_properties(text) == {
        "a": "4",
        "b": "2 ",
        "c": "3",
        "d": "xy",
        "e=f": "a\tb",
        "empty": "",
        "list": "[1,2]=3",
    }
