"""The settings of Kafka's brokers that nodes know, by Kafka's names. What is not here would have no effect, and nobody
would be told: it is an error before anything starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """`default` has the type of the value: true or false, or milliseconds above 0."""

    name: str
    default: bool | int
    help: str

    @property
    def said(self) -> str:
        return "true or false" if isinstance(self.default, bool) else "a whole number of milliseconds above 0"

    def takes(self, value: object) -> bool:
        return type(value) is type(self.default) and (isinstance(value, bool) or (isinstance(value, int) and value > 0))


KAFKA_CONFIG = (
    ConfigKey(
        "unclean.leader.election.enable", False, "a replica that is not in sync may lead if no other one is alive"
    ),
    ConfigKey("controller.socket.timeout.ms", 30_000, "how long the controller waits for the answer of a broker"),
    ConfigKey("zookeeper.connection.timeout.ms", 18_000, "how long a node waits for its first session"),
)
"""Kafka's defaults (kafka.server.KafkaConfig)."""


def wrong(config: Mapping[str, Any]) -> tuple[str, str] | None:
    """The first key that is not known or has a value of the wrong kind, and what is wrong with it; None: all is well."""
    known = {key.name: key for key in KAFKA_CONFIG}
    for name, value in config.items():
        if name not in known:
            quotes = ": a name with dots stands in quotes" if isinstance(value, Mapping) else ""
            return str(name), f"nodes do not know Kafka's setting {str(name)!r}{quotes}"
        if not known[name].takes(value):
            return name, f"{name} = {value!r} is not {known[name].said}"
    return None
