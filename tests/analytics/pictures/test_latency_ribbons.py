from analytics.findings import rows_of_run
from analytics.pictures.latency_ribbons import api_ribbons, log_dir_ribbons
from tests.analytics.told import RUN, tables


def test_ribbons_of_requests_and_clients_reach_from_p50_to_p99_beside_bands() -> None:
    picture = api_ribbons(rows_of_run(tables(), tuple(RUN.values())))
    assert picture is not None
    assert [panel.title for panel in picture.panels] == ["Produce (request)", "orders (clients)"]
    band, area, _ = picture.panels[0].spec["layer"]
    assert len(band["data"]["values"]) == 1
    assert area["data"]["values"][0]["p50"] == 0.0001
    assert area["data"]["values"][0]["p99"] == 0.009


def test_a_ribbon_of_several_brokers_says_whose_quantiles_its_edges_are() -> None:
    told = tables()
    told["latency_facts"] += [
        {**row, "broker_id": 2, "p50_us": row["p50_us"] // 2, "p99_us": row["p99_us"] // 2}
        for row in told["latency_facts"]
        if row["scope"] == "api"
    ]
    picture = api_ribbons(rows_of_run(told, tuple(RUN.values())))
    assert picture is not None
    assert "from the lowest p50 of a broker to the highest p99 of one" in picture.caption
    first = picture.panels[0].spec["layer"][1]["data"]["values"][0]
    assert (first["p50"], first["p99"]) == (0.00005, 0.009)


def test_a_log_dir_has_its_operations_and_only_its_own_band() -> None:
    told = tables()
    told["latency_facts"] += [
        {**row, "name": "/data/d2"} for row in told["latency_facts"] if row["scope"] == "log_dir"
    ]
    picture = log_dir_ribbons(rows_of_run(told, tuple(RUN.values())))
    assert picture is not None
    bands = {panel.title: panel.spec["layer"][0]["data"]["values"] for panel in picture.panels}
    assert {title: len(values) for title, values in bands.items()} == {
        "1: /data/d1": 1,
        "1: /data/d2": 0,
    }
    assert picture.panels[0].spec["layer"][1]["data"]["values"][0]["operation"] == "append"


def test_without_latencies_there_is_no_picture() -> None:
    nothing = rows_of_run({}, None)
    assert (api_ribbons(nothing), log_dir_ribbons(nothing)) == (None, None)
