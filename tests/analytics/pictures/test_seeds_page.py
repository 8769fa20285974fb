import re
from typing import Any

from analytics.pictures.seeds_page import seeds_page_text


def row(kind: str, value: str, p50_ms: int | None, count: int = 4) -> dict[str, Any]:
    """Return a row of distributions; a p50 of None: no seed of it has run to its end."""
    more = [None if p50_ms is None else p50_ms + extra for extra in (10, 20, 30)]
    times = dict(zip(("p90_ms", "p99_ms", "max_ms"), more, strict=True))
    counts = {"seed_count": count, "violation_count": 0}
    return {"kind": kind, "value": value, **counts, "p50_ms": p50_ms, **times}


DISTRIBUTIONS = [
    row("all", "", 150, 8),
    row("cause", "eio", 150),
    row("cause", "<b>", None),
    row("cell", "away=0 beat=100", 100),
    row("cell", "away=10 beat=100", 200),
    row("factor", "away=0", 100),
    row("factor", "away=10", 200),
]
OUTLIER = {
    "seed": 7,
    "is_ok": True,
    "unavailable_ms": 230,
    "found": "",
    "replay": "jbodlab simulate --seed 7",
}


def test_the_page_of_an_experiment_draws_its_cells_and_factors_and_tells_outliers() -> None:
    text = seeds_page_text({"distributions": DISTRIBUTIONS, "outliers": [OUTLIER]}, "/* vega */")
    assert re.findall(r"<h2[^>]*>(.*?)</h2>", text) == [
        "Factors",
        "Every combination of factors",
        "What was broken",
        "Outliers",
    ]
    assert "<li>8 seeds, 0 violations.</li>" in text
    assert "<li>away: median 100 ms with 0, 200 ms with 10.</li>" in text
    assert "<td>jbodlab simulate --seed 7</td>" in text
    assert not re.search(r"(src|href)=\"(?!#)", text)


def test_a_page_without_a_seed_is_a_page() -> None:
    text = seeds_page_text({"distributions": [], "outliers": []}, "")
    assert "0 seeds" in text
