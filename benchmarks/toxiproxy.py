"""What the embedded toxiproxy costs, beside the real one.

    KCONTROLLER_TOXIPROXY_SERVER=PATH python benchmarks/toxiproxy.py [--json]     # without the variable: ours alone

A client and a server of this process, one proxy between them: 256 MB in one direction, without toxics and with some, and
bytes that go there and back one by one. The servers take turns; the fastest round counts. CPU seconds are the least of the
proxy itself, so that what else the machine does matters less.
"""

from __future__ import annotations

import argparse
import json
import platform
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
PINGS = 2_000
TOXICS: dict[str, dict[str, int]] = {
    "none": {},
    "noop": {},
    "latency": {"latency": 0},
    "limit_data": {"bytes": 2**60},
    "bandwidth": {"rate": 10_000_000},
    "slicer": {"average_size": 16_000, "size_variation": 1_000},
}
PACED = (1_000, 20_000, 100_000)


def main() -> None:
    parser = argparse.ArgumentParser(description="what a proxy costs")
    parser.add_argument("--json", action="store_true", help="one object instead of a table")
    args = parser.parse_args()
    with ExitStack() as stack:
        servers = {"embedded": stack.enter_context(embedded())}
        if REAL:
            servers["real"] = stack.enter_context(real())
        rows = [measured(servers, what) for what in (*TOXICS, *PACED, "ping-pong")]
    if args.json:
        print(json.dumps({"python": platform.python_version(), "rows": rows}))
        return
    print(f"Python {platform.python_version()}, {platform.system()} {platform.machine()}; fastest of {ROUNDS}\n")
    print("what                 server     best        CPU s    ours / real    per CPU second")
    for row in rows:
        for name in servers:
            best, unit = row[name]["best"], row["unit"]
            shares = ("ratio", "cpu_ratio") if name == "embedded" and "ratio" in row else ()
            print(
                f"{row['what']:<20} {name:<10} {best:>6,.0f} {unit:<4} {row[name]['cpu_s']:>6.2f}    ",
                *(f"{row[share]:>8.2f}      " for share in shares),
            )


def measured(servers: dict[str, Server], what: str | int) -> dict[str, Any]:
    """`ratio`: ours by the real one's, of throughput or of time; `cpu_ratio`: of throughput for each of its CPU seconds."""
    rounds: dict[str, list[tuple[float, float]]] = {name: [] for name in servers}
    for _ in range(ROUNDS if isinstance(what, str) else 2):
        for name, server in servers.items():
            rounds[name].append(one_round(server, what))
    is_time = what == "ping-pong" or isinstance(what, int)
    row: dict[str, Any] = {
        "what": f"1 s at {what} KB/s" if isinstance(what, int) else what,
        "unit": "us" if what == "ping-pong" else "ms" if is_time else "MB/s",
    }
    for name, found in rounds.items():
        best = (min if is_time else max)(best for best, _ in found)
        row[name] = {"best": best, "cpu_s": min(cpu_s for _, cpu_s in found)}
    if "real" in row:
        row["ratio"] = row["embedded"]["best"] / row["real"]["best"]
        row["cpu_ratio"] = row["real"]["cpu_s"] / row["embedded"]["cpu_s"]
    return row


def one_round(server: Server, what: str | int) -> tuple[float, float]:
    upstream = Upstream()
    wanted = {"name": "p", "listen": "127.0.0.1:0", "upstream": upstream.address}
    listen = server.call("POST", "/proxies", wanted).json()["listen"]
    if isinstance(what, int):
        add(server, "bandwidth", {"rate": what})
    elif what not in ("none", "ping-pong"):
        add(server, what, TOXICS[what])
    near, far = upstream.connect(listen)
    process = psutil.Process(server.process.pid)
    before = process.cpu_times()
    if what == "ping-pong":
        best = statistics.median(round_trips(near, far)) * 1e6
    elif isinstance(what, int):
        best = transfer(near, far, what * 1000) * 1000
    else:
        best = BULK / transfer(near, far, BULK) / MEGABYTE
    after = process.cpu_times()
    upstream.close()
    assert server.call("DELETE", "/proxies/p").status_code == 204
    return best, after.user + after.system - before.user - before.system


def add(server: Server, kind: str, attributes: dict[str, int]) -> None:
    toxic = {"type": kind, "stream": "upstream", "attributes": attributes}
    assert server.call("POST", "/proxies/p/toxics", toxic).status_code == 200


def transfer(near: socket.socket, far: socket.socket, size: int) -> float:
    """Seconds until all has arrived."""
    block, buffer = bytes(MEGABYTE), bytearray(MEGABYTE)

    def send() -> None:
        for _ in range(size // MEGABYTE):
            near.sendall(block)

    sender = threading.Thread(target=send)
    began = now()
    sender.start()
    left = size
    while left > 0:
        left -= far.recv_into(buffer)
    seconds = now() - began
    sender.join()
    return seconds


def round_trips(near: socket.socket, far: socket.socket) -> list[float]:
    def echo() -> None:
        for _ in range(PINGS):
            far.sendall(far.recv(1))

    echoing = threading.Thread(target=echo)
    echoing.start()
    found = []
    for _ in range(PINGS):
        began = now()
        near.sendall(b"x")
        near.recv(1)
        found.append(now() - began)
    echoing.join()
    return found


def now() -> float:
    return time.perf_counter()  # noqa: TID251 - what is measured is real time


if __name__ == "__main__":
    main()
