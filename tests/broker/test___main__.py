"""The command line: one line for each mistake, an exit code for each end."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from broker.__main__ import main
from broker.exit_codes import ExitCode

CLUSTER = """
cluster_id: test
controller: {{ port: 9090 }}
brokers:
  - {{ id: 1, port: {port}, control_port: 19093, log_dirs: [{{ path: d1 }}] }}
"""


def write_cluster(folder: Path, text: str) -> str:
    path = folder / "cluster.yaml"
    path.write_text(text)
    return str(path)


def test_a_missing_file_is_said_in_one_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    assert main(["--config", str(tmp_path / "none.yaml"), "--id", "1"]) == ExitCode.BAD_CONFIG
    assert "none.yaml" in capfd.readouterr().err


def test_an_unknown_id_names_the_known_ones(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    config = write_cluster(tmp_path, CLUSTER.format(port=19_092))
    assert main(["--config", config, "--id", "9"]) == ExitCode.BAD_CONFIG
    assert "use --id with one of 1" in capfd.readouterr().err


def test_bad_arguments_end_with_the_same_code(capfd: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as ended:
        main(["--id", "one"])
    assert ended.value.code == ExitCode.BAD_CONFIG
    assert "--config" in capfd.readouterr().err


def test_the_help_lists_the_exit_codes(capfd: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        main(["--help"])
    shown = capfd.readouterr().out
    assert all(code.name.lower() in shown for code in ExitCode)


def test_a_port_in_use_has_its_own_code(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        text = CLUSTER.format(port=19_092).replace("control_port: 19093", f"control_port: {port}")
        config = write_cluster(tmp_path, text)
        assert main(["--config", config, "--id", "1"]) == ExitCode.PORT_IN_USE
    assert f"127.0.0.1:{port} is in use" in capfd.readouterr().err
