"""Certificates, users and client files of a cluster with ``secure: true``, for tests alone.

An authority of its own signs one certificate for all nodes. What is there already stays, but a
certificate that lacks a host of the cluster file, and client files, are made anew. All files are
their owner's only.
"""

from __future__ import annotations

import datetime
import ipaddress
import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from jbodlab.processes.client_files import client_files
from protocol.cluster_file.secure import (
    ADMIN_USER,
    CA_FILE,
    NODE_FILE,
    NODE_USER,
    USERS_FILE,
    secure_folder,
)
from protocol.cluster_file.spec import ClusterSpec

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec

CLIENTS_DIR: Final = "clients"
CLIENT_USERS: Final = (ADMIN_USER, "alice")
_CA_KEY_FILE: Final = "ca-key.pem"
_DAYS: Final = 3650
_PASSWORD_BYTES: Final = 12


def make_secure_files(spec: ClusterSpec) -> Path | None:
    """Make what is missing; return the folder of the client files, None of an open cluster."""
    named = secure_folder(spec.configs)
    if named is None:
        return None
    folder = Path(named)
    (folder / CLIENTS_DIR).mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    hosts = list(
        dict.fromkeys(
            [
                "localhost",
                "127.0.0.1",
                spec.controller.advertised_host,
                *(each.advertised_host for each in spec.brokers),
            ]
        )
    )
    _make_certificates(folder, hosts)
    passwords = _passwords(folder / USERS_FILE)
    servers = [f"{each.advertised_host}:{each.advertised_port}" for each in spec.brokers]
    for user in CLIENT_USERS:
        texts = client_files(user, passwords[user], servers, folder / CA_FILE)
        for name, text in texts.items():
            write_private(folder / CLIENTS_DIR / name, text)
    return folder / CLIENTS_DIR


def write_private(file: Path, text: str) -> None:
    """Write a file that nobody else may read, from the first byte on."""
    fresh = file.with_name(f".{file.name}.new")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
        opened.write(text)
    fresh.replace(file)


def _passwords(file: Path) -> dict[str, str]:
    if file.exists():
        lines = file.read_text(encoding="utf-8").split()
        return dict(line.split(":", 1) for line in lines)
    made = {user: secrets.token_hex(_PASSWORD_BYTES) for user in (NODE_USER, *CLIENT_USERS)}
    write_private(file, "".join(f"{user}:{password}\n" for user, password in made.items()))
    return made


def _make_certificates(folder: Path, hosts: Sequence[str]) -> None:
    # Only secured clusters need it.
    from cryptography import x509  # noqa: PLC0415
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415

    ca_file, key_file, node_file = (folder / name for name in (CA_FILE, _CA_KEY_FILE, NODE_FILE))
    if not (ca_file.exists() and key_file.exists()):
        node_file.unlink(missing_ok=True)
        key = ec.generate_private_key(ec.SECP256R1())
        write_private(key_file, _key_text(key))
        write_private(ca_file, _text(_signed("jbodlab test CA", key, None, key, ())))
    if node_file.exists() and _is_for(
        x509.load_pem_x509_certificate(node_file.read_bytes()), hosts
    ):
        return
    authority = x509.load_pem_x509_certificate(ca_file.read_bytes())
    key = serialization.load_pem_private_key(key_file.read_bytes(), None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    own = ec.generate_private_key(ec.SECP256R1())
    node = _signed("jbodlab node", own, authority, key, hosts)
    write_private(node_file, _key_text(own) + _text(node))


def _signed(
    name: str,
    own: ec.EllipticCurvePrivateKey,
    authority: x509.Certificate | None,
    key: ec.EllipticCurvePrivateKey,
    hosts: Sequence[str],
) -> x509.Certificate:
    """Make a certificate for hosts; without an authority, that of one."""
    from cryptography import x509  # noqa: PLC0415 - as above
    from cryptography.hazmat.primitives import hashes  # noqa: PLC0415
    from cryptography.x509.oid import NameOID  # noqa: PLC0415

    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if authority is None else authority.subject)
        .public_key(own.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=_DAYS))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(own.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=authority is None, path_length=None), critical=True)
    )
    if authority is None:
        usage = x509.KeyUsage(
            digital_signature=True, key_cert_sign=True, crl_sign=True, content_commitment=False,
            key_encipherment=False, data_encipherment=False, key_agreement=False,
            encipher_only=False, decipher_only=False,
        )  # fmt: skip
        made = made.add_extension(usage, critical=True)
    else:
        names = x509.SubjectAlternativeName([_general_name(host) for host in hosts])
        made = made.add_extension(names, critical=False)
    return made.sign(key, hashes.SHA256())


def _general_name(host: str) -> x509.GeneralName:
    from cryptography import x509  # noqa: PLC0415 - as above

    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _is_for(certificate: x509.Certificate, hosts: Sequence[str]) -> bool:
    from cryptography import x509  # noqa: PLC0415 - as above

    named = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return all(_general_name(host) in named for host in hosts)


def _text(certificate: x509.Certificate) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding  # noqa: PLC0415 - as above

    return certificate.public_bytes(Encoding.PEM).decode()


def _key_text(key: ec.EllipticCurvePrivateKey) -> str:
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - as above

    form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, form, plain).decode()
