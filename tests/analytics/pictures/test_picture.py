from analytics.pictures.picture import panel, shown, time_of


def test_a_panel_is_as_wide_as_its_place_and_says_what_it_shows() -> None:
    drawn = panel("title", "what it shows", {"mark": "bar"}, 100)
    assert drawn.spec == {
        "width": "container",
        "height": 100,
        "description": "what it shows",
        "mark": "bar",
    }


def test_the_table_below_a_picture_ends_somewhere() -> None:
    assert len(shown([{"a": 1, "b": 2}] * 1000, "a")) == 200
    assert shown([{"a": 1, "b": 2}], "a") == [{"a": 1}]


def test_times_are_those_of_utc() -> None:
    assert time_of("at")["scale"] == {"type": "utc"}
