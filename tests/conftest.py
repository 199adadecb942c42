"""Shared by all tests. Fixtures of one topic belong into its test file."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from pytest_kcontroller.cluster.cache import CACHE, cache_directory
from tests.tools.parts import files_of
from tests.tools.required import not_here

pytest_plugins = ["pytester"]

# How long an example takes says how busy the machine is: speed is measured in benchmarks/.
settings.register_profile("kcontroller", deadline=None)
settings.load_profile("kcontroller")

# A suite in the background of a shell has SIGINT ignored, and so would have what its tests start and interrupt.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

KEPT = str(cache_directory() or "")
played = pytest.StashKey[set[Path]]()
"""The test files of this part."""
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--part", metavar="N/PARTS", default="1/1", help="1/2: the first half of the files")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[played] = files_of(config.getoption("--part"), Path(__file__).parent.rglob("test_*.py"))


def pytest_report_header(config: pytest.Config) -> str | None:
    part = config.getoption("--part")
    return None if part == "1/1" else f"part {part}: {len(config.stash[played])} files"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """To read a file is a good part of what a test of it costs: those of another part are not read."""
    return (collection_path.match("test_*.py") and collection_path not in config.stash[played]) or None


@pytest.fixture
def pytester(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """It has a home of its own, where each JVM would write its classes anew: that takes as long as ten starts."""
    monkeypatch.setenv(CACHE, KEPT)
    return pytester


@pytest.fixture(scope="module")  # while it is open no other event loop runs in this process
def browser() -> Iterator[Any]:
    program = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if program is None:
        not_here("chromium", f"none of {', '.join(BROWSERS)} is on the path")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield started
        started.close()
