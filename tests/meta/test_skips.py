"""On a machine that has nothing but Python, what needs more is skipped and says what it needs; CI has everything."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from pytest_kcontroller.cluster.timing import scaled

ROOT = Path(__file__).parents[2]
CLIENTS = "tests/integration/cluster/toxiproxy/test_toxiproxy_clients.py"
NEED_MORE = (
    "tests/integration/contained",
    "tests/integration/kafka",
    f"{CLIENTS}::test_every_call_gives_what_it_gave_on_the_real_server[embedded-node]",
    f"{CLIENTS}::test_gos_own_api_tests_pass[real]",
    "tests/integration/system/test_leaders.py::test_two_believe_and_the_mend_holds[go]",
)
NEEDS = {
    "Docker": r"no Docker engine answers: .*\n  -> start it \(dockerd\)",
    "Maven": r"Maven is not on the path, which would get Kafka \S+\n  -> install Maven, or name",
    "toxiproxy": r"no real toxiproxy server",
    "node": r"not on the path: node, npm",
    "go": r"go is not on the path: the example of docs/leaders\.md cannot be built",
}


def test_what_a_newcomer_lacks_is_said(tmp_path: Path) -> None:
    nothing = {"PATH": str(tmp_path), "HOME": str(tmp_path), "DOCKER_HOST": f"unix://{tmp_path}/docker.sock"}
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("KC", "DOCKER"))}
    command = [sys.executable, "-m", "pytest", "-n0", "-rs", "-p", "no:cacheprovider", f"--basetemp={tmp_path}/base"]
    done = subprocess.run(
        [*command, *NEED_MORE], cwd=ROOT, env=environment | nothing, capture_output=True, text=True, timeout=scaled(180)
    )
    assert done.returncode == 0, done.stdout
    for what, said in NEEDS.items():
        assert re.search(said, done.stdout), f"{what}: {done.stdout}"
