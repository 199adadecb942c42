"""One fault of a schedule or a test, from its injection to its healing. Every step is recorded; healing always happens.

A fault may come from a plugin, so nothing that it does is trusted: an exception, an answer that is none or that cannot be
written down is a step that failed, with a sentence that says where, and everything else goes on.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from traceback import extract_tb
from typing import Any, TypeVar

from kcontroller_chaos.injection import Evidence, Injection, Playable
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.errors import KControllerError
from pytest_kcontroller.model.history import (
    FaultApplied,
    FaultEvent,
    FaultHealed,
    FaultNotApplied,
    FaultNotHealed,
    FaultNotLasting,
    FaultNotObserved,
    FaultObserved,
    FaultSkipped,
    Record,
)
from pytest_kcontroller.model.text import shown
from pytest_kcontroller.runtime.foreign import (
    DEAF_S,
    DeafError,
    GivenUp,
    RaisedError,
    awaited_without_power,
    without_power,
)
from pytest_kcontroller.runtime.nursery import Nursery, undisturbed
from pytest_kcontroller.runtime.timeouts import within

INJECT_S = 20.0
LOOK_S = 20.0
HEAL_S = 20.0
LONGEST_S = 3600.0
LATE = {
    "inject": "injecting took longer than",
    "observe": "no evidence within",
    "look_again": "looking again took longer than",
    "heal": "healing took longer than",
}

T = TypeVar("T")


@dataclass(slots=True)
class FaultPlayer:
    """`fields` identify the fault in every one of its events: fault, fault_kind, mode, node, session."""

    record: Record
    fault: Playable
    on: Injection
    fields: Mapping[str, Any]
    until: Callable[[], Awaitable[object]] | None
    """What ends the fault; None: it is healed when it has been observed."""
    if_possible: bool = False
    """It is skipped if it cannot be injected, or has missed what it lay in wait for (`may_miss`)."""
    may_miss: bool = False
    missed: str | None = field(default=None, init=False)
    """Why it is skipped."""

    async def play(self) -> None:
        applied = False
        try:
            applied = await self._inject()
            if applied and await self._observe_and_wait():
                await self._look_again()
        finally:
            await undisturbed(self._heal(applied))

    async def _inject(self) -> bool:
        try:
            await _limited("inject", scaled(INJECT_S), lambda: self.fault.inject(self.on))
        except _StepFailedError as failed:
            self._fail(FaultNotApplied, failed.why, skip=failed.refused)
            return False
        self._record(FaultApplied)
        return True

    async def _observe_and_wait(self) -> bool:
        """Both at once; healed when both have ended, so that healing never destroys the evidence. Whether there was some."""
        observed = False
        async with Nursery() as tasks:
            observing = tasks.start(self._observe(), name=f"observe {self.on.fault}")
            if self.until is not None:
                await self.until()
            observed = await observing
        return observed  # noqa: RET504 - for pyright a block may swallow what is raised in it

    async def _observe(self) -> bool:
        try:
            evidence = await _limited("observe", self._within_s(), self._look)
        except _StepFailedError as failed:
            self._fail(FaultNotObserved, failed.why, skip=(failed.late or failed.refused) and self.may_miss)
            return False
        self._record(FaultObserved, evidence=evidence)
        return True

    async def _look_again(self) -> None:
        """Evidence is of a moment: nobody knows since when it is over, if it is."""
        try:
            await _limited("look_again", scaled(LOOK_S), lambda: self.fault.look_again(self.on))
        except _StepFailedError as failed:
            when = ", before it was healed; since when, nobody knows" if failed.refused else ""
            self._record(FaultNotLasting, why=f"{failed.why}{when}")

    async def _look(self) -> Evidence:
        """Raises TypeError or ValueError: what it gave is nothing that a history can have."""
        given: Any = await self.fault.observe(self.on)
        if not isinstance(given, dict):
            raise TypeError(f"it gave {shown(given)}, not a dict of what was seen")
        read = json.loads(json.dumps(given, allow_nan=False))
        return {str(name): value for name, value in read.items()}

    def _within_s(self) -> float:
        try:
            limit_s: Any = without_power(lambda: self.fault.within_s(self.on))
        except (Exception, SystemExit, GivenUp) as failed:
            raise _StepFailedError(_why("within_s", failed)) from failed
        if isinstance(limit_s, bool) or not isinstance(limit_s, int | float) or not 0 < limit_s <= LONGEST_S:
            raise _StepFailedError(f"its within_s gave {shown(limit_s)}, not a number of seconds up to {LONGEST_S:g}")
        return scaled(limit_s)

    async def _heal(self, applied: bool) -> None:
        try:
            await _limited("heal", scaled(HEAL_S), lambda: self.fault.heal(self.on))
        except _StepFailedError as failed:
            self._record(FaultNotHealed, why=failed.why)
        else:
            # Only now is one that has missed skipped: until it was taken back it could still strike.
            if self.missed is not None:
                self._record(FaultSkipped, why=self.missed)
            elif applied:
                self._record(FaultHealed)

    def _fail(self, step: Callable[..., FaultEvent], why: str, *, skip: bool) -> None:
        if skip and self.if_possible:
            self.missed = why
        else:
            self._record(step, why=why)

    def _record(self, step: Callable[..., FaultEvent], **more: object) -> None:
        self.record(step(**self.fields, **more))


class _StepFailedError(Exception):
    """`refused`: the fault says that it could not; `late`: its time was over; neither: it is broken."""

    def __init__(self, why: str, *, refused: bool = False, late: bool = False) -> None:
        self.why, self.refused, self.late = why, refused, late
        super().__init__(why)


async def _limited(step: str, limit_s: float, work: Callable[[], Awaitable[T]]) -> T:
    """Whatever happens in it is its answer, a _StepFailedError, or a cancellation from outside."""
    limit = within(limit_s)
    try:
        async with limit:
            return await awaited_without_power(work, deaf_s=scaled(DEAF_S))
    except DeafError as deaf:
        task, late = asyncio.current_task(), limit.expired()
        if not late and task is not None and task.cancelling():
            raise asyncio.CancelledError from deaf
        why = f"{LATE[step]} {limit_s:g} s; " if late else ""
        raise _StepFailedError(f"{why}its {step} {deaf}", late=late) from None
    except KControllerError as failed:
        raise _StepFailedError(str(failed), refused=True) from failed
    except (Exception, SystemExit, GivenUp) as failed:
        if not limit.expired():
            raise _StepFailedError(_why(step, failed)) from failed
        raise _StepFailedError(f"{LATE[step]} {limit_s:g} s", late=True) from None


def _why(step: str, failed: BaseException) -> str:
    """For whoever wrote the fault: what it raised, and where."""
    failed = failed.__cause__ or failed if isinstance(failed, RaisedError) else failed
    try:
        said = f"raised {type(failed).__name__}: {failed}" if str(failed) else f"raised {type(failed).__name__}"
    except Exception:  # noqa: BLE001 - its __str__ is as foreign as the rest
        said = f"raised {type(failed).__name__}"
    if isinstance(failed, GivenUp):
        said = "let nobody else go on, and was given up"
    frames = extract_tb(failed.__traceback__)
    where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"its {step} {said}{where}"
