"""Certificates for tests and benchmarks: an authority and what it signs, as PEM texts and files."""

from __future__ import annotations

import datetime
import ipaddress
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

LOOPBACK = "127.0.0.1"
_DAY = datetime.timedelta(days=1)


class Signed(NamedTuple):
    """A certificate with its private key."""

    certificate: str
    key: str

    def files(self, folder: Path, name: str) -> tuple[Path, Path]:
        """Write both; return where the certificate and the key are."""
        made = folder / f"{name}.crt", folder / f"{name}.key"
        for file, text in zip(made, self, strict=True):
            file.write_text(text)
        return made


class Authority:
    """Signs certificates for this machine."""

    def __init__(self, name: str = "lab CA") -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        made = _builder(self._name, self._name, self._key.public_key(), is_expired=False)
        made = made.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        usage = x509.KeyUsage(
            digital_signature=True, key_cert_sign=True, crl_sign=True, content_commitment=False,
            key_encipherment=False, data_encipherment=False, key_agreement=False,
            encipher_only=False, decipher_only=False,
        )  # fmt: skip
        made = made.add_extension(usage, critical=True)
        self.certificate = _pem(made.sign(self._key, hashes.SHA256()))
        """Its own, which whoever trusts it is given."""

    @classmethod
    def kept(cls, certificate: str, key: str) -> Authority:
        """Return one that was made before, by what was kept of it as PEM."""
        found = cls.__new__(cls)
        private = serialization.load_pem_private_key(key.encode(), None)
        assert isinstance(private, ec.EllipticCurvePrivateKey)
        found._key, found.certificate = private, certificate  # noqa: SLF001 -- its own
        found._name = x509.load_pem_x509_certificate(certificate.encode()).subject  # noqa: SLF001
        return found

    def sign(
        self,
        name: str,
        *,
        organization: str | None = "lab",
        address: str = LOOPBACK,
        is_expired: bool = False,
    ) -> Signed:
        """Make a certificate for ``CN=name,O=lab`` that holds for loopback."""
        key = ec.generate_private_key(ec.SECP256R1())
        names = [x509.NameAttribute(NameOID.COMMON_NAME, name)]
        if organization is not None:
            names.insert(0, x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization))
        made = _builder(x509.Name(names), self._name, key.public_key(), is_expired=is_expired)
        hosts = [x509.IPAddress(ipaddress.ip_address(address)), x509.DNSName("localhost")]
        made = made.add_extension(x509.SubjectAlternativeName(hosts), critical=False)
        made = made.add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()),
            critical=False,
        )
        private = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        return Signed(_pem(made.sign(self._key, hashes.SHA256())), private.decode())


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, *, is_expired: bool
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    since, until = (now - 3 * _DAY, now - _DAY) if is_expired else (now - _DAY, now + 2 * _DAY)
    made = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key)
    made = made.serial_number(x509.random_serial_number())
    made = made.not_valid_before(since).not_valid_after(until)
    return made.add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()
