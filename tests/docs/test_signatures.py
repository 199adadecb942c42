"""What a page's tables say that a fixture is called with, it takes: by these names, by place or by name alone."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from inspect import Parameter

import pytest
from pages import ROOT

from pytest_kcontroller.fixtures.kafka_release import KafkaRelease, ReleaseBroker
from pytest_kcontroller.fixtures.kcluster import KCluster
from pytest_kcontroller.fixtures.ksystem import KSystem
from pytest_kcontroller.fixtures.net import Net
from pytest_kcontroller.fixtures.stub_brokers import KStub, KStubs
from pytest_kcontroller.fixtures.zk_proxy import ZkProxy
from pytest_kcontroller.fixtures.zookeeper import TestZooKeeper

CALLED = {
    "fixtures": (KCluster, Net, TestZooKeeper),
    "kafka-releases": (KafkaRelease, ReleaseBroker),
    "stub-brokers": (KStub, KStubs),
    "your-service": (KSystem, Net),
    "zk-proxy": (ZkProxy,),
}
BY_PLACE = Parameter.POSITIONAL_OR_KEYWORD


def signatures(page: str) -> Iterator[tuple[str, str, inspect.Signature]]:
    """As written, the name, and what Python reads; an example of a call (`net.cut(0, 1)`) is none."""
    rows = re.findall(r"^\| (`.*?`) \|", (ROOT / f"docs/{page}.md").read_text(), re.MULTILINE)
    for row in rows:
        for written, name, arguments in re.findall(r"`((?:net\.|stubs\.)?(\w+)\((.*?)\))`", row):
            try:
                yield written, name, inspect.signature(eval(f"lambda self, {arguments}: None"))
            except SyntaxError:
                continue


def agree(said: inspect.Signature, member: object) -> bool:
    """Whether all that is said is so, and nothing is left out without which it cannot be called."""
    assert callable(member)
    takes = inspect.signature(member).parameters
    by_place = [name for name, one in said.parameters.items() if one.kind is BY_PLACE]
    return (
        by_place == list(takes)[: len(by_place)]
        and all(
            (real := takes.get(name)) is not None and real.kind is one.kind and one.default in (one.empty, real.default)
            for name, one in said.parameters.items()
        )
        and all(
            name in said.parameters
            for name, real in takes.items()
            if real.kind is BY_PLACE and real.default is real.empty
        )
    )


@pytest.mark.parametrize("page", CALLED)
def test_the_tables_say_how_it_is_called(page: str) -> None:
    found = [
        (written, said, [member for kind in CALLED[page] if (member := getattr(kind, name, None)) is not None])
        for written, name, said in signatures(page)
    ]
    assert len(found) >= 5
    assert [written for written, said, members in found if not any(agree(said, member) for member in members)] == []
