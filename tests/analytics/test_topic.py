import pytest
from pyspark.sql import SparkSession

from analytics.errors import UnreadableDump
from analytics.topic import lines_of, topic_address
from tests.analytics.frames import made, picked


@pytest.mark.parametrize(
    ("text", "servers", "topic"),
    [
        ("kafka://host:9092", "host:9092", "__jbodlab_metrics"),
        ("kafka://a:1,b:2/", "a:1,b:2", "__jbodlab_metrics"),
        ("kafka://a:1/rows.of-lab", "a:1", "rows.of-lab"),
    ],
)
def test_an_address_names_brokers_and_perhaps_another_topic(
    text: str, servers: str, topic: str
) -> None:
    assert topic_address(text)[:2] == (servers, topic)


@pytest.mark.parametrize("text", ["kafka://host", "kafka://", "kafka://a:1/b/c", "kafka://a b:1"])
def test_what_names_no_topic_is_told_how_to_write_one(text: str) -> None:
    with pytest.raises(UnreadableDump, match="write kafka://HOST:PORT"):
        topic_address(text)


def test_records_become_lines_with_their_table_version_and_place(spark: SparkSession) -> None:
    records = made(
        spark,
        [(b"log_dir/v2", b"{}", "t", 1, 7), (b"other", b"x", "t", 0, 8), (None, None, "t", 0, 9)],
        "key binary, value binary, topic string, partition int, offset long",
    )
    assert picked(lines_of(records), "table", "version", "line", "file") == [
        ("log_dir", 2, "{}", "t-1@7"),
        ("", 0, "x", "t-0@8"),
        ("", 0, "", "t-0@9"),
    ]
