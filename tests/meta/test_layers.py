"""Who may import whom: the contracts of pyproject.toml hold, and each of them can fail."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = {
    "pytest_kcontroller": ".",
    "kcontroller_plugins": "plugins",
    "kcontroller_chaos": "chaos",
    "kcontroller_reports": "reports",
}
LINT = "from importlinter.cli import lint_imports_command; lint_imports_command()"

BAD_IMPORTS = {
    "Imports point downwards": ("pytest_kcontroller/model/cluster.py", "import pytest_kcontroller.cluster.topics"),
    "Inside the engine, imports point downwards": (
        "kcontroller_chaos/history/read.py",
        "import kcontroller_chaos.judge.verdict",
    ),
    "No cycle between packages or modules": (
        "pytest_kcontroller/wire/frames.py",
        "import pytest_kcontroller.wire.server",
    ),
    "Time, randomness and the outside come from the runtime alone": (
        "pytest_kcontroller/broker/replicas.py",
        "import time",
    ),
    "Only the report imports Spark and what draws": ("kcontroller_chaos/judge/verdict.py", "import matplotlib"),
}
"""A contract's name -> a module, and an import there that breaks the contract."""


def lint(directory: Path) -> subprocess.CompletedProcess[str]:
    """Looks at the packages below `directory` by the contracts of this repository."""
    folders = {str(directory / folder) for folder in PACKAGES.values()} if directory == ROOT else {str(directory)}
    return subprocess.run(
        [sys.executable, "-c", LINT, "--no-cache", "--no-logo", str(ROOT / "pyproject.toml")],
        cwd=directory,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sorted(folders)), "COLUMNS": "200"},
        capture_output=True,
        text=True,
    )


def broken(printed: str) -> set[str]:
    return {line.partition(" BROKEN")[0] for line in printed.splitlines() if " BROKEN" in line}


def test_every_contract_is_kept() -> None:
    done = lint(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for package, folder in PACKAGES.items():
        shutil.copytree(ROOT / folder / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def test_each_contract_can_be_broken(copy: Path) -> None:
    for module, line in BAD_IMPORTS.values():
        with (copy / module).open("a", encoding="utf-8") as file:
            file.write(f"\n{line}\n")
    done = lint(copy)
    assert done.returncode == 1, done.stdout + done.stderr
    assert broken(done.stdout) == set(BAD_IMPORTS), done.stdout
