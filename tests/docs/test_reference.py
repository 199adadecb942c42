"""The pages that name what the code declares name all of it, and nothing else."""

from __future__ import annotations

import argparse
import ast
import dataclasses
import inspect
import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from pages import ROOT, blocks, section, sections

import kcontroller_chaos
import pytest_kcontroller
from kcontroller_chaos.backends import NAMES
from kcontroller_chaos.campaign.file import load_campaign
from kcontroller_chaos.catalogue import load_catalogue
from kcontroller_chaos.catalogue.kind import Kind
from kcontroller_chaos.faults import Fault
from kcontroller_chaos.invariants import Invariant
from pytest_kcontroller import errors
from pytest_kcontroller.cli import gc, main
from pytest_kcontroller.cluster import java
from pytest_kcontroller.cluster.observed import ClusterSettings
from pytest_kcontroller.errors import UsageError
from pytest_kcontroller.fixtures.kafka_release import KafkaRelease, ReleaseBroker
from pytest_kcontroller.fixtures.kcluster import KCluster
from pytest_kcontroller.fixtures.ksystem import KSystem
from pytest_kcontroller.fixtures.net import Net
from pytest_kcontroller.fixtures.options import OPTIONS, KcSettings
from pytest_kcontroller.fixtures.stub_brokers import KStub, KStubs
from pytest_kcontroller.fixtures.zk_proxy import ProxySession, ZkProxy
from pytest_kcontroller.fixtures.zookeeper import EXPIRE_MODES, TestZooKeeper
from pytest_kcontroller.stubs.requests import ReceivedRequest

STOCK = load_catalogue(installed=False)
FAULTS, INVARIANTS, FIXTURES = (ROOT / f"docs/{name}.md" for name in ("faults", "invariants", "fixtures"))


def titled(page: object) -> list[str]:
    return [title.strip("`") for title in sections(page) if title.startswith("`")]  # type: ignore[arg-type]


def test_every_fault_has_its_section() -> None:
    assert titled(FAULTS) == list(STOCK.kinds)


@pytest.mark.parametrize("kind", STOCK.kinds.values(), ids=STOCK.kinds)
def test_a_faults_section_names_its_modes_and_keys(kind: Kind) -> None:
    text = section(FAULTS, f"`{kind.name}`")
    for key in kind.keys:
        assert f"| `{key.name}` |" in text
        for choice in key.choices:
            assert f"`{choice}`" in text
    for mode in kind.modes:
        assert f"| `{mode}`" in text
    if kind.modes:
        assert f"| `{kind.modes[0]}` (the default)" in text
    assert f"| `{kind.name}` |" in FAULTS.read_text(), "the table at the top"


def test_the_page_of_a_service_names_the_faults_that_it_can_have(tmp_path: Path) -> None:
    named = set(re.findall(r"`(\w+)`", section(ROOT / "docs/your-service.md", "Which faults")))
    possible = {name.partition(":")[0] for name in STOCK.fault_names if _is_for_a_program(name, tmp_path / "c.toml")}
    assert named & STOCK.kinds.keys() == possible


def _is_for_a_program(name: str, file: Path) -> bool:
    kind, _, mode = name.partition(":")
    said = [f'kind = "{kind}"', "at_s = 1", "duration_s = 1", *([f'mode = "{mode}"'] if mode else [])]
    said += [] if kind.startswith("zookeeper") else ['target = "random"']
    servers = 3 if kind.startswith("zookeeper") else 1
    system = f"[cluster]\nzookeeper = {servers}\n[system]\nimage = 'x'\ncommand = '{{zk}}'\n"
    file.write_text(f"[campaign]\nname = 'x'\nduration_s = 5\n{system}[[faults]]\n" + "\n".join(said))
    try:
        load_campaign(file)
    except UsageError:
        return False
    return True


def test_every_invariant_has_its_section() -> None:
    assert titled(INVARIANTS) == [one.name for one in STOCK.invariants]


@pytest.mark.parametrize("one", STOCK.invariants, ids=lambda one: one.name)
def test_an_invariants_section_says_what_is_expected(one: Invariant) -> None:
    text = section(INVARIANTS, f"`{one.name}`")
    assert f"*{one.kind.capitalize()}.* Expected: {one.expected}.\nSource: {one.source}." in text
    assert f"| [`{one.name}`](#{one.name}) | {one.kind} |" in INVARIANTS.read_text(), "the table at the top"


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_the_fixtures_page_has_every_option(option: object) -> None:
    text = FIXTURES.read_text().replace("\\|", "|")
    assert f"`{option.flag}={option.metavar.replace('MODULES', 'MODULE')}`" in text  # type: ignore[attr-defined]


