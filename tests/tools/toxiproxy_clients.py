"""Other people's clients of toxiproxy, and what each of their calls gives: programs of ours in tests/data/toxiproxy_clients.

`python -m tests.tools.toxiproxy_clients` records what they say of the real server, KCONTROLLER_TOXIPROXY_SERVER (a binary).

What a client needs is got by its language's own tool and compiled once, into KC_TEST_CACHE, else the person's own cache: a
directory there that appears whole, named after what it was made from.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_kcontroller.cluster.cache import cache_directory
from pytest_kcontroller.cluster.timing import scaled
from tests.tools.toxiproxy_servers import Server, real

PROGRAMS = Path(__file__).parents[1] / "data" / "toxiproxy_clients"
MODULE = "github.com/Shopify/toxiproxy/v2"
FETCH_S = 600.0
RUN_S = 60.0
JAVA = ("java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""Of a program that is over at once."""
STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"|`[^`]*`')
"""Of Go's."""


@dataclass(frozen=True, slots=True)
class Client:
    """`tools`: programs that must be on the path. `make` fills a directory, in which the sources are already. `command`
    calls everything, of that directory, on the server that the environment names: SERVER=HOST:PORT."""

    name: str
    tools: tuple[str, ...]
    make: Callable[[Path], None]
    command: Callable[[Path], Sequence[str | Path]]

    @property
    def missing(self) -> str:
        """What is not on the path; empty: all is there."""
        return ", ".join(tool for tool in self.tools if shutil.which(tool) is None)

    @property
    def recorded(self) -> Path:
        return PROGRAMS / self.name / "recorded.txt"

    def run(self, server: Server) -> str:
        """What the program says, without what each server chooses itself."""
        made = _made(self)
        places = {"SERVER": f"{server.host}:{server.port}", "HOST": _host(), "NODE_PATH": str(made / "node_modules")}
        version = server.call("GET", "/version").json()["version"]
        done = subprocess.run(
            [str(part) for part in self.command(made)],
            env=os.environ | places | {"VERSION": version},
            capture_output=True,
            text=True,
            timeout=scaled(RUN_S),
        )
        assert done.returncode == 0 and not done.stderr, done.stdout + done.stderr
        return comparable(done.stdout)


def comparable(said: str) -> str:
    said = re.sub(r"127\.0\.0\.1:\d{4,5}\b", "127.0.0.1:PORT", said)
    return re.sub(r'(version"?\\?": ?\\?")[^"\\]*', r"\1VERSION", said)


def _made(client: Client) -> Path:
    """Its directory. Whoever needs it first makes it, and others wait for that."""
    sources = sorted(path for path in (PROGRAMS / client.name).iterdir() if path != client.recorded)
    digest = hashlib.sha256(b"\0".join(path.read_bytes() for path in [*sources, Path(__file__)])).hexdigest()[:12]
    kept = os.environ.get("KC_TEST_CACHE") or (cache_directory() or Path(tempfile.gettempdir())) / "test-clients"
    made = Path(kept).absolute() / f"{client.name}-{digest}"
    made.parent.mkdir(parents=True, exist_ok=True)
    with (made.parent / f".{client.name}.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.is_dir():
            with tempfile.TemporaryDirectory(prefix=f".{client.name}-", dir=made.parent) as temporary:
                part = Path(temporary) / "part"
                part.mkdir()
                for source in sources:
                    shutil.copy(source, part)
                client.make(part)
                part.rename(made)
    return made


def _host() -> str:
    """An address of the loopback for listeners on fixed ports, which Go's tests have: of this process alone."""
    return f"127.{100 + os.getpid() % 100}.{os.getpid() // 100 % 250}.{1 + os.getpid() // 25_000 % 250}"


def _tool(folder: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=scaled(FETCH_S))
    assert done.returncode == 0, f"{' '.join(command)} ended with status {done.returncode}:\n{done.stdout}{done.stderr}"
    return done.stdout


def _make_node(folder: Path) -> None:
    _tool(folder, "npm", "ci", "--no-audit", "--no-fund")


def _make_java(folder: Path) -> None:
    _tool(folder, "mvn", "-B", "-q", "dependency:copy-dependencies", f"-DoutputDirectory={folder / 'jars'}")
    _tool(folder, "javac", "-cp", "jars/*", "-d", "classes", "Calls.java")


def _make_go(folder: Path) -> None:
    """The module's own API tests, on a server that runs already."""
    theirs = Path(json.loads(_tool(folder, "go", "mod", "download", "-json", MODULE))["Dir"])
    text = (theirs / "api_test.go").read_text()
    text, cut = re.subn(r"func WithServer\(.*?\n}\n", "", text, flags=re.DOTALL)
    assert cut == 1
    text = STRING.sub(_placed, text)
    text = text.replace('{\\"version\\": \\"git\\"}', '{\\"version\\": \\"" + version() + "\\"}')
    text = re.sub(r"^var testServer .*\n", "", text, flags=re.MULTILINE)
    for name in (
        "flag",
        "os",
        "time",
        "github.com/prometheus/client_golang/prometheus",
        "github.com/rs/zerolog",
        MODULE,
    ):
        text = text.replace(f'\t"{name}"\n', "", 1)
    (folder / "api_test.go").write_text(text)
    _tool(folder, "go", "test", "-c", "-o", "api.test", ".")


def _placed(literal: re.Match[str]) -> str:
    return f"placed({literal[0]})" if "localhost:" in literal[0] or "127.0.0.1:" in literal[0] else literal[0]


CLIENTS = {
    client.name: client
    for client in (
        Client("python", (), lambda _: None, lambda made: [sys.executable, made / "calls.py"]),
        Client("node", ("node", "npm"), _make_node, lambda made: ["node", made / "calls.cjs"]),
        Client(
            "java",
            ("java", "javac", "mvn"),
            _make_java,
            lambda made: [*JAVA, "-cp", f"{made / 'jars'}/*:{made / 'classes'}", "Calls"],
        ),
        Client("go", ("go",), _make_go, lambda made: [made / "api.test", "-test.v"]),
    )
}
PROGRAMMED = tuple(name for name in CLIENTS if name != "go")
"""Those whose calls are in a program of ours; Go's are tests of their own."""


def main() -> None:
    for name in PROGRAMMED:
        with real() as server:
            CLIENTS[name].recorded.write_text(CLIENTS[name].run(server))


if __name__ == "__main__":
    main()
