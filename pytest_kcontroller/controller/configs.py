"""What is configured in ZooKeeper, and is of interest to a controller: whether a leader may be out of sync.

A topic's configuration is read anew whenever it is asked for; the broker's own, which stands for topics without one, when
the term begins and when a notification tells that it has changed. Where nothing is configured, the node's settings count.

Sources: kafka.zk.KafkaZkClient.getLogConfigs, kafka.server.DynamicBrokerConfig, kafka.server.ZkConfigManager (3.9).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pytest_kcontroller.model.history import ControllerEventFailed, Record
from pytest_kcontroller.model.kafka_config import UNCLEAN_LEADER_ELECTION
from pytest_kcontroller.zookeeper.config_znodes import (
    BROKER_CONFIGS,
    CONFIG_CHANGES,
    DEFAULT,
    TOPIC_CONFIGS,
    config_path,
    decode_config,
    decode_config_change,
    truth,
)
from pytest_kcontroller.zookeeper.session import Node
from pytest_kcontroller.zookeeper.store import Store
from pytest_kcontroller.zookeeper.znodes import CorruptZnodeError

OBSOLETE_MS = 15 * 60 * 1000
"""So old a notification has been read by everybody."""


@dataclass(frozen=True, slots=True)
class Changes:
    """(kind, name) of what has been configured, in order; and the paths of notifications that nobody needs any more."""

    changed: list[tuple[str, str]]
    obsolete: list[str]


class Configs:
    """Of one term of `node`. `unclean` is the node's own setting of unclean.leader.election.enable."""

    def __init__(self, store: Store, node: int, record: Record, *, unclean: bool) -> None:
        self._store, self._record = store, record
        self._setting = self._default = unclean
        self._of_broker = [config_path(BROKER_CONFIGS, name) for name in (str(node), DEFAULT)]
        """The first that says something counts."""
        self._seen = ""
        """The last notification that was read; their names sort by their numbers."""

    # --- topics

    async def unclean(self, topics: Iterable[str]) -> dict[str, bool]:
        """Whether an unclean election is allowed; topics whose configuration cannot be understood are left out."""
        paths = {name: config_path(TOPIC_CONFIGS, name) for name in topics}
        allowed: dict[str, bool] = {}
        for name, node in zip(paths, await self._store.get_many(list(paths.values())), strict=True):
            try:
                value = _unclean(node, paths[name])
                allowed[name] = self._default if value is None else value
            except CorruptZnodeError as bad:
                self._corrupt(bad)
        return allowed

    async def unclean_of(self, topic: str) -> bool | None:
        """What the topic itself says of it; None: nothing that can be understood."""
        path = config_path(TOPIC_CONFIGS, topic)
        try:
            return _unclean(await self._store.get(path), path)
        except CorruptZnodeError as bad:
            self._corrupt(bad)
            return None

    # --- the broker

    async def load_default(self) -> bool:
        """Reads what the broker has for topics without a configuration of their own; True: it has been switched on."""
        before, self._default = self._default, self._setting
        nodes = await self._store.get_many(self._of_broker)
        for path, node in reversed(list(zip(self._of_broker, nodes, strict=True))):
            try:
                if (value := _unclean(node, path)) is not None:
                    self._default = value
            except CorruptZnodeError as bad:
                self._corrupt(bad)
        return self._default and not before

    def concerns_default(self, kind: str, name: str) -> bool:
        return config_path(kind, name) in self._of_broker

    # --- notifications

    async def skip_changes(self) -> None:
        """Watches for notifications; those that are there already have been read with what they tell of."""
        self._seen = max(await self._names(), default=self._seen)

    async def changes(self, now_ms: int) -> Changes:
        """What has changed since; the next change is watched. `now_ms`: on ZooKeeper's clock, since 1970."""
        names = await self._names()
        paths = [f"{CONFIG_CHANGES}/{name}" for name in names]
        nodes = dict(zip(paths, await self._store.get_many(paths), strict=True))
        changed: list[tuple[str, str]] = []
        for name, (path, node) in zip(names, nodes.items(), strict=True):
            try:
                if node is not None and name > self._seen:
                    changed.append(decode_config_change(node.data, path))
            except CorruptZnodeError as bad:
                self._corrupt(bad)
        self._seen = max(names, default=self._seen)
        old = [path for path, node in nodes.items() if node is not None and now_ms - node.stat.ctime_ms > OBSOLETE_MS]
        return Changes(changed, old)

    async def _names(self) -> list[str]:
        """Sorted, and so in the order in which they were made."""
        children = await self._store.children(CONFIG_CHANGES, watch=True)
        return sorted(children.names) if children else []

    def _corrupt(self, bad: CorruptZnodeError) -> None:
        self._record(ControllerEventFailed(event="read configuration", error=str(bad)))


def _unclean(node: Node | None, path: str) -> bool | None:
    """What a configuration says of unclean elections; None: nothing. Raises CorruptZnodeError."""
    values: Mapping[str, str] = {} if node is None else decode_config(node.data, path)
    if node is None or (text := values.get(UNCLEAN_LEADER_ELECTION.name)) is None:
        return None
    if (value := truth(text)) is None:
        what = f"{UNCLEAN_LEADER_ELECTION.name} is {text!r}, which is not true or false"
        raise CorruptZnodeError(path, node.data, what)
    return value
