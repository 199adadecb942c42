"""How fast virtual time runs: the same two programs on our scheduler, on detangle's loop, and on plain asyncio.

    python benchmarks/scheduler.py [--rounds 20000] [--repeat 7] [--json]

`streams`: two processes; 64 bytes go to the other one and come back, over one connection. The simulated networks delay
each write by 50 to 500 us; asyncio's is the loopback interface, as fast as it is.
`timers`: two tasks of one process hand a number to each other through queues, and sleep 50 to 500 us before each time.

Both programs are written once, on this project's ports; detangle and asyncio run the transport that real nodes have.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import platform
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from unittest import mock

import detangle

from pytest_kcontroller.model.cluster import Address
from pytest_kcontroller.runtime.ports import Stream, Transport
from pytest_kcontroller.runtime.real import SocketTransport
from pytest_kcontroller.runtime.rng import NamedRng
from pytest_kcontroller.runtime.scheduler import Scheduler
from pytest_kcontroller.sim.link import LEAST_US, MOST_US
from pytest_kcontroller.sim.network import SimNetwork

MESSAGE = b"x" * 64
SERVER = Address("127.0.0.1", 0)
ASYNCIO_ROUNDS = 500
"""At most so many where asyncio really sleeps."""
SEED = 1


# --- the programs -----------------------------------------------------------------------------------------------------


async def pong(stream: Stream) -> None:
    while True:
        stream.write(await stream.read_exactly(len(MESSAGE)))
        await stream.drain()


async def ping(transport: Transport, address: Address, rounds: int) -> None:
    stream = await transport.connect(address)
    for _ in range(rounds):
        stream.write(MESSAGE)
        await stream.drain()
        await stream.read_exactly(len(MESSAGE))
    stream.close()


async def timers(rounds: int) -> None:
    there: asyncio.Queue[int] = asyncio.Queue()
    back: asyncio.Queue[int] = asyncio.Queue()
    drawn = NamedRng(SEED).stream("sleeps")

    async def side(hears: asyncio.Queue[int], says: asyncio.Queue[int]) -> None:
        for _ in range(rounds):
            number = await hears.get()
            await asyncio.sleep(drawn.randint(LEAST_US, MOST_US) / 1e6)
            says.put_nowait(number + 1)

    back.put_nowait(0)
    await asyncio.gather(side(back, there), side(there, back))


async def both_ends(rounds: int) -> None:
    """`streams` where all processes share a loop."""
    transport, served = SocketTransport(), asyncio.Event()

    async def serve(stream: Stream) -> None:
        try:
            await pong(stream)
        finally:
            served.set()

    listening = await transport.listen(SERVER, serve)
    await ping(transport, listening.address, rounds)
    await served.wait()
    await listening.close()


# --- where they run ---------------------------------------------------------------------------------------------------

Work = tuple[int, int]
"""Simulated microseconds and callbacks of one run; 0: not known here."""


def ours(program: str, rounds: int) -> Work:
    with Scheduler() as world:
        network = SimNetwork(world, NamedRng(SEED))
        left, right = world.process("left"), world.process("right")
        if program == "timers":
            world.run_until_complete(left.create_task(timers(rounds)))
        else:
            listening = world.run_until_complete(right.create_task(network.transport(right).listen(SERVER, pong)))
            world.run_until_complete(left.create_task(ping(network.transport(left), listening.address, rounds)))
        return world.now_us, world.ran


def peer(program: str, rounds: int) -> Work:
    """detangle in asyncio's own order (it explores others), with our delays and without its limit of steps."""
    latency = detangle.NetConfig(latency=(LEAST_US / 1e6, MOST_US / 1e6), latency_steps=MOST_US - LEAST_US + 1)
    config = detangle.SimConfig(reorder=False, max_steps=10**9, net=latency)
    loop = detangle.SimLoop(config, detangle.RandomWalk(SEED))
    loop.run_until_complete(timers(rounds) if program == "timers" else both_ends(rounds))
    work = round(loop.time() * 1e6), loop.steps
    loop.abandon()
    loop.close()
    return work


def plain(program: str, rounds: int) -> Work:
    asyncio.run(timers(rounds) if program == "timers" else both_ends(rounds))
    return 0, 0


