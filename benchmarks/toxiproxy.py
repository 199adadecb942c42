"""What the embedded toxiproxy costs, beside the real one.

    KCONTROLLER_TOXIPROXY_SERVER=PATH python benchmarks/toxiproxy.py [--json]     # without the variable: ours alone

A client and a server of this process, one proxy between them: 256 MB in one direction, without toxics and with some, over
one connection and over 200 at once, and bytes that go there and back, on one connection and on 200 at once, also without a
proxy (`direct`): the difference is what it adds. The servers take turns; the fastest round counts. CPU seconds are the least
of the proxy itself, so that what else the machine does matters less.
"""

from __future__ import annotations

import argparse
import json
import platform
import selectors
import socket
import statistics
import threading
import time
from contextlib import ExitStack
from typing import Any

import psutil

from tests.tools.toxiproxy_servers import REAL, Server, Upstream, embedded, real

ROUNDS = 4
MEGABYTE = 1_000_000
BULK = 256 * MEGABYTE
PINGS = 4_000
TOXICS: dict[str, dict[str, int]] = {
    "none": {},
    "noop": {},
    "latency": {"latency": 0},
    "limit_data": {"bytes": 2**60},
    "bandwidth": {"rate": 10_000_000},
    "slicer": {"average_size": 16_000, "size_variation": 1_000},
}
PACED = (1_000, 20_000, 100_000)
TICK_S = 0.01
"""The kernel counts CPU time in such steps."""
MANY = 200
"""Connections at once."""
CROWDS = ("none", "latency", "ping-pong")
"""Of these also with MANY."""


def main() -> None:
    parser = argparse.ArgumentParser(description="what a proxy costs")
    parser.add_argument("--json", action="store_true", help="one object instead of a table")
    args = parser.parse_args()
    with ExitStack() as stack:
        servers = {"embedded": stack.enter_context(embedded())}
        if REAL:
            servers["real"] = stack.enter_context(real())
        alone: tuple[str | int, ...] = (*TOXICS, *PACED, "ping-pong")
        rows = [measured(servers, what, 1) for what in alone]
        rows += [measured(servers, what, MANY) for what in CROWDS]
    if args.json:
        print(json.dumps({"python": platform.python_version(), "rows": rows}))
        return
    print(f"Python {platform.python_version()}, {platform.system()} {platform.machine()}; fastest of {ROUNDS}\n")
    print("what                 server     best        CPU s    ours / real    per CPU second")
    for row in rows:
        for name in [name for name in (*servers, "direct") if name in row]:
            best, unit = row[name]["best"], row["unit"]
            shares = ("ratio", "cpu_ratio") if name == "embedded" and "ratio" in row else ()
            print(
                f"{row['what']:<20} {name:<10} {best:>6,.0f} {unit:<4} {row[name]['cpu_s']:>6.2f}    ",
                *(f"{row[share]:>8.2f}      " for share in shares),
            )


def measured(servers: dict[str, Server], what: str | int, connections: int) -> dict[str, Any]:
    """`ratio`: ours by the real one's, of throughput or of time; `cpu_ratio`: of throughput for each of its CPU seconds."""
    rounds: dict[str, list[tuple[float, float]]] = {name: [] for name in servers}
    for _ in range(ROUNDS if isinstance(what, str) else 2):
        for name, server in servers.items():
            rounds[name].append(one_round(server, what, connections))
    if what == "ping-pong":
        rounds["direct"] = [(direct_us(connections), 0.0) for _ in range(ROUNDS)]
    is_time = what == "ping-pong" or isinstance(what, int)
    row: dict[str, Any] = {
        "what": (f"1 s at {what} KB/s" if isinstance(what, int) else what)
        + (f", {connections}" if connections > 1 else ""),
        "unit": "us" if what == "ping-pong" else "ms" if is_time else "MB/s",
    }
    for name, found in rounds.items():
        best = (min if is_time else max)(best for best, _ in found)
        row[name] = {"best": best, "cpu_s": min(cpu_s for _, cpu_s in found)}
    if "real" in row:
        row["ratio"] = row["embedded"]["best"] / row["real"]["best"]
        row["cpu_ratio"] = row["real"]["cpu_s"] / max(row["embedded"]["cpu_s"], TICK_S)
    return row


