"""What the tests of the docs share: a project that is made of a page's blocks."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # pages.py

from pages import Block

from pytest_kcontroller.cluster.timing import scaled
from tests.tools import left_sockets
from tests.tools.programs import run_kcontroller, run_pytest

Project = Callable[..., "DocsProject"]
LIMIT_S = 600
"""Of all of a page's examples."""

KAFKA_PYTHON = """

from left_sockets import IGNORED, left_sockets

pytestmark = pytest.mark.filterwarnings(IGNORED)
"""
"""For a page that uses kafka-python."""


class DocsProject:
    """A folder with the files that titled blocks name and one test module per page."""

    def __init__(self, path: Path, blocks: list[Block]) -> None:
        self.path = path
        for page in {block.page for block in blocks}:
            module = [block for block in blocks if block.page == page and block.title is None]
            if python := [block for block in module if block.language == "python"]:
                (path / f"test_{page.stem.lower()}.py").write_text(_module(python))
        shutil.copy(left_sockets.__file__, path)
        for block in blocks:
            if block.title is not None:
                (path / block.title).parent.mkdir(parents=True, exist_ok=True)
                (path / block.title).write_text(block.text)
        outside = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        self._environment = outside | {"PYTHONPATH": str(path)}

    def pytest(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        ini = () if (self.path / "pytest.ini").exists() else ("-c", os.devnull)
        # kafka-python warns when it is imported.
        rest = (
            "--rootdir",
            str(self.path),
            # What a page says holds without them, and one warns of settings of its own.
            *(word for name in ("cacheprovider", "asyncio", "anyio", "rerunfailures") for word in ("-p", f"no:{name}")),
            "-W",
            "error",
            *(
                word
                for name in ("read", "open")
                for word in ("-W", f"ignore:{name}_text is deprecated:DeprecationWarning")
            ),
            "-ra",
            "--kc-require=java,toxiproxy",
        )
        return run_pytest(*ini, *rest, *arguments, cwd=self.path, env=self._environment, timeout=scaled(LIMIT_S))

    def kcontroller(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return run_kcontroller(*arguments, cwd=self.path, env=self._environment, timeout=scaled(LIMIT_S))


def _module(blocks: list[Block]) -> str:
    """All blocks of a page as one module, each on the lines that it has there: a traceback names the page's line."""
    lines: list[str] = []
    for block in blocks:
        lines += [""] * (block.line - 1 - len(lines))
        lines += block.text.splitlines()
    uses_kafka_python = any(line.startswith(("import kafka", "from kafka")) for line in lines)
    return "\n".join(lines) + (KAFKA_PYTHON if uses_kafka_python else "\n")


@pytest.fixture
def docs_project(tmp_path: Path) -> Project:
    def make(blocks: list[Block]) -> DocsProject:
        return DocsProject(tmp_path, blocks)

    return make
