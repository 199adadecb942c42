"""A program of the user's, in an image of theirs, as the nodes: the faults and the witness are the same."""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcontroller_chaos.history.read import read_history
from kcontroller_chaos.history.transactions import ZkTxn
from pytest_kcontroller.cluster.contained.image import node_image
from pytest_kcontroller.cluster.docker.containers import engine
from pytest_kcontroller.model.history import FaultAsked, ProcessExited
from tests.integration.chaos.test_campaign_run import campaign, only_run, verdicts
from tests.integration.system.test_system_campaign import ELECT, believed_by_both_us

FILE = """\
[campaign]
name = "imaged"
duration_s = 8

[cluster]
nodes = 2
session_timeout_ms = 1000

[system]
image = "{image}"
command = "{{zk}} {{id}} {{session_timeout_ms}}"
env = {{ PEERS = "{{peers}}" }}
ready = "znode:/my/members/{{id}}"

[[faults]]
id = "frozen"
kind = "pause"
target = "owner-of:/my/leader"
at_s = 0.5
duration_s = 3

[[faults]]
id = "apart"
kind = "disconnect"
target = "owner-of:/my/leader"
when = "healed:frozen"
after_ms = 300
duration_s = 0.3

[[faults]]
id = "unheard"
kind = "partition"
mode = "control"
target = "random"
when = "healed:apart"
duration_s = 0.1

[[faults]]
id = "asked"
kind = "graceful_stop"
target = "owner-of:/my/leader"
when = "healed:unheard"
after_ms = 300
duration_s = 0.1
"""
DOCKERFILE = """\
FROM {base}
COPY elect.py /srv/elect.py
ENTRYPOINT ["python3", "/srv/elect.py"]
"""


@pytest.fixture
def image(in_containers: str) -> Iterator[str]:
    """As somebody has built theirs; kazoo is in ours."""
    context, name = io.BytesIO(), f"kcontroller-elect:{os.getpid()}"
    files = {"Dockerfile": DOCKERFILE.format(base=node_image(())).encode(), "elect.py": ELECT.read_bytes()}
    with tarfile.open(fileobj=context, mode="w") as tar:
        for file, data in files.items():
            info = tarfile.TarInfo(file)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    context.seek(0)
    with engine() as client:
        client.images.build(fileobj=context, custom_context=True, tag=name, rm=True)
        yield name
        client.images.remove(name)


def test_faults_hit_containers_of_another_image(image: str, in_containers: str, tmp_path: Path) -> None:
    file = tmp_path / "imaged.toml"
    file.write_text(FILE.format(image=image))
    done = campaign(file, "--backend", "docker", "--zookeeper-image", in_containers, out=tmp_path / "runs")
    assert done.returncode == 0, done.stdout + done.stderr
    run = only_run(tmp_path / "runs")
    assert [fault["status"] for fault in verdicts(run)["faults"]] == ["healed"] * 4
    history = read_history(run / "history")
    frozen, *_ = (event["node"] for event in history.of(FaultAsked))
    assert believed_by_both_us(history, frozen) > 100_000
    exited, *_ = history.of(ProcessExited)
    assert exited["status"] == -15, "it has no word for SIGTERM, and had it all the same, though it is alone there"
    assert any(event["type"] == "close-session" for event in history.of(ZkTxn))
