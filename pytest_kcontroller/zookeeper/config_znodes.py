"""Dynamic configuration: /config/<kind>/<name> and the notifications in /config/changes.

Sources: kafka.zk.ConfigEntityZNode, kafka.server.ZkConfigManager (3.9), KIP-21.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from pytest_kcontroller.zookeeper.znodes import CorruptZnodeError, json_bytes, json_object

CONFIG = "/config"
CONFIG_CHANGES = f"{CONFIG}/changes"
CONFIG_CHANGE_PREFIX = f"{CONFIG_CHANGES}/config_change_"
"""Of a notification, which ZooKeeper numbers."""
TOPIC_CONFIGS, BROKER_CONFIGS = "topics", "brokers"
DEFAULT = "<default>"
"""The name under which all brokers have their common configuration."""


def config_path(kind: str, name: str) -> str:
    return f"{CONFIG}/{kind}/{name}"


def encode_config(values: Mapping[str, str]) -> bytes:
    return json_bytes({"version": 1, "config": dict(values)})


def decode_config(data: bytes, path: str) -> dict[str, str]:
    """Name -> value, as texts; empty without data. Raises CorruptZnodeError."""
    if not data:
        return {}
    value = json_object(data, path)
    values = value.get("config", {})
    if value.get("version") != 1 or not isinstance(values, dict):
        raise CorruptZnodeError(path, data, "is no configuration of version 1")
    return {str(name): text if isinstance(text, str) else json.dumps(text) for name, text in values.items()}


def truth(text: str) -> bool | None:
    """What Kafka reads as true or false; None: it is neither (ConfigDef.parseType)."""
    return {"true": True, "false": False}.get(text.strip().lower())


def encode_config_change(kind: str, name: str) -> bytes:
    """A notification, version 2 as since Kafka 0.10.1."""
    return json_bytes({"version": 2, "entity_path": f"{kind}/{name}"})


def decode_config_change(data: bytes, path: str) -> tuple[str, str]:
    """(kind, name) of what has changed, from a notification of version 1 or 2. Raises CorruptZnodeError."""
    value = json_object(data, path)
    if value.get("version") == 1:
        kind, name = value.get("entity_type"), value.get("entity_name")
    else:
        kind, _, name = str(value.get("entity_path", "")).partition("/")
    if (
        value.get("version") not in (1, 2)
        or not isinstance(kind, str)
        or not isinstance(name, str)
        or not kind
        or not name
    ):
        raise CorruptZnodeError(path, data, "is no notification of a changed configuration")
    return kind, name
