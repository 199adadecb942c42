"""A network of the engine for one cluster: who is in it has a fixed address there, and it goes with its owner."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import json
import os
import secrets
import sys
from pathlib import Path
from typing import Self

from pytest_kcontroller.cluster.children.processes import session_id, start_guard
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.errors import EnvironmentFailure, StartError
from pytest_kcontroller.runtime.timeouts import within

MAKE_S = 60.0


class Network:
    """Made by `start`, removed by `stop`."""

    def __init__(self, name: str, process: asyncio.subprocess.Process, owner_pipe: int) -> None:
        self.name, self.subnet = name, ""
        self._process, self._owner_pipe = process, owner_pipe
        self._reader: asyncio.StreamReader | None = None

    @classmethod
    async def start(cls, *, log: Path) -> Self:
        """Raises StartError."""
        began = asyncio.get_running_loop().time()
        name = f"kcontroller-{session_id()}-{secrets.token_hex(4)}"
        process, write, reader = await start_guard(
            f"the network {name}",
            lambda read, status: [
                *(sys.executable, "-m", f"{__package__}.network_process"),
                *(str(read), str(status), name),
            ],
            log=log,
        )
        network = cls(name, process, write)
        network._reader = reader
        try:
            await network._made(log, began)
        except BaseException:
            await network.stop()
            raise
        return network

    async def _made(self, log: Path, began: float) -> None:
        phase, hint = "no answer", ""
        assert self._reader is not None
        with contextlib.suppress(TimeoutError):
            async with within(scaled(MAKE_S)):
                said = json.loads(await self._reader.readline() or '{"error": "its process ended", "hint": ""}')
            if "subnet" in said:
                self.subnet = said["subnet"]
                return
            phase, hint = said["error"], said["hint"]
        seconds, command = asyncio.get_running_loop().time() - began, "docker network create NAME"
        raise StartError("the cluster's network", phase=phase, seconds=seconds, log=log, command=command, hint=hint)

    def address(self, number: int) -> str:
        """The `number`-th of its addresses; the first is the engine's own."""
        return str(ipaddress.ip_network(self.subnet)[number])

    async def stop(self) -> None:
        """Removes it, once nobody is in it any more. Idempotent; goes on to the end when cancelled.

        Raises EnvironmentFailure: it could not be removed.
        """
        if self._owner_pipe < 0:
            return
        with contextlib.suppress(BrokenPipeError):  # it has just ended by itself
            os.write(self._owner_pipe, b"t")
        os.close(self._owner_pipe)
        self._owner_pipe = -1
        await asyncio.shield(asyncio.ensure_future(self._gone()))

    async def _gone(self) -> None:
        assert self._reader is not None
        said = [json.loads(line) for line in (await self._reader.read()).splitlines()]
        await self._process.wait()
        if self.subnet and said:
            what = f"the network {self.name} may be left: {said[-1]['error']}"
            raise EnvironmentFailure(what, hint="kcontroller gc removes it")
