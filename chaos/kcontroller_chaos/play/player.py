"""One fault of a schedule, from its trigger to its healing. Every step is recorded; healing always happens."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kcontroller_chaos.injection import FaultWork, Injection
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.errors import KControllerError
from pytest_kcontroller.model.history import (
    FaultApplied,
    FaultEvent,
    FaultHealed,
    FaultNotApplied,
    FaultNotHealed,
    FaultNotObserved,
    FaultObserved,
    FaultSkipped,
)
from pytest_kcontroller.runtime.nursery import Nursery

if TYPE_CHECKING:
    from kcontroller_chaos.play.engine import Engine

INJECT_S = 20.0
HEAL_S = 20.0


@dataclass(slots=True)
class FaultPlayer:
    """`fields` identify the fault in every one of its events: fault, fault_kind, mode, node, session."""

    engine: Engine
    work: FaultWork
    on: Injection
    fields: dict[str, Any]
    until: Callable[[], Awaitable[object]] | None
    """What ends the fault; None: it is healed when it has been observed."""
    if_possible: bool = False
    """It is skipped if it cannot be injected, or has missed what it lay in wait for."""
    skipped: bool = False

    async def play(self) -> None:
        applied = False
        try:
            applied = await self._inject()
            if applied:
                await self._observe_and_wait()
        finally:
            await _to_the_end(self._heal(applied))

    async def _inject(self) -> bool:
        try:
            async with asyncio.timeout(scaled(INJECT_S)):
                await self.work.inject(self.on)
        except TimeoutError:
            self._record(FaultNotApplied, why=f"injecting took longer than {scaled(INJECT_S):g} s")
            return False
        except KControllerError as failed:
            self._fail(FaultNotApplied, str(failed), skip=True)
            return False
        self._record(FaultApplied)
        return True

    async def _observe_and_wait(self) -> None:
        """Both at once; healed when both have ended, so that healing never destroys the evidence."""
        async with Nursery() as tasks:
            observing = tasks.start(self._observe(), name=f"observe {self.on.fault}")
            if self.until is not None:
                await self.until()
            await observing

    async def _observe(self) -> None:
        limit_s = scaled(self.work.within_s(self.on))
        try:
            async with asyncio.timeout(limit_s):
                evidence = await self.work.observe(self.on)
        except TimeoutError:
            self._fail(FaultNotObserved, f"no evidence within {limit_s:g} s", skip=self.work.may_miss)
        except KControllerError as failed:
            self._record(FaultNotObserved, why=str(failed))
        else:
            self._record(FaultObserved, evidence=evidence)

    async def _heal(self, applied: bool) -> None:
        try:
            async with asyncio.timeout(scaled(HEAL_S)):
                await self.work.heal(self.on)
        except TimeoutError:
            self._record(FaultNotHealed, why=f"healing took longer than {scaled(HEAL_S):g} s")
        except KControllerError as failed:
            self._record(FaultNotHealed, why=str(failed))
        else:
            if applied and not self.skipped:
                self._record(FaultHealed)

    def _fail(self, step: Callable[..., FaultEvent], why: str, *, skip: bool) -> None:
        self.skipped = skip and self.if_possible
        self._record(FaultSkipped if self.skipped else step, why=why)

    def _record(self, step: Callable[..., FaultEvent], **more: object) -> None:
        self.engine.record(step(**self.fields, **more))


async def _to_the_end(work: Any) -> None:
    """Runs `work` to its end even if this task is cancelled meanwhile; the cancellation is raised afterwards."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as again:
            if task.cancelled():
                raise
            cancelled = again
    task.result()
    if cancelled is not None:
        raise cancelled
