"""`python -m pytest_kcontroller.cluster.toxiproxy [--host H] [--port P] [--seed N] [--strict]`: prints one JSON line when
ready."""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys

from aiohttp import web

from pytest_kcontroller.cluster.toxiproxy.api import Api


async def serve(host: str, port: int, seed: int, *, strict: bool) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    runner = web.AppRunner(Api(seed, strict=strict).application(), access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, host, port)
    await site.start()
    bound = runner.addresses[0]
    print(json.dumps({"ready": True, "address": f"{bound[0]}:{bound[1]}"}), flush=True)
    await stop.wait()
    await runner.cleanup()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m pytest_kcontroller.cluster.toxiproxy", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8474)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--strict", action="store_true", help="like the real server also where that is no good")
    args = parser.parse_args()
    try:
        asyncio.run(serve(args.host, args.port, args.seed, strict=args.strict))
    except OSError as taken:
        print(f"cannot listen on {args.host}:{args.port}: {taken.strerror or taken}", file=sys.stderr)
        return 6
    return 0


if __name__ == "__main__":
    sys.exit(main())
