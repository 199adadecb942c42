"""A suite that does not use us pays for nothing heavy."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

HEAVY = ("kazoo", "docker", "pyspark", "aiohttp", "requests", "toxiproxy", "jinja2")

RUN = """
import json, sys, pytest
status = pytest.main(["-q", "-p", "no:cacheprovider"])
print(json.dumps({"status": int(status), "modules": sorted({name.partition(".")[0] for name in sys.modules}),
                  "plugin": "pytest_kcontroller.pytest_plugin" in sys.modules}))
"""


def test_a_run_of_an_unrelated_project_imports_nothing_heavy(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_theirs.py").write_text("def test_theirs():\n    assert 1 + 1 == 2\n")

    done = subprocess.run([sys.executable, "-c", RUN], cwd=tmp_path, capture_output=True, text=True, timeout=120)

    seen = json.loads(done.stdout.splitlines()[-1])
    assert seen["status"] == 0, done.stdout
    assert seen["plugin"], "the plugin was not loaded: this would prove nothing"
    assert [name for name in HEAVY if name in seen["modules"]] == []
