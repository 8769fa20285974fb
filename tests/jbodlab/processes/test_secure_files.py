"""Certificates, users and client files: made once, for their owner alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from cryptography import x509

from jbodlab.processes.lab_spec import LabShape, write_lab_spec
from jbodlab.processes.secure_files import make_secure_files, write_private
from protocol.cluster_file.spec import ClusterSpec, load_cluster_spec


def secured_spec(folder: Path) -> ClusterSpec:
    return load_cluster_spec(write_lab_spec(folder, LabShape(secure=True)))


def test_an_open_cluster_gets_none(tmp_path: Path) -> None:
    assert make_secure_files(load_cluster_spec(write_lab_spec(tmp_path))) is None
    assert not (tmp_path / "data").exists()


def test_all_files_are_their_owners_alone(tmp_path: Path) -> None:
    clients = make_secure_files(secured_spec(tmp_path))
    assert clients is not None
    assert clients == tmp_path / "data" / "secure" / "clients"
    files = [each for each in clients.parent.rglob("*") if each.is_file()]
    assert {each.stat().st_mode & 0o777 for each in files} == {0o600}
    assert clients.parent.stat().st_mode & 0o777 == 0o700
    assert {each.name.split(".")[0].split("_")[0] for each in clients.iterdir()} == {
        "admin",
        "alice",
    }


def test_what_is_there_stays(tmp_path: Path) -> None:
    spec = secured_spec(tmp_path)
    folder = tmp_path / "data" / "secure"
    make_secure_files(spec)
    before = {each: each.read_bytes() for each in folder.rglob("*") if each.is_file()}
    make_secure_files(spec)
    assert {each: each.read_bytes() for each in folder.rglob("*") if each.is_file()} == before


def test_a_new_host_gets_a_certificate_by_the_same_authority(tmp_path: Path) -> None:
    spec = secured_spec(tmp_path)
    folder = tmp_path / "data" / "secure"
    make_secure_files(spec)
    authority = (folder / "ca.pem").read_bytes()
    brokers = tuple(replace(each, advertised_host="b.example") for each in spec.brokers)
    make_secure_files(replace(spec, brokers=brokers))
    node = x509.load_pem_x509_certificate((folder / "node.pem").read_bytes())
    node.verify_directly_issued_by(x509.load_pem_x509_certificate(authority))
    names = node.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost", "b.example"]
    assert "b.example:" in (folder / "clients" / "admin.properties").read_text()


def test_a_file_that_others_could_read_is_replaced(tmp_path: Path) -> None:
    file = tmp_path / "users"
    file.write_text("old")
    file.chmod(0o644)
    write_private(file, "new")
    assert (file.read_text(), file.stat().st_mode & 0o777) == ("new", 0o600)
