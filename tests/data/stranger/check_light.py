"""Nothing of this project is in the way of ours, and the plugin costs nothing until a fixture is used."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("kazoo", "kafka", "docker", "pyspark", "aiohttp", "toxiproxy", "kcontroller_chaos.history")


@pytest.mark.parametrize("name", ["chaos", "plugins", "reports"])
def test_its_own_folders_win(name: str) -> None:
    module = importlib.import_module(name)
    assert name == module.MINE
    assert Path(str(module.__file__)).parent == Path(__file__).parent / name


def test_its_own_modules_are_found() -> None:
    from chaos.hosts import HOSTS
    from reports.weekly import weekly

    assert weekly(len(HOSTS)) == "2 failures this week"


def test_nothing_heavy_is_imported_for_a_plain_test(tmp_path: Path) -> None:
    test = tmp_path / "test_plain.py"
    test.write_text(f"import sys\n\ndef test_plain():\n    assert [n for n in {HEAVY} if n in sys.modules] == []\n")
    # not in this process: other checks may have used a fixture before
    outside = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", str(test)], cwd=tmp_path, env=outside, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stdout


def test_the_plugin_is_there(pytestconfig: pytest.Config) -> None:
    assert pytestconfig.pluginmanager.hasplugin("kcontroller")
