from analytics.times import bucket_begin_ms, utc_text


def test_a_bucket_begins_when_its_text_says() -> None:
    assert bucket_begin_ms({"bucket": "1970-01-01T00:00:02.000Z"}) == 2000
    assert utc_text(1_700_000_000_123) == "2023-11-14 22:13:20"
