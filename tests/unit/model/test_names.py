"""Names that people give: of topics by Kafka's rule, and of servers."""

from __future__ import annotations

import pytest

from pytest_kcontroller.model.cluster import Address
from pytest_kcontroller.model.topic_names import collide, is_topic_name


@pytest.mark.parametrize("name", ["a", "A.b_c-9", "...", "x" * 249, "__consumer_offsets"])
def test_what_kafka_takes_for_a_topic(name: str) -> None:
    assert is_topic_name(name)


@pytest.mark.parametrize("name", ["", ".", "..", "x" * 250, "ü", "a b", "a/b", "a\x00", "a\n", None, 7, b"a"])
def test_what_kafka_takes_for_none(name: object) -> None:
    assert not is_topic_name(name)


def test_dots_and_underscores_are_one_in_kafkas_metrics() -> None:
    assert collide("a.b", "a_b")
    assert not collide("a.b", "a.b")
    assert not collide("a.b", "a-b")


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [("127.0.0.1:2181", "127.0.0.1", 2181), ("zk_1.local:0", "zk_1.local", 0), ("[::1]:2181", "::1", 2181)],
)
def test_an_address_is_read_and_said(text: str, host: str, port: int) -> None:
    address = Address.parse(text)
    assert (address.host, address.port, str(address)) == (host, port, text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        ":1",
        "a:",
        "a:²",
        "a:99999",
        "a:-1",
        "a: 1",
        "::1:2181",
        "http://a:1",
        "a:1,b:2",
        "a:1/b",
        "[a]:1",
        "a b:1",
    ],
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not HOST:PORT"):
        Address.parse(text)
