import re

from analytics.pictures.page import Page, drawn, page_text
from analytics.pictures.picture import Panel, Picture
from tests.analytics.told import tables


def test_a_page_has_every_picture_with_its_finding_and_needs_no_network() -> None:
    text = page_text(tables(), "/* vega */")
    assert re.findall(r"<h2[^>]*>(.*?)</h2>", text) == [
        "Log dirs over time",
        "Failovers by stage",
        "Unavailable partitions",
        "Latency per API",
        "Latency per log dir",
        "Slow among its siblings",
        "Moves between log dirs",
        "Reassignments between brokers",
        "Against another run",
        "Data checks",
    ]
    assert len(re.findall("<figcaption>[^<]{20,}</figcaption>", text)) == 9
    assert not re.search(r"(src|href)=\"(?!#)", text)
    assert 'http-equiv="refresh"' not in text


def test_every_drawing_is_read_aloud() -> None:
    text = page_text(tables(), "")
    drawings = re.findall(r'<div class="drawing"[^>]*>', text)
    assert len(drawings) == 12
    assert all(re.search('role="img" aria-label="[^"]{10,}"', drawing) for drawing in drawings)


def test_names_that_are_markup_are_text() -> None:
    told = tables()
    evil = "</script><script>alert(1)</script>"
    told["outages"][0]["topic"] = evil
    text = page_text(told, "")
    assert evil not in text
    assert "&lt;b&gt;" in text


def test_a_page_of_nothing_is_a_page() -> None:
    assert "No samples of log dirs." in page_text({}, "")


def test_a_live_page_is_read_again_and_tells_of_no_checks_that_it_does_not_make() -> None:
    text = page_text({}, "", reload_s=2)
    assert '<meta http-equiv="refresh" content="2">' in text
    assert "Data checks" not in text
    assert "Data checks" in page_text({"checks": []}, "")


def test_a_page_says_what_is_left_out_of_it() -> None:
    text = page_text({}, "", left_out={"partitions": 7, "moves": 1})
    assert "too long for a page: 7 rows of partitions, 1 row of moves left out" in text
    assert "left out" not in page_text(tables(), "")


def test_numbers_of_a_page_are_written_out_and_no_heading_is_empty() -> None:
    rows = [{"p50_ms": 5502.4, "share": 0.12345, "bytes": 1234567.0, "count": 3}]
    panel = Panel("", "Longest silence by value, 1 of them.", {})
    picture = Picture("Silence", "How long nobody was answered.", [panel], table=rows)
    text = drawn(Page("Seeds", "1 seed", [], [picture], None), "")
    assert re.findall("<td>(.*?)</td>", text) == ["5,502", "0.123", "1,234,567", "3"]
    assert "<h3>" not in text
