"""What is asked of Maven for a release of Kafka, and which class is behind a tool."""

from __future__ import annotations

import asyncio
import xml.etree.ElementTree as ElementTree
import zipfile
from pathlib import Path

import pytest

from pytest_kcontroller.cluster.kafka import RELEASE_VARIABLE
from pytest_kcontroller.cluster.kafka.cluster import KafkaCluster
from pytest_kcontroller.cluster.kafka.releases import TABLE, artifacts, check_log_dirs, check_release, pom
from pytest_kcontroller.cluster.kafka.tools import main_class
from pytest_kcontroller.cluster.observed import ClusterSettings
from pytest_kcontroller.errors import NotOnThisBackend, UsageError


def test_each_release_has_its_own_mends() -> None:
    assert artifacts("3.9.1") == (
        "org.apache.kafka:kafka_2.13:3.9.1",
        "org.slf4j:slf4j-reload4j:1.7.36",
        "org.apache.kafka:kafka-tools:3.9.1",
    )
    assert "javax.xml.bind:jaxb-api:2.3.1" in artifacts("0.10.2.2")
    assert artifacts("2.1.1")[0] == "org.apache.kafka:kafka_2.12:2.1.1"
    assert artifacts("2.1.1")[-1] == "org.apache.zookeeper:zookeeper:3.4.10"
    assert artifacts("1.1.1")[1:] == ("org.slf4j:slf4j-log4j12:1.7.25",)
    for needs in TABLE:
        assert needs.first <= needs.last
        for version in needs.tried:
            assert check_release(version) is needs


@pytest.mark.parametrize("version", ["0.10.2.2", "0.11.0.3"])
def test_several_log_directories_are_refused_where_a_broker_halts_with_the_first(
    version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(RELEASE_VARIABLE, version)
    with pytest.raises(NotOnThisBackend, match=rf"Kafka {version} halt .*\n  -> choose a release from 1\.0 on"):
        asyncio.run(KafkaCluster.start(ClusterSettings(nodes=1, log_dirs=2), tmp_path))
    assert not any(tmp_path.iterdir())
    check_log_dirs(version, 1)
    check_log_dirs("1.0.2", 2)


def test_a_pom_names_all_of_it() -> None:
    space = {"": ""}
    root = ElementTree.fromstring(pom("2.8.2"))
    named = [
        ":".join(str(dependency.findtext(tag, namespaces=space)) for tag in ("groupId", "artifactId", "version"))
        for dependency in root.iter("dependency")
    ]
    assert named == list(artifacts("2.8.2"))


@pytest.mark.parametrize(
    ("version", "why"),
    [
        ("4.0.0", "has no ZooKeeper mode"),
        ("0.9.0.1", "is too old"),
        ("3.9", "is no release"),
        ("latest", "is no release"),
        ("../3.9.1", "is no release"),
        ("", "is no release"),
    ],
)
def test_what_is_no_release_is_refused(version: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        check_release(version)


def test_a_tool_is_the_newest_class_that_the_release_has(tmp_path: Path) -> None:
    def jar(folder: str, *classes: str) -> Path:
        (tmp_path / folder).mkdir()
        with zipfile.ZipFile(tmp_path / folder / "kafka-tools.jar", "w") as archive:
            for name in classes:
                archive.writestr(f"{name.replace('.', '/')}.class", b"")
        return tmp_path / folder

    old = jar("old", "kafka.admin.TopicCommand")
    new = jar("new", "kafka.admin.TopicCommand", "org.apache.kafka.tools.TopicCommand")
    assert main_class("kafka-topics", old) == "kafka.admin.TopicCommand"
    assert main_class("kafka-topics", new) == "org.apache.kafka.tools.TopicCommand"
    assert main_class("kafka.admin.Anything", old) == "kafka.admin.Anything"
    with pytest.raises(UsageError, match="has no kafka-leader-election"):
        main_class("kafka-leader-election", old)
    with pytest.raises(UsageError, match="no tool 'kafka-topic'"):
        main_class("kafka-topic", old)
