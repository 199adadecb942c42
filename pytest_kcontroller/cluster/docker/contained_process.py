"""A container where a process is expected: what is asked of children/processes.Supervised."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import Self

from pytest_kcontroller.cluster.docker.containers import Contained, ContainerSpec
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.errors import StartError
from pytest_kcontroller.runtime.timeouts import within

START_S = 600.0
"""Its image may have to be pulled."""
KILLED_BY = 128
"""A status above it is a signal's number, as shells say it."""


class ContainedProcess:
    """Made by `start`. `pid` is its first process, as this machine sees it; None: it never ran."""

    def __init__(self, contained: Contained) -> None:
        self._contained = contained

    @classmethod
    async def start(
        cls, what: str, spec: ContainerSpec, *, log: Path, output: Path | None = None, by_hand: str | None = None
    ) -> Self:
        """Returns when it runs, or has ended already. `by_hand`: what is said of how a person starts it, instead of the
        spec's. Raises StartError: the engine refuses."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        contained = await Contained.start(spec, log=log, output=output)
        try:
            try:
                async with within(scaled(START_S)):
                    await contained.wait_running()
            except TimeoutError:
                phase, hint = f"too long: {contained.phase}", ""
            else:
                if contained.error is None:
                    return cls(contained)
                phase, hint = contained.error
            seconds = loop.time() - began
            by_hand = spec.by_hand if by_hand is None else by_hand
            raise StartError(what, phase=phase, seconds=seconds, log=log, command=by_hand, hint=hint)
        except BaseException:
            await contained.stop()
            raise

    @property
    def contained(self) -> Contained:
        return self._contained

    @property
    def name(self) -> str:
        return self._contained.name

    @property
    def pid(self) -> int | None:
        return self._contained.pid

    @property
    def returncode(self) -> int | None:
        """None while it runs; negative: the signal that ended it."""
        if (status := self._contained.returncode) is None:
            return None if self._contained.error is None else 1
        return status if status <= KILLED_BY else KILLED_BY - status

    async def wait(self) -> int:
        """Its status, once it has ended; the container may still be there."""
        await self._contained.wait_ended()
        return self.returncode or 0

    async def stop(self, grace_s: float = 0) -> int:
        """Ends it, if it has not ended, and returns when the container is gone: the engine has a grace of its own.
        Idempotent."""
        await self._contained.stop()
        return self.returncode or 0

    async def kill(self) -> int:
        """SIGKILL; as `stop`."""
        if self.returncode is None:
            await self._contained.signal(signal.SIGKILL)
            await self._contained.wait_ended()
        return await self.stop()
