"""Connect strings: what ZooKeeper's own clients take, and nothing else."""

from __future__ import annotations

import pytest

from pytest_kcontroller.zookeeper.connect_string import ConnectString


@pytest.mark.parametrize(
    ("text", "hosts", "chroot", "prefixes"),
    [
        ("a:1", "a:1", "", []),
        ("a:1/", "a:1", "", []),
        ("a:1,[::1]:2/kc", "a:1,[::1]:2", "/kc", ["/kc"]),
        ("a:1/a:9/ü", "a:1", "/a:9/ü", ["/a:9", "/a:9/ü"]),
    ],
)
def test_servers_and_chroot(text: str, hosts: str, chroot: str, prefixes: list[str]) -> None:
    found = ConnectString.parse(text)
    assert (found.hosts, found.chroot, found.prefixes) == (hosts, chroot, prefixes)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a/kc", "'a' is not HOST:PORT"),
        ("a:1,/kc", "'' is not HOST:PORT"),
        ("a:1/kc/", "the path '/kc/' has no znode ''"),
        ("a:1//kc", "has no znode ''"),
        ("a:1/x/../y", r"has no znode '\.\.'"),
        ("a:1/.", r"has no znode '\.'"),
        ("a:1/x\x1b", "has no znode"),
        ("a:1/zookeeper/quota", "/zookeeper is the server's own"),
    ],
)
def test_what_is_none_says_why(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        ConnectString.parse(text)
