"""The settings of topics and brokers as clients see them: which there are, their values, and where those come from.

Of a topic there is what changes what a controller does; of a broker, what nodes know of Kafka's settings
(model.kafka_config). Sources: kafka.server.ConfigHelper, kafka.server.DynamicBrokerConfig (3.9), KIP-226.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from pytest_kcontroller.broker.clients.refused import RefusedError
from pytest_kcontroller.model.kafka_config import DYNAMIC, KAFKA_CONFIG, KafkaSetting
from pytest_kcontroller.model.text import shown
from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.zookeeper.config_znodes import truth


class Resource(IntEnum):
    """What has settings (org.apache.kafka.common.config.ConfigResource.Type)."""

    TOPIC = 2
    BROKER = 4


class Source(IntEnum):
    """Where a value comes from (org.apache.kafka.clients.admin.ConfigEntry.ConfigSource)."""

    TOPIC = 1
    BROKER = 2
    ALL_BROKERS = 3
    NODE = 4
    """The node's own settings, given at its start."""
    DEFAULT = 5


class Type(IntEnum):
    """Of a value (DescribeConfigsResponse.ConfigType)."""

    BOOLEAN = 1
    INT = 3


Values = Mapping[str, str]
Layer = tuple[Source, Values]
"""Where values come from, and which those are."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One setting. `synonyms`: every value that it has somewhere, with its source, the one that counts first."""

    setting: KafkaSetting[Any]
    synonyms: tuple[tuple[str, Source], ...]

    @property
    def name(self) -> str:
        return self.setting.name

    @property
    def value(self) -> str:
        return self.synonyms[0][0]

    @property
    def source(self) -> Source:
        return self.synonyms[0][1]

    @property
    def type(self) -> Type:
        return Type.BOOLEAN if isinstance(self.setting.default, bool) else Type.INT


def topic_entries(config: Mapping[str, Any], *layers: Values) -> list[Entry]:
    """Of a topic: what it says itself, then its broker, then all brokers, as far as given; then the node's `config`."""
    return _entries(DYNAMIC, config, zip((Source.TOPIC, Source.BROKER, Source.ALL_BROKERS), layers, strict=False))


def broker_entries(config: Mapping[str, Any], own: Values, common: Values) -> list[Entry]:
    return _entries(KAFKA_CONFIG, config, [(Source.BROKER, own), (Source.ALL_BROKERS, common)])


def common_entries(common: Values) -> list[Entry]:
    """What is said for all brokers, and no more."""
    return [Entry(each, ((common[each.name], Source.ALL_BROKERS),)) for each in DYNAMIC if each.name in common]


def _entries(settings: Iterable[KafkaSetting[Any]], config: Mapping[str, Any], layers: Iterable[Layer]) -> list[Entry]:
    known = list(layers)
    found: list[Entry] = []
    for setting in settings:
        synonyms = [(values[setting.name], source) for source, values in known if setting.name in values]
        if setting.name in config:
            synonyms.append((_text(setting.of(config)), Source.NODE))
        synonyms.append((_text(setting.default), Source.DEFAULT))
        found.append(Entry(setting, tuple(synonyms)))
    return found


def _text(value: bool | int) -> str:
    return str(value).lower()


def check_topic_config(values: Values) -> None:
    """Raises RefusedError."""
    _check(values, "topic ")


def check_broker_config(values: Values) -> None:
    """Only what can be changed while nodes run. Raises RefusedError."""
    fixed = sorted(each.name for each in KAFKA_CONFIG if not each.dynamic and each.name in values)
    if fixed:
        raise RefusedError(ErrorCode.INVALID_REQUEST, f"Cannot update these configs dynamically: {', '.join(fixed)}")
    _check(values, "")


def _check(values: Values, of: str) -> None:
    known = {setting.name: setting for setting in DYNAMIC}
    for name, value in values.items():
        if (setting := known.get(name)) is None:
            raise RefusedError(
                ErrorCode.INVALID_CONFIG,
                f"Unknown {of}config name: {shown(name, str)}. No other than {', '.join(known)} would have an effect.",
            )
        if truth(value) is None:
            raise RefusedError(
                ErrorCode.INVALID_CONFIG, f"Invalid value {shown(value)} for configuration {name}: {setting.takes}"
            )
