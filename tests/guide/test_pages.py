"""What pages of the guide show is right: YAML, the scenario, the errors that a user meets."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import yaml

from jbodlab.processes.free_ports import free_ports
from tests.jbodlab.command_line import jbodlab

GUIDE = Path(__file__).parents[2] / "docs" / "guide"
YAML = [
    pytest.param(block, id=f"{page.stem}-{number}")
    for page in sorted(GUIDE.glob("how-to/*.md"))
    for number, block in enumerate(
        re.findall(r"```yaml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL), start=1
    )
]
PORT = re.compile(r"port: \d+")
ERRORS = re.findall(
    r"(?m)^\| `(jbodlab [^`]+)` \| (\d+) \| `([^`]+)` \|",
    (GUIDE / "how-to" / "troubleshooting.md").read_text(encoding="utf-8"),
)


@pytest.mark.parametrize("block", YAML)
def test_every_block_of_yaml_is_a_mapping(block: str) -> None:
    assert isinstance(yaml.safe_load(block), dict)


def test_the_scenario_comes_out_as_it_must(tmp_path: Path) -> None:
    text = (GUIDE / "how-to" / "scenario.md").read_text(encoding="utf-8")
    file = tmp_path / "full.yaml"
    file.write_text(re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)[0])
    result = jbodlab("scenario", "run", str(file))
    assert result.exit_code == 0, result.stderr


def use_free_ports(file: Path) -> None:
    """Give the cluster ports on which nobody answers, whoever else has a cluster here."""
    text = file.read_text()
    ports = iter(free_ports(len(PORT.findall(text))))
    file.write_text(PORT.sub(lambda _: f"port: {next(ports)}", text))


@pytest.mark.parametrize(("command", "code", "says"), ERRORS)
def test_an_error_is_as_the_page_says(
    command: str, code: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert jbodlab("init").exit_code == 0
    use_free_ports(tmp_path / "cluster.yaml")
    result = jbodlab(*shlex.split(command)[1:])
    assert (result.exit_code, says in result.stderr) == (int(code), True), result.stderr
