"""A project that has nothing to do with ours, but has it installed (without extras) and folders named like ours."""

from __future__ import annotations

import importlib
import sys

import pytest


@pytest.mark.parametrize("name", ["chaos", "plugins", "reports"])
def test_its_own_folders_win(name: str) -> None:
    assert name == importlib.import_module(name).MINE


@pytest.mark.parametrize("name", ["kazoo", "kafka", "docker", "pyspark", "aiohttp", "toxiproxy", "kcontroller_chaos"])
def test_nothing_heavy_was_imported(name: str) -> None:
    assert name not in sys.modules


def test_the_plugin_is_there(pytestconfig: pytest.Config) -> None:
    assert pytestconfig.pluginmanager.hasplugin("kcontroller")
