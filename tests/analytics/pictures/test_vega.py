import json
from importlib.metadata import version
from pathlib import Path

import pytest
import vl_convert

from analytics.pictures.page import page_text
from analytics.pictures.vega import vega_script
from tests.analytics.told import tables


def test_the_script_is_read_from_the_cache_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    kept = tmp_path / "jbodlab" / f"vega-{version('vl-convert-python')}.js"
    kept.parent.mkdir()
    kept.write_text("kept")
    assert vega_script() == "kept"


@pytest.mark.sampled_among("what takes the drawing library's time", kept=0)
def test_a_script_that_is_not_kept_is_made_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    script = vega_script()
    assert "vegaEmbed" in script
    assert "</script" not in script
    assert [file.read_text() for file in (tmp_path / "jbodlab").iterdir()] == [script]


@pytest.mark.sampled_among("what takes the drawing library's time", kept=0)
def test_every_picture_is_one_that_the_library_draws() -> None:
    text = page_text(tables(), "")
    specs = json.loads(text.partition("const specs = ")[2].partition(";\n")[0])
    assert len(specs) == 9
    for panels in specs:
        for spec in panels:
            assert "<svg" in vl_convert.vegalite_to_svg({**spec, "width": 300})
