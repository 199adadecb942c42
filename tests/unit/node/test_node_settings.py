"""A node's settings: what is wrong is found before anything starts, and named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_kcontroller.errors import UsageError
from pytest_kcontroller.model.cluster import Address
from pytest_kcontroller.node.settings import NodeSettings


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    settings = NodeSettings(
        node_id=1,
        zookeeper="127.0.0.1:2181/kafka",
        links={"2/control": "127.2.2.3:9092"},
        plugins=("a.b",),
        kafka_compat=("KAFKA-9478",),
    )
    settings.save(tmp_path / "node.json")
    assert NodeSettings.load(tmp_path / "node.json") == settings
    assert settings.link("2", "control") == Address("127.2.2.3", 9092)
    assert settings.link("1", "control") is None


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"node_id": -1}, r"setting `node_id`: -1 is not a whole number, 0 or more"),
        ({"node_id": "0"}, r"setting `node_id`: '0' is not"),
        ({"session_timeout_ms": 0}, r"setting `session_timeout_ms`: 0 is not"),
        ({"session_timeout_ms": 2**31}, r"setting `session_timeout_ms`: 2147483648 is not a whole number of millisec"),
        ({"close_grace_s": 0}, r"setting `close_grace_s`: 0 is not a number of seconds above 0"),
        ({"log_dirs": 0}, r"setting `log_dirs`: 0 is not a whole number, 1 to 16"),
        ({"log_dirs": 17}, r"setting `log_dirs`: 17 is not"),
        ({"zookeeper": "localhost"}, r"setting `zookeeper`: 'localhost' is not HOST:PORT"),
        ({"listen": "127.0.0.1:99999"}, r"setting `listen`: '127.0.0.1:99999' is not HOST:PORT"),
        ({"links": {"zookeeper/zk": "nowhere"}}, r"setting `links`"),
        ({"selectors": "offline"}, r"setting `selectors`: 'offline' is not a table"),
        (
            {"config": {"controller.socket.timeout": 5}},
            r"setting `config`, controller\.socket\.timeout: nodes do not know Kafka's setting .*\n"
            r"  -> did you mean `controller\.socket\.timeout\.ms`\?",
        ),
        (
            {"config": {"controller.socket.timeout.ms": 0}},
            r"= 0 is not a whole number of milliseconds above 0\n  -> how long the controller waits",
        ),
        ({"colour": "red"}, r"node\.json: no node settings: .*colour"),
    ],
)
def test_a_bad_setting_is_named(tmp_path: Path, changed: dict[str, Any], message: str) -> None:
    path = tmp_path / "node.json"
    path.write_text(json.dumps({"node_id": 0, "zookeeper": "127.0.0.1:2181"} | changed))
    with pytest.raises(UsageError, match=message) as raised:
        NodeSettings.load(path)
    assert str(path) in str(raised.value)


@pytest.mark.parametrize("text", ["", "{", "[1]", '"x"'])
def test_a_file_that_is_no_object_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "node.json"
    path.write_text(text)
    with pytest.raises(UsageError, match="no node settings"):
        NodeSettings.load(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"absent\.json: no node settings"):
        NodeSettings.load(tmp_path / "absent.json")
