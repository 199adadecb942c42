"""Configures topics and brokers while the cluster runs, as tools do that write znodes (kafka.zk.AdminZkClient)."""

from __future__ import annotations

from pytest_kcontroller.errors import UsageError
from pytest_kcontroller.model.kafka_config import DYNAMIC, KAFKA_CONFIG
from pytest_kcontroller.model.suggestions import nearest
from pytest_kcontroller.zookeeper.config_znodes import (
    CONFIG_CHANGE_PREFIX,
    TOPIC_CONFIGS,
    config_path,
    decode_config,
    encode_config,
    encode_config_change,
    truth,
)
from pytest_kcontroller.zookeeper.session import (
    Create,
    Exists,
    GetData,
    Node,
    NodeExistsError,
    NoNodeError,
    SetData,
    ZkSession,
)
from pytest_kcontroller.zookeeper.znodes import topic_path


def check_dynamic(setting: str, value: str) -> tuple[str, str, str] | None:
    """What is wrong: `setting` or `value`, a sentence and a hint. An empty value takes the setting back."""
    if setting not in [known.name for known in DYNAMIC]:
        if setting in [known.name for known in KAFKA_CONFIG]:
            return "setting", f"{setting} cannot be changed while nodes run", "give it to the cluster as config"
        hint = nearest(setting, {known.name: known for known in DYNAMIC})
        return "setting", f"nodes do not know Kafka's setting {setting!r}", hint
    if value and truth(value) is None:
        return "value", f"{setting} = {value!r} is not true or false", 'or "", which takes it back'
    return None


async def configure(session: ZkSession, *, kind: str, name: str, setting: str, value: str) -> None:
    """Sets it, or takes it back (`value` empty), and writes the notification. What else is configured there stays.

    Raises UsageError if it is wrong, or if there is no such topic; CorruptZnodeError."""
    if (wrong := check_dynamic(setting, value)) is not None:
        raise UsageError(wrong[1], hint=wrong[2])
    if kind == TOPIC_CONFIGS and await session.submit(Exists(topic_path(name))) is None:
        raise UsageError(f"there is no topic {name!r}", hint="what exists: the znodes below /brokers/topics")
    path = config_path(kind, name)
    try:
        there = await session.submit(GetData(path))
        values = decode_config(there.data, path) if isinstance(there, Node) else {}
    except NoNodeError:
        values = {}
    values.pop(setting, None)
    await _write(session, path, encode_config(values | ({setting: value} if value else {})))
    await session.submit(Create(CONFIG_CHANGE_PREFIX, encode_config_change(kind, name), sequence=True))


async def _write(session: ZkSession, path: str, data: bytes) -> None:
    """Whatever is there: the last one wins, as with Kafka's tools."""
    try:
        await session.submit(Create(path, data))
    except NodeExistsError:
        await session.submit(SetData(path, data))
