"""`kcontroller doctor` really looks: what is taken away is missing, with the way to get it."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pluggy
import psutil
import pytest

import kcontroller_chaos
import kcontroller_plugins
import pytest_kcontroller
from pytest_kcontroller.cli._probes import MISSING, PROBES, _safely
from pytest_kcontroller.cluster.timing import scaled
from tests.tools.programs import run_kcontroller

PROGRAM = [sys.executable, "-c", "import sys; from pytest_kcontroller.cli import main; sys.exit(main())"]
CLUSTER = {"backend process", "fixtures kcluster, zookeeper, zk", "campaigns"}


def doctor(
    *arguments: str, limit: Callable[[], None] | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    if limit is None:
        return run_kcontroller("doctor", *arguments, timeout=scaled(60), env={**os.environ, **environment})
    return subprocess.run(
        [*PROGRAM, "doctor", *arguments],
        capture_output=True,
        text=True,
        timeout=scaled(60),
        check=False,
        env={**os.environ, **environment},
        preexec_fn=limit,
    )


def findings(done: subprocess.CompletedProcess[str]) -> dict[str, dict[str, Any]]:
    assert done.stderr == ""
    return {finding["name"]: finding for finding in json.loads(done.stdout)["findings"]}


def test_here_everything_can_run_that_the_tests_need() -> None:
    done = doctor("--json")
    said = json.loads(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert said["ready"]
    assert list(findings(done)) == list(PROBES)
    assert {feature["name"] for feature in said["features"] if feature["ready"]} >= CLUSTER
    text = doctor()
    assert text.returncode == 0
    assert text.stdout.endswith("Fixtures and campaigns can run here.\n")
    for name in PROBES:
        assert f" {name} " in text.stdout


@pytest.mark.parametrize(
    ("variable", "value", "finding", "says", "how"),
    [
        ("KCONTROLLER_JAVA", "/nonexistent", "java", "KCONTROLLER_JAVA=/nonexistent is no program", "unset it"),
        ("KCONTROLLER_ZOOKEEPER_HOME", "/nonexistent", "zookeeper", "holds no zookeeper-*.jar", "unset it"),
        (
            "KC_TIMEOUT_SCALE",
            "fast",
            "settings",
            "$KC_TIMEOUT_SCALE: 'fast' is not a number above 0",
            "unset KC_TIMEOUT_SCALE",
        ),
        ("KCONTROLLER_TOXIPROXY_URL", "http://127.0.0.1:1", "proxies", "no answer", "unset KCONTROLLER_TOXIPROXY_URL"),
        (
            "KCONTROLLER_TOXIPROXY",
            "path",
            "proxies",
            "toxiproxy-server is not on the path",
            "set $KCONTROLLER_TOXIPROXY to",
        ),
    ],
)
def test_what_a_cluster_cannot_do_without_is_status_6(
    variable: str, value: str, finding: str, says: str, how: str
) -> None:
    done = doctor("--json", **{variable: value})
    assert done.returncode == 6
    found = findings(done)[finding]
    assert found["status"] == "missing"
    assert says in found["found"]
    assert how in found["how"]
    lacking = {f["name"] for f in json.loads(done.stdout)["features"] if finding in f["lacks"]}
    assert lacking >= CLUSTER
    text = doctor(**{variable: value})
    assert text.returncode == 6
    assert re.search(rf"^  not yet  campaigns +it lacks: {finding}$", text.stdout, re.MULTILINE)
    assert text.stdout.endswith("cannot run here yet.\n")


def test_too_few_descriptors_are_named_with_the_command() -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))

    done = doctor("--json", limit=limit)
    assert done.returncode == 6
    found = findings(done)["descriptors"]
    assert found["found"].startswith("100 for a process")
    assert found["how"] == "ulimit -n 4096"


def test_without_an_engine_the_rest_can_run() -> None:
    done = doctor("--json", DOCKER_HOST="unix:///nonexistent.sock")
    found = findings(done)["docker engine"]
    assert found["status"] == "missing"
    assert "dockerd" in found["how"]
    assert done.returncode == 0
    (container,) = [f for f in json.loads(done.stdout)["features"] if f["name"] == "ZooKeeper in a container"]
    assert container["lacks"] == ["docker engine"]


def test_a_broken_plugin_is_found(tmp_path: Path) -> None:
    metadata = tmp_path / "team_selectors-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: team-selectors\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[kcontroller]\nlost = kct_is_not_there\n")
    done = doctor("--json", PYTHONPATH=str(tmp_path))
    assert done.returncode == 6
    found = findings(done)["plugins"]
    assert "kct_is_not_there" in found["found"]
    assert found["how"] == "kcontroller plugins list"


def test_without_the_extras_each_is_named(tmp_path: Path) -> None:
    """A Python that has only what the bare installation has: no site-packages, links to those packages."""
    for package in (pluggy, psutil, pytest_kcontroller, kcontroller_plugins, kcontroller_chaos):
        folder = Path(str(package.__file__)).parent
        (tmp_path / folder.name).symlink_to(folder)
    bare = [sys.executable, "-S", *PROGRAM[1:], "doctor", "--json"]
    done = subprocess.run(
        bare, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(tmp_path)}
    )
    assert done.returncode == 6
    found = findings(done)
    extras = {"proxies": "toxiproxy", "toxiproxy client": "toxiproxy", "docker client": "docker", "spark": "reports"}
    for name, extra in extras.items():
        assert found[name]["status"] == "missing"
        assert found[name]["how"] == f'pip install "pytest-kcontroller[{extra}]"'


def test_a_probe_that_fails_is_a_finding() -> None:
    def fails(name: str) -> Any:
        raise ZeroDivisionError("oops")

    found = _safely(("odd", fails))
    assert (found.name, found.status) == ("odd", MISSING)
    assert "oops" in found.found
