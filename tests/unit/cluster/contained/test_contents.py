"""What is copied into the nodes' image of what is installed here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_kcontroller.cluster.contained.contents import REQUIREMENTS_VARIABLE, others, requirements
from pytest_kcontroller.errors import UsageError


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def install(site: Path, name: str, files: dict[str, str], *, editable: bool = False, record: bool = True) -> None:
    facts = f"{name.replace('-', '_')}-1.dist-info"
    url = {"url": "file:///x", "dir_info": {"editable": editable}}
    files = {**files, f"{facts}/METADATA": f"Name: {name}\nVersion: 1\n", f"{facts}/direct_url.json": json.dumps(url)}
    for file, text in files.items():
        (site / file).parent.mkdir(exist_ok=True)
        (site / file).write_text(text)
    if record:
        (site / facts / "RECORD").write_text("".join(f"{file},,\n" for file in files))


def wanted(monkeypatch: pytest.MonkeyPatch, text: str) -> set[str]:
    monkeypatch.setenv(REQUIREMENTS_VARIABLE, text)
    return {*others(())}


def test_what_runs_at_the_start_of_a_python_is_no_sign_of_an_editable_package(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = site / "code" / "edited"
    code.mkdir(parents=True)
    (code / "__init__.py").write_text("")
    install(site, "kc-hooked", {"kc_hooked.py": "", "kc_hooked.pth": "import kc_hooked\n"})
    install(site, "kc-edited", {"kc_edited.pth": f"{code.parent}\n"}, editable=True)
    install(site, "kc-found", {"__editable__.kc_found.pth": "import finder\n"}, editable=True)
    assert "kc_hooked.py" in wanted(monkeypatch, "kc-hooked")
    assert "edited/__init__.py" in wanted(monkeypatch, "kc-edited")
    with pytest.raises(UsageError, match="does not say where its files are"):
        wanted(monkeypatch, "kc-found")


def test_pytest_is_there_where_a_plugin_wants_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "pytest/__init__.py" not in wanted(monkeypatch, "")
    assert "pytest/__init__.py" in wanted(monkeypatch, "pytest")


def test_a_path_may_have_blanks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(REQUIREMENTS_VARIABLE, "numpy>=1,'/my project/rules'\n./it")
    assert requirements() == ("numpy>=1", "/my project/rules", "./it")


@pytest.mark.parametrize(
    ("text", "says"),
    [("!!", "is no name of a distribution"), ("kc-bare", "there is no RECORD"), ("'x", "cannot be read")],
)
def test_what_cannot_be_copied_is_said(site: Path, monkeypatch: pytest.MonkeyPatch, text: str, says: str) -> None:
    install(site, "kc-bare", {}, record=False)
    with pytest.raises(UsageError, match=says):
        wanted(monkeypatch, text)
