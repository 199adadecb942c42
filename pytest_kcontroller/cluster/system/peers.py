"""Links between the nodes of a user's program: the relays before them (peer_relay.py), and how we look at a link."""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_kcontroller.cluster.children.patience import Patience
from pytest_kcontroller.cluster.children.processes import Supervised
from pytest_kcontroller.cluster.process.session_relays import Child, Run
from pytest_kcontroller.cluster.system.peer_relay import WORD
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.errors import StartError
from pytest_kcontroller.model.cluster import Address
from pytest_kcontroller.runtime.ports import Stream
from pytest_kcontroller.runtime.real import SocketTransport

MODULE = "pytest_kcontroller.cluster.system.peer_relay"
WHAT = "the relays between nodes"
OURS = (sys.executable, "-m", MODULE)
START_S = 15.0
POLL_S = 0.02


class LookTransport(SocketTransport):
    """Connections over a link between nodes that the relay at its end answers, and not the program."""

    async def connect(self, address: Address) -> Stream:
        stream = await super().connect(address)
        stream.write(WORD)
        return stream


async def run_here(arguments: Sequence[str], log: Path) -> Child:
    return await Supervised.start(WHAT, [*OURS, *arguments], log=log, is_ours=True)


async def start_relays(ways: Mapping[str, str], *, log: Path, run: Run) -> Child:
    """`ways`: where each listens, HOST:PORT, and where its program does. `run` starts MODULE. Raises StartError."""
    arguments = [f"{listen}={target}" for listen, target in ways.items()]
    process = await run(arguments, log)
    patience, phase = Patience(scaled(START_S), process.pid), "no answer"
    try:
        while patience.left_s:
            if process.returncode is not None:
                phase = f"it ended with status {process.returncode}"
                break
            if any(line.startswith(b'{"ready"') for line in log.read_bytes().splitlines()):
                return process
            await asyncio.sleep(POLL_S)
        command = shlex.join([*OURS, *arguments])
        raise StartError(WHAT, phase=phase, seconds=patience.seconds, log=log, command=command)
    except BaseException:
        await process.kill()
        raise