def test_the_fixtures_page_has_all_that_can_be_raised() -> None:
    named = re.findall(r"(?m)^\| `(\w+)` \|", section(FIXTURES, "What can be raised"))
    assert named == [
        name for name, kind in vars(errors).items() if inspect.isclass(kind) and issubclass(kind, Exception)
    ]


def test_every_warning_is_where_the_page_says() -> None:
    """A project names them in its `filterwarnings`."""
    others = [path for path in (ROOT / "pytest_kcontroller").rglob("*.py") if path.name != "errors.py"]
    assert [path for path in others if re.search(r"(?m)^class \w+\(\w*Warning\)", path.read_text())] == []


@pytest.mark.parametrize(
    ("page", "prefix", "kind"),
    [
        ("fixtures", "", KCluster),
        ("fixtures", "net.", Net),
        ("fixtures", "", TestZooKeeper),
        ("your-service", "", KSystem),
    ],
)
def test_a_page_has_everything_that_they_give(page: str, prefix: str, kind: Kind) -> None:
    text = (ROOT / f"docs/{page}.md").read_text()
    of_the_fixture_itself = {"start", "begin_test", "close", "check_zookeeper"}
    of_the_fixture_itself |= {"heal_faults", "cut_links", "heal_links"}
    for name, _ in inspect.getmembers(kind, lambda member: inspect.isfunction(member) or isinstance(member, property)):
        if not name.startswith("_") and name not in of_the_fixture_itself:
            assert re.search(rf"`{prefix}{name}\b", text), name


def test_the_fixtures_page_says_where_java_and_zookeeper_come_from(monkeypatch: pytest.MonkeyPatch) -> None:
    text = section(FIXTURES, "Which Java, and which ZooKeeper")
    monkeypatch.setenv(java.NAMED, "java")
    monkeypatch.setenv("JAVA_HOME", "home")
    whence = [word.removeprefix("$").removeprefix("package ") for _, word in java._candidates()]
    asked = [word for word in whence if word != "on the path"]
    assert [word for word in re.findall(r"`([^`]+)`", text) if word in asked] == asked
    assert f"`{java.ZOOKEEPER_HOME}`" in text


def test_the_page_of_the_proxy_has_everything_that_it_gives() -> None:
    text = (ROOT / "docs/zk-proxy.md").read_text()
    for kind in (ZkProxy, ProxySession):
        for name, _ in inspect.getmembers(
            kind, lambda member: inspect.isroutine(member) or inspect.isdatadescriptor(member)
        ):
            if not name.startswith("_") and name != "close":
                assert f"`{name}`" in text or f"`{name}(" in text, name


def test_the_page_of_stub_brokers_has_everything_that_they_give() -> None:
    text = (ROOT / "docs/stub-brokers.md").read_text()
    for kind in (KStub, KStubs, ReceivedRequest):
        for name, member in inspect.getmembers(kind):
            if not name.startswith("_") and name not in {*dir(Mapping), "topic_ids"} and not inspect.isclass(member):
                assert re.search(rf"`(\w+\.)?{name}\b", text), name


@pytest.mark.parametrize("kind", [KafkaRelease, ReleaseBroker])
def test_the_page_of_releases_has_everything_that_they_give(kind: type) -> None:
    text = (ROOT / "docs/kafka-releases.md").read_text()
    for name, _ in inspect.getmembers(kind):
        if not name.startswith("_"):
            assert f"`{name}`" in text or f"`{name}(" in text, name


def test_the_fixtures_page_has_the_markers_arguments_and_modes() -> None:
    text = FIXTURES.read_text()
    ours = {"plugins", "mutant", "seed", "zookeeper_image", "program"}  # come from options, or from kc_system
    for field in dataclasses.fields(ClusterSettings):
        if field.name not in ours:
            assert f"`{field.name}`" in text, field.name
    for mode in EXPIRE_MODES:
        assert f"- `{mode}`:" in text


@pytest.mark.parametrize(
    "source",
    ["chaos/kcontroller_chaos/campaign/campaign.schema.json", "reports/kcontroller_reports/summary.schema.json"],
)
def test_the_schemas_are_published(source: str) -> None:
    name = source.rpartition("/")[2]
    assert f"({name})" in (ROOT / "docs/formats.md").read_text()


def keys_of(block: str) -> list[str]:
    """Those of the outermost object of what looks like JSON."""
    depth, found = 0, []
    for text, key in re.findall(r'("[^"]*"|[{}\[\]])(\s*:)?', block):
        depth += (text in "{[") - (text in "}]")
        if key and depth == 1:
            found.append(text.strip('"'))
    return found