def one_round(server: Server, what: str | int, connections: int) -> tuple[float, float]:
    upstream = Upstream()
    wanted = {"name": "p", "listen": "127.0.0.1:0", "upstream": upstream.address}
    listen = server.call("POST", "/proxies", wanted).json()["listen"]
    if isinstance(what, int):
        add(server, "bandwidth", {"rate": what})
    elif what not in ("none", "ping-pong"):
        add(server, what, TOXICS[what])
    pairs = [upstream.connect(listen) for _ in range(connections)]
    process = psutil.Process(server.process.pid)
    before = process.cpu_times()
    if what == "ping-pong":
        best = statistics.median(round_trips(pairs)) * 1e6
    elif isinstance(what, int):
        best = transfer(pairs, what * 1000) * 1000
    else:
        best = BULK / transfer(pairs, BULK) / MEGABYTE
    after = process.cpu_times()
    upstream.close()
    assert server.call("DELETE", "/proxies/p").status_code == 204
    return best, after.user + after.system - before.user - before.system


def direct_us(connections: int) -> float:
    """A byte there and back without a proxy."""
    upstream = Upstream()
    found = statistics.median(round_trips([upstream.connect(upstream.address) for _ in range(connections)]))
    upstream.close()
    return found * 1e6


def add(server: Server, kind: str, attributes: dict[str, int]) -> None:
    toxic = {"type": kind, "stream": "upstream", "attributes": attributes}
    assert server.call("POST", "/proxies/p/toxics", toxic).status_code == 200


Pairs = list[tuple[socket.socket, socket.socket]]
"""The ends of connections, near and far."""


def transfer(pairs: Pairs, size: int) -> float:
    """Seconds until all has arrived, as much on each."""
    block, buffer, share = bytes(MEGABYTE), bytearray(MEGABYTE), size // len(pairs)
    left = {near: share for near, _ in pairs}

    def send() -> None:
        with selectors.DefaultSelector() as ready:
            for near in left:
                near.setblocking(False)
                ready.register(near, selectors.EVENT_WRITE)
            while ready.get_map():
                for key, _ in ready.select():
                    assert isinstance(key.fileobj, socket.socket)
                    left[key.fileobj] -= key.fileobj.send(memoryview(block)[: left[key.fileobj]])
                    if not left[key.fileobj]:
                        ready.unregister(key.fileobj)

    sender = threading.Thread(target=send)
    with selectors.DefaultSelector() as ready:
        for _, far in pairs:
            ready.register(far, selectors.EVENT_READ)
        missing = share * len(pairs)
        began = now()
        sender.start()
        while missing > 0:
            for key, _ in ready.select():
                assert isinstance(key.fileobj, socket.socket)
                missing -= key.fileobj.recv_into(buffer)
        seconds = now() - began
    sender.join()
    return seconds


def round_trips(pairs: Pairs) -> list[float]:
    """Of each byte, in seconds: one on each connection, all at once, again and again."""
    rounds = PINGS // len(pairs)

    def echo() -> None:
        with selectors.DefaultSelector() as ready:
            for _, far in pairs:
                ready.register(far, selectors.EVENT_READ)
            missing = rounds * len(pairs)
            while missing:
                for key, _ in ready.select():
                    assert isinstance(key.fileobj, socket.socket)
                    key.fileobj.sendall(key.fileobj.recv(1))
                    missing -= 1

    echoing = threading.Thread(target=echo)
    echoing.start()
    found = []
    with selectors.DefaultSelector() as ready:
        for near, _ in pairs:
            ready.register(near, selectors.EVENT_READ)
        for _ in range(rounds):
            sent = {}
            for near, _ in pairs:
                sent[near] = now()
                near.sendall(b"x")
            while sent:
                for key, _ in ready.select():
                    assert isinstance(key.fileobj, socket.socket)
                    key.fileobj.recv(1)
                    found.append(now() - sent.pop(key.fileobj))
    echoing.join()
    return found


def now() -> float:
    return time.perf_counter()  # noqa: TID251 - what is measured is real time


if __name__ == "__main__":
    main()
