"""pytest fixtures, plugins and chaos campaigns around a ZooKeeper-based controller like Apache Kafka's.

What is public, and stays where it is:

    pytest_kcontroller              the types of the fixtures, for annotations (`__all__` below)
    pytest_kcontroller.errors       what can be raised, and what pytest warns of
    pytest_kcontroller.hookspecs    what plugins implement
    pytest_kcontroller.seams        what mutants are made of
    pytest_kcontroller.model        the values that plugins get and give
    pytest_kcontroller.wire.messages        Kafka's requests and answers
    pytest_kcontroller.zookeeper.session    what is asked of ZooKeeper, and what it says
    pytest_kcontroller.zookeeper.znodes     the paths and the data of Kafka's znodes
    kcontroller_chaos               what faults and invariants are made of: its docstring says what of it

All else may move. Importing this package imports nothing heavy: a type is loaded when it is asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_kcontroller.fixtures.chaos import Chaos
    from pytest_kcontroller.fixtures.factory import KController
    from pytest_kcontroller.fixtures.kafka_release import KafkaRelease, KafkaReleases, ReleaseBroker
    from pytest_kcontroller.fixtures.kcluster import KCluster
    from pytest_kcontroller.fixtures.khistory import KHistory
    from pytest_kcontroller.fixtures.ksystem import KSystem
    from pytest_kcontroller.fixtures.ktoxiproxy import InvalidProxy, KProxy, KToxic, KToxiproxy, ToxicExists
    from pytest_kcontroller.fixtures.options import KcSettings
    from pytest_kcontroller.fixtures.stub_brokers import KStub, KStubBrokers, KStubs
    from pytest_kcontroller.fixtures.system_fixture import KSystems
    from pytest_kcontroller.fixtures.zk_proxy import ProxySession, ZkProxy
    from pytest_kcontroller.fixtures.zookeeper import TestZooKeeper

__version__ = "0.1.0"
__all__ = [
    "Chaos",
    "InvalidProxy",
    "KCluster",
    "KController",
    "KHistory",
    "KProxy",
    "KStub",
    "KStubBrokers",
    "KStubs",
    "KSystem",
    "KSystems",
    "KToxic",
    "KToxiproxy",
    "KafkaRelease",
    "KafkaReleases",
    "KcSettings",
    "ProxySession",
    "ReleaseBroker",
    "TestZooKeeper",
    "ToxicExists",
    "ZkProxy",
    "__version__",
]

_HOMES = {
    "Chaos": "chaos",
    "InvalidProxy": "ktoxiproxy",
    "KCluster": "kcluster",
    "KController": "factory",
    "KHistory": "khistory",
    "KProxy": "ktoxiproxy",
    "KStub": "stub_brokers",
    "KStubBrokers": "stub_brokers",
    "KStubs": "stub_brokers",
    "KSystem": "ksystem",
    "KSystems": "system_fixture",
    "KToxic": "ktoxiproxy",
    "KToxiproxy": "ktoxiproxy",
    "KafkaRelease": "kafka_release",
    "KafkaReleases": "kafka_release",
    "KcSettings": "options",
    "ProxySession": "zk_proxy",
    "ReleaseBroker": "kafka_release",
    "TestZooKeeper": "zookeeper",
    "ToxicExists": "ktoxiproxy",
    "ZkProxy": "zk_proxy",
}
"""Type -> its module in `fixtures`."""


def __getattr__(name: str) -> type:
    if (home := _HOMES.get(name)) is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: type = getattr(importlib.import_module(f"{__name__}.fixtures.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