def test_the_formats_page_has_every_key_of_a_run(tmp_path: Path) -> None:
    (tmp_path / "quiet.toml").write_text('[campaign]\nname = "quiet"\nduration_s = 1\n')
    assert main(["campaign", "run", str(tmp_path / "quiet.toml"), "--backend", "sim", "--out", str(tmp_path)]) == 4
    (run,) = tmp_path.glob("quiet/*/run.json")
    block = section(ROOT / "docs/formats.md", "run.json").partition("`plugin_versions` has")[0]
    assert sorted(keys_of(block)) == sorted(json.loads(run.read_text()))


def test_the_page_for_plugins_says_what_the_class_of_a_fault_can_say() -> None:
    text = section(ROOT / "docs/extending.md", "A fault")
    said = [name for name, kind in inspect.get_annotations(Fault).items() if kind.startswith("ClassVar")]
    assert len(said) > 10
    assert [name for name in said if f"`{name}`" not in text] == []


def test_the_options_are_fields_of_the_settings() -> None:
    plurals = {"plugin": "plugins"}
    said = {plurals.get(option.name, option.name.replace("-", "_")) for option in OPTIONS}
    assert {field.name for field in dataclasses.fields(KcSettings)} == said | {"campaigns", "rootpath"}


def test_the_page_of_the_command_has_every_option_of_gc() -> None:
    parser = argparse.ArgumentParser()
    gc.add_arguments(parser)
    text = section(ROOT / "docs/cli.md", "`gc`")
    own = parser._option_string_actions.keys() - {"-h", "--help", "--json"}
    assert {option for option in own if option not in text} == set()


def test_the_architecture_names_seven_files_to_read() -> None:
    text = section(ROOT / "ARCHITECTURE.md", "Where to start reading")
    named = [line.partition("`")[2].partition("`")[0] for line in text.splitlines() if line[:1].isdigit()]
    assert len(named) == 7
    assert [name for name in named if not (ROOT / name).exists()] == []


ARCHITECTURE, CONTRIBUTING = ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md"
ROOMS = (ROOT, ROOT / "pytest_kcontroller", ROOT / "pytest_kcontroller/controller")
"""Where a path may begin that one of these pages names."""


def paths(page: Path) -> list[str]:
    """What stands between backticks and looks like a file or a folder of ours."""
    words = re.findall(r"`([^`\n]+)`", page.read_text())
    return [
        word
        for word in words
        if re.fullmatch(r"[\w./-]+", word) and ("/" in word or word.endswith((".py", ".md"))) and word[0] not in "/."
    ]


@pytest.mark.parametrize("page", [ARCHITECTURE, CONTRIBUTING], ids=lambda page: page.name)
def test_the_files_and_rooms_that_a_page_names_are_there(page: Path) -> None:
    named = paths(page)
    assert len(named) > 20
    left_by_runs = {"history/*.jsonl", "tests/", "changes/", "benchmarks/", "docs/"}
    assert [
        name for name in named if name not in left_by_runs and not any((room / name).exists() for room in ROOMS)
    ] == []


def test_the_architecture_has_every_room() -> None:
    text = section(ARCHITECTURE, "Rooms")
    packages = [init.parent for init in sorted((ROOT / "pytest_kcontroller").glob("*/__init__.py"))]
    assert [package.name for package in packages if f"`pytest_kcontroller/{package.name}`" not in text] == []
    engine = [init.parent.name for init in sorted((ROOT / "chaos/kcontroller_chaos").glob("*/__init__.py"))]
    assert [name for name in engine if f"`{name}`" not in text] == []


def imported() -> set[str]:
    """The modules of ours that the pages' examples import."""
    trees = [ast.parse(block.text) for block in blocks() if block.language == "python"]
    froms = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {node.module for node in froms if node.module and node.module.startswith(("pytest_kc", "kcontroller_"))}


def test_what_the_pages_import_is_said_to_be_public() -> None:
    said = re.findall(r"^    ([\w.]+) ", pytest_kcontroller.__doc__ or "", re.MULTILINE)
    said += [f"kcontroller_chaos.{name}" for name in re.findall(r"`(\w+)`", kcontroller_chaos.__doc__ or "")]
    assert [name for name in imported() if name not in said and not name.startswith("pytest_kcontroller.model.")] == []


def test_the_glossary_knows_every_backend() -> None:
    (row,) = re.findall(r"^\| backend \|.*", (ROOT / "docs/glossary.md").read_text(), re.MULTILINE)
    assert re.findall(r"`(\w+)`", row) == list(NAMES)


def test_the_page_of_mutants_says_which_need_simulated_time() -> None:
    files = (ROOT / "chaos/campaigns/mutants").glob("*.toml")
    needing = {file.stem for file in files if load_campaign(file, STOCK).crash_points}
    (said,) = re.findall(
        r"^.*, which only `--backend sim` can\.$", (ROOT / "docs/mutants.md").read_text(), re.MULTILINE
    )
    assert set(re.findall(r"KAFKA-\d+", said)) == needing
