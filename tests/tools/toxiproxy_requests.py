"""Requests to a toxiproxy server, and what of its answers must be equal on all servers.

`python -m tests.tools.toxiproxy_requests` records what the real server (KCONTROLLER_TOXIPROXY_SERVER: its binary) answers
to SEQUENCES in tests/data/toxiproxy_answers.json.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pytest_kcontroller.cluster.timing import scaled
from tests.tools.toxiproxy_servers import Server, real

RECORDED = Path(__file__).parents[1] / "data" / "toxiproxy_answers.json"
HEADERS = ("Content-Type", "X-Content-Type-Options")
REQUEST_ID = "X-Toxiproxy-Request-Id"

Request = tuple[str, str, object]
"""Method, path, body: None is none, a str is sent as it is, everything else as JSON. `<p>` in a body is where proxy p
listens, `<p:port>` its port."""

VALUES = (None, 7, -1, 1.5, 1e40, 0.123456789, "", "x", True, [], [1], {}, {"a": 1}, {"latency": "x"})
BROKEN = (
    "", "  ", "{", "{]", "{,}", '{"name":"q"', '{"name" 1}', '{"name":"\x01"}', r'{"name":"\q"}', '{"name":"', '{"a":1 "b"}',
    "[1,", "[1 2]", "nul", '{"a":.5}', '{"a":NaN}', '{"a":Infinity}', "null", "[]", "[null]", "[7]", "7", '"x"',
)  # fmt: skip
LISTEN = (
    "127.0.0.1:0", "localhost:0", "LOCALHOST:0", "[localhost]:0", ":0", "0.0.0.0:0", "[::]:0", "[::1]:0", "", "127.0.0.1:",
    "[0:0:0:0:0:0:0:1]:0", "[::ffff:127.0.0.1]:0", "[127.0.0.1]:0", "[::1%lo]:0", "127.0.0.1:+0", "nonsense", "127.0.0.1",
    "::1:0", "[::1:0", "[::1]", "[::1]x:0", "[::1]:x:0", "a]b:0", "a[b:0", "[a[b]:0", "127.0.0.1:99999", "127.0.0.1:-1",
    "127.0.0.1:foo", "127.0.0.1:8 0", "127.0.0.1:0x50", "127.1:0", "1.2.3.256:0", '"":0', "10.255.3.4:0",
)  # fmt: skip
P = {"name": "p", "listen": "127.0.0.1:0", "upstream": "127.0.0.1:1"}
PROXY: Request = ("POST", "/proxies", P)
TOXICS = "/proxies/p/toxics"
LATENCY: Request = ("POST", TOXICS, {"type": "latency", "name": "l", "attributes": {"latency": 3, "jitter": 1}})
ALL: Request = ("GET", "/proxies", None)


def _fields() -> Iterator[tuple[str, list[Request]]]:
    """Every value in every field of every body."""
    proxy_fields = ("name", "listen", "upstream", "enabled", "toxics", "unknown", "NAME")
    toxic_fields = ("name", "type", "stream", "toxicity", "attributes", "unknown")
    for field in proxy_fields:
        entries = [P | {"name": "q", field: value} for value in VALUES]
        yield f"create {field}", [step for entry in entries for step in _made("POST", "/proxies", entry)]
        yield f"populate {field}", [step for entry in entries for step in _made("POST", "/populate", [entry])]
        yield f"update {field}", [PROXY, *(("POST", "/proxies/p", {field: value}) for value in VALUES), ALL]
    for field in toxic_fields:
        toxics = [{"type": "latency", "name": "t", field: value} for value in VALUES]
        added = [step for toxic in toxics for step in _made("POST", TOXICS, toxic, drop=f"{TOXICS}/t")]
        yield f"add toxic {field}", [PROXY, *added, ALL]
        # After an attribute that is wrong the real server keeps those before it.
        changes: list[Request] = [("PATCH", f"{TOXICS}/l", {field: value}) for value in VALUES]
        yield f"update toxic {field}", [PROXY, LATENCY, *changes, ALL]
    kinds = {
        "latency": "jitter",
        "bandwidth": "rate",
        "slow_close": "delay",
        "timeout": "timeout",
        "limit_data": "bytes",
    }
    for kind, attribute in (kinds | {"reset_peer": "timeout"}).items():
        toxics = [
            {"type": kind, "name": "t", "attributes": {attribute: value}} for value in (*VALUES, 2**63 - 1, 2**63)
        ]
        yield (
            f"attribute {kind}",
            [PROXY] + [step for toxic in toxics for step in _made("POST", TOXICS, toxic, drop=f"{TOXICS}/t")],
        )
    slicers = [
        {"average_size": 10, attribute: value} for attribute in ("size_variation", "delay") for value in VALUES[:8]
    ]
    yield (
        "attribute slicer",
        [PROXY]
        + [
            step
            for each in slicers
            for step in _made("POST", TOXICS, {"type": "slicer", "name": "t", "attributes": each}, drop=f"{TOXICS}/t")
        ],
    )


def _made(method: str, path: str, body: object, *, drop: str = "/proxies/q") -> list[Request]:
    return [(method, path, body), ("DELETE", drop, None)]


def _listens() -> Iterator[tuple[str, list[Request]]]:
    """Every form of an address: when a proxy is made, when it is made without listening, and when it moves."""
    for listen in LISTEN:
        wanted = P | {"listen": listen}
        yield f"listen {listen}", [
            ("POST", "/proxies", wanted), ("DELETE", "/proxies/p", None),
            ("POST", "/proxies", wanted | {"enabled": False}), ("PATCH", "/proxies/p", {"upstream": "other:1"}),
            ("PATCH", "/proxies/p", {"enabled": True}), ("DELETE", "/proxies/p", None),
            PROXY, LATENCY, ("PATCH", "/proxies/p", {"listen": listen}), ALL,
            ("POST", "/populate", [wanted]), ALL,
        ]  # fmt: skip


def _others() -> Iterator[tuple[str, list[Request]]]:
    for path in ("/proxies", "/populate", "/proxies/p", TOXICS, f"{TOXICS}/l"):
        yield f"broken {path}", [PROXY, LATENCY, *(("POST", path, body) for body in BROKEN), ALL]
    yield (
        "trailing text",
        [("POST", "/proxies", json.dumps(P) + " more"), ("PATCH", "/proxies/p", '{"enabled":false}x')],
    )
    yield "names in any case", [
        ("POST", "/proxies", {"NAME": "p", "Listen": "127.0.0.1:0", "upStream": "x:1", "ENABLED": False}),
        ("POST", TOXICS, {"Type": "latency", "Attributes": {"LATENCY": 5}, "TOXICITY": 0.5}),
        ("PATCH", f"{TOXICS}/latency_downstream", {"ATTRIBUTES": {"Jitter": 2}}), ALL,
    ]  # fmt: skip
    twice = '{"name":"p","name":"q","name":null,"upstream":"x:1","listen":"127.0.0.1:0"}'
    yield "a field twice", [("POST", "/proxies", twice), ALL]
    methods = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
    paths = ("/version", "/proxies", "/proxies/", "/populate", "/reset", "/nothing", "/proxies/p", "/proxies/p/", TOXICS,
             f"{TOXICS}/", f"{TOXICS}/l", f"{TOXICS}/l/x", "/version?a=1", "/proxies/%70", "/proxies/no/toxics")  # fmt: skip
    for path in paths:
        yield f"methods {path}", [PROXY, LATENCY, *((method, path, None) for method in methods)]
    yield "ports that are taken", [
        PROXY, ("POST", "/proxies", P | {"name": "q", "listen": "<p>"}),
        ("POST", "/proxies", P | {"name": "q", "listen": "localhost:<p:port>"}),
        ("POST", "/proxies", P | {"name": "q"}), ("PATCH", "/proxies/q", {"listen": "<p>"}), ("GET", "/proxies/q", None),
        ("POST", "/populate", [P | {"listen": "<p>"}, P | {"name": "q", "listen": "<p>"}, P | {"name": "r"}]),
        ("POST", "/proxies", P | {"name": "r", "listen": "<p>", "enabled": False}), ("POST", "/reset", None), ALL,
    ]  # fmt: skip
    yield "the same place by another name", [
        PROXY, LATENCY, ("POST", "/populate", [P | {"listen": "localhost:<p:port>"}]),
        ("PATCH", "/proxies/p", {"listen": "localhost:<p:port>"}), ("PATCH", "/proxies/p", {"listen": "<p>"}), ALL,
        ("POST", "/populate", [P | {"listen": "<p>", "enabled": False}]), ("POST", "/populate", [P | {"enabled": False}]),
    ]  # fmt: skip
    yield (
        "streams",
        [PROXY]
        + [
            ("POST", TOXICS, {"type": "noop", "stream": stream})
            for stream in ("upstream", "UPSTREAM", "DownStream", "downstream", "both", " upstream", "")
        ],
    )
    yield "which error is first", [
        PROXY, LATENCY, ("POST", TOXICS, {"type": "none", "stream": "none", "toxicity": "x"}),
        ("POST", TOXICS, {"type": "none", "stream": "none"}), ("POST", TOXICS, {"type": "none", "name": "l"}),
        ("POST", TOXICS, {"type": "latency", "name": "l", "attributes": {"latency": "x"}}),
        ("POST", "/proxies", {"upstream": ""}), ("POST", "/proxies", P | {"listen": "nonsense"}),
        ("POST", "/populate", [{"name": "q"}, {"upstream": "x"}]), ("POST", "/proxies/none", "{"), ALL,
    ]  # fmt: skip
    yield "order of toxics", [
        PROXY, *(("POST", TOXICS, {"type": "noop", "name": name, "stream": stream})
                 for name, stream in (("a", "downstream"), ("b", "upstream"), ("c", "downstream"), ("d", "Upstream"))),
        ("GET", TOXICS, None), ("DELETE", f"{TOXICS}/a", None), ("POST", "/reset", "not JSON"), ALL,
    ]  # fmt: skip


SEQUENCES: dict[str, list[Request]] = {**dict(_fields()), **dict(_listens()), **dict(_others())}


def play(server: Server, requests: Sequence[Request]) -> list[list[Any]]:
    """What is comparable of the answers: status, HEADERS, whether there is an id, and the body without what each server
    chooses itself (ports, version, Go's names of nameless types). Proxies that are left at the end are deleted."""
    ports: dict[str, str] = {}
    answers = []
    for method, path, body in requests:
        text = body if isinstance(body, str) or body is None else json.dumps(body)
        for name, port in ports.items():
            text = text and text.replace(f"<{name}>", f"127.0.0.1:{port}").replace(f"<{name}:port>", port)
        data = None if text is None else text.encode()
        answer = server.http.request(method, f"http://{server.host}:{server.port}{path}", data=data, timeout=scaled(30))
        for name, port in re.findall(r'"name":"(\w+)","listen":"[^"]*:(\d{4,5})"', answer.text):
            ports.setdefault(name, port)
        headers = [answer.headers.get(name, "") for name in HEADERS]
        answers.append([answer.status_code, *headers, REQUEST_ID in answer.headers, _comparable(answer.text)])
    for name in server.call("GET", "/proxies").json():
        server.call("DELETE", f"/proxies/{name}")
    return answers


def _comparable(text: str) -> Any:
    text = re.sub(r"(\[::1?\]|127\.0\.0\.1):\d{4,5}\b(?!: invalid)", r"\1:PORT", text)
    text = re.sub(r"into Go value of type [^,]*(struct|\[\])[^,]*\"", 'into Go value of a nameless type"', text)
    text = text.replace('"Logger":{},', "").replace("struct field .Proxy.", "struct field .")
    text = text.replace("after array element", "after object key:value pair")
    try:
        body = json.loads(text)
    except ValueError:
        return text
    return {**body, "version": "VERSION"} if isinstance(body, dict) and "version" in body else body


def main() -> None:
    with real() as server:
        lines = [
            f"{json.dumps(name)}: [\n"
            + ",\n".join(json.dumps(answer, separators=(",", ":")) for answer in play(server, requests))
            + "\n]"
            for name, requests in SEQUENCES.items()
        ]
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
