"""A real ZooKeeper that asks who one is: TLS with certificates of both sides (made by openssl), and SASL digest."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.cluster.zookeeper.embedded import EmbeddedZooKeeper
from pytest_kcontroller.cluster.zookeeper.seats import HeldPort
from pytest_kcontroller.model.cluster import Address

USERS = {"alice": "in-wonderland", "bob": "builder"}
PROVIDER = "authProvider.1=org.apache.zookeeper.server.auth.SASLAuthenticationProvider"
STRICT = ("enforce.auth.enabled=true", "enforce.auth.schemes=sasl")
TLS_PORT = "secureClientPort"


@dataclass(frozen=True)
class Certificates:
    """PEM files: what a client needs, and what the server has (`server`: its certificate and key in one)."""

    ca: Path
    cert: Path
    key: Path
    server: Path


def make_certificates(directory: Path) -> Certificates:
    """One of the server's, for 127.0.0.1, and one of a client's; each trusts the other's own."""
    server_cert, server_key = _pair(directory, "server", "-addext", "subjectAltName=IP:127.0.0.1")
    cert, key = _pair(directory, "client")
    both = directory / "server-with-key.pem"
    both.write_text(server_cert.read_text() + server_key.read_text())
    return Certificates(server_cert, cert, key, both)


def _pair(directory: Path, name: str, *more: str) -> tuple[Path, Path]:
    cert, key = directory / f"{name}.pem", directory / f"{name}.key"
    files = ("-out", str(cert), "-keyout", str(key))
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}"]
    subprocess.run([*command, *files, *more], check=True, capture_output=True, timeout=scaled(60))
    return cert, key


async def start_secured(directory: Path, certificates: Certificates, *config: str) -> tuple[EmbeddedZooKeeper, Address]:
    """The server, whose `address` is without TLS, and where it speaks TLS. `config`: further lines of its own."""
    held = HeldPort()
    jaas = directory / "jaas.conf"
    users = " ".join(f'user_{user}="{password}"' for user, password in USERS.items())
    jaas.write_text(f"Server {{ org.apache.zookeeper.server.auth.DigestLoginModule required {users}; }};")
    lines = (
        "serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory",
        f"{TLS_PORT}={held.number}",
        "secureClientPortAddress=127.0.0.1",
        f"ssl.keyStore.location={certificates.server}",
        f"ssl.trustStore.location={certificates.cert}",
        "ssl.clientAuth=need",
        PROVIDER,
    )
    try:
        server = await EmbeddedZooKeeper.start(
            directory / "zookeeper",
            log=directory / "zookeeper.log",
            config=(*lines, *config),
            jvm=(f"-Djava.security.auth.login.config={jaas}",),
        )
    finally:
        held.release()
    return server, Address("127.0.0.1", held.number)
