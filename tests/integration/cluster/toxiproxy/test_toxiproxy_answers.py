"""Answers to the same requests: recorded ones of the real server, and random ones on both servers side by side."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.tools.toxiproxy_requests import BROKEN, LISTEN, RECORDED, SEQUENCES, VALUES, Request, play
from tests.tools.toxiproxy_servers import REAL, Server, embedded, real

ANSWERS = json.loads(RECORDED.read_text())


@pytest.mark.parametrize("name", SEQUENCES)
def test_answers_are_those_of_the_real_server(server: Server, name: str) -> None:
    requests = SEQUENCES[name]
    for request, answer, recorded in zip(requests, play(server, requests), ANSWERS[name], strict=True):
        assert (request, ordered(answer)) == (request, ordered(recorded))


def ordered(answer: object) -> str:
    """Some clients show fields in the order in which they come."""
    return json.dumps(answer)


names = st.sampled_from(["p", "q"])
odd = st.sampled_from(VALUES)
listens = st.sampled_from([*LISTEN, "<p>", "localhost:<p:port>", "<q>"])
flags = st.sampled_from([True, False, None])
toxic_names = st.sampled_from(["t", "u", "", None])
attributes = st.dictionaries(
    st.sampled_from(["latency", "jitter", "RATE", "timeout", "bytes"]), odd | st.integers(-9, 9)
)


def usually(good: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.integers(0, 9).flatmap(lambda number: odd if number == 0 else good)


proxies = st.fixed_dictionaries(
    {"name": usually(names), "upstream": usually(st.sampled_from(["127.0.0.1:1", "x:2"]))},
    optional={"listen": usually(listens), "enabled": usually(flags), "toxics": odd},
)
proxy_changes = st.fixed_dictionaries(
    {}, optional={"listen": usually(listens), "enabled": usually(flags), "upstream": odd, "name": names}
)
toxics = st.fixed_dictionaries(
    {"type": usually(st.sampled_from(["latency", "bandwidth", "timeout", "limit_data", "noop", "reset_peer"]))},
    optional={
        "name": usually(toxic_names),
        "stream": usually(st.sampled_from(["upstream", "downstream", "UpStream"])),
        "toxicity": usually(st.floats(-1, 2) | st.integers(0, 1)),
        "attributes": usually(attributes),
    },
)
toxic_changes = st.fixed_dictionaries({}, optional={"toxicity": usually(st.floats(0, 1)), "name": odd})
nothing, broken = st.none(), st.sampled_from(BROKEN)
requests = st.one_of(
    st.tuples(st.just("POST"), st.just("/proxies"), proxies | proxies | broken),
    st.tuples(st.just("POST"), st.just("/populate"), st.lists(proxies, max_size=3) | broken),
    st.tuples(st.just("POST"), st.just("/reset"), nothing),
    st.tuples(st.sampled_from(["POST", "PATCH"]), names.map("/proxies/{}".format), proxy_changes | broken),
    st.tuples(st.sampled_from(["GET", "DELETE", "HEAD"]), names.map("/proxies/{}".format), nothing),
    st.tuples(st.sampled_from(["POST", "POST", "GET"]), names.map("/proxies/{}/toxics".format), toxics),
    st.tuples(
        st.sampled_from(["POST", "PATCH", "GET", "DELETE", "PUT"]),
        names.map("/proxies/{}/toxics/t".format),
        toxic_changes,
    ),
)


@pytest.fixture(scope="module")
def both() -> Iterator[tuple[Server, Server]]:
    with embedded() as ours, real() as theirs:
        yield ours, theirs


@pytest.mark.skipif(not REAL, reason="no real toxiproxy server")
@settings(max_examples=100, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.lists(requests, min_size=2, max_size=12))
def test_random_requests_are_answered_alike(both: tuple[Server, Server], sequence: list[Request]) -> None:
    sequence = [*sequence, ("GET", "/proxies", None)]
    ours, theirs = (play(server, sequence) for server in both)
    for request, our, their in zip(sequence, ours, theirs, strict=True):
        assert (request, ordered(our)) == (request, ordered(their))
