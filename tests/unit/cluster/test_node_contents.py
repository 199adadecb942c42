"""What is copied into the image of nodes in containers: what a node imports here, and what the project asks for."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_kcontroller.cluster.contained.contents import REQUIREMENTS_VARIABLE, others, ours
from pytest_kcontroller.errors import UsageError


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With a plugin, a package that it needs, and nothing asked for."""
    (tmp_path / "my_rule.py").write_text("")
    (tmp_path / "placement" / "__pycache__").mkdir(parents=True)
    (tmp_path / "placement" / "__pycache__" / "old.pyc").write_text("")
    (tmp_path / "placement" / "__init__.py").write_text("")
    (tmp_path / "placement" / "table.csv").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delenv(REQUIREMENTS_VARIABLE, raising=False)
    return tmp_path


def test_it_has_what_a_node_imports_and_no_more(project: Path) -> None:
    tops = {name.split("/")[0] for name in others(())}
    assert {"kazoo", "psutil", "pluggy", "aiohttp"} <= tops
    assert not tops & {"pytest", "_pytest", "pyspark", "docker", "my_rule.py", "pytest_kcontroller"}
    assert {"pytest_kcontroller/node/main.py", "kcontroller_plugins/__init__.py"} <= ours().keys()


def test_a_named_plugin_is_found_where_it_is_imported_from(project: Path) -> None:
    assert others(("my_rule",))["my_rule.py"] == project / "my_rule.py"
    assert "placement/table.csv" in others(("placement.of_racks",))
    with pytest.raises(UsageError, match="there is no module 'no_such_rule'"):
        others(("no_such_rule",))


def test_a_project_asks_for_distributions_and_paths(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(REQUIREMENTS_VARIABLE, f"hypothesis, {project / 'placement'}")
    found = others(())
    assert {"hypothesis/__init__.py", "sortedcontainers/__init__.py"} & found.keys(), "with what it needs itself"
    assert {name for name in found if name.startswith("placement/")} == {"placement/__init__.py", "placement/table.csv"}
    monkeypatch.setenv(REQUIREMENTS_VARIABLE, "no-such-distribution")
    with pytest.raises(UsageError, match=r"no-such-distribution is not installed here.*\n.*kc_node_requirements"):
        others(())
