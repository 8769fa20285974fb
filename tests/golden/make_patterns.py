"""Asks RE2/J what patterns match, as Kafka's group coordinator does: ``patterns.jsonl.gz``."""

from __future__ import annotations

import functools
import json
import random
from typing import Any, Final

from benchmarks.peer.kafka import BUILD_DIR, fetch
from tests.golden.made import GOLDEN, Made, run_java, write_vectors
from tests.golden.vectors import load_vectors

WRITER: Final = GOLDEN / "WritePatterns.java"
RELEASE: Final = "4.3.1"
SEED: Final = 848
DRAWN: Final = 500
TOPICS: Final = (
    *("a", "A", "b", "ab", "ba", "aa", "abc", "a-b", "a.b", "a_b", "a1", "1", "foo", "foo-1"),
    *("FOO", "foobar", "bar", "orders", "orders.eu", "orders-eu-1", "__consumer_offsets", "...x"),
)
PATTERNS: Final = (
    *("", "a", "a|b", ".", ".*", "foo", "foo.*", "^foo$", "orders", "(?i)foo", "[a-c]+", "[^a]+"),
    *(r"\w+", r"\d", r"\w+-\d", r"orders[.-]eu.*", r"\Qa.b\E", r"a\.b", r"a{2}", r"a{1,2}b?"),
    *(r"\pL+", r"\p{Lu}+", "[[:alpha:]]+", "[[:digit:]]", "(?P<n>a)b", "(?<n>a)b", "(?:a|b)+"),
    *("(?s:.)+", "a*?b", "a+?", r"\Aa\z", r"\bfoo\b.*", "__.*", "x{1000}", "((((a))))", "[]a]"),
    *("(", ")", "[", "]", "a**", "a{2,1}", "x{1001}", "*", "+a", "?", "a|*", "[z-a]", "\\"),
    *(r"\1", r"(a)\1", "(?=a)", "(?!a)", "(?<=a)b", "(?>a)", "(?P<n>a", "(?P<n", "(?z)a", r"\y"),
    *(r"\p{No", r"\p{Nope}", "[[:nope:]]", "(?i", "a{,2}", "a{x}", "{", "}", "a{1}{2}", "[a-\\d]"),
)
_ALPHABET: Final = (*"aaabboo1-_....", *"*+?|", "(a)", "[ab]", "(", ")", "[^", "]", "{2}", "^", "$")


def asked() -> list[dict[str, Any]]:
    """Return chosen patterns and drawn ones, each with all names."""
    rng = random.Random(SEED)
    drawn = ["".join(rng.choices(_ALPHABET, k=rng.randint(1, 6))) for _ in range(DRAWN)]
    return [
        {"pattern": pattern, "topics": TOPICS} for pattern in dict.fromkeys((*PATTERNS, *drawn))
    ]


def made() -> Made:
    """Ask for every pattern again."""
    cases = asked()
    lines = "\n".join(json.dumps(case) for case in cases) + "\n"
    told = run_java(f"{fetch(BUILD_DIR, RELEASE)}/*", str(WRITER), stdin=lines).splitlines()
    found = [
        {"pattern": case["pattern"], "matched": json.loads(answer)}
        for case, answer in zip(cases, told, strict=True)
    ]
    path = GOLDEN / "patterns.jsonl.gz"
    standing = load_vectors("patterns") if path.exists() else []
    differing = [f"{one}" for one in found if one not in standing]
    if len(found) != len(standing):
        differing.append(f"{len(found)} for {len(standing)} patterns")
    write = functools.partial(write_vectors, "patterns", found)
    return Made(f"{len(found)} patterns asked anew", differing, write)
