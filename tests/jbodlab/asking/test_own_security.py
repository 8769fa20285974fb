"""jbodlab comes to the nodes of a cluster file as one of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from jbodlab.asking.own_security import security_at, security_at_controller
from jbodlab.errors import LabError
from jbodlab.processes.lab_spec import LabShape, write_lab_spec
from protocol.cluster_file.spec import load_cluster_spec
from protocol.security.client import OPEN
from protocol.security.sasl_client import Login

USERS = {"jbodlab.sasl.users": "broker:secret,alice:sesame"}


def test_nothing_is_brought_along_to_plaintext(tmp_path: Path) -> None:
    spec = load_cluster_spec(write_lab_spec(tmp_path))
    assert security_at(spec.brokers[0]) == OPEN
    assert security_at_controller(spec) == OPEN


def test_the_listener_of_the_port_is_what_counts(tmp_path: Path) -> None:
    spec = load_cluster_spec(write_lab_spec(tmp_path))
    (first, *_) = spec.brokers
    named = f"PLAINTEXT://127.0.0.1:9,SASL_PLAINTEXT://127.0.0.1:{first.port}"
    secured = replace(first, configs={"listeners": named, **USERS})
    assert security_at(secured).login == Login("SCRAM-SHA-512", "broker", "secret")
    configs = {"security.inter.broker.protocol": "SASL_PLAINTEXT", **USERS}
    assert (
        security_at_controller(replace(spec, configs=configs)).login == security_at(secured).login
    )


def test_files_that_are_not_there_are_named_with_what_makes_them(tmp_path: Path) -> None:
    spec = load_cluster_spec(write_lab_spec(tmp_path, LabShape(secure=True)))
    for look in (lambda: security_at(spec.brokers[0]), lambda: security_at_controller(spec)):
        with pytest.raises(LabError, match=r"node\.pem cannot be read: .*: `jbodlab up` makes it"):
            look()
