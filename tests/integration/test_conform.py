"""jbodlab is judged by the answers of Apache Kafka; the list of known differences is exact."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from conformance.core.catalogue import PLAIN, SECURED
from conformance.known_differences import known_differences
from conformance.trial import RELEASES
from jbodlab.processes.lab_spec import LabShape
from jbodlab.processes.secure_files import CLIENTS_DIR
from tests.conformance.apache import CONFIGS
from tests.integration.labs import running_lab

SHAPE = LabShape(configs=CONFIGS | {"auto.create.topics.enable": "false"})
OF_3_9 = dict.fromkeys(range(1, 1 + SHAPE.brokers), "3.9")
SECURE = replace(
    SHAPE, secure=True, configs={**SHAPE.configs, "delegation.token.secret.key": "secret of tokens"}
)
SHAPES = {
    ("kafka-3.9", PLAIN): replace(SHAPE, emulate=OF_3_9),
    ("kafka-4.3", PLAIN): SHAPE,
    ("kafka-3.9", SECURED): replace(SECURE, emulate=OF_3_9),
    ("kafka-4.3", SECURED): SECURE,
}
"""By the release that judges; without one to emulate a broker announces all that it knows."""
RACES = (23,)
"""Numbers of differences that show only where a request overtakes the one before it."""


def judged(server: str, release: str, profile: str, folder: Path) -> Mapping[str, Any]:
    command = [
        *(sys.executable, "-m", "jbodlab", "conform", "--json", "--bootstrap-server", server),
        *("--against", release, "--known-differences", "jbodlab", "--profile", profile),
    ]
    if profile == SECURED:
        file = folder / "data" / "secure" / CLIENTS_DIR / "admin.properties"
        command += ["--command-config", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in {0, 12}, done.stderr
    return json.loads(done.stdout)


@pytest.mark.integration
@pytest.mark.sampled_among("jbodlab before the judge", kept=0)
def test_what_differs_from_both_releases_is_known_and_what_is_known_differs(
    tmp_path: Path,
) -> None:
    found: list[Mapping[str, Any]] = []
    for (release, profile), shape in SHAPES.items():
        folder = tmp_path / f"{release}-{profile}"
        with running_lab(folder, shape) as lab:
            found.append(judged(lab.servers[0], release, profile, folder))
    assert {release for release, _ in SHAPES} == set(RELEASES)
    cases = [case for each in found for case in each["cases"]]
    assert [(case["case"], case["about"]) for case in cases if case["outcome"] == "violation"] == []
    assert [each["left_behind"] for each in found] == [[]] * len(SHAPES)
    met = [
        (known["number"], case["case"])
        for case in cases
        for known in case.get("known_differences", ())
    ]
    stale = [
        (known.number, pattern)
        for known in known_differences("jbodlab")
        for pattern in known.cases
        if known.number not in RACES
        and not any(number == known.number and fnmatchcase(name, pattern) for number, name in met)
    ]
    assert stale == []
