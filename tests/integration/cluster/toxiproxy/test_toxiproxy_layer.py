"""toxiproxy-python without its traps (fixtures/ktoxiproxy.py), on both servers."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
import toxiproxy
from toxiproxy.exceptions import InvalidToxic, NotFound, ProxyExists

from pytest_kcontroller import InvalidProxy, KToxiproxy, ToxicExists
from pytest_kcontroller.cluster.process import toxiproxy_client
from pytest_kcontroller.cluster.process.shared_proxies import prefix
from pytest_kcontroller.errors import EnvironmentFailure
from tests.tools.toxiproxy_servers import Server, Upstream, embedded, passes

UPSTREAM = "127.0.0.1:1"


@pytest.fixture
def ours(server: Server) -> Iterator[KToxiproxy]:
    found = KToxiproxy(f"http://{server.host}:{server.port}")
    yield found
    found.close()


def test_it_is_the_client_that_people_know(ours: KToxiproxy, upstream: Upstream) -> None:
    assert isinstance(ours, toxiproxy.Toxiproxy)
    assert ours.running()
    assert ours.version().count(".") in (0, 2)  # the real one says git if it was built from source
    proxy = ours.create(upstream=upstream.address, name="p")
    assert isinstance(proxy, toxiproxy.Proxy)
    passes(*upstream.connect(proxy.listen))
    with proxy.down(), pytest.raises(ConnectionRefusedError):
        upstream.connect(proxy.listen)
    made = proxy.add_toxic(type="latency", attributes={"latency": 5})
    assert vars(made) == vars(proxy.toxics()["latency_downstream"])
    changed = proxy.update_toxic(made.name, attributes={"jitter": 1}, toxicity=0.5)
    assert (changed.attributes, changed.toxicity) == ({"latency": 5, "jitter": 1}, 0.5)
    assert proxy.get_toxic("none") is None
    assert proxy.destroy_toxic(made.name)
    assert ours.reset()
    assert ours.destroy("p")
    assert ours.get_proxy("p") is None


def test_several_servers_in_one_process(ours: KToxiproxy) -> None:
    with embedded() as other:
        theirs = KToxiproxy(f"http://{other.host}:{other.port}")
        kept = theirs.create(UPSTREAM, "theirs")
        ours.create(UPSTREAM, "ours")
        assert (set(ours.proxies()), set(theirs.proxies())) == ({"ours"}, {"theirs"})
        assert kept.enabled
        theirs.close()
        assert other.call("GET", "/proxies").json() == {}, "what a client made goes with it"


def test_errors_are_of_their_kind_and_in_the_servers_words(ours: KToxiproxy) -> None:
    proxy = ours.create(UPSTREAM, "p")
    with pytest.raises(ProxyExists, match=r"^proxy already exists \(POST http://127.0.0.1:\d+/proxies\)$"):
        ours.create(UPSTREAM, "p")
    with pytest.raises(InvalidProxy, match="missing required field: upstream"):
        ours.create("", "q")
    with pytest.raises(EnvironmentFailure, match="address already in use"):
        ours.create(UPSTREAM, "q", listen=proxy.listen)
    with pytest.raises(InvalidToxic, match="invalid toxic type"):
        proxy.add_toxic(type="nonsense")
    proxy.add_toxic(type="noop")
    with pytest.raises(ToxicExists, match="toxic already exists"):
        proxy.add_toxic(type="noop")
    proxy.destroy()
    for call in (proxy.destroy, proxy.toxics, proxy.enable, lambda: proxy.listen, lambda: proxy.destroy_toxic("noop")):
        with pytest.raises(NotFound, match="proxy not found"):
            call()


def test_a_server_that_does_not_answer_is_an_error_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toxiproxy_client, "HTTP_S", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        client = KToxiproxy(f"http://127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(EnvironmentFailure, match="no answer from toxiproxy"):
            client.proxies()
        assert not client.running()
        client.close()


def test_what_is_for_a_while_leaves_things_as_they_were(ours: KToxiproxy) -> None:
    off = ours.create(UPSTREAM, "off", enabled=False)
    with off.down():
        assert not off.enabled
    assert not off.enabled
    proxy = ours.create(UPSTREAM, "p")
    with proxy.toxic(type="latency", attributes={"latency": 1}) as toxic:
        assert set(proxy.toxics()) == {toxic.name}
    with proxy.toxic(type="latency") as toxic:
        proxy.destroy_toxic(toxic.name)
    proxy.add_toxic(type="bandwidth", attributes={"rate": 10}, toxicity=0.25, stream="upstream")
    before = ours._call("GET", "/proxies")
    with ours.restored():
        proxy.update(upstream="127.0.0.1:2")
        proxy.update_toxic("bandwidth_upstream", attributes={"rate": 20})
        proxy.add_toxic(type="noop")
        off.destroy()
        ours.create(UPSTREAM, "new").add_toxic(type="noop")
    assert ours._call("GET", "/proxies") == before


def test_what_was_there_before_is_given_back_as_it_was(ours: KToxiproxy, server: Server) -> None:
    theirs = KToxiproxy(ours.url)
    for name in ("changed", "destroyed", "replaced", "made anew", "taken away", "as it was"):
        theirs.create(UPSTREAM, name).add_toxic(type="latency", attributes={"latency": 5}, toxicity=0.5)
    theirs.create(UPSTREAM, "off", enabled=False)
    before = server.call("GET", "/proxies").json()
    there = ours.proxies()
    there["changed"].destroy_toxic("latency_downstream")
    there["changed"].update(upstream="127.0.0.1:2")
    ours.destroy("destroyed")
    ours.populate([{"name": "replaced", "upstream": "127.0.0.1:2"}, {"name": "ours", "upstream": UPSTREAM}])
    ours.destroy("made anew")
    ours.create("127.0.0.1:2", "made anew")
    there["taken away"].add_toxic(type="noop")
    theirs.destroy("taken away")
    ours.reset()
    ours.close()
    del before["taken away"]
    assert server.call("GET", "/proxies").json() == before
    theirs.close()


def test_a_reset_link_of_a_cluster_is_not_cut_again(ours: KToxiproxy, server: Server) -> None:
    """The cluster may have healed it meanwhile; only the cluster knows."""
    theirs = KToxiproxy(ours.url)
    for name in (f"{prefix(0)}0-1-control", "somebody's"):
        theirs.create(UPSTREAM, name).add_toxic(type="timeout")
    ours.reset()
    ours.close()
    toxics = {name: len(proxy["toxics"]) for name, proxy in server.call("GET", "/proxies").json().items()}
    assert toxics == {f"{prefix(0)}0-1-control": 0, "somebody's": 1}
    theirs.close()


def test_populate_is_one_request_that_gives_all_back_and_keeps_ports(ours: KToxiproxy) -> None:
    kept = ours.create(UPSTREAM, "p")
    kept.add_toxic(type="noop")
    before = kept.listen
    both = ours.populate([{"name": "p", "upstream": UPSTREAM}, {"name": "q", "upstream": UPSTREAM}])
    assert [proxy.name for proxy in both] == ["p", "q"]
    assert (both[0].listen, set(both[0].toxics())) == (before, {"noop_downstream"})
    with pytest.raises(InvalidProxy, match="missing required field: upstream at proxy 1"):
        ours.populate([{"name": "r"}])
    ours.destroy_all()
    assert ours.proxies() == {}


def test_names_may_have_any_letters(ours: KToxiproxy) -> None:
    proxy = ours.create(UPSTREAM, "a b?c=ü#1")
    proxy.add_toxic(type="noop", name="50% & more")
    assert set(proxy.toxics()) == {"50% & more"}
    assert proxy.destroy_toxic("50% & more")
    assert ours.destroy(proxy)
