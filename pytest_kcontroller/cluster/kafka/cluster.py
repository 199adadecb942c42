"""The backend `kafka`: brokers of a release of Apache Kafka in the place of nodes of ours, all else as with `process`.

Kafka's brokers know each other by what they register, and that is the same for all. So a broker registers a name, and each
JVM has a file of its own that says which address every name has: its proxy on the way to that broker. Clients have a
listener of their own, which advertises the proxy of their link.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from pytest_kcontroller.cluster.capabilities import BROKERS, CLIENTS, DISKS, PEERS, ZOOKEEPER_BYTES, ZOOKEEPERS
from pytest_kcontroller.cluster.java import find_java
from pytest_kcontroller.cluster.kafka import RELEASE_VARIABLE
from pytest_kcontroller.cluster.kafka.broker import JVM, BrokerSettings, property_text
from pytest_kcontroller.cluster.kafka.jars import KafkaPlaces, release_jars
from pytest_kcontroller.cluster.kafka.node import KafkaNode
from pytest_kcontroller.cluster.kafka.releases import check_log_dirs, check_release
from pytest_kcontroller.cluster.process.cluster import ProcessCluster
from pytest_kcontroller.cluster.process.node import SupervisedNode
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.cluster.zookeeper.embedded import TERMINATED
from pytest_kcontroller.errors import NotOnThisBackend

RELEASE = "3.9.1"
STOP_S = 30.0
"""Kafka's broker tries a controlled shutdown some times, and closes its logs."""
REFUSED = 1
"""The status of a broker that could not start: it gives up where another session has its registration."""


def chosen_release() -> str:
    """Raises UsageError."""
    version = os.environ.get(RELEASE_VARIABLE) or RELEASE
    check_release(version)
    return version


class KafkaCluster(ProcessCluster):
    """See ProcessCluster; `settings.config` are the brokers' own settings."""

    offers = (CLIENTS, ZOOKEEPERS, BROKERS, PEERS, ZOOKEEPER_BYTES, DISKS)
    by_name = True
    _jars = Path()
    _version = ""

    async def _start(self) -> None:
        for what, asked in (("leader selectors", self.settings.selectors), ("mutants", self.settings.mutant)):
            if asked:
                raise NotOnThisBackend(
                    f"Kafka's own brokers take no {what} of others: {asked}",
                    hint="leave them out, or use another backend",
                )
        self._version = chosen_release()
        check_log_dirs(self._version, self.log_dirs)
        self._jars = await release_jars(self._version, KafkaPlaces.of())
        await super()._start()

    @property
    def stop_s(self) -> float:
        return STOP_S

    @property
    def stop_statuses(self) -> tuple[int, ...]:
        return (TERMINATED,)

    @property
    def refused_statuses(self) -> tuple[int, ...]:
        return (REFUSED,)

    def _new_process(self, node: int) -> KafkaNode:
        work = self._work / f"node-{node}"
        hosts = self._write_names(node, sorted({*self.nodes_to_start, *self.nodes, node}))
        settings = BrokerSettings(
            id=node,
            version=self._version,
            java=find_java(),
            classpath=f"{self._jars}/*",
            zookeeper=",".join(map(str, self.links.to_zookeeper(node))),
            directory=work,
            config=self._config_of(node),
            log_dirs=self.log_dirs,
            jvm=(*JVM, f"-Djdk.net.hosts.file={hosts}"),
        )
        return KafkaNode(settings, self.directory, self._exited)

    def _write_names(self, node: int, others: Iterable[int]) -> Path:
        """What a broker resolves names by; it looks there each time."""
        ways = {other: self.links.address(str(node), str(other), "control") for other in others}
        hosts = self._work / f"node-{node}" / "hosts"
        hosts.parent.mkdir(parents=True, exist_ok=True)
        lines = ["127.0.0.1 localhost", *(f"{way.host} {name_of(other)}" for other, way in ways.items())]
        hosts.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return hosts

    async def _introduce(self, node: int) -> None:
        for other in self.nodes:
            self._write_names(other, (*self.nodes, node))

    def _config_of(self, node: int) -> dict[str, str]:
        listen, for_clients = self.links.listen(node), self.links.listen(node, "client")
        port = listen.rpartition(":")[2]
        ours = {
            "zookeeper.session.timeout.ms": str(self.settings.session_timeout_ms),
            "listeners": f"PLAINTEXT://{listen},CLIENT://{for_clients}",
            "advertised.listeners": f"PLAINTEXT://{name_of(node)}:{port},CLIENT://{self.client_address(node)}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CLIENT:PLAINTEXT",
            "inter.broker.listener.name": "PLAINTEXT",
        }
        return ours | {key: property_text(value) for key, value in self.settings.config.items()}

    async def unready(self, node: int) -> str | None:
        return await super().unready(node) or started(self.process(node))

    async def restart(self, node: int) -> None:
        """A broker gives up where it finds the registration of its predecessor, so that is waited for first."""

        async def gone() -> str | None:
            return f"session {owner:#x} has its registration" if (owner := await self.broker_owner(node)) else None

        if not self.process(node).alive:
            limit_s = scaled(2 * self.session_timeout_ms / 1000 + STOP_S)
            await self.wait_until(f"node {node} of before is not registered any more", gone, timeout_s=limit_s)
        await super().restart(node)


def started(node: SupervisedNode) -> str | None:
    """Why it is not ready, though it is registered; each start has a log of its own."""
    return None if BrokerSettings.has_started(node.log, 0) else "it is registered, and still starts"


def name_of(node: int) -> str:
    """What other brokers know it by."""
    return f"kafka-{node}"
