"""Which toxiproxy server: a setting, and what the run's history says of it."""

from __future__ import annotations

import asyncio
import io
import os
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_kcontroller.cluster.children.processes import session_id
from pytest_kcontroller.cluster.docker.containers import engine
from pytest_kcontroller.cluster.docker.leftovers import leftover_containers
from pytest_kcontroller.cluster.process import proxy_server
from pytest_kcontroller.cluster.process.links import Links
from pytest_kcontroller.cluster.process.proxy_choice import CHOICE, IMAGE, URL, Choice, chosen
from pytest_kcontroller.cluster.process.proxy_server import find_server
from pytest_kcontroller.errors import StartError, UsageError
from pytest_kcontroller.model.cluster import Address
from tests.tools.toxiproxy_servers import REAL, embedded


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (CHOICE, URL):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("said", "choice"),
    [
        ("embedded", Choice("embedded")),
        ("container", Choice("container", IMAGE)),
        ("container=other:1", Choice("container", "other:1")),
        ("http://127.0.0.1:8474/", Choice("url", "http://127.0.0.1:8474")),
    ],
)
def test_the_environment_says_which(said: str, choice: Choice, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CHOICE, said)
    assert chosen() == choice


def test_nonsense_is_refused_where_it_was_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CHOICE, "127.0.0.1:8474")
    with pytest.raises(UsageError, match=r"\$KCONTROLLER_TOXIPROXY.*must be embedded, path, container"):
        chosen()


OLD = """#!{python}
import http.server, sys


class Old(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"2.6.0")


http.server.HTTPServer(("127.0.0.1", int(sys.argv[sys.argv.index("-port") + 1])), Old).serve_forever()
"""


def test_a_server_that_is_too_old_is_told_so_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the real ones before 2.7 say their version, and the newest on Docker Hub is 2.1.4."""
    binary = tmp_path / "toxiproxy-server"
    binary.write_text(OLD.format(python=sys.executable))
    binary.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv(CHOICE, "path")
    monkeypatch.setattr(proxy_server, "START_S", float("inf"))  # it need not wait for it
    with pytest.raises(StartError, match=r"not start: this is no toxiproxy of 2\.7 or newer; it said '2\.6\.0'") as old:
        asyncio.run(find_server(tmp_path / "log", 0))
    assert "  -> another one: --kc-toxiproxy" in str(old.value)


def test_the_history_says_which(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CHOICE, "embedded")
    assert proxy_server.versions(chosen()) == {"toxiproxy": "embedded"}
    with embedded() as server:
        monkeypatch.setenv(CHOICE, f"http://user:secret@{server.host}:{server.port}")
        assert proxy_server.versions(chosen()) == {"toxiproxy": f"2.12.0 at {server.host}:{server.port}"}
    assert proxy_server.versions(chosen()) == {"toxiproxy": f"at {server.host}:{server.port}"}
    monkeypatch.setenv(CHOICE, "container=some:1")
    assert proxy_server.versions(chosen()) == {"toxiproxy": "container of some:1"}
    binary = tmp_path / "toxiproxy-server"
    binary.write_text("#!/bin/sh\necho toxiproxy-server version 2.9.0\n")
    binary.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv(CHOICE, "path")
    assert proxy_server.versions(chosen()) == {"toxiproxy": f"toxiproxy-server 2.9.0 at {binary}"}


@pytest.fixture
def image_with_toxiproxy(zookeeper_image: str) -> Iterator[str]:
    """As the published one, of the real server's binary."""
    if REAL is None:
        pytest.skip("no real toxiproxy server")
    name, context = f"kcontroller-toxiproxy:{os.getpid()}", io.BytesIO()
    with tarfile.open(fileobj=context, mode="w") as files:
        said = f'FROM {zookeeper_image}\nCOPY server /toxiproxy\nENTRYPOINT ["/toxiproxy"]\nCMD ["-host=0.0.0.0"]\n'.encode()
        entry = tarfile.TarInfo("Dockerfile")
        entry.size = len(said)
        files.addfile(entry, io.BytesIO(said))
        files.add(REAL, "server")
    context.seek(0)
    with engine() as client:
        client.images.build(fileobj=context, custom_context=True, tag=name, rm=True)
        yield name
        client.images.remove(name, force=True)


def ours() -> list[str]:
    """Containers that this process left."""
    return [left.name for left in leftover_containers() if f"-toxiproxy-{session_id()}-" in left.name]


def test_a_server_in_a_container(image_with_toxiproxy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CHOICE, f"container={image_with_toxiproxy}")

    async def cut() -> None:
        links = await Links.start({0: (Address("127.0.0.1", 1),)}, log=tmp_path / "log", seed=0)
        try:
            await links.cut("0", "zookeeper", "zk")
            assert {toxic["type"] for toxic in await links.toxics("0", "zookeeper", "zk")} == {"timeout"}
            assert len(ours()) == 1
        finally:
            await links.stop()

    asyncio.run(cut())
    assert ours() == []


def test_an_image_that_cannot_be_had_is_a_start_error(
    zookeeper_image: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CHOICE, "container=127.0.0.1:1/no-such-image:1")  # nobody listens there
    with pytest.raises(StartError, match=r"toxiproxy did not start: the image .* cannot be pulled"):
        asyncio.run(find_server(tmp_path / "log", 0))
    assert ours() == []