OURS = "pytest-kcontroller"
LOOPS: dict[str, Callable[[str, int], Work]] = {
    OURS: ours,
    f"detangle {version('detangle')}": peer,
    "asyncio": plain,
}


def callbacks_of_asyncio(program: str, rounds: int) -> int:
    """Counted in a run that is not timed."""
    ran, run = 0, asyncio.Handle._run

    def counting(handle: asyncio.Handle) -> None:
        nonlocal ran
        ran += 1
        run(handle)

    with mock.patch.object(asyncio.Handle, "_run", counting):
        plain(program, rounds)
    return ran


# --- measuring --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Result:
    program: str
    loop: str
    rounds: int
    wall_s: float
    """Of the fastest repetition: what is slower was disturbed by something else on the machine."""
    spread: float
    """(slowest - fastest) / fastest."""
    virtual_per_wall: float
    rounds_per_s: float
    callbacks_per_round: float
    callbacks_per_s: float
    ours_is_faster: float
    """Rounds per second on our scheduler by those on this loop."""


def measure(program: str, rounds: int, repeat: int) -> list[Result]:
    """The loops take turns, so that whatever else the machine does strikes all of them."""
    walls: dict[str, list[float]] = {loop: [] for loop in LOOPS}
    works: dict[str, Work] = {}
    rounds_of = {loop: min(rounds, ASYNCIO_ROUNDS) if loop == "asyncio" else rounds for loop in LOOPS}
    for _ in range(repeat):
        for loop, run in LOOPS.items():
            gc.collect()
            began = time.perf_counter()  # noqa: TID251 - what is measured is real time
            works[loop] = run(program, rounds_of[loop])
            walls[loop].append(time.perf_counter() - began)  # noqa: TID251
    works["asyncio"] = 0, callbacks_of_asyncio(program, rounds_of["asyncio"])
    our_rate = rounds / min(walls[OURS])
    results = []
    for loop, (virtual_us, callbacks) in works.items():
        wall_s, count = min(walls[loop]), rounds_of[loop]
        results.append(
            Result(
                program=program,
                loop=loop,
                rounds=count,
                wall_s=wall_s,
                spread=max(walls[loop]) / wall_s - 1,
                virtual_per_wall=virtual_us / 1e6 / wall_s if virtual_us else 1.0,
                rounds_per_s=count / wall_s,
                callbacks_per_round=callbacks / count,
                callbacks_per_s=callbacks / wall_s,
                ours_is_faster=our_rate * wall_s / count,
            )
        )
    return results


COLUMNS = {
    "program": "{:<8}",
    "loop": "{:<20}",
    "rounds": "{:>7}",
    "wall_s": "{:>7.3f}",
    "spread": "{:>7.0%}",
    "virtual_per_wall": "{:>17.1f}",
    "rounds_per_s": "{:>13,.0f}",
    "callbacks_per_round": "{:>20.1f}",
    "callbacks_per_s": "{:>16,.0f}",
    "ours_is_faster": "{:>15.2f}",
}


def table(results: list[Result]) -> str:
    widths = [len(form.format(0 if ">" in form else "")) for form in COLUMNS.values()]
    head = [
        f"{name:>{width}}" if ">" in form else f"{name:<{width}}"
        for (name, form), width in zip(COLUMNS.items(), widths, strict=True)
    ]
    rows = [[form.format(getattr(result, name)) for name, form in COLUMNS.items()] for result in results]
    return "\n".join("  ".join(cells).rstrip() for cells in (head, *rows))


def main() -> None:
    parser = argparse.ArgumentParser(description="virtual time: our scheduler, detangle's loop, plain asyncio")
    parser.add_argument("--rounds", type=int, default=20_000)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--json", action="store_true", help="one object instead of the table")
    arguments = parser.parse_args()
    results = [row for program in ("streams", "timers") for row in measure(program, arguments.rounds, arguments.repeat)]
    where = {"python": platform.python_version(), "machine": platform.machine(), "system": platform.system()}
    if arguments.json:
        print(json.dumps({**where, "results": [asdict(result) for result in results]}, indent=1))
    else:
        print(f"Python {where['python']}, {where['system']} {where['machine']}; fastest of {arguments.repeat}\n")
        print(table(results))


if __name__ == "__main__":
    main()
