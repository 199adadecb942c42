"""ZooKeeper's own tool, the independent reader and the product agree about a recorded log."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pyspark

from kcontroller_chaos.history.committed import read_all
from pytest_kcontroller.cluster.java import find_java
from pytest_kcontroller.cluster.timing import scaled

ROOT = Path(__file__).parents[3]
LOG = ROOT / "tests/data/zookeeper_log"


def test_three_readers_agree():
    jars = str(Path(pyspark.__file__).parent / "jars" / "*")
    tool = "org.apache.zookeeper.server.persistence.TxnLogToolkit"
    command = [str(find_java()), "-cp", jars, tool, "-d", str(LOG / "log.1")]
    text = subprocess.run(command, capture_output=True, check=True, timeout=scaled(60)).stdout.decode(errors="replace")
    theirs = re.findall(r"session (0x\w+) cxid (0x\w+) zxid (0x\w+)", text)
    ours = [(hex(t.session), hex(t.cxid), hex(t.zxid)) for t in read_all(LOG)]
    assert ours == theirs
    reader = [sys.executable, "-m", "tests.tools.zklog", str(LOG)]
    told = subprocess.run(reader, capture_output=True, check=True, text=True, cwd=ROOT, timeout=scaled(60))
    lines = told.stdout.splitlines()
    assert [line.split()[0] for line in lines] == [zxid for *_, zxid in theirs]
